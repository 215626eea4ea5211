"""Which picture files lie under some paths, and what could not be looked at.

`list_folder` says what lies in one folder, wherever it is asked; `walk` goes from folder to folder. Paths are
bytes, as the file system has them: a name need not be text.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import chain

from ..errors import SketchseekError
from ..sources import is_remote
from ..sources.objects import Stat, is_object, list_objects, object_stat
from ..sources.volumes import PAGED, can_read_pdf, file_of, suffix

SUFFIXES = frozenset(
    b".jpg .jpeg .jpe .jfif .mpo .png .webp .avif .heic .heif .hif .tif .tiff .bmp .gif .svg".split()
)
NEVER = ("node_modules", "__pycache__", "lost+found", "$RECYCLE.BIN", "System Volume Information", "@eaDir")
"""Folders that hold no pictures of a person's; nor do those whose names begin with a dot."""

LISTED_AT_ONCE = 16
"""Folders of an object store: an answer takes long, and there may be many of them."""


@dataclass
class Walk:
    """What a walk saw.

    files : the pictures, by path.
    unseen : paths of folders (or files) that could not be looked at, with the reason: what an index
        knows below them is to be kept.
    missing : roots that are not there. empty : roots that are folders without a single picture.
    away : links that lead nowhere, or to a folder without a single picture, as those to a drive do that is
        not plugged in.
    """

    files: dict[bytes, Stat] = field(default_factory=dict)
    unseen: dict[bytes, str] = field(default_factory=dict)
    missing: list[bytes] = field(default_factory=list)
    empty: list[bytes] = field(default_factory=list)
    away: dict[bytes, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How much was seen, or could not be."""
        return len(self.files) + len(self.unseen)

    def holds(self, root: bytes) -> bool:
        """Whether any of it lies below a root, met by the way of another one maybe."""
        return any(map(below([root]), chain(self.files, self.unseen)))


@dataclass(frozen=True)
class Rules:
    """What counts below a root. exclude : patterns. real_roots : of all roots, where they really are."""

    root: bytes
    exclude: tuple[str, ...] = ()
    real_roots: tuple[bytes, ...] = ()


@dataclass
class Listing:
    """What lies in one folder.

    files : the pictures, by path; as pairs, which travel faster than `Stat`. folders : further ones.
    links : to folders that lie below no root. dangling : links to what is not there.
    unseen : what could not be looked at, maybe the folder itself.
    entries : how many there are of everything, also of what does not count.
    is_there : False of a folder that an object store does not have.
    """

    files: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    folders: list[bytes] = field(default_factory=list)
    links: list[bytes] = field(default_factory=list)
    dangling: list[bytes] = field(default_factory=list)
    unseen: dict[bytes, str] = field(default_factory=dict)
    entries: int = 0
    is_there: bool = True


Listings = Callable[[deque[bytes], Rules], Iterator[tuple[bytes, Listing]]]
"""Lists the folders that wait, in any order, until none does: whoever takes a listing adds what is in it."""


def absolute(path: str | bytes | os.PathLike[str]) -> bytes:
    """The path as bytes, absolute, without following links: what a person would call the place.

    A URI of an object store stays as it is.
    """
    if is_object(path):
        return os.fsencode(path).rstrip(b"/")
    if is_remote(path):
        return os.fsencode(path)
    if re.match(rb"[a-z][a-z0-9+.-]+://", os.fsencode(path)):
        raise SketchseekError(
            f"Pictures are read from folders, s3:// and https:// (IIIF), and {os.fsdecode(path)} is none of "
            "these: mount it as a folder, or copy the pictures."
        )
    return os.fsencode(os.path.abspath(os.path.expanduser(os.fspath(path))))


def is_under(path: bytes, roots: Iterable[bytes]) -> bool:
    """Whether `path` is one of the roots or lies below one."""
    return below(roots)(path)


def below(roots: Iterable[bytes]) -> Callable[[bytes], bool]:
    """The same for many paths: what it takes doesn't grow with the number of roots."""
    places = {root.rstrip(b"/") for root in roots}

    def is_below(path: bytes) -> bool:
        path = path.rstrip(b"/")
        while path and path not in places:
            path = above(path)
        return path in places

    return is_below


def above(path: bytes) -> bytes:
    """The folder of a file, the volume of a page, the address that a picture elsewhere was listed by."""
    if b"://" in path and is_remote(path):
        root, mark, _ = path.partition(b"#")
        return root if mark else b""
    volume = file_of(path)
    return volume if volume != path else path.rpartition(b"/")[0]


def holding(places: Iterable[bytes], paths: Iterable[bytes]) -> set[bytes]:
    """Which of some places hold at least one of the paths, or are one of them."""
    asked = {place.rstrip(b"/"): place for place in places}
    found = set()
    for path in paths if asked else ():
        at = path
        while at and at not in found:
            found.add(at)
            at = above(at)
    return {place for key, place in asked.items() if key in found or (found and not key)}


def walk(
    roots: Sequence[bytes],
    exclude: Sequence[str] = (),
    listings: Listings | None = None,
    *,
    only_first: bool = False,
) -> Walk:
    """Look at every picture file below `roots`, each folder once.

    A link to something that is met below a root is passed over; other links, also those into folders that
    are not entered, are followed, after what lies below the root without them. A root that is a file is taken
    whatever its name.
    listings : what lists the folders; None for this process. only_first : end where a picture is.
    """
    seen = Walk()
    real_roots = tuple(os.path.realpath(root) for root in roots if not is_object(root))
    course = _Course(seen, listings or list_local, only_first)
    for root in roots:
        if not is_object(root) and not _is_folder(root, seen):
            continue
        starts, before = deque([root]), seen.count
        while starts and not course.is_over:
            start, so_far = starts.popleft(), seen.count
            starts += sorted(course.follow(start, Rules(root, tuple(exclude), real_roots)))
            if start != root and seen.count == so_far:
                seen.away[start] = "There is no picture behind this link any more."
        if seen.count == before and root not in seen.missing and not seen.holds(root):
            seen.empty.append(root)
    return seen


def _is_folder(root: bytes, seen: Walk) -> bool:
    """Whether a root is one; otherwise it is noted as what it is."""
    try:
        found = os.stat(file_of(root))
    except (FileNotFoundError, NotADirectoryError):
        seen.missing.append(root)
        return False
    except OSError as error:
        seen.unseen[root] = _reason(error)
        return False
    if stat.S_ISDIR(found.st_mode):
        return True
    seen.files[root] = Stat(found.st_size, found.st_mtime_ns)
    return False


@dataclass
class _Course:
    """A walk under way. been : folders where they really are."""

    seen: Walk
    listings: Listings
    only_first: bool
    been: set[bytes] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        return self.only_first and bool(self.seen.files)

    def follow(self, start: bytes, rules: Rules) -> list[bytes]:
        """Everything below a root, or a link, that is reached without following links; the links in it.

        No two folders in it are the same: it does not matter in which order they are listed.
        """
        real = start if is_object(start) else os.path.realpath(start)
        links: list[bytes] = []
        waiting: deque[bytes] = deque()

        def add(folder: bytes) -> None:
            place = (real.rstrip(b"/") + folder[len(start.rstrip(b"/")) :]) or b"/"
            if place not in self.been:
                self.been.add(place)
                waiting.append(folder)

        add(start)
        for folder, listing in self.listings(waiting, rules):
            if not listing.is_there and folder == rules.root:
                _take_object(folder, self.seen)
            self.seen.files.update((path, Stat(*found)) for path, found in listing.files.items())
            self.seen.unseen.update(listing.unseen)
            self.seen.away.update(dict.fromkeys(listing.dangling, "What this link leads to is not there."))
            links += listing.links
            for each in listing.folders:
                add(each)
            if self.is_over:
                break
        return links


def _take_object(root: bytes, seen: Walk) -> None:
    """A root that is no folder."""
    try:
        seen.files[root] = object_stat(root)
    except FileNotFoundError:
        seen.missing.append(root)
    except SketchseekError as error:
        seen.unseen[root] = _reason(error)


def list_local(waiting: deque[bytes], rules: Rules) -> Generator[tuple[bytes, Listing]]:
    """`Listings` of this process; what it has not listed when it is closed waits again."""
    if not is_object(rules.root):
        while waiting:
            folder = waiting.pop()
            yield folder, list_folder(folder, rules)
        return
    asked: dict[Future[Listing], bytes] = {}
    with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
        try:
            while waiting or asked:
                while waiting and len(asked) < 2 * LISTED_AT_ONCE:
                    folder = waiting.popleft()
                    asked[pool.submit(list_folder, folder, rules)] = folder
                for future in wait(asked, return_when=FIRST_COMPLETED).done:
                    yield asked.pop(future), future.result()
        finally:
            waiting.extend(asked.values())
            pool.shutdown(cancel_futures=True)


def list_folder(folder: bytes, rules: Rules) -> Listing:
    """What lies in a folder, or in what is one in an object store: the part of a key up to a slash."""
    found = Listing()
    if is_object(folder):
        _list_objects(folder, rules, found)
        return found
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.entries += 1
                if not _is_excluded(entry.path, rules):
                    _take(entry, rules, found)
    except OSError as error:
        found.unseen[folder] = _reason(error)
    return found


def _list_objects(folder: bytes, rules: Rules, found: Listing) -> None:
    try:
        entries = list_objects(folder)
    except FileNotFoundError:
        found.is_there = False
        return
    except SketchseekError as error:
        found.unseen[folder] = _reason(error)
        return
    found.entries = len(entries)
    for path, shown in entries:
        if _is_excluded(path, rules):
            continue
        if shown is None:
            found.folders.append(path)
        elif _has_suffix(path) and suffix(path) not in PAGED:  # a volume would be fetched again for each page
            found.files[path] = (shown.size, shown.modified)


def _take(entry: os.DirEntry[bytes], rules: Rules, found: Listing) -> None:
    try:
        is_link = entry.is_symlink()
        if is_link and _is_met(entry, rules):
            return
        if is_link and _leads_nowhere(entry.path):
            found.dangling.append(entry.path)
        elif entry.is_dir():
            (found.links if is_link else found.folders).append(entry.path)
        elif _has_suffix(entry.name) and entry.is_file():
            shown = entry.stat()
            found.files[entry.path] = (shown.st_size, shown.st_mtime_ns)
    except FileNotFoundError:
        return  # it went away between the listing and now
    except OSError as error:
        found.unseen[entry.path] = _reason(error)


def _is_met(link: os.DirEntry[bytes], rules: Rules) -> bool:
    """Whether the walk meets what a link leads to anyway, or was told to pass it over."""
    real = os.path.realpath(link.path)
    if not _has_suffix(real) and _has_suffix(link.name) and link.is_file():
        return False  # it counts for a picture by the name of the link alone
    for root in rules.real_roots:
        if is_under(real, [root]):
            inner = real[len(root.rstrip(b"/")) + 1 :]
            names = os.fsdecode(inner).split("/")
            if not any(map(_is_never, names)) or _is_chosen_out(names, rules.exclude):
                return True
    return False


def _leads_nowhere(link: bytes) -> bool:
    try:
        os.stat(link)
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")


def _has_suffix(name: bytes) -> bool:
    end = suffix(name)
    return end in SUFFIXES or (end in PAGED and (end != b".pdf" or can_read_pdf()))


def _is_excluded(path: bytes, rules: Rules) -> bool:
    if _is_never(os.fsdecode(os.path.basename(path))):
        return True
    if not rules.exclude:
        return False
    return _matches(os.fsdecode(os.path.relpath(path, rules.root)), rules.exclude)


def _is_never(name: str) -> bool:
    return name.startswith(".") or name in NEVER


def _is_chosen_out(names: list[str], exclude: Sequence[str]) -> bool:
    """Whether a path below a root is excluded by its names, or lies in one that is."""
    return any(_matches("/".join(names[: end + 1]), exclude) for end in range(len(names)))


def _matches(relative: str, exclude: Sequence[str]) -> bool:
    name = relative.rpartition("/")[2]
    return any(fnmatch(name, pattern) or fnmatch(relative, pattern) for pattern in exclude)
