"""Tensors out of a weights file, without torch and without running anything the file says."""

import collections
import io
import json
import math
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from .graph import MISSING_EXTRA

# Both constants open every file that torch.save wrote before its zip format.
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001

_DTYPES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ByteStorage": np.dtype("<u1"),
}

_SAFETENSORS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "<u1",
}
_LONGEST_HEADER = 100_000_000

Tensors = dict[str, NDArray[Any]]
_Sizes = tuple[int, ...]


def read_tensors(path: Path) -> Tensors:
    """Read the named tensors of a ``.pth`` (in either format), ``.safetensors``, ``.onnx`` or ``.npz`` file.

    A ``.pth`` file is a pickle, which may ask for any function to be called: here only tensors and ordered
    dictionaries are built, and any other request counts as corruption. Of an ONNX export the constants are
    taken; a matrix whose name got lost is called after the layer that multiplies by it.

    Parameters
    ----------
    path : Path
        The weights file.

    Returns
    -------
    dict of str to ndarray
    """
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
        if path.suffix == ".safetensors":
            return _read_safetensors(path)
        if path.suffix == ".onnx":
            return _read_onnx(path)
        if zipfile.is_zipfile(path):
            return _read_zip(path)
        return _read_legacy(path)
    except FileNotFoundError:
        raise SketchseekError(f"The weights file {path} is not there.") from None
    except SketchseekError:
        raise
    except Exception as error:
        raise SketchseekError(
            f"The weights file {path} is corrupted or is not a list of tensors ({error}); get it again."
        ) from error


class _Storage:
    """A flat array that tensors are cut from; its values may arrive after the tensors were asked for."""

    __slots__ = ("dtype", "numel", "values")

    def __init__(self, dtype: np.dtype[Any], numel: int) -> None:
        self.dtype, self.numel = dtype, numel
        self.values: NDArray[Any] | None = None


class _Tensor:
    """Where a tensor lies in its storage."""

    __slots__ = ("offset", "shape", "storage", "strides")

    def __init__(
        self, storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        count = math.prod(shape)
        reach = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if count else offset
        if min((offset, *shape, *strides)) < 0 or count > storage.numel or reach >= storage.numel:
            raise ValueError("a tensor reaches outside its storage")
        self.storage, self.offset, self.shape, self.strides = storage, offset, shape, strides

    def array(self) -> NDArray[Any]:
        values = self.storage.values
        if values is None:
            raise ValueError("a tensor without values")
        strides = tuple(s * values.itemsize for s in self.strides)
        return np.lib.stride_tricks.as_strided(values[self.offset :], self.shape, strides).copy()


class _Rebuild:
    """The stand-in for ``torch._utils._rebuild_tensor_v2``; without attributes that a file could set."""

    __slots__ = ()

    def __call__(self, storage: _Storage, offset: int, shape: _Sizes, strides: _Sizes, *_: Any) -> _Tensor:
        return _Tensor(storage, offset, shape, strides)


class _TensorUnpickler(pickle.Unpickler):
    """Knows ordered dictionaries and tensors; refuses every other name."""

    def __init__(self, file: Any, storage: Callable[[Any], _Storage] | None = None) -> None:
        super().__init__(file)
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Rebuild()
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        raise ValueError(f"it asks for {module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:
        if self._storage is None or not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            raise ValueError("it asks for something outside the file")
        return self._storage(pid)


def _read_zip(path: Path) -> Tensors:
    with zipfile.ZipFile(path) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        folder = record.removesuffix("data.pkl")
        storages: dict[str, _Storage] = {}

        def storage(pid: Any) -> _Storage:
            _, dtype, key, _, numel = pid[:5]
            if key not in storages:
                new = _Storage(dtype, numel)
                new.values = np.frombuffer(archive.read(f"{folder}data/{key}"), dtype)
                if len(new.values) != numel:
                    raise ValueError("a storage of the wrong size")
                storages[key] = new
            return storages[key]

        return _arrays(_TensorUnpickler(io.BytesIO(archive.read(record)), storage).load())


def _read_legacy(path: Path) -> Tensors:
    storages: dict[str, _Storage] = {}

    def storage(pid: Any) -> _Storage:
        _, dtype, key, _, numel = pid[:5]
        return storages.setdefault(key, _Storage(dtype, numel))

    with path.open("rb") as file:
        opening = (_TensorUnpickler(file).load(), _TensorUnpickler(file).load())
        if opening != (_LEGACY_MAGIC, _LEGACY_PROTOCOL):
            raise ValueError("unknown format")
        if not _TensorUnpickler(file).load()["little_endian"]:
            raise ValueError("big-endian")
        state = _TensorUnpickler(file, storage).load()
        for key in _TensorUnpickler(file).load():
            wanted = storages[key]
            if int.from_bytes(file.read(8), "little") != wanted.numel:
                raise ValueError("a storage of the wrong size")
            wanted.values = np.frombuffer(file.read(wanted.numel * wanted.dtype.itemsize), wanted.dtype)
            if len(wanted.values) != wanted.numel:
                raise ValueError("it ends early")
        return _arrays(state)


def _arrays(state: Any) -> Tensors:
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    if not isinstance(state, dict) or not all(isinstance(value, _Tensor) for value in state.values()):
        raise ValueError("not a dictionary of tensors")
    return {str(name): tensor.array() for name, tensor in state.items()}


def _read_safetensors(path: Path) -> Tensors:
    """A header in JSON, which says where in the rest of the file each tensor lies."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _LONGEST_HEADER:
            raise ValueError("its header is too long")
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, (start, end) = (
            np.dtype(_SAFETENSORS[entry["dtype"]]),
            entry["shape"],
            entry["data_offsets"],
        )
        if min((start, *shape)) < 0 or end > len(data) or end - start != math.prod(shape) * dtype.itemsize:
            raise ValueError("a tensor reaches outside the file")
        values = np.frombuffer(data[start:end], dtype).reshape(shape)
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (values.astype(np.uint32) << 16).view(np.float32)
        tensors[str(name)] = values
    return tensors


def _read_onnx(path: Path) -> Tensors:
    try:
        from onnx import ModelProto, TensorProto, numpy_helper
    except ImportError:
        raise SketchseekError(MISSING_EXTRA) from None
    graph = ModelProto.FromString(path.read_bytes()).graph
    if any(tensor.data_location == TensorProto.EXTERNAL for tensor in graph.initializer):
        raise ValueError("its weights are in another file")
    tensors: Tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            layer = node.name.removesuffix("/MatMul").strip("/").replace("/", ".")
            tensors.setdefault(f"{layer}.weight", tensors[node.input[1]].T)
    return tensors
