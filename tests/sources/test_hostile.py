"""Files made to hurt: refused with a sentence, in bounded time and memory, and with no other error."""

from __future__ import annotations

import base64
import io
import os
import resource
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from made_pictures import saved, scene
from sketchseek.contours import Sketch
from sketchseek.errors import SketchseekError
from sketchseek.sources.picture import load_picture

SVG = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def refusal(source: str | Path | bytes) -> str:
    with pytest.raises(SketchseekError) as caught:
        load_picture(source)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def png_claiming(width: int, height: int) -> bytes:
    """A PNG whose header claims a size that its data does not have."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 999)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def use_bomb(levels: int = 12) -> bytes:
    groups = "".join(
        f'<g id="a{i}">' + f'<use xlink:href="#a{i - 1}"/>' * 10 + "</g>" for i in range(1, levels)
    )
    return (
        f'<svg {SVG} viewBox="0 0 9 9"><defs><path id="a0" d="M0 0h5v5z"/>{groups}</defs>'
        f'<use xlink:href="#a{levels - 1}"/></svg>'
    ).encode()


def embedded_bomb() -> bytes:
    inner = base64.b64encode(saved(Image.new("L", (20000, 20000)), "PNG")).decode()
    image = f'<image width="9" height="9" href="data:image/png;base64,{inner}"/>'
    return f'<svg {SVG} viewBox="0 0 9 9">{image}</svg>'.encode()


HOSTILE = {
    "claims 50,000 x 50,000": png_claiming(50_000, 50_000),
    "claims 12,000 x 12,000": png_claiming(12_000, 12_000),
    "truncated": saved(scene(), "PNG")[:3000],
    "truncated jpeg": saved(scene(), "JPEG")[:5000],
    "text": b"this is not a picture at all" * 50,
    "archive": b"PK\x03\x04" + bytes(range(256)) * 8,
    "zeros": bytes(4096),
    "html": b"<html><body>hello</body></html>",
    "entities": f'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg {SVG}>&b;</svg>'.encode(),
    "outside entity": f'<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/hosts">]><svg {SVG}>&a;</svg>'.encode(),
    "huge svg": f'<svg {SVG} width="50000" height="50000"><path d="M0 0h9v9"/></svg>'.encode(),
    "endless svg": f'<svg {SVG} width="1e300" height="1e300"><path d="M0 0h9v9"/></svg>'.encode(),
    "deep svg": f"<svg {SVG}>".encode() + b"<g>" * 50_000 + b"</g>" * 50_000 + b"</svg>",
    "svg that uses itself a billion times": use_bomb(),
    "svg with a bomb in it": embedded_bomb(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_refused(name: str) -> None:
    refusal(HOSTILE[name])


def test_file_system_surprises(tmp_path: Path) -> None:
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "folder.jpg").mkdir()
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "renamed.jpg").write_bytes(b"MZ" + bytes(300))
    assert refusal(tmp_path / "empty.jpg") == "empty.jpg is empty."
    assert "folder.jpg" in refusal(tmp_path / "folder.jpg")
    assert refusal(tmp_path / "pipe.jpg") == "pipe.jpg is not a regular file."
    assert "not a picture" in refusal(tmp_path / "renamed.jpg")
    assert "No such file" in refusal(tmp_path / "missing.jpg")
    refusal(Path("/dev/zero"))
    refusal("nul\0byte.jpg")


def test_too_many_bytes_are_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "sparse.png", "wb") as file:
        file.truncate(300 * 2**20)
    assert "larger than 256 MB" in refusal(tmp_path / "sparse.png")


def test_a_picture_with_another_pictures_ending_is_read_for_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "scene.jpg").write_bytes(saved(scene(), "PNG"))
    assert load_picture(tmp_path / "scene.jpg").format == "PNG"


def test_svg_opens_no_other_file(tmp_path: Path) -> None:
    Image.new("RGB", (30, 20), "black").save(tmp_path / "secret.png")
    for link in (f"{tmp_path}/secret.png", f"file://{tmp_path}/secret.png"):
        svg = f'<svg {SVG} viewBox="0 0 30 20"><image width="30" height="20" href="{link}"/></svg>'
        assert load_picture(svg.encode()).pixels.min() == 255


def test_memory_and_time_are_bounded(tmp_path: Path) -> None:
    """Each hostile file in a process that may use little more than the imports do."""
    for number, data in enumerate(HOSTILE.values()):
        (tmp_path / str(number)).write_bytes(data)
    code = """if True:
        import resource, sys
        from sketchseek.contours import Sketch, load_picture
        from sketchseek.errors import SketchseekError
        load_picture(sys.argv[1])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for path in sys.argv[2:]:
            for read in (load_picture, Sketch.load):
                try:
                    read(path)
                except SketchseekError:
                    pass
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    (tmp_path / "good.png").write_bytes(saved(scene(), "PNG"))
    paths = [str(tmp_path / "good.png"), *(str(tmp_path / str(number)) for number in range(len(HOSTILE)))]
    child = subprocess.run(
        [sys.executable, "-c", code, *paths],
        capture_output=True, text=True, timeout=120, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)),
    )  # fmt: skip
    assert int(child.stdout) < 600 * 1024, "KB more than before"


