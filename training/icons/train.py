"""Trains the network on what prepare.py wrote.

    python training/icons/train.py icons.npz OUT --steps N [--final] [--seconds S] [--resume OUT.state.pt] ...

Names are the labels: a step takes some names, for each two icons and two drawings (roughened icons or real
doodles), and asks that what shows one name is nearer than what shows another. Names contained in one another
("cat", "cat face") are not compared. OUT.pt is the averaged network, OUT.state.pt what a later run
resumes from.
"""

import argparse
import copy
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from network import DIMENSION, SHAPES, Eye
from parts import CHOOSE, LEVELS, TRAIN, parts, unpacked
from torch import Tensor, nn
from torch.nn import functional
from views import doodle_views, icon_views, rough_views


class Data:
    """Everything on one device. Icons are in order of labels: label i has count[i] from start[i] on."""

    def __init__(self, file: Path, device: torch.device, final: bool, without_asked: bool = False) -> None:
        stored = np.load(file)
        about = json.loads(str(stored["about"]))
        self.device = device
        ink, label, set_of = unpacked(stored["ink"]), stored["label"], stored["set"]
        on_device = (
            torch.from_numpy(x).to(device) for x in (ink, label.astype(np.int64), set_of.astype(np.int64))
        )
        part = parts(*on_device, about["test"], about["dev"]).cpu().numpy()
        used = (part == TRAIN) | (part == CHOOSE) if final else part == TRAIN
        if without_asked:
            names = {n: i for i, n in enumerate(about["labels"])}
            theirs = stored["doodle_class"][stored["doodle_part"] != TRAIN]
            keys = {
                names[key]
                for c in set(theirs.tolist())
                for key in about["relevant"][about["classes"][c]]
                if key in names
            }
            used &= ~np.isin(label, list(keys))
        order = np.flatnonzero(used)
        order = order[np.argsort(label[order], kind="stable")]
        labels, self_label = np.unique(label[order], return_inverse=True)
        self.ink = torch.from_numpy(ink[order]).to(device)
        count = np.bincount(self_label)
        self.count = torch.from_numpy(count).to(device)
        self.start = torch.from_numpy(np.cumsum(count) - count).to(device)
        names = [about["labels"][i] for i in labels]
        self.names = names
        pairs = np.unique(np.stack([self_label, set_of[order]]), axis=1)
        sets = np.bincount(pairs[0])  # how many have the label

        # Doodles join the label of their class that has the most icons, its own name before others.
        at = {name: i for i, name in enumerate(names)}
        drawn, drawn_part = unpacked(stored["doodle_ink"]), stored["doodle_part"]
        drawn_class = stored["doodle_class"]
        used = (drawn_part == TRAIN) | (drawn_part == CHOOSE) if final else drawn_part == TRAIN
        of_label = {}
        for c in np.unique(drawn_class[used]):
            theirs = [at[key] for key in about["relevant"][about["classes"][c]] if key in at]
            if theirs:
                own = theirs[0] if sets[theirs[0]] >= 3 else max(theirs, key=lambda i: sets[i])
                of_label.setdefault(own, []).append(c)
        rows = [np.flatnonzero(used & np.isin(drawn_class, classes)) for classes in of_label.values()]
        self.doodled = torch.tensor(list(of_label), device=device)
        self.doodle_ink = torch.from_numpy(drawn[np.concatenate(rows)]).to(device)
        sizes = np.array([len(r) for r in rows])
        self.doodle_count = torch.zeros(len(names), dtype=torch.long, device=device)
        self.doodle_start = torch.zeros(len(names), dtype=torch.long, device=device)
        self.doodle_count[self.doodled] = torch.from_numpy(sizes).to(device)
        self.doodle_start[self.doodled] = torch.from_numpy(np.cumsum(sizes) - sizes).to(device)

        # Words of names, to tell which are contained in one another.
        words = {}
        for name in names:
            for word in name.split():
                words[word] = words.get(word, 0) + 1
        column = {word: i for i, word in enumerate(w for w, c in words.items() if c > 1)}
        self.n_words = torch.tensor([len(name.split()) for name in names], device=device, dtype=torch.float32)
        pairs = [(i, column[w]) for i, name in enumerate(names) for w in name.split() if w in column]
        self.words = torch.zeros(
            len(names),
            len(column),
            dtype=torch.bfloat16 if device.type == "cuda" else torch.float32,
            device=device,
        )
        self.words[tuple(torch.tensor(pairs, device=device).T)] = 1

        self.proxied = torch.from_numpy(
            np.flatnonzero((sets >= 3) | (self.doodle_count.cpu().numpy() > 0))
        ).to(device)
        self.proxy = torch.full((len(names),), -1, dtype=torch.long, device=device)
        self.proxy[self.proxied] = torch.arange(len(self.proxied), device=device)
        self.proxy_words, self.proxy_n_words = self.words[self.proxied], self.n_words[self.proxied]
        weight = np.minimum(sets, 16) ** 0.5
        weight[count == 1] = 0.3
        self.weight = torch.from_numpy(weight).float().to(device)

        # Questions to choose by: doodles of classes, asked of the dev sets' icons.
        gallery = np.isin(set_of, about["dev"]) & stored["plain_style"]
        self.gallery = torch.from_numpy(ink[gallery]).to(device)
        self.gallery_label = label[gallery]
        self.gallery_set = set_of[gallery]
        rows = np.flatnonzero((drawn_part == CHOOSE) & stored["doodle_plain"])
        key = {name: i for i, name in enumerate(about["labels"])}
        wanted = {
            c: {key[k] for k in about["relevant"][name] if k in key}
            for c, name in enumerate(about["classes"])
        }
        present = set(self.gallery_label.tolist())
        rows = np.array([r for r in rows if wanted[drawn_class[r]] & present])
        # Two widths of each doodle, one after the other.
        self.questions = torch.from_numpy(drawn[rows]).to(device)
        self.wanted = [wanted[c] for c in drawn_class[rows[::2]]]
        print(f"{len(order)} icons, {len(names)} names, {len(self.proxied)} proxies", flush=True)
        print(f"{len(self.doodle_ink)} drawings of {len(of_label)} classes", flush=True)
        print(f"asked: {len(self.wanted)} doodles, {len(self.gallery)} icons", flush=True)

    def related(self, labels: Tensor, words: Tensor, n_words: Tensor) -> Tensor:
        """Which of other names (m) contain, or are contained in, the names of labels: (n, m)."""
        shared = (self.words[labels] @ words.T).float()
        return shared >= torch.minimum(self.n_words[labels][:, None], n_words[None])

    def batch(self, n_names: int, doodles: float, rough: float, mirrored: float) -> tuple[Tensor, Tensor]:
        """Views (4 n, 1, 64, 64) of n names, and the names (n): all firsts, all seconds, ..."""
        n_doodled = round(n_names * doodles)
        labels = torch.multinomial(self.weight, n_names - n_doodled)
        if n_doodled:
            some = torch.randint(len(self.doodled), (n_doodled,), device=self.device)
            labels = torch.cat([self.doodled[some], labels])
        count, start = self.count[labels], self.start[labels]

        def rand() -> Tensor:
            return torch.rand(n_names, device=self.device)

        first = (rand() * count).long()
        second = (first + 1 + (rand() * (count - 1)).long()) % count
        third, fourth = (rand() * count).long(), (rand() * count).long()
        views = [icon_views(self.picture(start + i)) for i in (first, second)]
        drawn = [
            rough_views(self.picture(start + i), rough, mirrored)
            if rough
            else icon_views(self.picture(start + i))
            for i in (third, fourth)
        ]
        if n_doodled:
            own = labels[:n_doodled]
            for ink in drawn:
                i = (
                    self.doodle_start[own]
                    + (torch.rand(n_doodled, device=self.device) * self.doodle_count[own]).long()
                )
                ink[:n_doodled] = doodle_views(self.doodle_ink[i][:, None].float() / LEVELS, mirrored)
        return torch.cat(views + drawn), labels

    def picture(self, i: Tensor) -> Tensor:
        """Ink (n, 1, 64, 64) of icons."""
        return self.ink[i][:, None].float() / LEVELS


