"""What other channels install a release from: a Homebrew formula and a winget manifest.

    python packaging/channels.py dist --from URL [--out dist/channels]

Written from the files of the release, with their hashes; URL is the folder that they are downloaded from. The
formula installs the wheel for the system and the processor into an environment of its own; the manifest
installs the archive for Windows that `packaging/windows.py` makes.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = "3.13"
"""The Python of the formula: it takes the wheels of the stable ABI."""
EXTRAS = "server,expansion"
IDENTIFIER = "sketchseek.sketchseek"
SYSTEMS = {
    ("macos", "arm"): r"macosx_\d+_\d+_arm64",
    ("macos", "intel"): r"macosx_\d+_\d+_x86_64",
    ("linux", "arm"): r"manylinux_.*aarch64",
    ("linux", "intel"): r"manylinux_.*x86_64",
}
SCHEMA = "1.6.0"  # of winget's manifests


@dataclass(frozen=True)
class Release:
    """The files of a version, and what is said of it everywhere."""

    version: str
    description: str
    license: str
    files: tuple[Path, ...]
    url: str

    @classmethod
    def of(cls, folder: Path, url: str) -> Release:
        """What lies in a folder, called as pyproject.toml calls it."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        words = project["description"], project["license"]
        return cls(project["version"], *words, tuple(sorted(folder.iterdir())), url.rstrip("/"))

    def file(self, pattern: str) -> Path:
        """The one file of this version whose name has the pattern; a sentence ends it where there is none."""
        name = re.compile(rf"sketchseek-{re.escape(self.version)}-{pattern}")
        found = [path for path in self.files if name.fullmatch(path.name)]
        if len(found) != 1:
            raise SystemExit(f"{len(found)} files of the release are called {name.pattern}; one is wanted.")
        return found[0]

    def download(self, pattern: str) -> tuple[str, str]:
        """The address of that file, and its SHA-256."""
        path = self.file(pattern)
        return f"{self.url}/{path.name}", hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    """Write both."""
    parser = argparse.ArgumentParser(description="Write a Homebrew formula and a winget manifest.")
    parser.add_argument("files", type=Path, help="the folder with the files of the release")
    parser.add_argument("--from", dest="url", required=True, help="where they are downloaded from")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "channels")
    args = parser.parse_args()
    release = Release.of(args.files, args.url)
    for name, text in {"sketchseek.rb": formula(release), **manifests(release)}.items():
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / name).write_text(text)
        print(args.out / name)
    return 0


def formula(release: Release) -> str:
    """The formula, in Ruby."""
    lines = [
        "class Sketchseek < Formula",
        "  include Language::Python::Virtualenv",
        f'  desc "{release.description.rstrip(".")}"',
        f'  homepage "{release.url.split("/releases/")[0]}"',
        f'  version "{release.version}"',
        f'  license "{release.license}"',
    ]
    for system in ("macos", "linux"):
        lines.append(f"  on_{system} do")
        for processor in ("arm", "intel"):
            url, digest = release.download(rf"cp312-abi3-{SYSTEMS[system, processor]}\.whl")
            lines += [
                f"    on_{processor} do",
                f'      url "{url}", using: :nounzip',
                f'      sha256 "{digest}"',
                "    end",
            ]
        lines.append("  end")
    lines += [
        f'  depends_on "python@{PYTHON}"',
        "  def install",
        f'    system "python{PYTHON}", "-m", "venv", libexec',
        '    system libexec/"bin/pip", "install", "--only-binary=:all:",',
        f'           "#{{Dir["*.whl"].first}}[{EXTRAS}]"',
        '    bin.install_symlink libexec/"bin/sketchseek"',
        "  end",
        "  test do",
        '    assert_match version.to_s, shell_output("#{bin}/sketchseek --version")',
        "  end",
        "end",
    ]
    return "\n".join(lines) + "\n"


def manifests(release: Release) -> dict[str, str]:
    """The three files of a winget manifest, by name: the version, where it is, and what is said of it."""
    url, digest = release.download(r"windows-x64\.zip")
    head = f"PackageIdentifier: {IDENTIFIER}\nPackageVersion: {release.version}\n"

    def ends(kind: str) -> str:
        return f"ManifestType: {kind}\nManifestVersion: {SCHEMA}\n"

    installer = (
        "InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n"
        "- RelativeFilePath: sketchseek\\sketchseek.exe\n  PortableCommandAlias: sketchseek\n"
        f"Installers:\n- Architecture: x64\n  InstallerUrl: {url}\n  InstallerSha256: {digest.upper()}\n"
    )
    said = (
        "PackageLocale: en-US\nPublisher: The sketchseek authors\nPackageName: sketchseek\n"
        f"License: {release.license}\nShortDescription: {release.description}\n"
    )
    return {
        f"{IDENTIFIER}.yaml": f"{head}DefaultLocale: en-US\n{ends('version')}",
        f"{IDENTIFIER}.installer.yaml": head + installer + ends("installer"),
        f"{IDENTIFIER}.locale.en-US.yaml": head + said + ends("defaultLocale"),
    }


if __name__ == "__main__":
    sys.exit(main())
