"""Counters and histograms in the Prometheus text format; a dozen lines need no dependency."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

from ..system import resident_bytes

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histograms' buckets, in seconds."""


class Histogram:
    """Seconds, counted into BUCKETS."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def lines(self, name: str, labels: str) -> list[str]:
        """The histogram as Prometheus reads it: buckets are cumulative."""
        lines, below = [], 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), self.counts, strict=True):
            below += count
            lines.append(f'{name}_bucket{{{labels},le="{bound}"}} {below}')
        return [*lines, f"{name}_sum{{{labels}}} {self.total:.6f}", f"{name}_count{{{labels}}} {below}"]


class Metrics:
    """Everything `/metrics` shows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._stages: dict[str, Histogram] = {}
        self._turned_away: Counter[str] = Counter()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answered request; `route` is the path's pattern, so that ids make no new series."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds.setdefault(route, Histogram()).observe(seconds)

    def stage(self, name: str, seconds: float) -> None:
        """One stage of one search."""
        with self._lock:
            self._stages.setdefault(name, Histogram()).observe(seconds)

    def turned_away(self, reason: str) -> None:
        """One search that was dropped before it ran."""
        with self._lock:
            self._turned_away[reason] += 1

    def text(
        self, gauges: Mapping[str, float], measures: Iterable[tuple[str, dict[str, str], float]] = ()
    ) -> str:
        """All of it; `gauges` are values of this moment, by name; `measures`, see `Index.measures`."""
        with self._lock:
            lines = ["# TYPE sketchseek_requests_total counter"]
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"sketchseek_requests_total{{{labels}}} {count}")
            lines.append("# TYPE sketchseek_request_seconds histogram")
            for route, histogram in sorted(self._seconds.items()):
                lines += histogram.lines("sketchseek_request_seconds", f'route="{route}"')
            lines.append("# TYPE sketchseek_search_stage_seconds histogram")
            for stage, histogram in sorted(self._stages.items()):
                lines += histogram.lines("sketchseek_search_stage_seconds", f'stage="{stage}"')
            lines.append("# TYPE sketchseek_searches_dropped_total counter")
            for reason, count in sorted(self._turned_away.items()):
                lines.append(f'sketchseek_searches_dropped_total{{reason="{reason}"}} {count}')
        for name, value in {**gauges, "process_resident_memory_bytes": resident_bytes()}.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        of_name: dict[str, list[str]] = {}
        for name, tags, value in measures:
            said = ",".join(f'{tag}="{word}"' for tag, word in tags.items())
            of_name.setdefault(name, []).append(f"{name}{{{said}}} {value:.12g}")
        for name, series in of_name.items():
            lines += [f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}", *series]
        return "\n".join(lines) + "\n"
