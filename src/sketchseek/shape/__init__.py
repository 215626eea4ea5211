"""Contour points -> descriptors, and how a drawing's descriptor is aligned with them."""
