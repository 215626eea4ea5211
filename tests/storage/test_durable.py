from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from sketchseek.storage.durable import sync_files


def test_macos_is_asked_to_empty_the_drives_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []
    plain: list[int] = []
    answer: OSError | None = None

    def control(descriptor: int, command: int) -> int:
        asked.append((command, os.fstat(descriptor).st_ino == (tmp_path / "file").stat().st_ino))
        if answer is not None:
            raise answer
        return 0

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", plain.append)
    (tmp_path / "file").write_bytes(b"kept")

    sync_files([tmp_path / "file"])
    assert asked == [(51, True), (51, False)], "the file, then the folder that holds its name"
    assert plain == []

    answer = OSError(errno.ENOTSUP, "not on this drive")
    sync_files([tmp_path / "file"])
    assert len(plain) == 2

    answer = OSError(errno.EIO, "the drive failed")
    with pytest.raises(OSError, match="the drive failed"):
        sync_files([tmp_path / "file"])
