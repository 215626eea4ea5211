"""The engine and its module for processors and systems that are not this one: do they compile and link?

    make cross

By Clang out of the package `ziglang`, which brings the headers and stub libraries of Linux and macOS. The
results lie in build/cross/; nothing of them is run here.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = {
    "linux-arm64": ("aarch64-linux-gnu.2.17", "Linux", "aarch64", b"\x7fELF\x02\x01"),
    "macos-arm64": ("aarch64-macos", "Darwin", "arm64", b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01"),
}
"""Of each: what zig calls it, what CMake calls its system and processor, and how a file for it begins."""


def main() -> int:
    """Build for every target, or for those named."""
    for name in sys.argv[1:] or TARGETS:
        print(name, build(name))
    return 0


def build(name: str) -> Path:
    """The module for a target; an error where it does not compile, link, or is for something else."""
    target, system, processor, begins = TARGETS[name]
    folder = ROOT / "build" / "cross" / name
    folder.mkdir(parents=True, exist_ok=True)
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_SYSTEM_NAME": system,
        "CMAKE_SYSTEM_PROCESSOR": processor,
        "CMAKE_OSX_SYSROOT": "",
        "CMAKE_CXX_COMPILER": script(folder / "c++", f"c++ -target {target}"),
        "CMAKE_AR": script(folder / "ar", "ar"),
        "CMAKE_RANLIB": script(folder / "ranlib", "ranlib"),
        "CMAKE_INSTALL_NAME_TOOL": "true",  # nothing is installed
        "Python_EXECUTABLE": sys.executable,
    }
    given = [f"-D{key}={value}" for key, value in options.items()]
    run(["cmake", "-S", str(ROOT), "-B", str(folder), *given])
    run(["cmake", "--build", str(folder)])
    (module,) = folder.glob("_engine*.so")
    with module.open("rb") as file:
        if not file.read(len(begins)) == begins:
            raise SystemExit(f"{module} is no module for {name}.")
    return module


def script(path: Path, tool: str) -> Path:
    """A program that is one of zig's: CMake takes no words after the name of a tool.

    Two words are for Apple's linker alone: the file in which nanobind names Python's own symbols, which the
    interpreter brings, and "bundle", on which zig's linker breaks; a library links the same parts.
    """
    path.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do\n'
        "  shift\n"
        '  case "$word" in -Wl,@*.sym) word=-Wl,-undefined,dynamic_lookup ;; -bundle) word=-shared ;; esac\n'
        '  set -- "$@" "$word"\n'
        "done\n"
        f'exec "{sys.executable}" -m ziglang {tool} "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def run(command: list[str]) -> None:
    """Run it, or end with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


if __name__ == "__main__":
    sys.exit(main())
