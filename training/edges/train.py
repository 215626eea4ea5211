"""Train the edge detector: a teacher on BSDS500, then the small network on BSDS500, teacher and strokes.

    python training/edges/train.py --bsds DIR --photos DIR --imagenet FILE --out DIR

See README.md beside this file.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from network import EdgeNetwork
from photos import load_bsds, load_unlabelled, recolour, warp
from teacher import Teacher, beliefs
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from strokes import lay_over, plain_ground, scenes

START = time.perf_counter()
Batch = dict[str, Tensor]
Network = TypeVar("Network", bound=nn.Module)


def clock() -> float:
    """Seconds since the start."""
    return round(time.perf_counter() - START, 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bsds", type=Path, required=True, help="folder with train/ and val/")
    parser.add_argument("--photos", type=Path, required=True, help="folder of photos without labels")
    parser.add_argument("--imagenet", type=Path, required=True, help="EfficientNet-Lite0's weights")
    parser.add_argument("--teacher", type=Path, help="a trained teacher, to leave its training out")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--until", type=float, help="as many steps of the network as fit, in seconds from the start"
    )
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=JSON", help="e.g. network.steps=200")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    settings = json.loads(Path(__file__).with_name("settings.json").read_text())
    for change in options.set:
        key, _, value = change.partition("=")
        *groups, last = key.split(".")
        place = settings
        for group in groups:
            place = place[group]
        place[last] = json.loads(value)
    options.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(settings), flush=True)
    if options.device == "cuda":
        print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)

    torch.manual_seed(settings["seed"])
    teacher = make_teacher(settings, options)
    network = train_network(settings, teacher, options)
    torch.save(network.state_dict(), options.out / "edges.pt")


def load_split(settings: dict[str, Any], options: argparse.Namespace) -> tuple[Tensor, Tensor]:
    return load_bsds([options.bsds / split for split in settings["splits"]], options.device)


class Mixer:
    """Makes batches on the device, out of (n, c, h, w) uint8: pictures first, then their targets."""

    def __init__(self, settings: dict[str, Any], bsds: Tensor) -> None:
        self.side, self.log_zoom = settings["side"], tuple(settings["log_zoom"])
        self.bsds, self.device = bsds, bsds.device

    def cut(self, source: Tensor, n: int) -> tuple[Tensor, Tensor]:
        """Pieces at random: pictures (n, 3, side, side), targets (n, c - 3, side, side)."""
        chosen = torch.randint(len(source), (n,), device=self.device)
        cut = warp(source[chosen].float() / 255, self.side, self.log_zoom)
        return recolour(cut[:, :3]), cut[:, 3:]

    def labelled(self, n: int) -> Batch:
        """Pieces of BSDS500 with what the annotators drew and, if it was asked, what the teacher sees."""
        picture, target = self.cut(self.bsds, n)
        care = torch.ones_like(picture[:, :1])
        return {"picture": picture, "target": target[:, :2], "care": care, "belief": target[:, 2:]}

    def strokes(self, art: Tensor, on_plain: int, on_photos: int) -> Batch:
        """Line art on plain ground and over pieces of BSDS500."""
        chosen = torch.randint(len(art), (on_plain + on_photos,), device=self.device)
        art = art[chosen].float()
        layer, target, care = art[:, :4] / 255, art[:, 4:5] / 255, art[:, 5:]
        # Other pens: the colours mixed anew.
        hue = torch.rand(len(art), 3, 1, 1, device=self.device)
        layer = torch.cat([(layer[:, :3] - hue).abs().clamp(0, 1), layer[:, 3:]], 1)
        plain = plain_ground(on_plain, self.side, self.device)
        photos = self.labelled(on_photos)
        ground = torch.cat([plain, photos["picture"]])
        boundaries = torch.cat([torch.zeros_like(plain[:, :2]), photos["target"]])
        picture, target, care = lay_over(ground, boundaries, layer, target, care)
        return {"picture": picture, "target": target, "care": care}


def draw_scenes(count: int, side: int, device: str) -> Tensor:
    """(count, 6, side, side) uint8: layer, target, care of generated line art."""
    some = min(count, 160)
    return torch.cat([torch.cat(scenes(some, side, device), 1) for _ in range(math.ceil(count / some))])


def label_loss(logits: Tensor, batch: Batch, positive_weight: float, dice: float) -> Tensor:
    """Cross-entropy that asks for what annotators agree on and forgives what any of them drew; plus Dice."""
    target, care = batch["target"], batch["care"]
    step = target.shape[-1] // logits.shape[-1]
    if step > 1:  # a side output, scored at its own size
        target, care = F.max_pool2d(target, step), -F.max_pool2d(-care, step)
    mean, anyone = target[:, :1], target[:, 1:]
    logits = logits.float()
    wanted = positive_weight * mean * F.logsigmoid(logits)
    unwanted = (1 - (mean + anyone) / 2) * F.logsigmoid(-logits)
    loss = -((wanted + unwanted) * care).sum() / care.sum()
    if dice:
        p, t = torch.sigmoid(logits) * care, mean * care
        overlap = 2 * (p * t).sum((1, 2, 3)) + 1
        loss = loss + dice * (1 - overlap / ((p * p).sum((1, 2, 3)) + (t * t).sum((1, 2, 3)) + 1)).mean()
    return loss


def make_teacher(settings: dict[str, Any], options: argparse.Namespace) -> Teacher:
    own = settings["teacher"]
    if options.teacher:
        teacher = Teacher(None).to(options.device, memory_format=torch.channels_last)
        teacher.load_state_dict(torch.load(options.teacher, map_location=options.device, weights_only=True))
        return teacher.eval().requires_grad_(False)
    mixer = Mixer(settings, torch.cat(load_split(own, options), 1))
    teacher = Teacher(options.imagenet).to(options.device, memory_format=torch.channels_last)

    def loss() -> Tensor:
        batch = mixer.labelled(own["photos"])
        logits, asides = teacher(batch["picture"].contiguous(memory_format=torch.channels_last))
        total = label_loss(logits, batch, settings["positive_weight"], settings["dice"])
        for aside in asides:
            total = total + settings["asides"] * label_loss(aside, batch, settings["positive_weight"], 0.0)
        return total

    pretrained = [p for name, p in teacher.named_parameters() if name.startswith("_")]
    fresh = [p for name, p in teacher.named_parameters() if not name.startswith("_")]
    groups = [(pretrained, own["encoder_rate"]), (fresh, own["rate"])]
    teacher = fit("teacher", teacher, loss, groups, own, settings["averaging"])
    halves = {name: v.half() if v.is_floating_point() else v for name, v in teacher.state_dict().items()}
    torch.save(halves, options.out / "teacher.pt")
    return teacher


def train_network(settings: dict[str, Any], teacher: Teacher, options: argparse.Namespace) -> EdgeNetwork:
    own = settings["network"]
    with torch.autocast("cuda", torch.bfloat16, enabled=options.device == "cuda"):
        pictures, targets = load_split(own, options)
        mixer = Mixer(settings, torch.cat([pictures, targets, beliefs(teacher, pictures)], 1))
        unlabelled = load_unlabelled(options.photos, 320, options.device)
        unlabelled = torch.cat([unlabelled, beliefs(teacher, unlabelled)], 1)
    print(f"{len(pictures)} pictures with boundaries, {len(unlabelled)} without", clock(), flush=True)
    art = draw_scenes(own["scenes"], settings["side"], options.device)
    print(f"{len(art)} scenes of line art", clock(), flush=True)
    network = EdgeNetwork().to(options.device, memory_format=torch.channels_last)

    def loss() -> Tensor:
        other, other_belief = mixer.cut(unlabelled, own["unlabelled"])
        labelled = mixer.labelled(own["photos"])
        strokes = mixer.strokes(art, own["plain_strokes"], own["photo_strokes"])
        shown = torch.cat([other, labelled["picture"], strokes["picture"]])
        logits, asides = network(shown.contiguous(memory_format=torch.channels_last))
        told = {key: torch.cat([labelled[key], strokes[key]]) for key in strokes}
        total = label_loss(logits[len(other) :], told, settings["positive_weight"], settings["dice"])
        for aside in asides:
            part = label_loss(aside[len(other) :], told, settings["positive_weight"], 0.0)
            total = total + settings["asides"] * part
        belief = torch.cat([other_belief, labelled["belief"]])
        taught = F.binary_cross_entropy_with_logits(logits[: len(belief)].float(), belief)
        return total + own["belief"] * taught

    return fit(
        "network",
        network,
        loss,
        [(list(network.parameters()), own["rate"])],
        own,
        settings["averaging"],
        options.until,
    )


def fit(  # noqa: PLR0917
    name: str,
    network: Network,
    loss_of_a_batch: Callable[[], Tensor],
    groups: list[tuple[list[Tensor], float]],
    own: dict[str, Any],
    averaging: float,
    until: float | None = None,
) -> Network:
    """AdamW, one cycle of its rate, running averages of the weights; one CUDA graph is one step."""
    torch.backends.cudnn.benchmark = True
    on_gpu = next(network.parameters()).is_cuda
    device = next(network.parameters()).device
    network.train()
    rates = [torch.tensor(0.0, device=device) for _ in groups]
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "lr": rate} for (parameters, _), rate in zip(groups, rates, strict=True)],
        weight_decay=own["decay"], capturable=on_gpu, fused=on_gpu,
    )  # fmt: skip
    average = copy.deepcopy(network).eval().requires_grad_(False)
    ours = [value for value in average.state_dict().values() if value.is_floating_point()]
    theirs = [value for value in network.state_dict().values() if value.is_floating_point()]
    last_loss = torch.zeros((), device=device)
    parameters = list(network.parameters())

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=on_gpu, cache_enabled=False):
            loss = loss_of_a_batch()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()
        torch._foreach_lerp_(ours, theirs, 1 - averaging)
        last_loss.lerp_(loss.detach(), 0.02)

    steps = own["steps"]

    def set_rates(i: int) -> None:
        warm_up = max(1, steps // 20)
        share = (
            i / warm_up if i < warm_up else 0.5 + 0.5 * math.cos(math.pi * (i - warm_up) / (steps - warm_up))
        )
        for rate, (_, peak) in zip(rates, groups, strict=True):
            rate.fill_(peak * share)

    run = step
    first = 0
    if on_gpu:
        first = 10
        side_stream = torch.cuda.Stream()
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            for i in range(first):
                set_rates(i)
                step()
        torch.cuda.current_stream().wait_stream(side_stream)
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            step()
        run = graph.replay
    if until:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for i in range(first, first + 100):
            set_rates(i)
            run()
        torch.cuda.synchronize()
        first += 100
        steps = first + int((until - clock()) / ((time.perf_counter() - began) / 100))
        print(f"{name}: {steps} steps fit", clock(), flush=True)
    began = time.perf_counter()
    for i in range(first, steps):
        set_rates(i)
        run()
        if i % max(1, steps // 40) == 0 or i == steps - 1 or i == first + 100:
            print(
                f"{name} step {i} loss {last_loss.item():.4f} seconds {time.perf_counter() - began:.1f}",
                flush=True,
            )
    return average


if __name__ == "__main__":
    main()
