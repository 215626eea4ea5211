"""A network's weights, and what was made of them once: its version, and models that onnxruntime maps.

Writing a network down as ONNX and preparing it for this processor takes a third of a second; opening what
was prepared, a hundredth. What is kept is in the user's cache, with a checksum; whatever is wrong with it, it
is made again.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import xxhash

from .. import system
from ..networks.weights import Tensors, read_tensors
from ..shape.engine import _engine

_LAYOUT = 1  # changes with anything that makes other files of the same weights
_MODEL, _TENSORS, _SUMS = "network.onnx", "network.data", "sums.json"
_KEPT = 3  # of each domain: as many installations don't take each other's away
_INLINE = 64  # bytes of a tensor from which on it is in the file of tensors


def cache_folder() -> Path:
    """`sketchseek/networks` in $XDG_CACHE_HOME, or where else the system has users' caches."""
    return system.cache_folder() / "sketchseek" / "networks"


class Weights:
    """The tensors of a network, read when they are needed, and what is kept of what was made of them.

    name : of the network. read : gives the tensors. source : the file that they are in; None keeps nothing.
    learned : what else the network is made of.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], Tensors],
        source: Path | None = None,
        learned: Tensors | None = None,
    ) -> None:
        self._name, self._read = name, read
        self._key = None if source is None else _key(source, learned or {})

    @classmethod
    def of(cls, name: str, weights: Tensors | Path, learned: Tensors) -> Weights:
        """Of tensors, of which nothing is kept, or of a file."""
        if isinstance(weights, Path):
            return cls(name, lambda: read_tensors(weights), weights, learned)
        return cls(name, lambda: weights)

    @cached_property
    def tensors(self) -> Tensors:
        """All of them, by name."""
        return self._read()

    def version(self, make: Callable[[Tensors], str]) -> tuple[str, bool]:
        """What `make` says of the tensors, and whether it was known without reading them."""
        path = None if self._key is None else cache_folder() / f"{self._name}-{self._key}.version"
        if path is not None:
            kept = _kept_version(path)
            if kept is not None:
                return kept, True
        made = make(self.tensors)
        if path is not None:
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = path.with_suffix(f".{os.getpid()}.tmp")
                temporary.write_text(json.dumps({"version": made, "sum": _sum_of(made)}))
                temporary.replace(path)
        return made, False

    def model(self, side: str, make: Callable[[Tensors], bytes]) -> bytes | Path:
        """The network's model for one of its domains: a file that is ready for this processor, or ONNX."""
        if self._key is None:
            return make(self.tensors)
        kept = cache_folder() / f"{self._name}-{side}-{self._key}"
        if not _is_whole(kept):
            model = make(self.tensors)
            try:
                _convert(model, kept)
            except Exception:  # a cache that can't be written, or a model that onnxruntime can't write down
                return model
        return kept / _MODEL


def _kept_version(path: Path) -> str | None:
    """What was noted, if it is what was written: indexes are known by it."""
    try:
        noted = json.loads(path.read_bytes())
        version = str(noted["version"])
        return version if noted["sum"] == _sum_of(version) else None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _sum_of(text: str) -> str:
    return xxhash.xxh3_128(text.encode()).hexdigest()


def _key(source: Path, learned: Tensors) -> str | None:
    """What changes with the file, with what was learned, with onnxruntime, and with the processor's kind."""
    import onnxruntime

    try:
        found = source.stat()
    except OSError:
        return None
    words = (str(source), found.st_size, found.st_mtime_ns, onnxruntime.__version__, _LAYOUT)
    digest = xxhash.xxh3_128(repr((*words, _engine.supported_builds())).encode())
    for name in sorted(learned):
        digest.update(name.encode())
        digest.update(learned[name].tobytes())
    return digest.hexdigest()[:16]


def _convert(model: bytes, kept: Path) -> None:
    """Have onnxruntime write down what it makes of a model, beside its place, and move it there."""
    import onnxruntime

    kept.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=kept.parent, prefix=".converting-"))
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.optimized_model_filepath = str(place / _MODEL)
        prefix = "session.optimized_model_external_initializers_"
        options.add_session_config_entry(f"{prefix}file_name", _TENSORS)
        options.add_session_config_entry(f"{prefix}min_size_in_bytes", str(_INLINE))
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        sums = {name: _sum(place / name) for name in (_MODEL, _TENSORS)}
        (place / _SUMS).write_text(json.dumps(sums))
        shutil.rmtree(kept, ignore_errors=True)  # not whole, or of a process that is as far as we are
        place.rename(kept)
        stem = kept.name.rpartition("-")[0]
        others = [old for old in kept.parent.glob(f"{stem}-*") if old.name.rpartition("-")[0] == stem]
        for old in sorted(others, key=_age)[_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _age(kept: Path) -> float:
    """What the newest has least of."""
    try:
        return -kept.stat().st_mtime
    except OSError:
        return 0.0


def _is_whole(kept: Path) -> bool:
    """Whether what is kept has its checksums."""
    try:
        sums: dict[str, Any] = json.loads((kept / _SUMS).read_bytes())
        return set(sums) == {_MODEL, _TENSORS} and all(_sum(kept / name) == sums[name] for name in sums)
    except (OSError, ValueError, TypeError):
        return False


def _sum(path: Path) -> str:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return xxhash.xxh3_128(content).hexdigest()
