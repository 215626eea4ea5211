"""Teach a network to see drawings, by other scales and offsets of its normalisation layers alone.

    python training/drawings/adapt.py TRAINING.npz NETWORK WEIGHTS.npz OUT.npz [--sets A,B] [--leave-out C,D]
        [--asked SET] [--learn photographs,drawings,art] [--keep EARLIER.npz] [--beside EFFICIENTNET.npz]

The network's view of photos is frozen: it is the teacher. The same network gets other scales and offsets of
its batch or layer normalisation (58,096 of EfficientNet-Lite2's 4.8 million weights, 19,200 of DINOv2's 22
million: too few to memorise categories), trained so that a drawing lands where the photo that it was drawn
from lies among all photos, near photos of its category; edge maps of photos and boundaries that people marked
in them count as drawings too, and so does the line art of emoji, which shall land where the coloured emoji
lies among emoji. Flat art gets two more domains, for itself and for drawings of it, taught together. Also
learns the principal components that embeddings are reduced to. Needs torch; a GPU takes a few minutes.
"""

import argparse
import copy
import io
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import nn

from networks import NETWORKS, Tensors

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEPS = {"efficientnet": 250, "dinov2": 600}
SEEDS = {"efficientnet": 1, "dinov2": 2}  # networks that are trained and averaged
ROUGH = {"efficientnet": 0.0, "dinov2": 0.3}  # share of hand drawings that are drawn again, roughly
CENTRE = {"efficientnet": 1.25, "dinov2": 1.5}  # the mean of drawings is subtracted so many times
DIMENSION = {"efficientnet": 384, "dinov2": 384}
SEES_EMOJI = {"efficientnet": False, "dinov2": True}  # beside photographs
RATE = 9e-4
TEMPERATURE = 0.1
HAND, EDGES, BOUNDARIES = 96, 48, 16  # of each in a batch
BATCH = HAND + EDGES + BOUNDARIES
EMOJI, EMOJI_WEIGHT = 32, 0.3
DOODLES, DOODLES_WEIGHT = 24, 0.4  # so many of both in a batch where there are doodles
ROUGH_EMOJI = 0.6
ART, ART_ROUGH = 96, 0.3  # the same when flat art is taught
ART_STEPS = {"efficientnet": 600, "dinov2": 600}
ART_CENTRE = {"efficientnet": 1.25, "dinov2": 1.5}
FAITHFUL = 1.0  # weight of an emoji's likeness to what it was before
LINE_WIDTHS = (1, 3, 5, 7, 9)  # pixels of 320
WHITENING = 0.125  # components are divided by this power of their variance


def bitmaps(packed: np.ndarray) -> torch.Tensor:
    return torch.tensor(np.unpackbits(packed, axis=-1).reshape(*packed.shape[:-1], 320, 320), device=DEVICE)


