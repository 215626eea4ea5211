"""What the cluster's tests share."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sketchseek.indexing.commits import table_of
from sketchseek.storage.store import Change, Store

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
"""Of each node of the cluster."""
HEAD = {
    **NODE,
    "include_dashboard": False,
    "include_log_monitor": False,
    "_system_config": {"health_check_period_ms": 500, "health_check_failure_threshold": 3},
}
"""Of the first one: a node that was killed is missed after two seconds instead of fifteen."""


def write(where: Path | str, rows: list[dict[str, Any]]) -> None:
    """Rows into an index, as one commit."""
    store = Store.open(where)
    store.commit(lambda: Change(table_of(rows, store)))


def same_hits(found: Any, expected: Any) -> bool:
    """Hit by hit, score by score, place by place."""
    return [hit.to_dict() for hit in found] == [hit.to_dict() for hit in expected] and (
        found.present == expected.present
    )


def eventually(true: Callable[[], bool], seconds: float) -> bool:
    """Whether it becomes true in time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if true():
            return True
        time.sleep(0.05)
    return true()


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
