"""What a wheel carries: a bill of materials (CycloneDX) and the licences, beside the wheel.

    python packaging/contents.py dist/*.whl

Each file that is no source is named with its hash; whatever others wrote of it, with its licence. A compiled
or learned file of a kind that nobody has said this of is an error: somebody has to.
"""

from __future__ import annotations

import argparse
import email
import fnmatch
import hashlib
import json
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

COMPILED = ("*.so", "*.pyd", "*.dylib", "*.dll")
PLAIN = (".py", ".pyi", ".json", ".css", ".html", ".js", ".md", ".svg", ".typed", ".txt")
"""Ours, and to be read as it is."""


@dataclass(frozen=True)
class Part:
    """What others wrote, and where in a wheel it ends up.

    within : patterns of files. license : as SPDX has it.
    """

    name: str
    license: str
    within: tuple[str, ...]
    why: str


PARTS = (
    Part("nanobind", "BSD-3-Clause", COMPILED, "binds the engine to Python"),
    Part("robin-map", "MIT", COMPILED, "tables in nanobind"),
    Part(
        "GNU C++ library",
        "GPL-3.0-or-later WITH GCC-exception-3.1",
        ("*-linux-gnu.so", "*.abi3.so"),
        "linked in where GCC compiled it: Linux",
    ),
    Part(
        "LLVM libc++, libc++abi, compiler-rt",
        "Apache-2.0 WITH LLVM-exception",
        ("*.so", "*.pyd", "*.wasm"),
        "linked in where Clang compiled it: wheels built by `make wheel`, and the engine for browsers",
    ),
    Part("wasi-libc", "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", ("*.wasm",), "C library"),
    Part("WordNet 3.0", "LicenseRef-WordNet", ("*/words.bin",), "which words mean what"),
    Part("Unicode CLDR 48", "Unicode-3.0", ("*/words.bin",), "names of emoji in five languages"),
    Part("all-MiniLM-L6-v2", "Apache-2.0", ("*/words.bin",), "distances computed with it; no weights"),
    Part("EfficientNet-Lite2", "Apache-2.0", ("*/classes.npz",), "its last layer, changed"),
    Part("musl", "MIT", ("*.wasm",), "parts of it in wasi-libc"),
)
LEARNED = ("*.npz", "*.onnx", "*.bin")
"""What training/ learned: the project's own, under its licence."""


def main() -> int:
    """Write both beside each wheel."""
    parser = argparse.ArgumentParser(description="Say what wheels carry.")
    parser.add_argument("wheels", type=Path, nargs="+")
    for wheel in parser.parse_args().wheels:
        for suffix, text in {".cdx.json": bill(wheel), ".licenses.txt": licenses(wheel)}.items():
            path = wheel.with_name(wheel.name + suffix)
            path.write_text(text)
            print(path)
    return 0


def files(wheel: Path) -> dict[str, bytes]:
    """The content of each file that is no plain text, by name; an end with a sentence at a strange one."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".dist-info/" in name or name.endswith(("/", *PLAIN)):
                continue
            if not matches(name, (*COMPILED, "*.wasm", *LEARNED)):
                raise SystemExit(
                    f"{wheel.name} carries {name}, and packaging/contents.py does not know whose it is."
                )
            found[name] = archive.read(name)
    return found


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether the name is like one of them."""
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def parts(wheel: Path) -> list[Part]:
    """What others wrote of this wheel."""
    names = files(wheel)
    return [part for part in PARTS if any(matches(name, part.within) for name in names)]


def metadata(wheel: Path) -> email.message.Message:
    """What the wheel says of itself."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def bill(wheel: Path) -> str:
    """The bill of materials, in JSON."""
    own, said = "pkg:pypi/sketchseek", metadata(wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    components = [
        {
            "type": "file",
            "bom-ref": f"file:{name}",
            "name": name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
        }
        for name, content in files(wheel).items()
    ] + [
        {
            "type": "library",
            "bom-ref": f"part:{part.name}",
            "name": part.name,
            "licenses": [{"expression": part.license}],
            "description": part.why,
        }
        for part in parts(wheel)
    ]
    subject = {
        "type": "application",
        "bom-ref": own,
        "name": said["Name"],
        "version": said["Version"],
        "licenses": [{"expression": said["License-Expression"]}],
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "properties": [
            {"name": "requires", "value": requirement} for requirement in said.get_all("Requires-Dist", [])
        ],
    }
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": subject},
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [component["bom-ref"] for component in components]}],
    }
    return json.dumps(document, indent=1) + "\n"


def licenses(wheel: Path) -> str:
    """For people: each part, its licence, and what it is there for."""
    said = metadata(wheel)
    lines = [f"{said['Name']} {said['Version']}: {said['License-Expression']}", ""]
    lines += [f"{part.name}: {part.license} ({part.why})" for part in parts(wheel)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
