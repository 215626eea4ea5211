"""What a release is made of besides wheels, from made-up files: the channels, the archive, the container."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
WHEELS = ("macosx_11_0_arm64", "macosx_11_0_x86_64", "manylinux_2_28_aarch64", "manylinux_2_28_x86_64")
URL = "https://forge.example/us/sketchseek/releases/download/v1"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"release_{name}", ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files of a release, as far as their names go."""
    folder = tmp_path / "released"
    folder.mkdir()
    for system in WHEELS:
        for python in ("cp311-cp311", "cp312-abi3"):
            (folder / f"sketchseek-{VERSION}-{python}-{system}.whl").write_text(f"{python} {system}")
    (folder / f"sketchseek-{VERSION}-windows-x64.zip").write_text("archive")
    (folder / f"sketchseek-{VERSION}-cp312-abi3-win_amd64.whl").write_text("for pip")
    (folder / f"sketchseek-{VERSION}-cp312-abi3-manylinux_2_28_x86_64.whl.licenses.txt").write_text(
        "beside it"
    )
    return folder


def test_the_formula_has_each_systems_wheel_with_its_hash(files: Path) -> None:
    channels = script("channels")
    text = channels.formula(channels.Release.of(files, URL))
    found = dict(re.findall(r'url "(\S+)", using: :nounzip\n\s+sha256 "([0-9a-f]{64})"', text))
    assert found == {
        f"{URL}/sketchseek-{VERSION}-cp312-abi3-{system}.whl": hashlib.sha256(
            f"cp312-abi3 {system}".encode()
        ).hexdigest()
        for system in WHEELS
    }
    blocks = re.findall(r"on_(arm|intel) do\s+url \S+-(\w+)\.whl", text)
    assert blocks == [("arm" if "arm" in name or "aarch" in name else "intel", name) for name in WHEELS]
    opened = re.findall(r"^\s*(?:class|def|test|on_\w+)\b", text, re.MULTILINE)
    assert len(opened) == len(re.findall(r"^\s*end$", text, re.MULTILINE))
    assert f'version "{VERSION}"' in text


def test_the_manifest_has_the_archive_with_its_hash(files: Path) -> None:
    channels = script("channels")
    made = channels.manifests(channels.Release.of(files, f"{URL}/"))
    said = {name: dict(re.findall(r"^-?\s*(\w+): (.+)$", text, re.MULTILINE)) for name, text in made.items()}
    assert {fields["ManifestType"] for fields in said.values()} == {"version", "installer", "defaultLocale"}
    assert {fields["PackageVersion"] for fields in said.values()} == {VERSION}
    installer = said["sketchseek.sketchseek.installer.yaml"]
    assert installer["InstallerUrl"] == f"{URL}/sketchseek-{VERSION}-windows-x64.zip"
    assert installer["InstallerSha256"] == hashlib.sha256(b"archive").hexdigest().upper()


def test_a_release_that_lacks_a_file_is_refused(files: Path) -> None:
    channels = script("channels")
    (files / f"sketchseek-{VERSION}-cp312-abi3-{WHEELS[0]}.whl").unlink()
    with pytest.raises(SystemExit, match="0 files of the release"):
        channels.formula(channels.Release.of(files, URL))


def test_the_archive_for_windows_starts_the_python_beside_it(tmp_path: Path) -> None:
    windows = script("windows")
    with zipfile.ZipFile(tmp_path / "python.zip", "w") as embedded:
        embedded.writestr("python.exe", b"MZ python")
        embedded.writestr("python313._pth", "python313.zip\r\n.\r\n")
    package = tmp_path / "packages" / "sketchseek"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("made = 'up'")
    (package / "__pycache__" / "x.pyc").write_bytes(b"x")
    (tmp_path / "launcher.exe").write_bytes(b"MZ launcher")
    made = tmp_path / "made.zip"
    windows.put_together(made, tmp_path / "python.zip", tmp_path / "packages", tmp_path / "launcher.exe")
    with zipfile.ZipFile(made) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert set(content) == {
        "sketchseek/python.exe",
        "sketchseek/python313._pth",
        "sketchseek/packages/sketchseek/__init__.py",
        "sketchseek/sketchseek.exe",
    }
    assert content["sketchseek/python313._pth"].split() == [b"python313.zip", b".", b"packages"]
    program = content["sketchseek/sketchseek.exe"]
    assert program.startswith(b"MZ launcher#!<launcher_dir>\\python.exe\r\nPK")
    with zipfile.ZipFile(io.BytesIO(program)) as script_at_its_end:
        assert "sketchseek.cli" in script_at_its_end.read("__main__.py").decode()


