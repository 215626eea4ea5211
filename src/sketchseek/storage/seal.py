"""What was acknowledged last, kept twice: the newest manifest, and a checksum of each file that it names.

Lance's files have no checksums, and all of a table hangs on its newest manifest. The seal is written after
each commit, before it is acknowledged: a manifest that went away or changed is put back from it, and a file
that is not what was written is found out before a row of it is used or copied.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..system import forget_what_was_read
from .checksum import checksum_of_file, digest, is_of_old_kind, renewed
from .durable import write_file

NAME = "seal"
_MAGIC = b"sketchseek seal 2\n"
_MAGIC_OF_OLD_SUMS = b"sketchseek seal 1\n"  # of programs that would take the sums of today for damage


def identity_of(version: int, manifest: bytes) -> str:
    """What no other version of this or another table has: a manifest names files that no other has."""
    return f"{version}-{hashlib.blake2b(manifest, digest_size=12).hexdigest()}"


@dataclass(frozen=True)
class Seal:
    """A version of the table. sums : checksums of its files by their names inside the table's folder."""

    version: int
    manifest: bytes
    sums: dict[str, str]

    @property
    def identity(self) -> str:
        """Of the version."""
        return identity_of(self.version, self.manifest)

    @classmethod
    def read(cls, folder: Path) -> Seal | None:
        """That of the index in a folder; None when there is none, or not a whole one.

        OSError when the system doesn't let one read it: there may be one, and its sums must not be made up.
        """
        try:
            content = (folder / NAME).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            start = len(_MAGIC) + 16
            if content[:start] not in (
                magic + digest(content[start:]) for magic in (_MAGIC, _MAGIC_OF_OLD_SUMS)
            ):
                return None
            fields = json.loads(content[start:])
            return cls(int(fields["version"]), base64.b64decode(fields["manifest"]), dict(fields["sums"]))
        except (ValueError, KeyError, TypeError):
            return None

    def save(self, folder: Path) -> None:
        """Put it in the place of the one before, in one step and on disk."""
        manifest = base64.b64encode(self.manifest).decode()
        text = json.dumps({"version": self.version, "sums": self.sums, "manifest": manifest}).encode()
        write_file(folder / NAME, _MAGIC + digest(text) + text)

    def renewed(self, table: Path, most: int) -> dict[str, str]:
        """The checksums, those of the old kind by the present kind for files that have what they had.

        most : bytes that are read for it; what is more waits for the next time.
        """
        sums = dict(self.sums)
        for name, total in self.sums.items():
            length = int(total.partition("-")[0])
            if is_of_old_kind(total) and length <= most:
                most -= length
                with suppress(OSError):
                    sums[name] = renewed(table / name, total)
        return sums

    def missing(self, table: Path) -> list[str]:
        """Files of the version that the table lacks, or that have another length; OSError as below."""
        return [n for n, total in self.sums.items() if _length(table / n) != int(total.partition("-")[0])]

    def differs(self, table: Path, name: str) -> str | None:
        """Why a file isn't what was written; None when it is, or when that was not noted.

        Said is only what was read twice, the second time from the disk. OSError when the system doesn't let
        one read it: that says nothing about the file.
        """
        path, reason = table / name, None
        for _ in range(2 if name in self.sums else 0):
            try:
                if checksum_of_file(path, like=self.sums[name]) == self.sums[name]:
                    return None
                reason = "its content has changed"
                forget_what_was_read(path)
            except FileNotFoundError:
                reason = "it is gone"
        return reason


def _length(path: Path) -> int | None:
    try:
        return os.stat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