class Objective(nn.Module):
    """How wrong embeddings are: among each other, and against one proxy a name."""

    def __init__(self, n_proxies: int, proxies: float, temperature: float, scale: float) -> None:
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(n_proxies, DIMENSION))
        self.share, self.temperature, self.scale = proxies, temperature, scale

    def forward(self, found: Tensor, labels: Tensor, data: Data) -> tuple[Tensor, Tensor]:
        views = len(found) // len(labels)
        each = labels.repeat(views)
        likeness = found @ found.T / self.temperature
        same = each[:, None] == each[None]
        related = data.related(labels, data.words[labels], data.n_words[labels]).repeat(views, views)
        itself = torch.eye(len(found), dtype=torch.bool, device=found.device)
        likeness = likeness.masked_fill(itself | (related & ~same), -1e4)
        log = likeness - likeness.logsumexp(dim=1, keepdim=True)
        same = (same & ~itself).float()
        contrast = -((log * same).sum(dim=1) / same.sum(dim=1)).mean()
        if not self.share:
            return contrast, contrast.detach() * 0
        proxy = data.proxy[each]
        some = proxy >= 0
        logits = self.scale * (found[some] @ functional.normalize(self.proxies, dim=1).T)
        near = data.related(labels, data.proxy_words, data.proxy_n_words)
        near = near.scatter(1, data.proxy[labels].clamp_min(0)[:, None], False).repeat(views, 1)[some]
        wrong = functional.cross_entropy(logits.masked_fill(near, -1e4), proxy[some], reduction="sum")
        named = wrong / some.sum().clamp_min(1)
        return contrast + self.share * named, named.detach()


