"""One search: from a drawing and a view of an index to placed hits."""
