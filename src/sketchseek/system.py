"""The operating system: what Linux, macOS and Windows do each in a way of its own.

Locks, syncing to disk, signals, child processes and their limits, figures of memory, folders of the user, and
how a file manager is opened. Nothing else in the package asks which system it runs on, or imports what only
one of them has (tests/test_system.py holds it).
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from multiprocessing.connection import Connection

READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
"""How a file is opened to be read: no child inherits it, and no byte of it is changed."""
NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""The same for what may be no file: a pipe without a writer, a terminal."""
WRITE = READ | os.O_RDWR | os.O_CREAT
INTERRUPTS: tuple[int, ...] = (
    signal.SIGINT,
    signal.SIGTERM,
    *([signal.Signals["SIGBREAK"]] if hasattr(signal, "SIGBREAK") else []),  # a console that is closed
)
_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}
_NO_FULL_SYNC_HERE = {errno.ENOTSUP, errno.EINVAL, errno.ENOTTY}  # network drives, drives of other systems
_TAKEN = {errno.EACCES, errno.EDEADLK}  # what Windows says of a lock that is held
_LOCK_PAUSE_S = 0.02
_OUT_OF_TIME = 1816  # ERROR_NOT_ENOUGH_QUOTA: how a job object ends a process
_JOB_MEMORY, _JOB_TIME, _JOB_DIES = 0x100, 0x2, 0x400  # JOB_OBJECT_LIMIT_*
_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_NORMAL_PRIORITY = 0x20


# Locks and disks


def lock(descriptor: int) -> None:
    """Wait for the only lock on a file; it goes with the process. A file system without locks gives none."""
    if sys.platform == "win32":
        import msvcrt

        while True:
            os.lseek(descriptor, 0, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
            time.sleep(_LOCK_PAUSE_S)
    else:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS_HERE:
                raise


def unlock(descriptor: int) -> None:
    """Let others have it. What can't be unlocked was not locked."""
    with suppress(OSError):
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_UN)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk.

    On macOS `fsync` ends when the drive has the data in its cache; F_FULLFSYNC waits until it is kept.
    Windows syncs what may be written to only (FlushFileBuffers), and names by itself.
    """
    if sys.platform == "win32":
        if path.is_dir():
            return
        descriptor = os.open(path, os.O_RDWR | READ)
    else:
        descriptor = os.open(path, READ)
    try:
        _sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _sync_descriptor(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC_HERE:
                raise
    os.fsync(descriptor)


def forget_what_was_read(path: Path) -> None:
    """Have the next read of a file come from its disk, where the system lets one say so."""
    if sys.platform == "linux":
        with suppress(OSError):
            descriptor = os.open(path, READ)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def read_at(descriptor: int, count: int, at: int) -> bytes:
    """Bytes of a file from a place on. Windows moves the descriptor, which one thread then has alone."""
    if sys.platform == "win32":
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.read(descriptor, count)
    return os.pread(descriptor, count, at)


# Processes


def end_politely() -> None:
    """Let a request to end be what Ctrl-C is; only in the main thread."""
    for number in INTERRUPTS:
        signal.signal(number, signal.default_int_handler)


def processors() -> int:
    """How many this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usual_priority() -> None:
    """No longer yield to everything else, where that is allowed."""
    if sys.platform == "win32":
        _kernel32().SetPriorityClass(_kernel32().GetCurrentProcess(), _NORMAL_PRIORITY)
    else:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)


def start_child(
    command: Callable[[int], list[str]], environment: dict[str, str]
) -> tuple[subprocess.Popen[bytes], Connection]:
    """A program that has a connection to this one, and our end of it.

    command : of the number that `connection` makes the other end of. Ctrl-C is not for the program.
    """
    import subprocess

    nothing: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    if sys.platform == "win32":
        from multiprocessing import Pipe

        near, far = Pipe()
        with far:
            os.set_handle_inheritable(far.fileno(), True)
            startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [far.fileno()]})
            try:
                process = subprocess.Popen(
                    command(far.fileno()),
                    startupinfo=startup,
                    creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
                    env=environment,
                    **nothing,
                )
            except BaseException:
                near.close()
                raise
        return process, cast("Connection", near)
    import socket
    from multiprocessing.connection import Connection

    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(
                command(theirs.fileno()),
                pass_fds=[theirs.fileno()],
                process_group=0,
                env=environment,
                **nothing,
            )
        except BaseException:
            ours.close()
            raise
    return process, Connection(ours.detach())


