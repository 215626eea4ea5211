"""Pictures that live elsewhere, in a run of `index`: listed, and fetched a few ahead of those who read them.

Workers never ask a server: what they read comes with the task, and is kept nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ..errors import SketchseekError
from ..plugins import blamed
from ..sources import Item, Source, fault_of, is_remote, root_of, source_of
from ..storage.location import Location
from ..storage.source_cache import Folder
from .walk import Walk
from .worker import Failed, Task

BATCH = 16
"""Pictures that are fetched while as many are read."""
AT_ONCE = 4


class Elsewhere:
    """The roots of a run that are addresses: their sources, and the pictures that they list."""

    def __init__(self, roots: Sequence[bytes], location: Location) -> None:
        self.roots = [os.fsdecode(root) for root in roots if is_remote(root)]
        self._kept = Folder(location)
        self._sources: dict[str, Source] = {}
        self._items: dict[bytes, Item] = {}

    def add_to(self, seen: Walk) -> None:
        """Add what the sources list to what a walk saw; of one that does not answer, nothing is forgotten."""
        for root in self.roots:
            try:
                source = self._sources[root] = source_of(root)
                with blamed(f"The source of {root}"):
                    items = list(source.items(root, self._kept))
                fault = next(filter(None, map(fault_of, items)), None)
                if fault is not None:
                    raise SketchseekError(f"The source of {root} lists what cannot be kept: {fault}.")
            except SketchseekError as error:
                seen.unseen[os.fsencode(root)] = str(error)
                continue
            self._kept.note(root, items)
            for item in items:
                path = os.fsencode(f"{root}#{item.name}")
                self._items[path] = item
                seen.files[path] = item.stat
            if not items:
                seen.empty.append(os.fsencode(root))

    def fetched(self, tasks: Sequence[Task]) -> Iterator[tuple[list[Task], list[Failed]]]:
        """Tasks with what they read, in batches; and those whose pictures could not be had."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            asked = [pool.submit(self._fetch, task) for task in tasks[:BATCH]]
            for start in range(0, len(tasks), BATCH):
                now = asked
                asked = [pool.submit(self._fetch, task) for task in tasks[start + BATCH : start + 2 * BATCH]]
                try:
                    done = [one.result() for one in now]
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
                yield (
                    [one for one in done if isinstance(one, Task)],
                    [one for one in done if isinstance(one, Failed)],
                )

    def _fetch(self, task: Task) -> Task | Failed:
        item = self._items[task.path]
        try:
            with blamed(f"The source of {os.fsdecode(task.path)}"):
                data: object = self._sources[root_of(os.fsdecode(task.path))].fetch(item)
            if not isinstance(data, bytes) or not data:
                raise SketchseekError(f"The source of {os.fsdecode(task.path)} gives no bytes.")
        except SketchseekError as error:
            return Failed(task.path, item.stat.size, item.stat.modified, b"", str(error))
        return replace(task, data=data, stat=item.stat, original=(item.width, item.height))