def wheel(folder: Path, **more: bytes) -> Path:
    path = folder / "sketchseek-9-cp312-abi3-manylinux_2_28_x86_64.whl"
    said = "Name: sketchseek\nVersion: 9\nLicense-Expression: MIT\nRequires-Dist: numpy>=1\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sketchseek/cli/__init__.py", "pass")
        archive.writestr("sketchseek/shape/engine/_engine.abi3.so", b"compiled")
        archive.writestr("sketchseek/web/engine/sketchseek.wasm", b"for browsers")
        archive.writestr("sketchseek/embeddings/data/efficientnet.npz", b"learned")
        archive.writestr("sketchseek-9.dist-info/METADATA", said)
        archive.writestr("sketchseek-9.dist-info/licenses/LICENSE", "MIT")
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def test_a_wheel_says_what_it_carries_and_by_whose_leave(tmp_path: Path) -> None:
    contents = script("contents")
    document = json.loads(contents.bill(wheel(tmp_path)))
    components: dict[str, Any] = {component["name"]: component for component in document["components"]}
    assert components["sketchseek/shape/engine/_engine.abi3.so"]["hashes"][0]["content"] == (
        hashlib.sha256(b"compiled").hexdigest()
    )
    assert "sketchseek/cli/__init__.py" not in components
    assert components["nanobind"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert {"musl", "wasi-libc", "robin-map"} <= set(components)
    references = {component["bom-ref"] for component in document["components"]}
    assert set(document["dependencies"][0]["dependsOn"]) == references
    assert "nanobind: BSD-3-Clause" in contents.licenses(wheel(tmp_path))


def test_what_nobody_knows_of_is_refused(tmp_path: Path) -> None:
    contents = script("contents")
    with pytest.raises(SystemExit, match=r"carries sketchseek/foreign\.ttf"):
        contents.bill(wheel(tmp_path, **{"sketchseek/foreign.ttf": b"?"}))


def test_everything_in_the_package_is_known(tmp_path: Path) -> None:
    contents = script("contents")
    path = tmp_path / "all.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in (ROOT / "src" / "sketchseek").rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.writestr(file.relative_to(ROOT / "src").as_posix(), b"")
    assert contents.files(path)


def test_nothing_is_published_unless_all_is_green() -> None:
    yaml = pytest.importorskip("yaml")
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    for system in ("ubuntu-24.04,", "ubuntu-24.04-arm", "macos-14", "macos-15-intel", "windows-2022"):
        assert system in text.split("steps:")[0]
    assert "continue-on-error" not in text
    command = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["test-command"]
    assert "{project}/tests" in command.split(), "the whole suite"


def test_what_is_pushed_is_checked_by_the_commands_that_people_type() -> None:
    yaml = pytest.importorskip("yaml")
    made = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())
    assert {"push", "pull_request"} <= set(flow[True])  # `on` is a truth value to YAML 1.1
    typed = [step["run"] for job in flow["jobs"].values() for step in job["steps"] if "run" in step]
    assert {"make lint", "make test"} <= set(typed)
    assert all(line.removeprefix("make ") in made for line in typed)
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    lint = (ROOT / "Makefile").read_text().split("\nlint:")[1].split("\n\n")[0]
    hooks = {hook["id"]: hook["entry"].split() for hook in local["hooks"]}
    linters = re.findall(r"\$\(BIN\)/(\w+(?: (?:check|format))?)", lint)
    assert {"-".join(words.split()) for words in linters} == set(hooks) - {"readme"}
    assert all(entry[0] in (".venv/bin/ruff", ".venv/bin/mypy", "make") for entry in hooks.values())


@pytest.mark.skipif(sys.platform == "win32", reason="the container's command is for a shell")
def test_the_containers_command_serves_and_its_health_check_sees_it(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw

    pytest.importorskip("fastapi")
    text = (ROOT / "deploy" / "serve.Dockerfile").read_text()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (tmp_path / "pictures").mkdir()
    image = Image.new("RGB", (160, 120), "white")
    ImageDraw.Draw(image).rectangle((30, 25, 110, 95), fill="navy")
    image.save(tmp_path / "pictures" / "square.png")

    def of(word: str) -> list[str]:
        found = re.search(rf"^{word}.*?(\[.*\])$", text, re.MULTILINE)
        assert found is not None
        here = found[1].replace("8000", port).replace("0.0.0.0", "127.0.0.1")
        return [str(part).replace("/pictures", f"{tmp_path}/pictures") for part in json.loads(here)]

    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "SKETCHSEEK_INDEX": str(tmp_path / "index")}
    check = [sys.executable, *of("HEALTHCHECK")[1:]]
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0, "nothing serves yet"
    with subprocess.Popen(
        of("CMD"), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as serving:
        try:
            for _ in range(600):
                if subprocess.run(check, capture_output=True, check=False).returncode == 0:
                    break
                assert serving.poll() is None, "it has ended"
                time.sleep(0.2)
            else:
                pytest.fail("it is never healthy")
        finally:
            serving.terminate()


@pytest.mark.parametrize(
    ("file", "pattern", "places"),
    [
        ("src/sketchseek/__init__.py", r'^__version__ = "(.+)"$', 1),
        ("CITATION.cff", r"^version: (.+)$", 1),
        ("packaging/npm/package.json", r'^  "version": "(.+)",$', 1),
        ("deploy/kuberay.yaml", r"image: sketchseek:(.+)$", 2),
        ("examples/vite/package.json", r'"sketch-seek": "\^(.+?)"', 1),
    ],
)
def test_every_place_says_the_same_version(file: str, pattern: str, places: int) -> None:
    said = re.findall(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE)
    assert said == [VERSION] * places


def test_wheels_and_the_npm_package_lie_beside_each_other() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (removed,) = re.findall(r"^wheel:.*\n\trm -rf (.+)$", makefile, re.MULTILINE)
    stays = Path("dist") / f"sketch-seek-{VERSION}.tgz"
    assert not any(stays.match(pattern) or Path(pattern) == stays.parent for pattern in removed.split())
