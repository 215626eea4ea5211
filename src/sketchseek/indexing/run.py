"""One run of `index`: bring an index in step with some folders."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from .. import system
from ..errors import SketchseekError
from ..progress import Progress
from ..shape.engine.device import usable
from ..sources import is_remote
from ..sources.objects import is_object
from ..storage.schema import IndexConfig
from ..storage.store import Change, Store
from .changes import Changes, compare, gone_with, moves
from .commits import Commits, Move, keep_tidy, read_known
from .elsewhere import Elsewhere
from .report import Report
from .volumes import take_to_pages
from .walk import Listings, Walk, absolute, below, holding, walk
from .worker import Gone, Result, Task
from .workers import Workers


@dataclass(frozen=True)
class IndexingOptions:
    """How a run goes about it.

    jobs : worker processes; None for one per core.
    exclude : patterns of names, or of paths below the root, to pass over.
    forget_missing : forget the pictures of a root that is missing or empty.
    retry : read again pictures whose reading failed for want of memory, time or rights.
    device : what the networks run on: "cpu", or "cuda" where there is one.
    workers : makes what reads pictures, from a config, `jobs` and a device; None for processes here.
    listings : what lists folders, see `walk`; None for this process.
    """

    jobs: int | None = None
    exclude: Sequence[str] = ()
    forget_missing: bool = False
    retry: bool = True
    device: str = "cpu"
    workers: Callable[[IndexConfig, int | None, str], AbstractContextManager[Reading]] | None = None
    listings: Listings | None = None


class Reading(Protocol):
    """What `Workers` do, wherever they are."""

    def results(self, tasks: Iterable[Task]) -> Iterator[Result | None]:
        """Answers as they come, one for each task; None now and then, when there is nothing yet."""


def _workers(config: IndexConfig, jobs: int | None, device: str) -> AbstractContextManager[Reading]:
    return Workers(config, jobs or system.processors(), usable(device))


def update(
    store: Store,
    paths: Sequence[str | bytes | os.PathLike[str]],
    options: IndexingOptions | None = None,
    progress: Progress | None = None,
) -> Report:
    """Add new pictures under `paths`, refresh changed ones, forget vanished ones.

    Ends early, with everything finished so far committed, on KeyboardInterrupt.
    """
    options = options or IndexingOptions()
    start = time.monotonic()
    roots = list(dict.fromkeys(absolute(path) for path in paths))
    store.refresh()
    store.check_lengths()
    store.upgrade()
    known = read_known(store)
    elsewhere = Elsewhere(roots, store.location)
    seen = walk([root for root in roots if not is_remote(root)], options.exclude, options.listings)
    elsewhere.add_to(seen)
    take_to_pages(seen, known, roots, store.location)
    wanted = _wanted(store.config)
    changes = compare(
        known,
        seen,
        roots,
        forget_missing=options.forget_missing,
        **wanted,
        retry=options.retry,
    )
    held = holding([*seen.missing, *seen.empty, *seen.away], (row.path for row in known))
    for root in map(os.fsencode, elsewhere.roots):
        if root in seen.unseen and root not in holding([root], (row.path for row in known)):
            raise SketchseekError(seen.unseen[root])
    for root in seen.missing:
        if root not in held:
            raise SketchseekError(f"There is no file or folder {os.fsdecode(root)}.")
    lost = [root for root in seen.empty if root in held]
    away = {link: why for link, why in seen.away.items() if link in held}
    report = Report(kept=_kept(seen, options, lost, away))
    report.empty = [os.fsdecode(root) for root in seen.empty if root not in lost]
    report.looking = time.monotonic() - start
    commits = Commits(store, known, report)
    try:
        commits.forget(changes.duplicates, count=False)
        moved = _follow_moves(changes, seen, commits, report)
        commits.forget(changes.vanished)
        changes.incomplete += [
            row for row in commits.known.values() if row.id in moved and row.lacks(**wanted)
        ]
        _read(changes, commits, store, options, progress=progress, elsewhere=elsewhere)
    except KeyboardInterrupt:
        report.interrupted = True
    commits.flush()
    if store.config.successor is not None and not report.interrupted:
        report.succession = _succeed(store, {row.path for row in (*changes.changed, *changes.incomplete)})
    report.unchanged += len(changes.unchanged)
    for row in changes.unchanged:
        if row.failure is not None:
            report.unchanged -= 1
            report.add_failure(row.path, row.failure)
    if not report.interrupted:
        keep_tidy(store)
    report.seconds = time.monotonic() - start
    return report


def remove(store: Store, paths: Sequence[str | bytes | os.PathLike[str]]) -> int:
    """Forget the pictures at or under `paths`; how many there were."""
    is_chosen = below(absolute(path) for path in paths)
    count = 0

    def prepare() -> Change:
        nonlocal count
        rows = [row for row in read_known(store) if is_chosen(row.path)]
        count = sum(row.failure is None for row in rows)
        return Change(forget=[row.id for row in rows])

    store.commit(prepare)
    with suppress(SketchseekError):
        store.tidy()
    return count


def _kept(
    seen: Walk, options: IndexingOptions, lost: list[bytes], away: dict[bytes, str]
) -> list[tuple[str, str]]:
    """Paths of which nothing is forgotten, and why.

    lost : those that held pictures, and are empty. away : links behind which there were pictures.
    """
    kept = list(seen.unseen.items())
    if not options.forget_missing:
        kept += [(root, "It is not there.") for root in seen.missing]
        kept += [(root, "There is no picture in it any more.") for root in lost]
        kept += away.items()
    return [(os.fsdecode(path), reason) for path, reason in kept]


def _follow_moves(changes: Changes, seen: Walk, commits: Commits, report: Report) -> set[str]:
    """Give rows the new paths of their pictures; their ids. Folders that are gone altogether are reported."""
    moved: dict[str, bytes] = {}
    for path, row, found in moves(changes.new, seen, commits.known.values(), changes.vanished):
        commits.add(Move(path, row, found))
        moved[row.id] = row.path
    commits.flush()
    rows = {row.id: row.path for row in commits.known.values() if row.id in moved}
    paths = set(moved.values())
    left = Counter(gone_with(moved[i]) for i, path in rows.items() if path != moved[i])
    for folder, count in left.items():
        if folder is not None and folder not in paths:
            report.followed.append((os.fsdecode(folder), count))
    gone = {path for path in changes.new if path in commits.known}
    changes.new = [path for path in changes.new if path not in gone]
    return set(moved)


def _succeed(store: Store, tried: set[bytes]) -> str:
    """Search by the network that takes another's place, once it has seen every picture; what happened.

    What cannot be read any more has no embedding then. tried : paths of rows that this run has read.
    """
    left = [row for row in read_known(store) if row.lacks_expansion and row.path not in tried]
    left = [row for row in left if is_object(row.path) or os.path.lexists(row.path)]
    successor = store.config.successor
    if successor is None or left:
        return (
            f"{len(left):,} pictures in other folders have no embedding of the new kind yet, so searches "
            "go by the one before: run `sketchseek index` without a path."
        )
    store.succeed()
    return f"Searches go by {successor.name} from now on."


def _wanted(config: IndexConfig) -> dict[str, Any]:
    """What a row is to have, as `IndexedPicture.lacks` takes it."""
    return {"expand": config.wanted is not None, "min_object_size": config.min_object_size}


def _tasks(changes: Changes, config: IndexConfig) -> Iterator[Task]:
    yield from (Task(path) for path in changes.new)
    for row in (*changes.changed, *changes.incomplete):
        yield Task(
            row.path,
            row.digest,
            lacks_expansion=config.wanted is not None and row.lacks_expansion,
            lacks_windows=row.lacks_windows(config.min_object_size),
            lacks_keywords=row.lacks_keywords,
            lacks_embedding=row.lacks_embedding,
        )


def _read(
    changes: Changes,
    commits: Commits,
    store: Store,
    options: IndexingOptions,
    *,
    progress: Progress | None,
    elsewhere: Elsewhere,
) -> None:
    tasks = list(_tasks(changes, store.config))
    if not tasks:
        return
    done = 0

    def take(result: Result | None) -> None:
        nonlocal done
        if result is None:
            commits.flush_if_due()
        else:
            done += 1
            if not isinstance(result, Gone):
                commits.add(result)
        if progress is not None:
            progress(done, len(tasks))

    here = [task for task in tasks if not is_remote(task.path)]
    there = [task for task in tasks if is_remote(task.path)]
    with (options.workers or _workers)(store.config, options.jobs, options.device) as workers:
        for result in workers.results(here):
            take(result)
        for batch, failed in elsewhere.fetched(there):
            for lost in failed:
                take(lost)
            for result in workers.results(batch):
                take(result)