@torch.no_grad()
def begin_from(graph: Path, network: Eye, data: Data) -> None:
    """Take the weights of a graph that `export.py` wrote: normalisations are folded in there.

    Each normalisation leaves its layer as the graph has it: it measures a batch, and its scale and offset
    undo what it would do to it.
    """
    from export import stored_layers  # with onnx, which training does not need otherwise

    layers = iter(stored_layers(graph))
    convolutions = [part for part in network.in_order() if isinstance(part, nn.Sequential)]

    def undo(norm: nn.BatchNorm2d, inputs: tuple[Tensor], bias: Tensor) -> None:
        mean, variance = inputs[0].mean(dim=(0, 2, 3)), inputs[0].var(dim=(0, 2, 3))
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        norm.weight.copy_((variance + norm.eps).sqrt())
        norm.bias.copy_(mean + bias)

    hooks = []
    for part in convolutions:
        weight, bias = (torch.from_numpy(x).to(data.device) for x in next(layers))
        part[0].weight.copy_(weight)
        hooks.append(part[1].register_forward_pre_hook(lambda norm, x, bias=bias: undo(norm, x, bias)))
    weight, bias = (torch.from_numpy(x).to(data.device) for x in next(layers))
    network.last.weight.copy_(weight)
    network.last.bias.copy_(bias)
    network.eval()
    network(data.batch(1024, doodles=0.1, rough=1.0, mirrored=0.0)[0])
    for hook in hooks:
        hook.remove()


@torch.no_grad()
def embedded(network: nn.Module, ink: Tensor) -> Tensor:
    """Embeddings (n, 128) of stored ink (n, 64, 64)."""
    network.eval()
    with torch.autocast(ink.device.type, torch.bfloat16, enabled=ink.device.type == "cuda"):
        return torch.cat([network(part[:, None].float() / LEVELS) for part in ink.split(4096)])