def seeds() -> list[bytes]:
    """Small files of every format, as they should be."""
    image = scene().resize((48, 36))
    transparent = image.convert("RGBA")
    transparent.putalpha(128)
    exif = Image.Exif()
    exif[0x0112] = 6
    return [
        saved(image, "JPEG", exif=exif), saved(image, "JPEG", progressive=True), saved(image, "PNG"),
        saved(transparent, "PNG"), saved(image.quantize(16), "PNG"), saved(image, "WEBP"),
        saved(image, "WEBP", lossless=True), saved(image, "AVIF", speed=9), saved(image, "HEIF"),
        saved(image, "TIFF"), saved(image, "TIFF", compression="tiff_lzw"),
        saved(image.convert("CMYK"), "TIFF"),
        saved(image, "BMP"), saved(image, "GIF"),
        f'<svg {SVG} viewBox="0 0 24 24" fill="none" stroke="#000"><style>.a{{fill:red}}</style>'
        '<g transform="rotate(5) scale(.9 1)"><path class="a" d="M3 12a9 9 0 1 0 18 0q1-2-3 4c1 1 2 2 3 3z"/>'
        '<rect x="2" y="2" width="9" height="5" rx="1"/><ellipse cx="9" cy="9" rx="3" ry="2"/>'
        "</g></svg>".encode(),
        b'{"strokes": [[[0, 0], [10, 5], [20, 0]], [[3, 4], [5, 6]]]}',
        b'{"word": "cat", "drawing": [[[0, 10, 20], [0, 5, 0]], [[1, 9], [3, 3]]]}',
        b"[[[0, 10, 20], [0, 5, 0], [0, 16, 32]]]",
    ]  # fmt: skip


def mutate(data: bytes, random: np.random.Generator) -> bytes:
    """Bytes flipped, a piece cut out, doubled or overwritten with extremes, or the end cut off."""
    out = bytearray(data)
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(0, len(out)))
        length = int(random.integers(1, 9))
        match int(random.integers(0, 6)):
            case 0:
                out[at] ^= 1 << int(random.integers(0, 8))
            case 1:
                out[at : at + length] = random.bytes(length)
            case 2:
                out[at : at + length] = b"\xff" * length
            case 3:
                out[at:at] = out[at : at + 4 * length]
            case 4:
                del out[at : at + length]
            case 5:
                del out[max(at, len(out) // 2) :]
        if not out:
            return b"\0"
    return bytes(out)


def test_a_float_tiff_takes_no_more_memory_than_others(tmp_path: Path) -> None:
    """Of all the pixels there is one copy, the decoder's; it was four."""
    side = 6000
    modes = {"F": np.float32, "I": np.int32}
    for mode, kind in modes.items():
        image = Image.fromarray(np.zeros((side, side), kind))
        image.save(tmp_path / f"{mode}.tiff", compression="tiff_deflate")
    Image.new("RGBA", (side, side)).save(tmp_path / "RGBA.png")
    code = """if True:
        import resource, sys
        from sketchseek.contours import load_picture
        load_picture(sys.argv[1])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        load_picture(sys.argv[2])
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    (tmp_path / "small.png").write_bytes(saved(scene(), "PNG"))
    for name in ("F.tiff", "I.tiff", "RGBA.png"):
        command = [sys.executable, "-c", code, str(tmp_path / "small.png"), str(tmp_path / name)]
        grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) * 1024
        assert grown < 2 * 4 * side**2, name


def jpeg_of_scans(scans: int, behind: bytes = b"") -> bytes:
    """A progressive JPEG that refines its last coefficients again and again."""
    data = saved(scene(), "JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * (scans - data.count(b"\xff\xda")) + b"\xff\xd9" + behind


def test_a_jpeg_of_many_scans_is_refused() -> None:
    assert "more than 64 times" in refusal(jpeg_of_scans(400))
    assert load_picture(jpeg_of_scans(20)).format == "JPEG"
    # What lies behind the picture, like a phone's film, says nothing of it.
    assert load_picture(jpeg_of_scans(12, behind=b"\xff\xda" * 1000)).format == "JPEG"
    comment = b"\xff\xfe\xfa\x02" + b"\xff\xda" * 32000
    data = saved(scene(), "JPEG")
    assert load_picture(data[:2] + comment + data[2:]).format == "JPEG"


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_a_thousand_mutated_files_raise_only_our_error() -> None:
    random = np.random.default_rng(20170721)
    good = seeds()
    refused: list[str] = []
    for trial in range(1000):
        data = mutate(good[trial % len(good)], random)
        for read in (load_picture, Sketch.load):
            try:
                read(data)
            except SketchseekError as error:
                refused.append(str(error))
    assert 200 < len(refused) < 2000
    assert not [sentence for sentence in refused if "\n" in sentence or not sentence.endswith(".")]


@pytest.mark.parametrize("seed", range(15))
def test_unmutated_seeds_are_read(seed: int) -> None:
    assert load_picture(seeds()[seed]).pixels.shape[2] == 3


def test_seeds_cover_every_format() -> None:
    kinds = {load_picture(data).format for data in seeds()[:15]}
    assert kinds == {"JPEG", "PNG", "WEBP", "AVIF", "HEIF", "TIFF", "BMP", "GIF", "SVG"}
    assert io.BytesIO(seeds()[0]).read(2) == b"\xff\xd8"
