"""Keeping an index in step with folders: walk, compare, read in parallel, commit in batches."""

from .report import Report
from .run import IndexingOptions, remove, update

__all__ = ["IndexingOptions", "Report", "remove", "update"]
