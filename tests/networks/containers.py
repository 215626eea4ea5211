"""Weights files of every kind, written by hand as the libraries write them."""

import collections
import io
import json
import pickle
import re
import struct
import zipfile

import numpy as np

MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001


class Named:
    """Pickled as a mere name, the way torch's classes appear in a file."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Storage:
    def __init__(self, key, values, kind="FloatStorage"):
        self.key, self.values, self.kind = key, values, kind


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


def torch_file(path, tensors, form="zip"):
    """Named arrays as torch.save writes them."""
    storages = [Storage(str(i), values.ravel()) for i, values in enumerate(tensors.values())]
    state = collections.OrderedDict(
        (name, Rebuilt(s, 0, v.shape, tuple(n // v.itemsize for n in v.strides)))
        for (name, v), s in zip(tensors.items(), storages, strict=True)
    )
    if form == "zip":
        zipped(path, state, storages)
    else:
        path.write_bytes(legacy(state, storages))


def safetensors_file(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        kind = {"<f4": "F32", "<f2": "F16", "<u2": "BF16", "<i8": "I64"}[values.dtype.str]
        end = len(data) + values.nbytes
        header[name] = {"dtype": kind, "shape": values.shape, "data_offsets": [len(data), end]}
        data += values.tobytes()
    words = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(words)) + words + data)


def exported(path, tensors):
    """The constants of an ONNX export: matrices are transposed and nameless, equal tensors are one."""
    from onnx import helper, numpy_helper

    nodes, constants = [], []
    for number, (name, values) in enumerate(tensors.items()):
        nameless = f"onnx::MatMul_{number}"
        if name.endswith(("qkv.weight", "attn.proj.weight", "fc1.weight", "fc2.weight")):
            layer = re.sub(r"\.(attn|mlp)\.", r"/\1/", name.removesuffix(".weight"))
            constants.append(numpy_helper.from_array(np.ascontiguousarray(values.T), nameless))
            nodes.append(helper.make_node("MatMul", ["x", nameless], ["y"], f"/{layer}/MatMul"))
        elif name == "pos_embed":
            constants.append(numpy_helper.from_array(values[:, 1:], nameless))
        else:
            constants.append(numpy_helper.from_array(values, f"model.{name}"))
    graph = helper.make_graph(nodes, "export", [], [], constants)
    path.write_bytes(helper.make_model(graph).SerializeToString())
