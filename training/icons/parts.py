"""Which icons are trained on: none of the sets that are asked, none that is drawn nearly like one of theirs.

python training/icons/parts.py icons.npz sets.md     # the sets that are trained on, with their licences
"""

import argparse
import json
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

LEVELS = 3
TRAIN, CHOOSE, ASK, NEVER = 0, 1, 2, 3
"""To train on; to choose by, and to train on in the last run; to report on; like those, or there already."""
SAME, SAME_NAMED = 0.9, 0.8
"""Cosines of thumbnails from which two icons, or two of one name, are one drawing."""
TWICE = 0.98
"""The same within one name, where both are trained on."""


def unpacked(stream: np.ndarray) -> np.ndarray:
    """Levels (n, 64, 64) that `prepare.packed` packed."""
    planes = np.frombuffer(lzma.decompress(stream.tobytes()), np.uint8).reshape(-1, 2, 64, 8)
    return np.unpackbits(planes[:, 0], axis=-1) | np.unpackbits(planes[:, 1], axis=-1) << 1


def thumbnails(ink: Tensor, side: int = 32) -> Tensor:
    """Soft thumbnails (n, side**2) of levels (n, 64, 64), without what all have in common, of length 1."""
    row = torch.tensor([1.0, 4, 6, 4, 1], device=ink.device) / 16
    kernel = torch.outer(row, row)[None, None]
    rows = []
    for part in ink.split(8192):
        soft = functional.conv2d(
            functional.conv2d(part[:, None].float(), kernel, padding=2), kernel, padding=2
        )
        rows.append(functional.avg_pool2d(soft, 64 // side).flatten(1))
    found = functional.normalize(torch.cat(rows), dim=1)
    return functional.normalize(found - found.mean(dim=0), dim=1)


def parts(ink: Tensor, label: Tensor, set_of: Tensor, test: list[int], dev: list[int]) -> Tensor:
    """The part of each icon."""
    thumbs = thumbnails(ink)
    asks, chooses = (torch.isin(set_of, torch.tensor(sets, device=label.device)) for sets in (test, dev))
    part = torch.full_like(label, TRAIN)
    part[near(thumbs, label, chooses) | chooses] = CHOOSE
    empty = ink.flatten(1).amax(dim=1) == 0
    part[near(thumbs, label, asks) | (twice(thumbs, label) & ~chooses) | empty] = NEVER
    part[asks] = ASK
    return part


def near(thumbs: Tensor, label: Tensor, asked: Tensor) -> Tensor:
    """Which icons are drawn nearly like one of those that are asked."""
    theirs = asked.nonzero()[:, 0]
    found = []
    for first in range(0, len(thumbs), 2048):
        some = slice(first, first + 2048)
        likeness = thumbs[some] @ thumbs[theirs].T
        bar = torch.where(label[some][:, None] == label[theirs][None], SAME_NAMED, SAME)
        found.append((likeness > bar).any(dim=1))
    return torch.cat(found) & ~asked


def twice(thumbs: Tensor, label: Tensor) -> Tensor:
    """Which icons are as one before them with the same name."""
    order = torch.argsort(label, stable=True)
    result = torch.zeros(len(label), dtype=torch.bool, device=label.device)
    for shift in range(1, 33):  # names have about as many icons
        mine, other = order[shift:], order[:-shift]
        same = label[mine] == label[other]
        alike = torch.zeros_like(same)
        for at in torch.arange(len(mine), device=label.device)[same].split(65536):
            alike[at] = (thumbs[mine[at]] * thumbs[other[at]]).sum(dim=1) > TWICE
        result[mine[alike]] = True
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    stored = np.load(args.data)
    about = json.loads(str(stored["about"]))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    ink, label, set_of = (
        torch.from_numpy(x).to(device)
        for x in (unpacked(stored["ink"]), stored["label"].astype(np.int64), stored["set"].astype(np.int64))
    )
    part = parts(ink, label, set_of, about["test"], about["dev"]).cpu().numpy()
    print({name: int((part == at).sum()) for at, name in enumerate(("train", "dev", "test", "never"))})
    trained = Counter(stored["set"][(part == TRAIN) | (part == CHOOSE)].tolist())
    lines = [
        "# Sets of icons that were trained on",
        "",
        f"From the npm package @iconify/json {about['package']}. "
        "Nothing of them is in this tree but what the network learned.",
        "",
        "| set | by | licence | icons used |",
        "|---|---|---|---|",
    ]
    for at, one in sorted(enumerate(about["sets"]), key=lambda item: item[1]["set"]):
        if trained[at]:
            lines.append(
                f"| {one['set']}: {one['name']} | {one['by']} | {one['licence']} | {trained[at]:,} |"
            )
    args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