def render(lines: torch.Tensor, width: int, placing: torch.Tensor, side: int) -> torch.Tensor:
    """(b, 320, 320) lines of one pixel -> (b, 1, side, side), 1 where ink is."""
    ink = F.max_pool2d(lines[:, None].float(), width, 1, width // 2)
    ink = ink / 2 + F.avg_pool2d(ink, 3, 1, 1) / 2
    grid = F.affine_grid(placing, [len(lines), 1, side, side], align_corners=False)
    return F.grid_sample(ink, grid, align_corners=False)


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


def augmented(lines: torch.Tensor, side: int, rng: np.random.Generator) -> torch.Tensor:
    """Each line width for a fifth of the batch; half of the batches lose a rectangle somewhere."""
    parts = torch.randperm(len(lines), device=DEVICE).chunk(len(LINE_WIDTHS))
    ink = torch.empty(len(lines), 1, side, side, device=DEVICE)
    for part, width in zip(parts, rng.permutation(LINE_WIDTHS), strict=True):
        ink[part] = render(lines[part], int(width), jittered(len(part)), side)
    if rng.random() < 0.5:
        size = int(rng.integers(30, 70))
        top, left = rng.integers(0, side - size, 2)
        ink[: len(lines) // 2, :, top : top + size, left : left + size] = 0
    return ink


def faster() -> torch.autocast:
    return torch.autocast(DEVICE, torch.float16, enabled=DEVICE == "cuda")


@torch.no_grad()
def describe(network: nn.Module, lines: torch.Tensor) -> torch.Tensor:
    """Mean over two line widths, both ways round, as the package does."""
    mirror = torch.tensor([-1.0, 1.0, 1.0], device=DEVICE)
    found = []
    with faster():
        for part in lines.split(256):
            ways = [upright(len(part)) * m for m in (1, mirror)]
            seen = [network(network.paper(render(part, w, p, network.side))) for w in (3, 7) for p in ways]
            found.append(F.normalize(sum(seen), dim=1))
    return torch.cat(found)


@torch.no_grad()
def describe_photos(network: nn.Module, photos: list[np.ndarray]) -> torch.Tensor:
    """(n, c): as the package does, in float32; those of one size together."""
    sizes: dict[tuple, list[int]] = {}
    for i, pixels in enumerate(photos):
        sizes.setdefault(pixels.shape, []).append(i)
    found: dict[int, torch.Tensor] = {}
    for same in sizes.values():
        for part in (same[i : i + 64] for i in range(0, len(same), 64)):
            batch = torch.cat([network.photo(torch.tensor(photos[i], device=DEVICE)) for i in part])
            found |= dict(zip(part, network(batch), strict=True))
    return torch.stack([found[i] for i in range(len(photos))])


def some(n: int, of: int) -> torch.Tensor:
    return torch.randint(of, (n,), device=DEVICE)


def either(clean: torch.Tensor, rough: torch.Tensor, chosen: torch.Tensor, share: float) -> torch.Tensor:
    """Of clean (n, 320, 320) and rough (n, k, 320, 320) lines the chosen ones, a share of them rough."""
    variants = rough[chosen, some(len(chosen), rough.shape[1])]
    again = torch.rand(len(chosen), device=DEVICE) < share
    return torch.where(again[:, None, None], variants, clean[chosen])


def train(network: nn.Module, data: dict, steps: int, seed: int = 0, rough: float = 0.0) -> nn.Module:
    """The network with normalisation adapted to drawings, averaged over the last steps."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network = copy.deepcopy(network)
    photos = Photos(data, rough)
    emoji = F.normalize(data["emoji"] - data["emoji"].mean(0), dim=1) if "emoji" in data else None
    count, weight = (DOODLES, DOODLES_WEIGHT) if "doodle" in data else (EMOJI, EMOJI_WEIGHT)
    centre = nn.Parameter(describe(network, data["drawing"]).mean(0))
    learner = Learner([network], [centre], steps)
    for _ in learner.steps():
        drawn, lines = photos.some()
        meant, art = some_art(data, count) if emoji is not None else (None, [])
        with faster():
            seen = network(network.paper(augmented(torch.cat([*lines, *art]), network.side, rng)))
        seen = F.normalize(seen.float() - centre, dim=1)
        loss = photos.loss(seen[:BATCH], drawn)
        if emoji is not None:
            # The same among emoji, where each is a category.
            chance = (seen[BATCH:] @ emoji.T / TEMPERATURE).log_softmax(1)
            alike = ((emoji[meant] @ emoji.T / TEMPERATURE).softmax(1) * chance).sum(1)
            loss = loss - weight * (alike + chance.gather(1, meant[:, None])[:, 0]).mean()
        learner.learn(loss)
    return learner.adapted[0]


def train_art(network: nn.Module, data: dict, steps: int, rough: float = 0.0) -> tuple[nn.Module, nn.Module]:
    """Two more domains of the network, for drawings and for the flat art that they may show.

    Photos go on being asked for, by their frozen embeddings: without them both domains would soon agree on
    something that holds for the emoji of training alone.
    """
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    drawings, art = copy.deepcopy(network), copy.deepcopy(network)
    photos = Photos(data, rough)
    pictures = torch.cat([network.photo(torch.tensor(p, device=DEVICE)) for p in data["emoji_pictures"]])
    background = data["emoji"].mean(0)
    before = F.normalize(data["emoji"] - background, dim=1)
    teacher = before @ before.T / TEMPERATURE
    now = before.clone()  # of each emoji, as the art side saw it last
    centres = [nn.Parameter(describe(network, data["drawing"]).mean(0)), nn.Parameter(background.clone())]
    learner = Learner([drawings, art], centres, steps)
    for _ in learner.steps():
        drawn, lines = photos.some()
        meant, more = some_art(data, ART)
        chosen = meant.unique()
        with faster():
            seen = drawings(drawings.paper(augmented(torch.cat([*lines, *more]), network.side, rng)))
            looked_at = art(moved(pictures[chosen]))
        seen = F.normalize(seen.float() - centres[0], dim=1)
        looked_at = F.normalize(looked_at.float() - centres[1], dim=1)
        emoji = now.clone()
        emoji[chosen] = looked_at
        chance = (seen[BATCH:] @ emoji.T / TEMPERATURE).log_softmax(1)
        alike = (teacher[meant].softmax(1) * chance).sum(1)
        back = (looked_at @ seen[BATCH:].T / TEMPERATURE).log_softmax(1)
        same = (chosen[:, None] == meant).float()
        loss = photos.loss(seen[:BATCH], drawn)
        loss = loss - (alike / 2 + chance.gather(1, meant[:, None])[:, 0]).mean()
        loss = loss - ((back * same).sum(1) / same.sum(1)).mean() / 2
        loss = loss + FAITHFUL * (1 - (looked_at * before[chosen]).sum(1)).mean()
        learner.learn(loss)
        now[chosen] = looked_at.detach()
    return learner.adapted[0], learner.adapted[1]


class Photos:
    """Drawings of photos: hand drawings, edge maps, boundaries; and where they shall land."""

    def __init__(self, data: dict, rough: float) -> None:
        self.data, self.rough = data, rough
        self.photos = F.normalize(data["photo"] - data["photo"].mean(0), dim=1)
        self.teacher = self.photos @ self.photos.T / TEMPERATURE

    def some(self) -> tuple[tuple[torch.Tensor, ...], list[torch.Tensor]]:
        """Which ones, and their lines."""
        data = self.data
        hand = some(HAND, len(data["drawing"]))
        edge = some(EDGES, len(data["edges"]))
        boundary = some(BOUNDARIES, len(data["boundary"]))
        drawn = either(data["drawing"], data["rough"], hand, self.rough)
        lines = [drawn, data["edges"][edge, some(EDGES, 2)], data["boundary"][boundary]]
        return (hand, edge, boundary), lines

    def loss(self, seen: torch.Tensor, drawn: tuple[torch.Tensor, ...]) -> torch.Tensor:
        data, (hand, edge, boundary) = self.data, drawn
        chance = (seen @ self.photos.T / TEMPERATURE).log_softmax(1)
        # Near all photos of its category ...
        same = (data["drawing_category"][hand][:, None] == data["photo_category"]).float()
        loss = -((chance[:HAND] * same).sum(1) / same.sum(1)).mean()
        # ... and like the photo it shows, among all photos.
        shown = torch.cat([data["drawing_photo"][hand], edge, data["boundary_photo"][boundary]])
        known = shown >= 0
        likeness = -(self.teacher[shown.clamp_min(0)].softmax(1) * chance).sum(1) * known
        return loss + likeness[:HAND].mean() + likeness[HAND:].mean() * (EDGES + BOUNDARIES) / len(shown)


def some_art(data: dict, count: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Which emoji, and the lines of each: its line art or, where there are doodles, those as well."""
    meant = [some(count, len(data["emoji"]))]
    lines = [either(data["line_art"][:, 0], data["line_art"][:, 1:], meant[0], ROUGH_EMOJI)]
    if "doodle" in data:
        doodle = some(count, len(data["doodle"]))
        meant.append(data["doodle_emoji"][doodle])
        lines.append(data["doodle"][doodle, some(count, data["doodle"].shape[1])])
    return torch.cat(meant), lines


def moved(pictures: torch.Tensor) -> torch.Tensor:
    """Pictures a little larger or smaller, elsewhere, half of them mirrored."""

    def between(*shape: int) -> torch.Tensor:
        return 2 * torch.rand(len(pictures), *shape, device=DEVICE) - 1

    placing = upright(len(pictures)) * (1 + 0.15 * between(1, 1))
    placing[:, 0, 0] *= between().sign()
    placing[:, :, 2] = 0.08 * between(2)
    grid = F.affine_grid(placing, pictures.shape, align_corners=False)
    return F.grid_sample(pictures, grid, align_corners=False, padding_mode="border")


class Learner:
    """The optimiser of networks' normalisation and of centres; `adapted` are means over the last steps."""

    def __init__(self, networks: list[nn.Module], centres: list[nn.Parameter], steps: int) -> None:
        self.count = steps
        self.adapted = copy.deepcopy(networks)
        self._means = [p for n in self.adapted for p in n.parameters() if p.requires_grad]
        self._now = [p for n in networks for p in n.parameters() if p.requires_grad]
        self._optimizer = torch.optim.AdamW(
            [{"params": self._now}, {"params": centres, "lr": RATE / 3}], RATE, weight_decay=0
        )
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, [RATE, RATE / 3], total_steps=steps, pct_start=0.1
        )
        self._scaler = torch.amp.GradScaler(DEVICE, enabled=DEVICE == "cuda")

    def steps(self) -> Iterator[int]:
        start = time.time()
        for step in range(1, self.count + 1):
            self._step = step
            yield step
            if step % 50 == 0:
                print(f"step {step} loss {self._loss:.3f} {time.time() - start:.0f} s", flush=True)

    def learn(self, loss: torch.Tensor) -> None:
        self._optimizer.zero_grad()
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self._schedule.step()
        keep = min(0.99, (1 + self._step) / (10 + self._step))
        with torch.no_grad():
            for mean, now in zip(self._means, self._now, strict=True):
                mean.mul_(keep).add_(now, alpha=1 - keep)
        self._loss = loss.item()


def load(path: str, sets: list[str], left_out: set[str], asked: str = "") -> dict:
    """The part of the training file that may be used, without any category that one set asks for."""
    raw = dict(np.load(path))
    left_out |= set(raw["drawing_category"][raw["drawing_set"] == asked])
    photo_in = np.isin(raw["photo_set"], sets) & ~np.isin(raw["photo_category"], list(left_out))
    drawing_in = np.isin(raw["drawing_set"], sets) & ~np.isin(raw["drawing_category"], list(left_out))
    renumbered = np.append(np.where(photo_in, np.cumsum(photo_in) - 1, -1), -1)
    names = {c: i for i, c in enumerate(sorted({*raw["photo_category"], *raw["drawing_category"]}))}
    boundary_in = renumbered[raw["boundary_photo"]] >= 0
    ends = np.append(raw["photo_end"], 0)

    def numbers(values: np.ndarray) -> torch.Tensor:
        return torch.tensor(values, device=DEVICE)

    def photo(i: int) -> np.ndarray:
        return opened(raw["photo"][ends[i - 1] : ends[i]])

    more = {}
    if "openmoji" in sets:
        doodle_in = doodles_of(raw, sets)
        emoji_in = ~raw["emoji_common"] | ("doodles" in sets)
        emoji_in[raw["doodle_emoji"][doodle_in]] = True
        emoji_ends = np.append(raw["emoji_end"], 0)
        pictures = [raw["emoji"][emoji_ends[i - 1] : emoji_ends[i]] for i in np.flatnonzero(emoji_in)]
        more = {"emoji_pictures": list(map(opened, pictures)), "line_art": bitmaps(raw["line_art"][emoji_in])}
        print(f"{emoji_in.sum()} emoji, {doodle_in.sum()} doodles", flush=True)
        if doodle_in.any():
            meant = (np.cumsum(emoji_in) - 1)[raw["doodle_emoji"][doodle_in]]
            more |= {"doodle": bitmaps(raw["doodle"][doodle_in]), "doodle_emoji": numbers(meant)}
    print(f"{drawing_in.sum()} drawings of {len(set(raw['drawing_category'][drawing_in]))} categories,"
          f" {photo_in.sum()} photos, {boundary_in.sum()} sets of boundaries", flush=True)  # fmt: skip
    return {
        "photos": [photo(i) for i in np.flatnonzero(photo_in)],
        "photo_set": raw["photo_set"][photo_in],
        "photo_category": numbers(np.array([names[c] for c in raw["photo_category"][photo_in]])),
        "edges": bitmaps(raw["edges"][photo_in]),
        "drawing": bitmaps(raw["drawing"][drawing_in]),
        "rough": bitmaps(raw["rough"][drawing_in]),
        "drawing_set": raw["drawing_set"][drawing_in],
        "drawing_category": numbers(np.array([names[c] for c in raw["drawing_category"][drawing_in]])),
        "drawing_photo": numbers(renumbered[raw["drawing_photo"][drawing_in]]),
        "boundary": bitmaps(raw["boundary"][boundary_in]),
        "boundary_photo": numbers(renumbered[raw["boundary_photo"][boundary_in]]),
        **more,
    }


def doodles_of(raw: dict, sets: list[str]) -> np.ndarray:
    """Which doodles may be used: `doodles` all, `doodles-odd` and `-even` those of every other class."""
    names = (Path(__file__).parent / "doodles.txt").read_text().split("\n")
    classes = np.array([names.index(name) for name in raw["doodle_category"]])
    wanted = {"doodles-even": classes % 2 == 0, "doodles-odd": classes % 2 == 1, "doodles": classes >= 0}
    return np.any([wanted[name] for name in sets if name in wanted] or [classes < 0], axis=0)


def opened(file: np.ndarray) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(file)).convert("RGB"))


