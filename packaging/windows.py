"""The archive for Windows: Python, sketchseek and all that it needs in one folder, nothing to install.

    python packaging/windows.py --python python-3.13-embed-amd64.zip --packages FOLDER --launcher t64.exe
    --out dist

Python is its own embeddable archive; the packages are what `pip install --target FOLDER` put there on
Windows; the launcher is the one that pip makes its commands of: a program that reads, from a zip at its own
end, which Python to run beside it, and what.
"""

from __future__ import annotations

import argparse
import io
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = "import sys\nfrom sketchseek.cli import main\nsys.exit(main())\n"
BESIDE = b"#!<launcher_dir>\\python.exe\r\n"


def main() -> int:
    """Write the archive."""
    parser = argparse.ArgumentParser(description="Put together the archive for Windows.")
    parser.add_argument("--python", type=Path, required=True, help="the embeddable archive of Python")
    parser.add_argument("--packages", type=Path, required=True, help="the folder with the packages")
    parser.add_argument(
        "--launcher", type=Path, required=True, help="pip's launcher for the console, t64.exe"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"sketchseek-{version}-windows-x64.zip"
    put_together(path, args.python, args.packages, args.launcher)
    print(path)
    return 0


def put_together(path: Path, python: Path, packages: Path, launcher: Path) -> None:
    """Everything below one folder, `sketchseek`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with zipfile.ZipFile(python) as embedded:
            for name in embedded.namelist():
                content = embedded.read(name)
                if name.endswith("._pth"):  # where that Python looks for modules, and nowhere else
                    content = content.rstrip() + b"\r\npackages\r\n"
                archive.writestr(f"sketchseek/{name}", content)
        for file in sorted(packages.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                archive.write(file, f"sketchseek/packages/{file.relative_to(packages).as_posix()}")
        archive.writestr("sketchseek/sketchseek.exe", command(launcher.read_bytes()))


def command(launcher: bytes) -> bytes:
    """A program that starts sketchseek with the Python beside it."""
    script = io.BytesIO()
    with zipfile.ZipFile(script, "w") as archive:
        archive.writestr("__main__.py", START)
    return launcher + BESIDE + script.getvalue()


if __name__ == "__main__":
    sys.exit(main())
