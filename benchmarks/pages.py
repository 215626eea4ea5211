"""Pages of volumes: is each found by a drawing of what is on it, and what does reading one cost?

    python benchmarks/pages.py found FOLDER...   # all pages of PDFs and TIFFs in folders, and 200 made ones
    python benchmarks/pages.py cost              # processor time of pages, and of pictures of the same size

`found` takes the largest figure of each page, without letters, thickens its lines, resizes and moves it, and
searches with that. Pages that show nothing but letters, tables and photographs, or the same as an earlier
page, are not searched for; they stay in the index.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from sketchseek import Index, Sketch
from sketchseek.contours.synthetic import random_shape
from sketchseek.errors import SketchseekError
from sketchseek.sources.volumes import count_pages

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from made_volumes import lines, pdf, shown, text

PAGE = (595, 842)
SIDE = 800
THICKER = 5
SMALLER = 0.7
Strokes = list[NDArray[np.float64]]
Ink = NDArray[np.uint8]


@dataclass
class Page:
    """A page of the index, and the drawing that is to find it; None where there is nothing to draw."""

    path: str
    drawing: Image.Image | None


# --- pages that are made ---------------------------------------------------------------------------------


def figure(rng: np.random.Generator, height: float = PAGE[1]) -> Strokes:
    """Outlines as a patent's sheet has them: a large shape, others about it, a line across."""
    middle, strokes = np.array([PAGE[0] / 2, height / 2]), []
    for number in range(rng.integers(2, 5)):
        corners = random_shape(rng) * rng.uniform(0.6, 0.9) / (1 if number == 0 else 2.5)
        place = middle + (0 if number == 0 else rng.uniform(-160, 160, 2))
        strokes.append(np.concatenate([corners, corners[:1]]) + place)
    strokes.append(middle + rng.uniform(-200, 200, (2, 2)))
    return strokes


def ink(strokes: Strokes) -> bytes:
    """Strokes as a PDF draws them."""
    return lines([stroke.tolist() for stroke in strokes])


def drawn(strokes: Strokes, size: tuple[int, int] = PAGE, width: float = 1.5) -> Image.Image:
    """Strokes in ink on paper."""
    scale = SIDE / max(size)
    image = Image.new("L", (round(size[0] * scale), round(size[1] * scale)), 255)
    pen = ImageDraw.Draw(image)
    for stroke in strokes:
        pen.line([tuple(p) for p in (stroke * scale).tolist()], 0, max(1, round(width * scale)), "curve")
    return image


def scanned(strokes: Strokes, rng: np.random.Generator) -> Image.Image:
    """The same as a scanner sees it: yellow paper, noise, a soft pen, a little askew."""
    image = drawn(strokes, width=3).resize((1240, 1754)).filter(ImageFilter.GaussianBlur(1.2))
    image = image.rotate(rng.uniform(-1, 1), fillcolor=255)
    noise = rng.normal(0, 7, (image.height, image.width))
    grey = np.clip(np.asarray(image, float) * 0.9 + 15 + noise, 0, 255)
    return Image.fromarray(np.stack([grey, grey * 0.98, grey * 0.92], axis=2).astype(np.uint8))


