"""DINOv2's vision transformer, built from the weights that its authors publish.

References
----------
Oquab et al., "DINOv2: learning robust visual features without supervision", TMLR 2024.
Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021: the network's layers.
"""

import re

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from .graph import Graph
from .weights import Tensors

SIDE = 224
MEAN_PATCH = 0.7
"""Length of the mean patch in an embedding, beside a class token of length 1."""
LOCAL = (5, 8)
"""Blocks after which patches are taken for tokens, besides those at the end."""
_HEAD = 64  # channels of an attention head, in every size of the network
_EPSILON = 1e-6
_LAYERS = (
    "norm1.weight", "norm1.bias", "attn.qkv.weight", "attn.qkv.bias", "attn.proj.weight", "attn.proj.bias",
    "ls1.gamma", "norm2.weight", "norm2.bias", "mlp.fc1.weight", "mlp.fc1.bias", "mlp.fc2.weight",
    "mlp.fc2.bias", "ls2.gamma",
)  # fmt: skip
# The names of another popular library, as far as they differ; query, key and value are apart there.
_RENAMED = (
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.cls_token$", "cls_token"),
    (r"^encoder\.layer\.(\d+)\.", r"blocks.\1."),
    (r"\.attention\.output\.dense\.", ".attn.proj."),
    (r"\.layer_scale(\d)\.lambda1$", r".ls\1.gamma"),
    (r"^layernorm\.", "norm."),
)

_BLOCK = re.compile(r"blocks\.\d{1,4}\.")


def canonical(tensors: Tensors) -> Tensors:
    """The weights by their authors' names, as float16, whatever file they came in.

    float16 loses nothing that can be measured (docs/research/expansion.md), so one network has one digest,
    be it stored in four bytes a number or in two.
    """
    try:
        found = _named(tensors)
        depth = 1 + max((int(n.split(".")[1]) for n in found if _BLOCK.match(n)), default=0)
        names = ["cls_token", "pos_embed", "patch_embed.proj.weight", "patch_embed.proj.bias"]
        names += [f"blocks.{i}.{layer}" for i in range(depth) for layer in _LAYERS]
        names += ["norm.weight", "norm.bias"]
        whole = {name: np.array(found[name], np.float16, order="C") for name in names}
        width, patches = whole["cls_token"].shape[-1], whole["pos_embed"].shape[1] - 1
    except KeyError as error:
        raise SketchseekError(f"The weights file is not DINOv2: it lacks the tensor {error}.") from None
    except (ValueError, IndexError):
        raise SketchseekError("The weights file is not DINOv2: its tensors do not fit together.") from None
    finite = all(np.isfinite(values).all() for values in whole.values())
    if width % _HEAD or round(patches**0.5) ** 2 != patches or not finite:
        raise SketchseekError("The weights file is not DINOv2: its tensors do not fit together.")
    return whole


def _named(tensors: Tensors) -> Tensors:
    """Official names, as far as they can be told."""
    tokens = [name for name in tensors if name.endswith("cls_token")]
    prefix = tokens[0].removesuffix("cls_token").removesuffix("embeddings.") if tokens else ""
    found: Tensors = {}
    for name, values in tensors.items():
        called = name.removeprefix(prefix)
        for pattern, replacement in _RENAMED:
            called = re.sub(pattern, replacement, called)
        found[called] = values
    for name in [n for n in found if ".attention.attention.query." in n]:
        parts = [found[name.replace("query", part)] for part in ("query", "key", "value")]
        found[name.replace("attention.attention.query", "attn.qkv")] = np.concatenate(parts)
    if "pos_embed" not in found and "cls_token" in found:
        # An export keeps the patches' positions without a name, and equal tensors once: what is added to
        # the class token equals the token itself.
        width = found["cls_token"].shape[-1]
        for values in tensors.values():
            if values.ndim == 3 and values.shape[1] > 1 and values.shape[2] == width:
                found["pos_embed"] = np.concatenate([found["cls_token"], values], axis=1)
    return found


