import collections
import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from sketchseek.depiction.weights import read_tensors
from sketchseek.errors import SketchseekError

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


class Named:
    """Pickled as a mere name, the way torch's classes appear in a file."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Storage:
    def __init__(self, key, values, kind="FloatStorage"):
        self.key, self.values, self.kind = key, values, kind


class Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class TorchPickler(pickle._Pickler):
    """The writing side, as torch does it: storages are persistent ids, functions are names."""

    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            return ("storage", Named("torch", obj.kind), obj.key, "cpu", len(obj.values))
        return None

    def save(self, obj, *args, **kwargs):
        if isinstance(obj, Named):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            return
        super().save(obj, *args, **kwargs)

    def save_reduce(self, func, args, *rest, **kwargs):
        if isinstance(func, Named):
            self.save(func)
            self.save(args)
            self.write(pickle.REDUCE)
            return
        super().save_reduce(func, args, *rest, **kwargs)


class Rebuilt:
    def __init__(self, storage, offset, shape, strides):
        self.arguments = (storage, offset, shape, strides, False, collections.OrderedDict())

    def __reduce_ex__(self, protocol):
        return Named("torch._utils", "_rebuild_tensor_v2"), self.arguments


def pickled(obj):
    buffer = io.BytesIO()
    TorchPickler(buffer, protocol=2).dump(obj)
    return buffer.getvalue()


def legacy(state, storages):
    system = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": {}}
    parts = [pickle.dumps(x, 2) for x in (MAGIC, PROTOCOL, system)] + [pickled(state)]
    parts.append(pickle.dumps([s.key for s in storages], 2))
    for storage in storages:
        parts.append(struct.pack("<q", len(storage.values)) + storage.values.tobytes())
    return b"".join(parts)


def zipped(path, state, storages):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled(state))
        for storage in storages:
            archive.writestr(f"archive/data/{storage.key}", storage.values.tobytes())


@pytest.fixture
def storage():
    return Storage("7", np.arange(12, dtype="<f4"))


def state_of(storage):
    return collections.OrderedDict(
        whole=Rebuilt(storage, 0, (3, 4), (4, 1)),
        transposed=Rebuilt(storage, 0, (4, 3), (1, 4)),
        part=Rebuilt(storage, 5, (2,), (1,)),
        scalar=Rebuilt(storage, 11, (), ()),
    )


@pytest.mark.parametrize("form", ["legacy", "zip"])
def test_reads_both_formats(tmp_path, storage, form):
    path = tmp_path / "w.pth"
    if form == "legacy":
        path.write_bytes(legacy(state_of(storage), [storage]))
    else:
        zipped(path, state_of(storage), [storage])
    tensors = read_tensors(path)
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(tensors["whole"], whole)
    np.testing.assert_array_equal(tensors["transposed"], whole.T)
    np.testing.assert_array_equal(tensors["part"], [5, 6])
    assert tensors["scalar"] == 11


def test_reads_npz(tmp_path):
    np.savez(tmp_path / "w.npz", a=np.eye(2, dtype=np.float32))
    np.testing.assert_array_equal(read_tensors(tmp_path / "w.npz")["a"], np.eye(2))


def assert_one_sentence(caught, path):
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message


def test_runs_nothing_that_a_file_asks_for(tmp_path):
    path, witness = tmp_path / "w.pth", tmp_path / "witness"
    hostile = pickle.dumps(Call(os.mkdir, str(witness)), 2)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", hostile)
    with pytest.raises(SketchseekError) as caught:
        read_tensors(path)
    assert_one_sentence(caught, path)
    path.write_bytes(hostile)
    with pytest.raises(SketchseekError):
        read_tensors(path)
    assert not witness.exists()


@pytest.mark.parametrize(
    "tensor", [(0, (4, 4), (4, 1)), (10, (4,), (1,)), (0, (50,), (0,)), (-1, (2,), (1,))]
)
def test_refuses_tensors_outside_their_storage(tmp_path, storage, tensor):
    path = tmp_path / "w.pth"
    path.write_bytes(legacy(collections.OrderedDict(bad=Rebuilt(storage, *tensor)), [storage]))
    with pytest.raises(SketchseekError, match="corrupted"):
        read_tensors(path)


@pytest.mark.parametrize("cut", [0, 1, 20, 100, -1, -30])
def test_a_file_cut_short_is_one_sentence(tmp_path, storage, cut):
    path = tmp_path / "w.pth"
    path.write_bytes(legacy(state_of(storage), [storage])[:cut])
    with pytest.raises(SketchseekError) as caught:
        read_tensors(path)
    assert_one_sentence(caught, path)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(SketchseekError, match="is not there"):
        read_tensors(tmp_path / "none.pth")