def jpeg(image: Image.Image) -> tuple[bytes, str]:
    """An image as a PDF holds it."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    about = f"/Width {image.width} /Height {image.height} /ColorSpace /DeviceRGB /BitsPerComponent 8"
    return out.getvalue(), f"{about} /Filter /DCTDecode"


def prose(rng: np.random.Generator, top: float, count: int) -> bytes:
    """Lines of letters."""
    words = ["means", "housing", "said", "lever", "of", "the", "claim", "wherein", "first", "a", "spring"]
    return b"\n".join(text(" ".join(rng.choice(words, 12)), 50, top - 14 * i, 10) for i in range(count))


def made(folder: Path, count: int, rng: np.random.Generator) -> list[Page]:
    """Volumes of made pages: patents, scans in TIFF and in PDF, letters with a figure between them."""
    pages: list[Page] = []
    of_each = -(-count // 4)
    figures = [[figure(rng) for _ in range(of_each)] for _ in range(4)]
    patents = [ink(f) + b"\n" + text(f"Fig. {i + 1}") for i, f in enumerate(figures[0])]
    (folder / "patents.pdf").write_bytes(pdf(patents))
    first, *rest = [scanned(f, rng) for f in figures[1]]
    first.save(folder / "scans.tif", save_all=True, append_images=rest, compression="jpeg")
    images = {f"I{i}": jpeg(scanned(f, rng)) for i, f in enumerate(figures[2])}
    (folder / "scans.pdf").write_bytes(pdf([shown(name) for name in images], images))
    mixed = []
    for f in figures[3]:
        small = [(s - [297, 421]) * 0.7 + [297, 421] for s in f]
        mixed.append(b"\n".join([prose(rng, 800, 8), ink(small), prose(rng, 130, 6)]))
    (folder / "letters.pdf").write_bytes(pdf(mixed))
    names = ["patents.pdf", "scans.tif", "scans.pdf", "letters.pdf"]
    for name, of_one in zip(names, figures, strict=True):
        pages += [Page(f"{folder / name}#page={i + 1}", drawn(f)) for i, f in enumerate(of_one)]
    return pages


# --- pages that are found --------------------------------------------------------------------------------


def real(folders: list[Path]) -> list[Page]:
    """All pages of the volumes in some folders."""
    pages = []
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".pdf", ".tif", ".tiff")):
            try:
                count = count_pages(os.fsencode(path))
            except SketchseekError as error:
                print(f"  left out: {error}")
                continue
            drawings = without_letters(path, count)
            pages += [Page(f"{path}#page={i + 1}", drawing) for i, drawing in enumerate(drawings)]
    return pages


def without_letters(path: Path, count: int) -> list[Image.Image | None]:
    """What each page shows besides letters, in ink on paper."""
    if path.suffix.lower() != ".pdf":
        with Image.open(path) as image:
            found = []
            for number in range(count):
                image.seek(number)
                found.append(inked(image.convert("L")))
            return found
    import pypdfium2
    from pypdfium2 import raw

    found = []
    document = pypdfium2.PdfDocument(path)
    for number in range(count):
        try:
            page = document[number]
            for one in list(page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT], max_depth=1)):
                page.remove_obj(one)
            scale = SIDE / max(page.get_size())
            found.append(inked(page.render(scale=scale, may_draw_forms=False).to_pil().convert("L")))
        except (pypdfium2.PdfiumError, ValueError, ZeroDivisionError):  # some are made to be wrong
            found.append(None)
    return found


def inked(image: Image.Image) -> Image.Image | None:
    """The largest figure of a page; None where there are letters, rules and photographs alone."""
    image.thumbnail((SIDE, SIDE))
    ink = (np.asarray(image) < 160).astype(np.uint8)
    parts, label, boxes, _ = cv2.connectedComponentsWithStats(cv2.dilate(ink, np.ones((9, 9), np.uint8)))
    for number in sorted(range(1, parts), key=lambda n: -int(boxes[n][2]) * int(boxes[n][3])):
        x, y, width, height = boxes[number][:4].tolist()
        if min(width, height) < SIDE / 8:
            break
        frame = width > 0.9 * image.width and height > 0.9 * image.height
        seen = (ink * (label == number))[y : y + height, x : x + width]
        if not frame and 0.002 < seen.mean() < 0.35 and not is_lettering(seen) and not is_ruled(seen):
            return Image.fromarray(255 - 255 * seen)
    return None


def is_lettering(ink: Ink) -> bool:
    """Whether it falls into a great many small pieces."""
    return bool(cv2.connectedComponents(ink)[0] > 60)


def is_ruled(ink: Ink) -> bool:
    """Whether it is lines across and down, as a table is."""
    across, down = (cv2.erode(ink, np.ones(shape, np.uint8)) for shape in ((1, 25), (25, 1)))
    rules = cv2.dilate(across, np.ones((1, 25), np.uint8)) | cv2.dilate(down, np.ones((25, 1), np.uint8))
    return bool((rules & ink).sum() > 0.8 * ink.sum())


def only_once(pages: list[Page]) -> None:
    """Forget the drawings of pages that show the same as an earlier one: nobody could say which is meant."""
    seen: list[NDArray[np.float64]] = []
    for page in pages:
        if page.drawing is None:
            continue
        bold = page.drawing.filter(ImageFilter.MinFilter(9)).resize((32, 32), Image.Resampling.BOX)
        look = 255 - np.asarray(bold, float).ravel()
        if any(np.corrcoef(look, other)[0, 1] > 0.9 for other in seen):
            page.drawing = None
        else:
            seen.append(look)


def moved_and_thickened(drawing: Image.Image, rng: np.random.Generator) -> bytes:
    """What somebody draws who has seen the page: as a PNG."""
    bold = drawing.filter(ImageFilter.MinFilter(THICKER))
    scale = SMALLER * SIDE / max(bold.size)
    small = bold.resize((max(1, round(bold.width * scale)), max(1, round(bold.height * scale))))
    sheet = Image.new("L", (SIDE, SIDE), 255)
    sheet.paste(small, tuple(int(rng.integers(0, 1 + SIDE - side)) for side in small.size))
    out = io.BytesIO()
    sheet.save(out, "PNG")
    return out.getvalue()


def found(folders: list[Path], count: int, expansion: bool) -> None:
    """How many of the pages come first."""
    rng = np.random.default_rng(38)
    with tempfile.TemporaryDirectory() as there:
        pages = real(folders)
        share_of_real = len(pages)
        only_once(pages)
        pages += made(Path(there), count, rng)
        index = Index.create(Path(there) / "index", expansion=expansion)
        report = index.add(sorted({page.path.partition("#page=")[0] for page in pages}))
        drawn_of = sum(page.drawing is not None for page in pages)
        print(f"{report.added:,} pages indexed, {share_of_real} of them real; {len(report.failed)} failed")
        print(f"{drawn_of} with a figure of their own are searched for", flush=True)
        by_kind: dict[str, list[bool]] = {}
        for page in pages:
            if page.drawing is None:
                continue
            try:
                hits = index.search(Sketch.load(moved_and_thickened(page.drawing, rng)), 1)
            except SketchseekError as error:
                print(f"  {page.path}: {error}")
                hits = []
            kind = Path(page.path).name.partition("#")[0] if page.path.startswith(there) else "real"
            by_kind.setdefault(kind, []).append(bool(hits) and hits[0].picture == page.path)
            if not by_kind[kind][-1]:
                print(f"  not first: {page.path}")
    every = [first for kind in by_kind.values() for first in kind]
    for kind, firsts in [*by_kind.items(), ("all", every)]:
        print(f"{kind}: {sum(firsts)} of {len(firsts)} first ({sum(firsts) / len(firsts):.1%})")


# --- what it costs ---------------------------------------------------------------------------------------


def seconds(paths: list[Path], where: Path) -> float:
    """Processor time of indexing by the command line, its children's included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-m",
        "sketchseek",
        "index",
        *map(str, paths),
        "--index",
        str(where),
        "--jobs",
        "1",
    ]
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command += ["--jobs", "1"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=alone)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rendered(data: bytes) -> list[Image.Image]:
    """The pages of a PDF as pictures, as large as they are drawn for the index."""
    import pypdfium2

    with pypdfium2.PdfDocument(data) as document:
        return [page.render(scale=1600 / PAGE[1]).to_pil().convert("RGB") for page in document]


