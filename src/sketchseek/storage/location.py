"""Where an index is, which version is its newest, and what goes wrong there, in words."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from ..errors import DamagedError, NoIndexError, OtherPlaceError, SketchseekError
from .durable import exclusive, sync_files, write_file
from .seal import Seal, identity_of

TABLE = "pictures.lance"
LOCK = "lock"
_LAST_VERSION = 2**64 - 1  # Lance counts down from here in the names of its manifests
_MANIFEST_NAME = re.compile(r"\d{20}\.manifest")
_MANIFEST_END = b"LANC"


class Location:
    """A folder on this machine, or a URI of an object store."""

    def __init__(self, where: str | os.PathLike[str]) -> None:
        text = os.fspath(where)
        self.is_uri = re.match(r"[a-z][a-z0-9+.-]+://", text) is not None
        self.text = text.rstrip("/") if self.is_uri else os.path.abspath(text)
        if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):  # as it was set on purpose
            os.environ.setdefault("AWS_ALLOW_HTTP", "true")
        try:
            self.text.encode()
        except UnicodeEncodeError:
            raise OtherPlaceError(
                f"The name of the index folder {os.fsencode(self.text)!r} is not text (UTF-8)."
            ) from None

    def __str__(self) -> str:
        return self.text

    @property
    def table(self) -> str:
        """Where the Lance table is."""
        return f"{self.text}/{TABLE}"

    @property
    def folder(self) -> Path:
        """The local folder; for a URI, a cache folder of its own on this machine."""
        if not self.is_uri:
            return Path(self.text)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "sketchseek" / hashlib.blake2b(self.text.encode(), digest_size=12).hexdigest()

    def exists(self) -> bool:
        """Whether an index is there."""
        if not self.is_uri:
            return self.identity() is not None
        import lance

        try:
            lance.dataset(self.table)
        except (ValueError, OSError) as error:
            if is_absent(error):
                return False
            raise refused(self, error) or unreadable(self, error) from error
        return True

    def turn(self) -> Any:
        """A writer's turn, as a context; an object store has none."""
        return nullcontext() if self.is_uri else exclusive(self.folder / LOCK)

    def manifests(self) -> list[Path]:
        """The manifests of a local table, one a version, from the newest to the oldest.

        What others leave beside them, as macOS does its `._` files, is passed over.
        """
        if self.is_uri:
            return []
        folder = f"{self.table}/_versions"
        try:
            names = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise unreadable(self, error) from error
        return [Path(folder, name) for name in sorted(names) if _MANIFEST_NAME.fullmatch(name)]

    def manifest(self, version: int) -> Path:
        """The manifest of a version."""
        return Path(self.table, "_versions", f"{_LAST_VERSION - version:020d}.manifest")

    def latest_version(self) -> int | None:
        """The newest version of a local table, read from file names alone."""
        manifests = self.manifests()
        return version_of(manifests[0]) if manifests else None

    def identity(self) -> str | None:
        """What the newest version of a local table is known by; None where there is none."""
        lost = self._lost()
        if lost is not None:
            return lost.identity
        for path in self.manifests():
            try:
                return identity_of(version_of(path), path.read_bytes())
            except FileNotFoundError:
                continue  # an old version that another process has just taken away
            except OSError as error:
                raise unreadable(self, error) from error
        return None

    def seal(self) -> Seal | None:
        """The seal of a local index; None where there is none, or not a whole one."""
        try:
            return None if self.is_uri else Seal.read(self.folder)
        except OSError as error:
            raise unreadable(self, error) from error

    def _lost(self) -> Seal | None:
        """The seal, where the newest manifest is older or other than it says, and could be put back."""
        seal = self.seal()
        newest = self.latest_version()
        if seal is None or (newest is not None and newest > seal.version):
            return None  # a commit that was not acknowledged yet
        try:
            if self.manifest(seal.version).read_bytes() == seal.manifest:
                return None
        except OSError:
            pass
        try:
            return None if seal.missing(Path(self.table)) else seal
        except OSError as error:
            raise unreadable(self, error) from error

    def repair(self, unread: bool = False) -> bool:
        """Before the table is opened: see to it that its newest manifest is the one to open.

        Aside goes the newest manifest alone, and only if it was read and found torn or can be put back: one
        that the system doesn't let one read may be whole, and stays unless `unread` says otherwise. True if
        something that was acknowledged had to be put back.
        """
        lost = self._lost()
        try:
            if any(map(_is_torn, self.manifests()[:1])) or lost is not None:
                with in_words(self), self.turn():
                    self.repair_in_turn()
        except OSError as error:
            if lost is None or not unread:
                raise unreadable(self, error) from error
            with in_words(self), self.turn():
                self._put_back(lost)
        return lost is not None

    def repair_in_turn(self) -> None:
        """Put aside what a power cut left unfinished, and put back what was acknowledged and is lost."""
        torn = [manifest for manifest in self.manifests()[:2] if _is_torn(manifest)]
        lost = self._lost()
        if lost is None and len(torn) > 1:
            raise OtherPlaceError(
                f"The index in {self} is damaged: its last two manifests are cut short. "
                "Restore a copy of the folder, or index the pictures again in another place."
            )
        if lost is None and torn:
            os.replace(torn[0], self.folder / f"torn-{torn[0].name}")
            sync_files(self.manifests()[:1])
            lost = self._lost()
        if lost is not None:
            self._put_back(lost)

    def _put_back(self, lost: Seal) -> None:
        manifest = self.manifest(lost.version)
        with suppress(OSError):
            if manifest.read_bytes() == lost.manifest:
                return  # the disk had not let one read it
        if manifest.exists():
            os.replace(manifest, self.folder / f"damaged-{manifest.name}")
        write_file(manifest, lost.manifest)