def components(photos: torch.Tensor, dimension: int) -> np.ndarray:
    """(n, c) -> (c, dimension): principal components, a little whitened, their largest number positive."""
    centred = (photos - photos.mean(0)).double()
    variance, vectors = torch.linalg.eigh(centred.T @ centred / len(centred))
    variance, vectors = variance.flip(0)[:dimension], vectors.flip(1)[:, :dimension]
    vectors = vectors * vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()
    return (vectors * variance**-WHITENING).cpu().numpy()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("training")
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("weights")
    parser.add_argument("out")
    parser.add_argument("--sets", default="sketchy-train,bsds500")
    parser.add_argument("--leave-out", default="")
    parser.add_argument("--asked", default="", help="a set: all categories that it asks for are left out")
    parser.add_argument("--learn", default="photographs,drawings,art", help="which parts of the file")
    parser.add_argument("--keep", help="an earlier file, for the other parts")
    parser.add_argument("--beside", help="what was learned for EfficientNet, to be kept in the same file")
    given = parser.parse_args()
    data = load(given.training, given.sets.split(","), set(given.leave_out.split(",")), given.asked)
    network = NETWORKS[given.network](dict(np.load(given.weights))).to(DEVICE)
    data["photo"] = describe_photos(network, data["photos"])
    if "emoji_pictures" in data:
        data["emoji"] = describe_photos(network, data["emoji_pictures"])
    found = dict(np.load(given.keep)) if given.keep else {}
    for part in given.learn.split(","):
        found |= PARTS[part](network, data, given.network)
    if given.beside:
        found |= {f"efficientnet.{name}": values for name, values in np.load(given.beside).items()}
    np.savez_compressed(given.out, **{name: values.astype(np.float16) for name, values in found.items()})


