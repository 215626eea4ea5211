"""Calls of the system that fail, by a library of a few lines that is loaded before all others.

    with faults("read", errno.EIO, 2, ".lance"):   # the next two reads of files so named
        ...

The C compiler makes it; `run_with_faults` starts a program with it. Linux with its usual C library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* SKETCHSEEK_FAULT is "kind errno calls serial part-of-the-name"; another serial begins to count again. */
static atomic_int done, serial_seen = -1;

static int fails(const char *kind, const char *name) {
    const char *said = getenv("SKETCHSEEK_FAULT");
    char which[16], part[256];
    int number, calls, serial;
    if (!said || !*said || !name) return 0;
    if (sscanf(said, "%15s %d %d %d %255s", which, &number, &calls, &serial, part) != 5) return 0;
    if (strcmp(kind, which) || !strstr(name, part)) return 0;
    if (atomic_exchange(&serial_seen, serial) != serial) atomic_store(&done, 0);
    if (atomic_fetch_add(&done, 1) >= calls) return 0;
    errno = number;
    return 1;
}

static int fails_at(const char *kind, int descriptor) {
    const char *said = getenv("SKETCHSEEK_FAULT");
    char link[64], name[4096];
    if (!said || !*said) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int kept = errno;
    ssize_t n = readlink(link, name, sizeof name - 1);
    errno = kept;
    if (n < 0) return 0;
    name[n] = 0;
    return fails(kind, name);
}

#define NEXT(name) ((ssize_t (*)())dlsym(RTLD_NEXT, name))
#define OF_DESCRIPTOR(kind, name, parameters, ...) \
    ssize_t name parameters { return fails_at(kind, d) ? -1 : NEXT(#name)(__VA_ARGS__); }
OF_DESCRIPTOR("read", read, (int d, void *b, size_t n), d, b, n)
OF_DESCRIPTOR("read", pread, (int d, void *b, size_t n, off_t o), d, b, n, o)
OF_DESCRIPTOR("read", pread64, (int d, void *b, size_t n, off_t o), d, b, n, o)
OF_DESCRIPTOR("read", readv, (int d, const struct iovec *v, int n), d, v, n)
OF_DESCRIPTOR("read", preadv, (int d, const struct iovec *v, int n, off_t o), d, v, n, o)
OF_DESCRIPTOR("write", write, (int d, const void *b, size_t n), d, b, n)
OF_DESCRIPTOR("write", pwrite, (int d, const void *b, size_t n, off_t o), d, b, n, o)
OF_DESCRIPTOR("write", pwrite64, (int d, const void *b, size_t n, off_t o), d, b, n, o)
OF_DESCRIPTOR("write", writev, (int d, const struct iovec *v, int n), d, v, n)
int fsync(int d) { return fails_at("sync", d) ? -1 : (int)NEXT("fsync")(d); }
int fdatasync(int d) { return fails_at("sync", d) ? -1 : (int)NEXT("fdatasync")(d); }

#define OPENED(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        return fails("open", path) ? -1 : (int)NEXT(#name)(path, flags, mode); }
#define OPENED_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        return fails("open", path) ? -1 : (int)NEXT(#name)(folder, path, flags, mode); }
OPENED(open) OPENED(open64) OPENED_AT(openat) OPENED_AT(openat64)
#define NAMED(kind, name, of, parameters, ...) \
    int name parameters { return fails(kind, of) ? -1 : (int)NEXT(#name)(__VA_ARGS__); }
NAMED("rename", rename, to, (const char *from, const char *to), from, to)
NAMED("rename", link, to, (const char *from, const char *to), from, to)
NAMED("stat", stat, path, (const char *path, void *out), path, out)
NAMED("stat", stat64, path, (const char *path, void *out), path, out)
NAMED("stat", lstat, path, (const char *path, void *out), path, out)
NAMED("stat", lstat64, path, (const char *path, void *out), path, out)
NAMED("stat", fstatat, path, (int d, const char *path, void *out, int f), d, path, out, f)
NAMED("stat", fstatat64, path, (int d, const char *path, void *out, int f), d, path, out, f)
NAMED("stat", statx, path, (int d, const char *path, int f, unsigned m, void *out), d, path, f, m, out)
"""
KINDS = ("open", "read", "stat", "write", "sync", "rename")
HAS_FAULTS = "faults.so" in os.environ.get("LD_PRELOAD", "")
"""Whether this program has the library."""
_serial = 0


def build(folder: Path) -> Path | None:
    """The library, made in a folder; None where there is no compiler, or not this system's C library."""
    source, library = folder / "faults.c", folder / "faults.so"
    source.write_text(SOURCE)
    command = ["cc", "-shared", "-fPIC", "-O1", "-w", "-std=gnu11", "-o", str(library), str(source), "-ldl"]
    try:
        made = sys.platform == "linux" and subprocess.run(command, check=False).returncode == 0
    except FileNotFoundError:
        return None
    return library if made else None


def environment(library: Path) -> dict[str, str]:
    """In which a program has the library."""
    return {**os.environ, "LD_PRELOAD": str(library)}


@contextmanager
def faults(kind: str, number: int, calls: int, part: str) -> Iterator[None]:
    """In a program that has the library: so many calls fail, for files that have `part` in their names."""
    global _serial  # noqa: PLW0603
    _serial += 1
    os.environ["SKETCHSEEK_FAULT"] = setting(kind, number, calls, part, _serial)
    try:
        yield
    finally:
        del os.environ["SKETCHSEEK_FAULT"]


def setting(kind: str, number: int, calls: int, part: str, serial: int = 0) -> str:
    """What the library reads of its environment."""
    assert kind in KINDS
    return f"{kind} {number} {calls} {serial} {part}"


def run_again_with_faults(words: Sequence[str], folder: Path) -> int | None:
    """Run this program with the library; None where it can't be made."""
    library = build(folder)
    if library is None:
        return None
    return subprocess.run([sys.executable, *words], env=environment(library), check=False).returncode
