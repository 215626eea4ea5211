"""Measuring: annotated sets, figures of merit, and the command that runs one on the other."""
