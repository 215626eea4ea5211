"""Hits in a terminal: a table, and pictures where the terminal can show them."""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from .. import system
from ..sources.files import printable

if TYPE_CHECKING:
    from .hit import Hit

SHOWN = 5  # pictures; the table has them all


def print_hits(hits: Sequence[Hit], out: TextIO, pictures: bool = True) -> None:
    """A line for each hit; above them the first few as pictures, if the terminal can show those."""
    show = _pictures_here(out) if pictures and hits else None
    if show is not None:
        from .html import painted_png

        for hit in hits[:SHOWN]:
            out.write(show(painted_png(hit)) + "\n")
    if hits:
        out.write("rank  score  confidence  picture\n")
    for hit in hits:
        marks = "  (mirrored)" * hit.mirrored + "  (not there)" * hit.missing
        if hit.matched is not None:
            marks += f"  (called {printable(hit.matched)})"
        out.write(
            f"{hit.rank:4d}  {hit.score:.3f}  {hit.confidence:10.0%}  {printable(hit.picture)}{marks}\n"
        )


def _pictures_here(out: TextIO) -> Any:
    """The function that turns a PNG into what this terminal shows; None where it shows none."""
    if not out.isatty():
        return None
    term, program = os.environ.get("TERM", ""), os.environ.get("TERM_PROGRAM", "")
    if "kitty" in term or "KITTY_WINDOW_ID" in os.environ or program in ("ghostty", "WezTerm"):
        return kitty
    if program == "iTerm.app" or os.environ.get("LC_TERMINAL") == "iTerm2":
        return iterm
    return sixel if term != "dumb" and _answers_sixel() else None


def kitty(png: bytes) -> str:
    """The graphics protocol of kitty: base64 in chunks of 4,096."""
    data = base64.b64encode(png).decode()
    chunks = [data[i : i + 4096] for i in range(0, len(data), 4096)]
    heads = ["f=100,a=T,"] + [""] * (len(chunks) - 1)
    more = [1] * (len(chunks) - 1) + [0]
    return "".join(f"\x1b_G{h}m={m};{c}\x1b\\" for h, m, c in zip(heads, more, chunks, strict=True))


def iterm(png: bytes) -> str:
    """The inline pictures of iTerm2."""
    return f"\x1b]1337;File=inline=1;size={len(png)}:{base64.b64encode(png).decode()}\x07"


def sixel(png: bytes, colours: int = 64) -> str:
    """The graphics of DEC terminals: six rows of pixels at a time, one colour after another."""
    import numpy as np
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(colours)
    palette = np.array(image.getpalette(), int).reshape(-1, 3) * 100 // 255
    pixels = np.asarray(image)
    height, width = pixels.shape
    parts = [f'\x1bPq"1;1;{width};{height}']
    parts += [f"#{i};2;{r};{g};{b}" for i, (r, g, b) in enumerate(palette[:colours].tolist())]
    for top in range(0, height, 6):
        band = pixels[top : top + 6]
        bits = (1 << np.arange(len(band)))[:, None]
        for colour in np.unique(band).tolist():
            row = "".join(map(chr, (63 + ((band == colour) * bits).sum(axis=0)).tolist()))
            parts.append(f"#{colour}" + re.sub(r"(.)\1{3,}", _repeat, row) + "$")
        parts.append("-")
    return "".join(parts) + "\x1b\\"


def _repeat(match: re.Match[str]) -> str:
    return f"!{len(match[0])}{match[1]}"


def _answers_sixel(patience_s: float = 0.2) -> bool:
    """Ask the terminal what it is (DA1); attribute 4 is sixel graphics."""
    answer = system.ask_terminal("\x1b[c", b"c", patience_s)
    match = re.search(rb"\x1b\[\?([0-9;]*)c", answer)
    return match is not None and b"4" in match[1].split(b";")