def cost(count: int) -> None:
    """Pages of each kind against the same as picture files; an empty run is taken off both."""
    rng = np.random.default_rng(38)
    figures = [figure(rng) for _ in range(count)]
    with tempfile.TemporaryDirectory() as name:
        there = Path(name)
        scans = [scanned(f, rng) for f in figures]
        sheets = [drawn(f).resize((1131, 1600)) for f in figures]
        grey = "/Width 1240 /Height 1754 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode"
        images = {f"I{i}": jpeg(scan) for i, scan in enumerate(scans)}
        packed = {f"I{i}": (zlib.compress(scan.convert("L").tobytes()), grey) for i, scan in enumerate(scans)}
        with_letters = [ink(f) + b"\n" + prose(rng, 780, 6) for f in figures]
        volumes = {
            "scans, JPEG in PDF": (pdf([shown(name) for name in images], images), scans, "jpg"),
            "scans, packed in PDF": (pdf([shown(name) for name in packed], packed), scans, "png"),
            "lines in PDF": (pdf([ink(f) for f in figures]), sheets, "png"),
            "lines and letters in PDF": (pdf(with_letters), rendered(pdf(with_letters)), "png"),
        }
        nothing = there / "nothing.png"
        Image.new("L", (40, 40), 255).save(nothing)
        least = min(seconds([nothing], there / f"none{i}.index") for i in range(2))
        ratios = []
        for kind, (data, same, suffix) in volumes.items():
            volume, folder = there / "volume.pdf", there / f"{len(ratios)}"
            volume.write_bytes(data)
            folder.mkdir()
            for i, image in enumerate(same):
                image.save(folder / f"{i}.{suffix}")
            pages, pictures = 1e9, 1e9
            for again in range(2):
                pages = min(pages, seconds([volume], there / f"{len(ratios)}-{again}.index") - least)
                pictures = min(pictures, seconds([folder], there / f"p{len(ratios)}-{again}.index") - least)
            ratios.append(pages / pictures)
            each = f"{1e3 * pages / count:.0f} ms a page, {1e3 * pictures / count:.0f} ms a picture"
            print(f"{kind}: {each} of the same size, {ratios[-1]:.2f} times")
        print(f"all: {np.mean(ratios):.2f} times")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["found", "cost"])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--pages", type=int, default=None, help="made pages (200; 40 of each kind for cost)")
    parser.add_argument("--expansion", action="store_true", help="look at what pages depict, too")
    given = parser.parse_args()
    if given.what == "found":
        found(given.folders, given.pages or 200, given.expansion)
    else:
        cost(given.pages or 40)


if __name__ == "__main__":
    main()