def version_of(manifest: Path) -> int:
    """The number of the version that a manifest is of."""
    return _LAST_VERSION - int(manifest.stem)


def _is_torn(manifest: Path) -> bool:
    """Whether it is short or lacks its end."""
    try:
        with manifest.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_MANIFEST_END)))
            return file.read() != _MANIFEST_END
    except FileNotFoundError:
        return False  # taken away since it was listed


def no_index(location: Location) -> SketchseekError:
    """The sentence for a place where no index is."""
    return NoIndexError(f"There is not an index in {location}.")


def unreadable(location: Location, error: BaseException) -> SketchseekError:
    """The sentence for an index that the system doesn't let one read."""
    return SketchseekError(f"Cannot read the index in {location}: {_reason(error)}.")


def refused(location: Location, error: BaseException) -> SketchseekError | None:
    """The sentence for an object store that doesn't let one in; None where the error is another."""
    text = str(error)
    if not location.is_uri:
        return None
    if "NoSuchBucket" in text:
        bucket = location.text.split("://")[1].partition("/")[0]
        return SketchseekError(
            f"There is no bucket {bucket!r} in the object store: make it, or name another."
        )
    if re.search("CredentialsNotLoaded|Failed to get AWS credentials|MissingCredentials", text):
        return SketchseekError(
            f"There are no credentials for {location}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "name a profile of ~/.aws with AWS_PROFILE."
        )
    if re.search("InvalidAccessKeyId|SignatureDoesNotMatch|AccessDenied|403 Forbidden|401 Unauth", text):
        return SketchseekError(f"The credentials that were found don't open {location}.")
    if re.search(
        "error sending request|retry_timeout|timed out|connection closed|resolve region", text, re.IGNORECASE
    ):
        return SketchseekError(f"The object store of {location} does not answer.")
    if re.search("Generic S3 error", text):  # whatever it is, it says nothing about the index
        return unreadable(location, error)
    if "provider" in text and "scheme" in text:
        return SketchseekError(f"{location} is not a place for an index: its kind of URI is not known.")
    return None


def is_absent(error: BaseException) -> bool:
    """Whether Lance says that there is no table. A bucket that is not there is something else."""
    text = str(error)
    return "NoSuchBucket" not in text and re.search("was not found|does not exist", text) is not None


def damaged(location: Location, what: str) -> DamagedError:
    """The sentence for an index whose files are not what was written."""
    return DamagedError(f"The index in {location} is damaged: {what}.")


@contextmanager
def reading(location: Location) -> Iterator[None]:
    """Turn what Lance says when it can't make sense of a file into a sentence; it may panic, too."""
    try:
        yield
    except SketchseekError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not _is_panic(error):
            raise
        if _system_refuses(error):
            raise unreadable(location, error) from error
        if (refusal := refused(location, error)) is not None:
            raise refusal from error
        raise damaged(location, _reason(error)) from error


def _system_refuses(error: BaseException) -> bool:
    """Whether the system did not let one read something, which says nothing of what is there.

    Lance puts the system's number into words. That there is no such file is the one that speaks of the file.
    """
    if isinstance(error, MemoryError):
        return True
    number = getattr(error, "errno", None) or _system_number(error)
    return number not in (None, errno.ENOENT)


def _system_number(error: BaseException) -> int | None:
    """The system's number of an error that Lance speaks of."""
    found = re.search(r"os error (\d+)", str(error))
    if found:
        return int(found[1])
    words = (errno.EACCES, errno.EMFILE, errno.ENOMEM, errno.EIO)
    return next((number for number in words if os.strerror(number) in str(error)), None)


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ == "PanicException"  # Lance's, and no Exception


@contextmanager
def in_words(location: Location) -> Iterator[None]:
    """Turn what the disk says into a sentence."""
    try:
        yield
    except OSError as error:
        text = str(error)
        if (refusal := refused(location, error)) is not None:
            raise refusal from error
        if "No space left" in text or "os error 28" in text or "Disk quota" in text:
            raise SketchseekError(
                f"The disk that holds the index in {location} is full: make room and run it again; "
                "what was already indexed is safe."
            ) from error
        if "File too large" in text or "os error 27" in text:
            raise SketchseekError(
                f"The index in {location} may not grow further (a limit on file sizes): raise it and run it "
                "again; what was already indexed is safe."
            ) from error
        if re.search(r"Read-only file system|Permission denied|os error (30|13)\b", text):
            raise OtherPlaceError(
                f"Cannot write the index in {location}: the folder is read-only for you."
            ) from error
        raise SketchseekError(f"Cannot write the index in {location}: {_reason(error)}.") from error
    except BaseException as error:
        if not _is_panic(error):
            raise
        raise SketchseekError(f"Cannot write the index in {location}: {_reason(error)}.") from error


def _reason(error: BaseException) -> str:
    """One line without a full stop. Lance appends its own source positions; people need none of them."""
    if "Too many open files" in str(error):
        return "too many files are open (`ulimit -n` raises the limit)"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if (number := _system_number(error)) is not None:
        return os.strerror(number)
    first = (str(error).splitlines() or [repr(error)])[0]
    return re.sub(r",? ?\S+\.rs:\d+:\d+.*", "", first).rstrip(". ")