def processor_time(command: list[str]) -> tuple[int, float]:
    """Run a program to its end, its output unread: its exit status, and the seconds of processor time that it
    took."""
    import subprocess

    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    if sys.platform == "win32":
        import ctypes

        status = process.wait()
        times = (ctypes.c_uint64 * 4)()  # start, end, in the kernel, in the program; in units of 100 ns
        each = [ctypes.byref(times, 8 * i) for i in range(4)]
        _kernel32().GetProcessTimes(int(cast(Any, process)._handle), *each)
        return status, (times[2] + times[3]) / 1e7
    _, ended, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(ended)
    return process.returncode, usage.ru_utime + usage.ru_stime


def connection(number: int) -> Connection:
    """The other end of what `start_child` made, in the child."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return cast("Connection", PipeConnection(number))
    from multiprocessing.connection import Connection

    return Connection(number)


class Limits:
    """What this process may take, from now on: bytes of memory, and processor time for each piece of work.

    A process that goes beyond the time is ended by the system, whatever library it is in.
    macOS has no limit on memory that holds.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._job: Any = None
        if sys.platform == "win32":
            kernel = _kernel32()
            self._job = kernel.CreateJobObjectW(None, None)
            self._set_job(0.0)
            kernel.AssignProcessToJobObject(self._job, kernel.GetCurrentProcess())
        else:
            import resource

            if sys.platform == "linux":
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def allow(self, seconds: float) -> None:
        """So much processor time from now on; 0 for as much as it takes."""
        if sys.platform == "win32":
            self._set_job(seconds)
        else:
            signal.setitimer(signal.ITIMER_PROF, seconds)

    def _set_job(self, seconds: float) -> None:
        """Windows counts from the process's start, in units of 100 ns."""
        until = round((time.process_time() + seconds) * 1e7) if seconds else 0
        limits = _job_limits(self._memory, until)
        _kernel32().SetInformationJobObject(self._job, _EXTENDED_LIMITS, limits, len(limits))


def _job_limits(memory: int, until: int) -> bytes:
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION, on 64 bits: the most memory, and processor time if not 0."""
    import struct

    flags = _JOB_MEMORY | _JOB_DIES | (_JOB_TIME if until else 0)
    basic = struct.pack("<qqI4xQQI4xQII", until, 0, flags, 0, 0, 0, 0, 0, 0)
    return basic + struct.pack("<6Q", *[0] * 6) + struct.pack("<4Q", memory, 0, 0, 0)


def ended_by_time(status: int) -> bool:
    """Whether a process ended because it took longer than `Limits.allow` said."""
    if sys.platform == "win32":
        return status == _OUT_OF_TIME
    return status == -signal.SIGPROF


def ended_by_system(status: int) -> bool:
    """Whether the system ended a process that we did not end: it has run out of memory."""
    if sys.platform == "win32":
        return False
    return status == -signal.SIGKILL


def how_it_ended(status: int) -> str:
    """How a process ended, from its exit status: negative for a signal."""
    try:
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"
    except ValueError:
        return f"signal {-status}"


# Figures


def resident_bytes() -> int:
    """Memory of this process now; its peak on macOS."""
    if sys.platform == "win32":
        return _working_set()[1]
    if sys.platform == "linux":
        with suppress(OSError), open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak_bytes()


def peak_bytes() -> int:
    """The most memory that this process had."""
    if sys.platform == "win32":
        return _working_set()[0]
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _working_set() -> tuple[int, int]:
    """Of Windows' PROCESS_MEMORY_COUNTERS the peak and the present one."""
    import ctypes

    counters = (ctypes.c_size_t * 10)()  # two 32-bit numbers, then sizes
    size = ctypes.sizeof(counters) - ctypes.sizeof(ctypes.c_size_t)
    kernel = _kernel32()
    kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), counters, size)
    return int(counters[1]), int(counters[2])


