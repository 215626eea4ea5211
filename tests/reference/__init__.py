"""The specification: the search in NumPy, step by step, to which the C++ core is held."""
