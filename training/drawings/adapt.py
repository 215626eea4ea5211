"""Teach EfficientNet-Lite0 to see drawings, by other scales and offsets of its batch normalisation alone.

    python training/drawings/adapt.py TRAINING.npz WEIGHTS.npz OUT.npz [--sets A,B] [--leave-out piano,tree]

The network's view of photos is frozen: it is the teacher. The same network gets other batch normalisation
(21,000 scales and offsets out of 3.4 million weights: too few to memorise categories), trained so that a
drawing lands where the photo that it was drawn from lies among all photos, near photos of its category; edge
maps of photos and boundaries that people marked in them count as drawings too. Also learns the principal
components that descriptors are reduced to. Needs torch; a GPU takes half a minute.
"""

import argparse
import copy
import re
import time

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIDE = 224
STEPS = 250
RATE = 9e-4
TEMPERATURE = 0.1
HAND, EDGES, BOUNDARIES = 96, 48, 16  # of each in a batch
LINE_WIDTHS = (1, 3, 5, 7, 9)  # pixels of 320
DIMENSION = 256
WHITENING = 0.125  # components are divided by this power of their variance


class Layer(nn.Module):
    """A convolution without bias and its batch normalisation."""

    def __init__(self, tensors: dict, convolution: str, norm: str, stride: int = 1) -> None:
        super().__init__()
        kernel = torch.tensor(tensors[f"{convolution}.weight"])
        self.register_buffer("kernel", kernel)
        self.stride, self.groups = stride, len(kernel) if "_depthwise" in convolution else 1
        self.norm = norm
        scale = 1 / np.sqrt(tensors[f"{norm}.running_var"] + 1e-3)
        self.register_buffer("mean", torch.tensor(tensors[f"{norm}.running_mean"])[:, None, None])
        self.register_buffer("inverse", torch.tensor(scale)[:, None, None])
        self.weight = nn.Parameter(torch.tensor(tensors[f"{norm}.weight"]))
        self.bias = nn.Parameter(torch.tensor(tensors[f"{norm}.bias"]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size, k = x.shape[-1], self.kernel.shape[-1]
        pad = max((-(-size // self.stride) - 1) * self.stride + k - size, 0)
        x = F.pad(x, [pad // 2, pad - pad // 2] * 2)
        x = F.conv2d(x, self.kernel.to(x.dtype), stride=self.stride, groups=self.groups)
        return ((x - self.mean) * self.inverse) * self.weight[:, None, None] + self.bias[:, None, None]


class Network(nn.Module):
    """As src/sketchseek/depiction/efficientnet.py writes it, up to the last feature map."""

    def __init__(self, tensors: dict) -> None:
        super().__init__()
        self.stem = Layer(tensors, "_conv_stem", "_bn0", 2)
        self.blocks = nn.ModuleList()
        for number in range(16):
            block = f"_blocks.{number}."
            stride = 2 if number in (1, 3, 5, 11) else 1
            layers = [
                Layer(tensors, f"{block}_depthwise_conv", f"{block}_bn1", stride),
                Layer(tensors, f"{block}_project_conv", f"{block}_bn2"),
            ]
            if number:
                layers.insert(0, Layer(tensors, f"{block}_expand_conv", f"{block}_bn0"))
            self.blocks.append(nn.ModuleList(layers))
        self.head = Layer(tensors, "_conv_head", "_bn1")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu6(self.stem(x))
        for layers in self.blocks:
            y = x
            for layer in layers[:-1]:
                y = F.relu6(layer(y))
            y = layers[-1](y)
            x = x + y if x.shape == y.shape else y
        return crow(F.relu6(self.head(x)).float())


def crow(features: torch.Tensor) -> torch.Tensor:
    """(b, c, h, w) -> (b, c), of length 1. How rare a channel is counts as given."""
    total = features.sum(1)
    spatial = (total / total.flatten(1).norm(dim=1).clamp_min(1e-6)[:, None, None]).clamp_min(1e-9).sqrt()
    filled = (features > 0).float().mean((2, 3))
    rarity = torch.log((filled.shape[1] * 1e-6 + filled.sum(1, keepdim=True)) / (1e-6 + filled))
    return F.normalize((features * spatial[:, None]).sum((2, 3)) * rarity, dim=1)


def bitmaps(packed: np.ndarray) -> torch.Tensor:
    return torch.tensor(np.unpackbits(packed, axis=-1).reshape(*packed.shape[:-1], 320, 320), device=DEVICE)


def render(lines: torch.Tensor, width: int, placing: torch.Tensor) -> torch.Tensor:
    """(b, 320, 320) lines of one pixel -> (b, 3, 224, 224) as the network takes it."""
    ink = F.max_pool2d(lines[:, None].float(), width, 1, width // 2)
    ink = ink / 2 + F.avg_pool2d(ink, 3, 1, 1) / 2
    ink = F.grid_sample(
        ink, F.affine_grid(placing, (len(lines), 1, SIDE, SIDE), align_corners=False), align_corners=False
    )
    return (((1 - ink) * 255 - 127) / 128).expand(-1, 3, -1, -1)


def upright(n: int) -> torch.Tensor:
    return torch.eye(2, 3, device=DEVICE).repeat(n, 1, 1)


def jittered(n: int) -> torch.Tensor:
    """Turned, scaled, sheared, mirrored and moved a little."""

    def between(low: float, high: float) -> torch.Tensor:
        return torch.rand(n, device=DEVICE) * (high - low) + low

    angle, scale, aspect = between(-0.17, 0.17), between(0.88, 1.2), torch.exp(between(-0.18, 0.18))
    mirror = torch.where(between(0, 1) < 0.5, -1.0, 1.0)
    rows = [
        [
            torch.cos(angle) * scale * aspect * mirror,
            -torch.sin(angle) * scale + between(-0.12, 0.12),
            between(-0.08, 0.08),
        ],
        [torch.sin(angle) * scale * mirror, torch.cos(angle) * scale / aspect, between(-0.08, 0.08)],
    ]
    return torch.stack([torch.stack(row, 1) for row in rows], 1)


def augmented(lines: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Each line width for a fifth of the batch; half of the batches lose a rectangle somewhere."""
    parts = torch.randperm(len(lines), device=DEVICE).chunk(len(LINE_WIDTHS))
    images = torch.empty(len(lines), 3, SIDE, SIDE, device=DEVICE)
    for part, width in zip(parts, rng.permutation(LINE_WIDTHS), strict=True):
        images[part] = render(lines[part], int(width), jittered(len(part)))
    if rng.random() < 0.5:
        size = int(rng.integers(30, 70))
        top, left = rng.integers(0, SIDE - size, 2)
        images[: len(lines) // 2, :, top : top + size, left : left + size] = 1.0
    return images


def describe(network: nn.Module, lines: torch.Tensor) -> torch.Tensor:
    """Mean over three line widths, both ways round."""
    mirror = torch.tensor([-1.0, 1.0, 1.0], device=DEVICE)
    with torch.no_grad(), torch.autocast(DEVICE, torch.float16, enabled=DEVICE == "cuda"):
        return torch.cat(
            [
                F.normalize(
                    sum(
                        network(render(part, w, upright(len(part)) * m))
                        for w in (3, 5, 7)
                        for m in (1, mirror)
                    ),
                    dim=1,
                )
                for part in lines.split(256)
            ]
        )


def train(network: Network, data: dict, log: bool = True) -> nn.Module:
    """The network with adapted batch normalisation, averaged over the last steps."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    photos = F.normalize(data["photo"] - data["photo"].mean(0), dim=1)
    teacher = photos @ photos.T / TEMPERATURE
    centre = nn.Parameter(describe(network, data["drawing"]).mean(0))
    adapted = copy.deepcopy(network)
    parameters = list(network.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": parameters}, {"params": [centre], "lr": RATE / 3}], RATE, weight_decay=0
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [RATE, RATE / 3], total_steps=STEPS, pct_start=0.1
    )
    scaler = torch.amp.GradScaler(DEVICE, enabled=DEVICE == "cuda")
    start = time.time()

    def some(n: int, of: int) -> torch.Tensor:
        return torch.randint(of, (n,), device=DEVICE)

    for step in range(1, STEPS + 1):
        hand = some(HAND, len(data["drawing"]))
        edge = some(EDGES, len(data["edges"]))
        boundary = some(BOUNDARIES, len(data["boundary"]))
        lines = [data["drawing"][hand], data["edges"][edge, some(EDGES, 2)], data["boundary"][boundary]]
        with torch.autocast(DEVICE, torch.float16, enabled=DEVICE == "cuda"):
            seen = network(augmented(torch.cat(lines), rng))
        chance = (F.normalize(seen - centre, dim=1) @ photos.T / TEMPERATURE).log_softmax(1)
        # Near all photos of its category ...
        same = (data["drawing_category"][hand][:, None] == data["photo_category"]).float()
        loss = -((chance[:HAND] * same).sum(1) / same.sum(1)).mean()
        # ... and like the photo it shows, among all photos.
        shown = torch.cat([data["drawing_photo"][hand], edge, data["boundary_photo"][boundary]])
        known = shown >= 0
        likeness = -(teacher[shown.clamp_min(0)].softmax(1) * chance).sum(1) * known
        loss = loss + likeness[:HAND].mean() + likeness[HAND:].mean() * (EDGES + BOUNDARIES) / len(shown)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        keep = min(0.99, (1 + step) / (10 + step))
        with torch.no_grad():
            for mean, now in zip(adapted.parameters(), parameters, strict=True):
                mean.mul_(keep).add_(now, alpha=1 - keep)
        if log and step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f} {time.time() - start:.0f} s", flush=True)
    return adapted


def load(path: str, sets: list[str], left_out: set[str]) -> dict:
    """The part of the training file that may be used."""
    raw = np.load(path)
    photo_in = np.isin(raw["photo_set"], sets) & ~np.isin(raw["photo_category"], list(left_out))
    drawing_in = np.isin(raw["drawing_set"], sets) & ~np.isin(raw["drawing_category"], list(left_out))
    renumbered = np.append(np.where(photo_in, np.cumsum(photo_in) - 1, -1), -1)
    names = {c: i for i, c in enumerate(sorted({*raw["photo_category"], *raw["drawing_category"]}))}
    boundary_in = renumbered[raw["boundary_photo"]] >= 0

    def numbers(values: np.ndarray) -> torch.Tensor:
        return torch.tensor(values, device=DEVICE)

    print(f"{drawing_in.sum()} drawings of {len(set(raw['drawing_category'][drawing_in]))} categories,"
          f" {photo_in.sum()} photos, {boundary_in.sum()} sets of boundaries", flush=True)  # fmt: skip
    return {
        "photo": F.normalize(torch.tensor(raw["photo"][photo_in].astype(np.float32), device=DEVICE), dim=1),
        "photo_category": numbers(np.array([names[c] for c in raw["photo_category"][photo_in]])),
        "edges": bitmaps(raw["edges"][photo_in]),
        "drawing": bitmaps(raw["drawing"][drawing_in]),
        "drawing_category": numbers(np.array([names[c] for c in raw["drawing_category"][drawing_in]])),
        "drawing_photo": numbers(renumbered[raw["drawing_photo"][drawing_in]]),
        "boundary": bitmaps(raw["boundary"][boundary_in]),
        "boundary_photo": numbers(renumbered[raw["boundary_photo"][boundary_in]]),
    }


def components(photos: torch.Tensor) -> np.ndarray:
    """(n, c) -> (c, DIMENSION): principal components, a little whitened."""
    centred = photos - photos.mean(0)
    variance, vectors = torch.linalg.eigh(centred.T @ centred / len(centred))
    variance, vectors = variance.flip(0)[:DIMENSION], vectors.flip(1)[:, :DIMENSION]
    return (vectors * variance**-WHITENING).cpu().numpy()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("training")
    parser.add_argument("weights")
    parser.add_argument("out")
    parser.add_argument("--sets", default="sketchy-train,bsds500")
    parser.add_argument("--leave-out", default="")
    given = parser.parse_args()
    tensors = dict(np.load(given.weights))
    data = load(given.training, given.sets.split(","), set(given.leave_out.split(",")))
    adapted = train(Network(tensors).to(DEVICE), data)
    learned = {}
    for layer in adapted.modules():
        if isinstance(layer, Layer):
            learned[f"{layer.norm}.weight"] = layer.weight.detach().cpu().numpy()
            learned[f"{layer.norm}.bias"] = layer.bias.detach().cpu().numpy()
    names = sorted(name for name in tensors if re.search(r"_bn\d\.(weight|bias)$", name))
    np.savez_compressed(
        given.out,
        batch_norm=np.concatenate([learned[name] for name in names]).astype(np.float16),
        drawings=describe(adapted, data["drawing"]).mean(0).cpu().numpy().astype(np.float16),
        pictures=data["photo"].mean(0).cpu().numpy().astype(np.float16),
        projection=components(data["photo"]).astype(np.float16),
    )


if __name__ == "__main__":
    main()