def photographs(network: nn.Module, data: dict, name: str) -> Tensors:
    """The mean of photographs and their components."""
    projection = components(data["photo"], DIMENSION[name])
    return {"pictures": data["photo"].mean(0).cpu().numpy(), "projection": projection}


def taught(network: nn.Module, data: dict, name: str) -> Tensors:
    """What is learned about drawings among photographs."""
    if not SEES_EMOJI[name]:
        data = {key: values for key, values in data.items() if key not in ("emoji", "doodle")}
    adapted = averaged([train(network, data, STEPS[name], seed, ROUGH[name]) for seed in range(SEEDS[name])])
    mean = mean_drawing(adapted, data)
    return {adapted.stored: norms(adapted), "drawings": CENTRE[name] * mean.cpu().numpy()}


def taught_art(network: nn.Module, data: dict, name: str) -> Tensors:
    """What is learned about flat art, and about drawings among it."""
    drawings, art = train_art(network, data, ART_STEPS[name], ART_ROUGH)
    return {
        "art": norms(art),
        "art_drawing": norms(drawings),
        "art_drawings": ART_CENTRE[name] * mean_drawing(drawings, data).cpu().numpy(),
        "art_pictures": describe_photos(art, data["emoji_pictures"]).mean(0).cpu().numpy(),
    }


def mean_drawing(network: nn.Module, data: dict) -> torch.Tensor:
    """That of hand drawings and of rough line art, each for half where there are both."""
    mean = describe(network, data["drawing"]).mean(0)
    return (mean + describe(network, data["line_art"][:, 1]).mean(0)) / 2 if "emoji" in data else mean


def norms(network: nn.Module) -> np.ndarray:
    """All scales and offsets, one after another."""
    learned = network.learned()
    return np.concatenate([learned[name] for name in network.norms])


@torch.no_grad()
def averaged(networks: list[nn.Module]) -> nn.Module:
    """The mean of networks that began as the same."""
    mean = copy.deepcopy(networks[0])
    for one, *several in zip(*(n.parameters() for n in (mean, *networks)), strict=True):
        one.copy_(sum(several) / len(several))
    return mean


PARTS = {"photographs": photographs, "drawings": taught, "art": taught_art}

if __name__ == "__main__":
    main()
