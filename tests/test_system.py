"""Every system's way of doing things, with the system's own calls replaced; and that nobody else has any."""

from __future__ import annotations

import ast
import errno
import io
import multiprocessing
import multiprocessing.connection
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import Any

import pytest

from sketchseek import system

PACKAGE = Path(system.__file__).parent
MODULES = {
    "fcntl",
    "resource",
    "termios",
    "tty",
    "pty",
    "pwd",
    "grp",
    "posix",
    "syslog",
    "msvcrt",
    "winreg",
    "_winapi",
}
ATTRIBUTES = {
    "os": {
        "fork",
        "forkpty",
        "uname",
        "getuid",
        "geteuid",
        "setpriority",
        "nice",
        "sched_getaffinity",
        "pread",
    }
    | {"pwrite", "posix_fadvise", "sysconf", "killpg", "setsid", "mkfifo", "statvfs", "startfile"}
    | {"O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_DIRECTORY", "name"},
    "signal": {
        "setitimer",
        "SIGKILL",
        "SIGPROF",
        "SIGALRM",
        "SIGHUP",
        "SIGUSR1",
        "SIGBREAK",
        "pthread_sigmask",
    },
    "sys": {"platform", "getwindowsversion"},
    "socket": {"socketpair", "AF_UNIX"},
}
WORDS = {"pass_fds", "process_group", "preexec_fn", "start_new_session", "creationflags", "startupinfo"}


def of_one_system(source: str) -> list[str]:
    """What a module takes that not every system has."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in MODULES]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            taken = ATTRIBUTES.get(node.module or "", set())
            found += [alias.name for alias in node.names if alias.name in taken or node.module in MODULES]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += (
                [f"{node.value.id}.{node.attr}"] if node.attr in ATTRIBUTES.get(node.value.id, ()) else []
            )
        elif isinstance(node, ast.keyword) and node.arg in WORDS:
            found.append(node.arg)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/proc/")
        ):
            found.append(node.value)
    return found


def test_one_module_knows_the_operating_system() -> None:
    assert of_one_system(
        "import fcntl\nfrom os import fork\nos.uname()\nopen('/proc/self/statm')\nf(pass_fds=1)"
    )
    found = {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != Path(system.__file__) and (names := of_one_system(path.read_text()))
    }
    assert found == {}


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Windows, as far as it is asked: its modules record what they are asked for."""
    asked: list[Any] = []
    answers: list[OSError | None] = []

    def locking(descriptor: int, mode: int, count: int) -> None:
        asked.append((mode, os.lseek(descriptor, 0, os.SEEK_CUR), count))
        answer = answers.pop(0) if answers else None
        if answer is not None:
            raise answer

    class Function:
        def __init__(self, name: str) -> None:
            self.name, self.restype, self.argtypes = name, None, None

        def __call__(self, *given: Any) -> int:
            asked.append((self.name, *given))
            if self.name == "K32GetProcessMemoryInfo":
                given[1][1], given[1][2] = 3000, 2000
            return 7

    class Kernel:
        def __getattr__(self, name: str) -> Function:
            setattr(self, name, Function(name))
            return self.__dict__[name]  # type: ignore[no-any-return]

    import ctypes

    msvcrt = SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0)
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=Kernel()), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(system, "_LOCK_PAUSE_S", 0)
    return SimpleNamespace(asked=asked, answers=answers)


def test_windows_locks_one_byte_and_waits_for_it(windows: Any, tmp_path: Path) -> None:
    windows.answers[:] = [OSError(errno.EACCES, "taken"), OSError(errno.EDEADLK, "taken"), None]
    with (tmp_path / "lock").open("w+b") as file:
        file.seek(5)
        system.lock(file.fileno())
        assert windows.asked == [(2, 0, 1)] * 3
        system.unlock(file.fileno())
        assert windows.asked[3:] == [(0, 0, 1)]
        windows.answers[:] = [OSError(errno.EBADF, "not a file")]
        with pytest.raises(OSError, match="not a file"):
            system.lock(file.fileno())


def test_windows_syncs_files_that_it_may_write_to_and_no_folder(
    windows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.write(descriptor, b"x")))
    (tmp_path / "file").write_bytes(b"kept")
    system.sync(tmp_path / "file")
    system.sync(tmp_path)
    system.forget_what_was_read(tmp_path / "file")
    assert synced == [1], "a descriptor that can be written to, once"


def test_windows_limits_a_process_by_a_job(windows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.time, "process_time", lambda: 2.0)
    limits = system.Limits(5 << 30)
    limits.allow(10)
    limits.allow(0)
    names = [call[0] for call in windows.asked]
    assert names.count("AssignProcessToJobObject") == 1
    given = [call[3] for call in windows.asked if call[0] == "SetInformationJobObject"]
    assert [len(one) for one in given] == [144] * 3, "as Windows has it on 64 bits"
    times = [struct.unpack_from("<q", one)[0] for one in given]
    flags = [struct.unpack_from("<I", one, 16)[0] for one in given]
    assert times == [0, 120_000_000, 0]
    assert flags == [0x500, 0x502, 0x500]
    assert {struct.unpack_from("<Q", one, 112)[0] for one in given} == {5 << 30}
    assert system.ended_by_time(1816)
    assert not system.ended_by_time(1)
    assert not system.ended_by_system(1)


