import collections
import os
import pickle
import zipfile

import numpy as np
import pytest
from containers import Rebuilt, Storage, legacy, safetensors_file, zipped

from sketchseek.errors import SketchseekError
from sketchseek.networks.weights import read_tensors


class Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


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


def test_reads_safetensors(tmp_path):
    path = tmp_path / "w.safetensors"
    halves = np.array([[1.5, -2.0], [0.25, 3.0]], np.float32)
    safetensors_file(
        path,
        {
            "whole": np.arange(6, dtype=np.float32).reshape(2, 3),
            "short": halves.astype(np.float16),
            "brain": (halves.view(np.uint32) >> 16).astype(np.uint16),
        },
    )
    tensors = read_tensors(path)
    np.testing.assert_array_equal(tensors["whole"], np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(tensors["short"], halves)
    np.testing.assert_array_equal(tensors["brain"], halves)
    assert set(tensors) == {"whole", "short", "brain"}


@pytest.mark.parametrize(
    "header",
    [
        b'{"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}',  # beyond the end
        b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}',
        b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [8, 4]}}',
        b'{"a": {"dtype": "object", "shape": [1], "data_offsets": [0, 8]}}',
        b'["a"]',
        b"not JSON",
    ],
)
def test_a_wrong_safetensors_file_is_one_sentence(tmp_path, header):
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    with pytest.raises(SketchseekError) as caught:
        read_tensors(path)
    assert_one_sentence(caught, path)


def test_a_header_that_claims_everything_is_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"\xff" * 64)
    with pytest.raises(SketchseekError, match="too long"):
        read_tensors(path)


def test_an_onnx_file_with_its_weights_elsewhere_is_refused(tmp_path):
    onnx = pytest.importorskip("onnx")
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[1], data_location=1)
    tensor.external_data.add(key="location", value="/etc/passwd")
    graph = onnx.helper.make_graph([], "g", [], [], [tensor])
    path = tmp_path / "w.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(SketchseekError, match="in another file"):
        read_tensors(path)


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