def build(tensors: Tensors, *, quantised: bool) -> bytes:
    """Write the network as an ONNX model.

    Parameters
    ----------
    tensors : dict of str to ndarray
        As `canonical` gives them.
    quantised : bool
        Whether matrices are multiplied in one-byte integers, the activations' range taken as it comes.

    Returns
    -------
    bytes
        A model from (n, 3, 224, 224) to (n, 2 width), float32: the class token, and the mean patch. Its
        tokens are the patches after the blocks `LOCAL` and after the last norm, (n, 3 width, 16, 16).
    """
    weights = {name: values.astype(np.float32) for name, values in tensors.items()}
    graph = Graph("dinov2", SIDE)
    linear = _quantised if quantised else _linear
    width = weights["cls_token"].shape[-1]
    depth = sum(name.endswith("norm1.bias") for name in weights)

    def layer(x: str, name: str, scale: str | None = None) -> str:
        factor = weights[scale] if scale else np.float32(1)
        return linear(graph, x, weights[f"{name}.weight"].T * factor, weights[f"{name}.bias"] * factor)

    def norm(x: str, name: str) -> str:
        inputs = [x, graph.constant(weights[f"{name}.weight"]), graph.constant(weights[f"{name}.bias"])]
        return graph.node("LayerNormalization", inputs, axis=-1, epsilon=_EPSILON)

    x = _tokens(graph, weights, width)
    local = []
    for number in range(depth):
        block = f"blocks.{number}."
        attended = _attention(graph, layer(norm(x, f"{block}norm1"), f"{block}attn.qkv"), width)
        x = graph.add(x, layer(attended, f"{block}attn.proj", f"{block}ls1.gamma"))
        hidden = _gelu(graph, layer(norm(x, f"{block}norm2"), f"{block}mlp.fc1"))
        x = graph.add(x, layer(hidden, f"{block}mlp.fc2", f"{block}ls2.gamma"))
        if number in LOCAL:
            local.append(x)
    x = norm(x, "norm")
    graph.tokens(_map(graph, [*local, x], width, SIDE // weights["patch_embed.proj.weight"].shape[-1]))
    _pooled(graph, x)
    return graph.model(("n", 2 * width))


def layer_norm_names(tensors: Tensors) -> list[str]:
    """The names of all scales and offsets of layer normalisation, in the order they are stored together."""
    return sorted(name for name in tensors if re.search(r"(^|\.)norm\d?\.(weight|bias)$", name))


def _tokens(graph: Graph, weights: Tensors, width: int) -> str:
    """The class token, then the patches, each with its position: (n, 1 + patches, width)."""
    kernel = weights["patch_embed.proj.weight"]
    patch = kernel.shape[-1]
    across = SIDE // patch
    inputs = ["picture", graph.constant(kernel), graph.constant(weights["patch_embed.proj.bias"])]
    x = graph.node("Conv", inputs, strides=[patch, patch])
    x = graph.node("Reshape", [x, graph.constant(np.array([0, width, across * across]))])
    x = graph.node("Transpose", [x], perm=[0, 2, 1])
    x = graph.add(x, graph.constant(positions(weights["pos_embed"], across)))
    count = graph.node("Shape", [x], start=0, end=1)
    shape = graph.node("Concat", [count, graph.constant(np.array([1, width]))], axis=0)
    token = graph.constant(weights["cls_token"] + weights["pos_embed"][:, :1])
    return graph.node("Concat", [graph.node("Expand", [token, shape]), x], axis=1)


def positions(stored: NDArray[np.float32], across: int) -> NDArray[np.float32]:
    """Positions (1, 1 + g g, width) that were learned for g patches across -> (1, across across, width).

    Bicubic, by the factor of the authors' code: a tenth of a patch more than there is.
    """
    width, grid = stored.shape[-1], round((stored.shape[1] - 1) ** 0.5)
    place = (np.arange(across) + 0.5) * grid / (across + 0.1) - 0.5
    below = np.floor(place).astype(int)
    resize = np.zeros((across, grid))
    for tap in range(-1, 3):
        weight = _cubic(np.abs(place - (below + tap)))
        np.add.at(resize, (np.arange(across), np.clip(below + tap, 0, grid - 1)), weight)
    square = stored[0, 1:].reshape(grid, grid, width)
    resized = np.einsum("yi,xj,ijd->yxd", resize, resize, square)
    return np.asarray(resized.reshape(1, across * across, width), np.float32)


def _cubic(distance: NDArray[np.float64], a: float = -0.75) -> NDArray[np.float64]:
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, far)


def _linear(graph: Graph, x: str, matrix: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
    return graph.add(graph.node("MatMul", [x, graph.constant(matrix)]), graph.constant(bias))


def _quantised(graph: Graph, x: str, matrix: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
    """The same in integers: a step for each column of the matrix, one for all activations.

    Seven bits of the matrix lose nothing, and no processor's sums of two products overflow 16 bits.
    """
    step = np.maximum(np.abs(matrix).max(axis=0), 1e-9) / 63
    codes = graph.constant(np.round(matrix / step).astype(np.int8))
    seen, scale, zero = graph.nodes("DynamicQuantizeLinear", [x], 3)
    product = graph.node("MatMulInteger", [seen, codes, zero, graph.constant(np.zeros((), np.int8))])
    steps = graph.node("Mul", [scale, graph.constant(step)])
    product = graph.node("Mul", [graph.node("Cast", [product], to=1), steps])  # 1: float32
    return graph.add(product, graph.constant(bias))


def _attention(graph: Graph, qkv: str, width: int) -> str:
    """softmax(q k / sqrt(channels)) v, head by head: (n, tokens, 3 width) -> (n, tokens, width)."""
    heads = width // _HEAD
    apart = graph.node("Reshape", [qkv, graph.constant(np.array([0, 0, 3 * heads, _HEAD]))])
    q, k, v = graph.nodes("Split", [apart, graph.constant(np.array([heads] * 3))], 3, axis=2)
    q = graph.node("Mul", [graph.node("Transpose", [q], perm=[0, 2, 1, 3]), graph.number(_HEAD**-0.5)])
    k = graph.node("Transpose", [k], perm=[0, 2, 3, 1])
    v = graph.node("Transpose", [v], perm=[0, 2, 1, 3])
    weights = graph.node("Softmax", [graph.node("MatMul", [q, k])], axis=-1)
    together = graph.node("Transpose", [graph.node("MatMul", [weights, v])], perm=[0, 2, 1, 3])
    return graph.node("Reshape", [together, graph.constant(np.array([0, 0, width]))])


def _gelu(graph: Graph, x: str) -> str:
    """x times the normal distribution function of x."""
    below = graph.node("Erf", [graph.node("Div", [x, graph.number(2**0.5)])])
    doubled = graph.node("Mul", [x, graph.add(below, graph.number(1))])
    return graph.node("Mul", [doubled, graph.number(0.5)])


def _map(graph: Graph, layers: list[str], width: int, across: int) -> str:
    """The patches of some layers, without the class token, as a map: (n, layers width, across, across)."""
    start, end, axis = (graph.constant(np.array([i])) for i in (1, 2**31 - 1, 1))
    patches = [graph.node("Slice", [x, start, end, axis]) for x in layers]
    together = graph.node("Transpose", [graph.node("Concat", patches, axis=-1)], perm=[0, 2, 1])
    shape = graph.constant(np.array([0, len(layers) * width, across, across]))
    return graph.node("Reshape", [together, shape])


def _pooled(graph: Graph, x: str) -> str:
    """The class token at length 1, beside the mean patch at length `MEAN_PATCH`."""
    start, end, axis = (graph.constant(np.array([i])) for i in (0, 1, 1))
    token = graph.node("Slice", [x, start, end, axis])
    patches = graph.node("Slice", [x, end, graph.constant(np.array([2**31 - 1])), axis])
    mean = graph.node("ReduceMean", [patches], axes=[1], keepdims=0)
    token = graph.node("LpNormalization", [graph.node("Squeeze", [token, axis])], axis=-1, p=2)
    mean = graph.node("Mul", [graph.node("LpNormalization", [mean], axis=-1, p=2), graph.number(MEAN_PATCH)])
    return graph.node("Concat", [token, mean], axis=-1)