def test_windows_starts_a_child_with_one_handle(windows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}

    class Far:
        def fileno(self) -> int:
            return 44

        def __enter__(self) -> Far:
            return self

        def __exit__(self, *_: object) -> None:
            started["closed"] = True

    near = SimpleNamespace(close=lambda: started.setdefault("near closed", True))
    monkeypatch.setattr(multiprocessing, "Pipe", lambda: (near, Far()))
    monkeypatch.setattr(
        os, "set_handle_inheritable", lambda *given: started.update(given=given), raising=False
    )
    monkeypatch.setattr(subprocess, "STARTUPINFO", lambda **given: given, raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 512, raising=False)
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **given: started.update(words=words, **given))
    _, end = system.start_child(lambda number: ["python", str(number)], {"A": "b"})
    assert end is near
    assert started["words"] == (["python", "44"],)
    assert started["startupinfo"] == {"lpAttributeList": {"handle_list": [44]}}
    assert started["creationflags"] == 512
    assert started["given"] == (44, True)
    assert started["closed"]
    monkeypatch.setattr(
        multiprocessing.connection, "PipeConnection", lambda number: ("end", number), raising=False
    )
    assert system.connection(44) == ("end", 44)  # type: ignore[comparison-overlap]

    def fails(*_: object, **__: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "Popen", fails)
    with pytest.raises(OSError, match="no memory"):
        system.start_child(lambda number: [], {})
    assert started["near closed"]


def test_windows_counts_the_time_of_a_program(windows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    program = SimpleNamespace(wait=lambda: 3, _handle=55)
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **given: program)

    def times(handle: int, *places: Any) -> int:
        for place, value in zip(places, (10**17, 10**17, 2_500_000, 12_500_000), strict=True):
            ctypes.cast(place, ctypes.POINTER(ctypes.c_uint64))[0] = value
        windows.asked.append(handle)
        return 1

    ctypes.windll.kernel32.GetProcessTimes = times  # type: ignore[attr-defined]
    assert system.processor_time(["python"]) == (3, 1.5)
    assert windows.asked == [55]


def test_windows_figures_and_folders(windows: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (system.peak_bytes(), system.resident_bytes()) == (3000, 2000)
    assert windows.asked[-1][3] == 72
    assert system.open_files(4096) == 4096
    assert system.processors() == (os.cpu_count() or 1)
    system.usual_priority()
    assert windows.asked[-1] == ("SetPriorityClass", 7, 0x20)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCALAPPDATA", "C:\\Users\\Zoë\\AppData\\Local")
    assert PureWindowsPath(system.cache_folder()).drive == "C:"
    assert system.data_folder() == system.cache_folder()
    assert system.ask_terminal("?", b"c", 0.1) == b""
    (tmp_path / "file").write_bytes(b"0123456789")
    with (tmp_path / "file").open("rb") as file:
        assert system.read_at(file.fileno(), 3, 4) == b"456"


def test_windows_shows_a_file_and_does_not_believe_explorer(
    windows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "C:\\Bilder (2)\\Zoë, 'am' Meer & Strand.png"
    (command,) = system.reveal_commands(path)
    assert command == f'explorer /select,"{path}"'
    assert system.can_reveal()
    given: list[Any] = []

    def start(*words: Any, **options: Any) -> Any:
        given.append((words, options))
        return SimpleNamespace(wait=lambda seconds: 1)

    monkeypatch.setattr(subprocess, "Popen", start)
    assert system.runs(command, 1.0)
    assert "start_new_session" not in given[0][1]


def test_macos_has_its_own_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=123))
    assert system.resident_bytes() == system.peak_bytes() == 123, "bytes there, and kilobytes elsewhere"
    assert system.cache_folder() == Path.home() / "Library" / "Caches"
    assert system.data_folder() == Path.home() / "Library" / "Application Support"
    assert system.reveal_commands("/a/b.png") == [["open", "-R", "/a/b.png"]]
    limited: list[int] = []
    monkeypatch.setattr(resource, "setrlimit", lambda which, _: limited.append(which))
    system.Limits(1 << 30)
    assert limited == [resource.RLIMIT_CORE], "its limit on address space is none"
    assert system.processors() == (os.cpu_count() or 1)
    assert system.processor_name()


def test_this_system_answers() -> None:
    assert system.resident_bytes() > 0
    assert system.peak_bytes() > 0
    assert system.processors() > 0
    assert system.open_files(64) >= 64
    assert system.processor_time([sys.executable, "-c", "raise SystemExit(3)"])[0] == 3
    assert system.processor_time([sys.executable, "-c", "sum(range(300_000))"])[1] > 0
    assert system.how_it_ended(3) == "exit status 3"
    assert system.how_it_ended(-signal.SIGTERM) == "SIGTERM"
    assert system.how_it_ended(-250) == "signal 250"


NAMES = ("mug.png", "Zoë.png", "猫.png", "\udce9 no text.png", "a\tb\x1b[31m.png", "x" * 300)


@pytest.mark.parametrize("encoding", ["utf-8", "cp437", "cp1252", "cp932", "ascii", "utf-16"])
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_any_console_can_be_told_any_name(name: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sketchseek.cli import main

    console = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stderr", console)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert main(["search", name, "--index", "no-index"]) == 1
    console.seek(0)
    assert "sketchseek: " in console.read()


WINDOWS_PATHS = {
    "C:\\Users\\zoe\\Pictures\\mug.png": ("C:\\Users\\zoe\\Pictures", "mug.png"),
    "\\\\nas\\photos\\2024\\a b.jpg": ("\\\\nas\\photos\\2024", "a b.jpg"),
    "\\\\?\\D:\\" + "long\\" * 60 + "name.jpg": ("\\\\?\\D:\\" + "long\\" * 59 + "long", "name.jpg"),
}


@pytest.mark.parametrize("path", WINDOWS_PATHS)
def test_windows_paths_are_no_addresses_of_objects(path: str) -> None:
    from sketchseek.sources.objects import is_object

    assert not is_object(path.encode())
    assert "://" not in path
    assert os.fsdecode(os.fsencode(path)) == path