def open_files(wanted: int) -> int:
    """How many files may be open at once, raised to `wanted` if it may be. Windows has no such limit."""
    if sys.platform == "win32":
        return wanted
    import resource

    unlimited = resource.RLIM_INFINITY
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wished = wanted if most == unlimited else min(most, wanted)
    if now != unlimited and now < wished:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wished, most))
            now = wished
    return wanted if now == unlimited else now


def processor_name() -> str:
    """What the processor is called, as well as the system tells."""
    if sys.platform == "linux":
        with suppress(OSError):
            for line in Path("/proc/cpuinfo").read_text().splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    import platform

    return platform.processor() or platform.machine()


# Folders, the terminal and the desktop


def cache_folder() -> Path:
    """Where a user's programs keep what they can make again: $XDG_CACHE_HOME, else the system's own."""
    return _users_folder("XDG_CACHE_HOME", ".cache", "Library/Caches")


def data_folder() -> Path:
    """Where a user's programs keep what they were given: $XDG_DATA_HOME, else the system's own."""
    return _users_folder("XDG_DATA_HOME", ".local/share", "Library/Application Support")


def _users_folder(variable: str, linux: str, macos: str) -> Path:
    if given := os.environ.get(variable):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / (macos if sys.platform == "darwin" else linux)


def ask_terminal(question: str, ends: bytes, patience_s: float) -> bytes:
    """What the terminal answers; nothing where there is none, or where the system can't ask it."""
    if sys.platform == "win32":
        return b""
    import select
    import termios
    import tty

    try:
        if not sys.stdin.isatty():
            return b""
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):
        return b""
    answer = b""
    try:
        tty.setcbreak(descriptor)
        sys.stdout.write(question)
        sys.stdout.flush()
        while not answer.endswith(ends) and select.select([descriptor], [], [], patience_s)[0]:
            answer += os.read(descriptor, 64)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
    return answer


def can_reveal() -> bool:
    """Whether there is a desktop here, with something that shows files."""
    if sys.platform in ("darwin", "win32"):
        return True
    import shutil

    desktop = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    return bool(desktop) and any(map(shutil.which, ("dbus-send", "xdg-open")))


def reveal_commands(path: str) -> list[list[str] | str]:
    """Ways to show a file in its folder, the best first. The path is absolute: it can't be an option."""
    if sys.platform == "win32":
        return [f'explorer /select,"{path}"']  # by its own rules for quotes, and no name has one
    if sys.platform == "darwin":
        return [["open", "-R", path]]
    manager = "org.freedesktop.FileManager1"
    show = ["dbus-send", "--session", "--print-reply", f"--dest={manager}", "--type=method_call"]
    select = [f"/{manager.replace('.', '/')}", f"{manager}.ShowItems"]
    return [
        [*show, *select, f"array:string:{Path(path).as_uri()}", "string:"],
        ["xdg-open", os.path.dirname(path)],
    ]


def runs(command: list[str] | str, seconds: float) -> bool:
    """Whether a command ends well, or still runs after so long. Windows' Explorer never says that it did."""
    import subprocess

    nothing = subprocess.DEVNULL
    alone = {} if sys.platform == "win32" else {"start_new_session": True}
    try:
        process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, **alone)  # type: ignore[call-overload]
    except OSError:
        return False
    with suppress(subprocess.TimeoutExpired):
        return bool(process.wait(seconds) == 0 or sys.platform == "win32")
    return True


def _kernel32() -> Any:
    """Windows' own functions; handles are as wide as pointers."""
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle, number = ctypes.c_void_p, ctypes.c_uint32
    kernel.CreateJobObjectW.restype = kernel.GetCurrentProcess.restype = handle
    kernel.AssignProcessToJobObject.argtypes = [handle, handle]
    kernel.SetPriorityClass.argtypes = [handle, number]
    kernel.SetInformationJobObject.argtypes = [handle, ctypes.c_int, ctypes.c_char_p, number]
    kernel.K32GetProcessMemoryInfo.argtypes = [handle, handle, number]
    return kernel
