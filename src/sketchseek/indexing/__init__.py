"""Keeping an index in step with folders: walk, compare, read in parallel, commit in batches."""

from .report import Report
from .run import Options, remove, update

__all__ = ["Options", "Report", "remove", "update"]