def judged(network: nn.Module, data: Data) -> dict[str, float]:
    """Recall of doodles among the icons of the dev sets, and of one set's icons among the other's."""
    icons = embedded(network, data.gallery)
    asked = embedded(network, data.questions)
    asked = functional.normalize(asked[::2] + asked[1::2], dim=1)
    best = (asked @ icons.T).topk(10, dim=1).indices.cpu().numpy()
    right = np.array(
        [[data.gallery_label[i] in want for i in row] for row, want in zip(best, data.wanted, strict=True)]
    )
    result = {f"R@{k}": 100 * right[:, :k].any(axis=1).mean() for k in (1, 5, 10)}
    one, other = np.unique(data.gallery_set)
    mine, theirs = data.gallery_set == one, data.gallery_set == other
    mine &= np.isin(data.gallery_label, data.gallery_label[theirs])
    best = (
        (icons[torch.from_numpy(mine)] @ icons[torch.from_numpy(theirs)].T)
        .topk(10, dim=1)
        .indices.cpu()
        .numpy()
    )
    right = data.gallery_label[theirs][best] == data.gallery_label[mine][:, None]
    return result | {f"across R@{k}": 100 * right[:, :k].any(axis=1).mean() for k in (1, 10)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument(
        "--total", type=float, default=0, help="instead of --steps: as many as take so many seconds"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="when to stop, to be resumed")
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--final", action="store_true", help="train on the dev sets and classes, too")
    parser.add_argument("--without-asked", action="store_true", help="no icon of a class that is asked")
    parser.add_argument("--shape", choices=SHAPES, default="middle")
    parser.add_argument("--head", choices=("layout", "mean"), default="layout")
    parser.add_argument("--no-edges", action="store_true")
    parser.add_argument("--names", type=int, default=1024, help="a step")
    parser.add_argument("--doodles", type=float, default=0.12, help="share of names with real doodles")
    parser.add_argument("--rough", type=float, default=1.0)
    parser.add_argument("--mirrored", type=float, default=0.0, help="share of drawings that are mirrored")
    parser.add_argument("--start", type=Path, help="a graph that export.py wrote: begin from its weights")
    parser.add_argument("--proxies", type=float, default=1.0)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--scale", type=float, default=16.0)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--average", type=float, default=0.999)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--judge", type=int, default=500)
    args = parser.parse_args()
    begun = time.monotonic()
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = Data(args.data, device, args.final, args.without_asked)
    widths, blocks = SHAPES[args.shape]
    network = Eye(widths, blocks, args.head, not args.no_edges).to(device, memory_format=torch.channels_last)
    print(sum(p.numel() for p in network.parameters()), "parameters", vars(args), flush=True)
    if args.start:
        begin_from(args.start, network, data)
    objective = Objective(len(data.proxied), args.proxies, args.temperature, args.scale).to(device)
    averaged = copy.deepcopy(network)
    matrices = [p for p in network.parameters() if p.ndim > 1]
    others = [p for p in network.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": args.decay},
            {"params": others, "weight_decay": 0.0},
            {"params": objective.parameters(), "weight_decay": 0.0, "faster": 5.0},
        ],
        lr=args.rate,
        fused=device.type == "cuda",
    )
    step, steps = 0, args.steps
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        for name, part in (
            ("network", network),
            ("averaged", averaged),
            ("objective", objective),
            ("optimizer", optimizer),
        ):
            part.load_state_dict(state[name])
        step, steps = state["step"], steps or state["steps"]
        torch.manual_seed(args.seed + step)

    timed = None
    while not steps or step < steps:
        network.train()
        done = step / steps if steps else 0.0
        rate = args.rate * min(1.0, (step + 1) / 300) * (0.5 + 0.5 * math.cos(math.pi * done) + 0.01)
        for group in optimizer.param_groups:
            group["lr"] = rate * group.get("faster", 1.0)
        ink, labels = data.batch(args.names, args.doodles, args.rough, args.mirrored)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            found = network(ink.contiguous(memory_format=torch.channels_last))
        loss, named = objective(found.float(), labels, data)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        step += 1
        keep = min(args.average, step / (step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(averaged.parameters()), list(network.parameters()), 1 - keep)
            for mine, theirs in zip(averaged.buffers(), network.buffers(), strict=True):
                mine.lerp_(theirs, 1 - keep) if mine.is_floating_point() else mine.copy_(theirs)
        now = time.monotonic()
        if step == 30 and not steps:
            timed = now
        if step == 130 and not steps:
            steps = step + int((args.total - (now - begun)) / (now - timed) * 100)
            print(f"{steps} steps of {1e3 * (now - timed) / 100:.0f} ms", flush=True)
        if step % args.judge == 0 or step == steps:
            print(
                f"step {step} {now - begun:.0f} s loss {loss.item():.3f} names {named.item():.3f} "
                + " ".join(f"{k} {v:.1f}" for k, v in judged(averaged, data).items()),
                flush=True,
            )
        if now - begun > args.seconds:
            break
    torch.save(
        {
            "network": averaged.state_dict(),
            "shape": args.shape,
            "head": args.head,
            "edges": not args.no_edges,
        },
        args.out.with_suffix(".pt"),
    )
    if step < steps:
        kept = {"network": network, "averaged": averaged, "objective": objective, "optimizer": optimizer}
        torch.save(
            {name: part.state_dict() for name, part in kept.items()} | {"step": step, "steps": steps},
            args.out.with_suffix(".state.pt"),
        )


if __name__ == "__main__":
    main()
