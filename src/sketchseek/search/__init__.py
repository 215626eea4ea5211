"""One search: from a drawing and a state of an index to placed hits."""
