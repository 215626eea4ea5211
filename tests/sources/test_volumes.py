"""Pages of volumes as picture files: what each kind gives, and what strangers' files may cost."""

from __future__ import annotations

import io
import os
import zipfile
import zlib

import pytest
from PIL import Image, ImageDraw

from made_volumes import lines, pdf, shown, text
from sketchseek.errors import SketchseekError
from sketchseek.sources import volumes
from sketchseek.sources.picture import load_picture
from sketchseek.sources.sandbox import Children
from sketchseek.sources.volumes import count_pages, file_of, page_path, read_page, volume_and_page

SQUARE = [[(100, 100), (400, 100), (400, 400), (100, 400), (100, 100)]]
needs_pdf = pytest.mark.skipif(not volumes.can_read_pdf(), reason="the extra pdf is not installed")


def scan(size=(600, 800)) -> Image.Image:
    image = Image.new("RGB", size, (240, 235, 220))
    ImageDraw.Draw(image).ellipse((100, 150, 450, 600), outline="black", width=9)
    return image


def as_file(image: Image.Image, kind: str, **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def put(folder, name: str, data: bytes) -> bytes:
    (folder / name).write_bytes(data)
    return os.fsencode(folder / name)


@pytest.mark.parametrize(
    ("path", "split"),
    [
        (b"/a/b.pdf#page=12", (b"/a/b.pdf", 12)),
        ("/a/b.PDF#page=1", ("/a/b.PDF", 1)),
        (b"/a/b.pdf", (b"/a/b.pdf", None)),
        (b"/a/b.pdf#page=0", (b"/a/b.pdf#page=0", None)),
        (b"/a/b.txt#page=2", (b"/a/b.txt#page=2", None)),
        (b"/a\n\xff/b.cbz#page=3", (b"/a\n\xff/b.cbz", 3)),
    ],
)
def test_a_page_is_its_volume_and_a_number(path, split):
    assert volume_and_page(path) == split
    assert file_of(path) == split[0]


def test_a_page_has_a_path():
    assert page_path(b"/a/b.tif", 7) == b"/a/b.tif#page=7"


@needs_pdf
def test_a_pdf_gives_lines_scans_and_pixels(tmp_path):
    jpeg = as_file(scan(), "JPEG")
    grey = scan().convert("L")
    images = {
        "J": (jpeg, "/Width 600 /Height 800 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode"),
        "G": (
            zlib.compress(grey.tobytes()),
            "/Width 600 /Height 800 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode",
        ),
    }
    hidden = b"BT 3 Tr /F 10 Tf 50 50 Td (recognised) Tj ET\n"
    mixed = lines(SQUARE) + b"\n" + text("Fig. 1")
    volume = put(tmp_path, "v.pdf", pdf([lines(SQUARE), mixed, shown("J"), hidden + shown("G"), b""], images))
    assert count_pages(volume) == 5
    pages = [read_page(volume, n) for n in range(1, 6)]
    assert pages[0].startswith(b"<svg")  # lines are lines
    assert pages[2] == jpeg  # a photograph is the file that it was
    sizes = [load_picture(page) for page in pages]
    assert [(p.width, p.height) for p in sizes] == [(1131, 1600)] * 2 + [(600, 800), (566, 800), (1131, 1600)]
    assert sizes[1].pixels.min() < 100 < 250 < sizes[4].pixels.min()


@needs_pdf
def test_a_turned_page_is_upright(tmp_path):
    volume = put(tmp_path, "v.pdf", pdf([lines(SQUARE)], extra=b"/Rotate 90"))
    picture = load_picture(read_page(volume, 1))
    assert (picture.width, picture.height) == (1600, 1131)


def test_a_comic_may_have_any_digits_in_its_names(tmp_path):
    names = ["1\u00b22.png", "\u0663.png", "1\u00b3.png", "1\u2460.png", "9" * 50 + ".png"]
    volume = put(tmp_path, "c.cbz", zipped({name: as_file(scan(), "PNG") for name in names}))
    assert count_pages(volume) == len(names)
    assert read_page(volume, 1).startswith(b"\x89PNG")


def test_a_comic_is_read_in_the_order_of_its_numbers(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for number in (10, 9, 1):
            file.writestr(f"vol/p{number}.png", as_file(Image.new("L", (number, 5)), "PNG"))
        file.writestr("__MACOSX/vol/._p1.png", b"no")
        file.writestr("ComicInfo.xml", b"<x/>")
    volume = put(tmp_path, "c.cbz", out.getvalue())
    assert count_pages(volume) == 3
    assert [Image.open(io.BytesIO(read_page(volume, n))).width for n in (1, 2, 3)] == [1, 9, 10]


def test_a_tiff_has_pages_but_no_smaller_copies(tmp_path):
    big, other = scan(), scan().rotate(90, expand=True)
    data = as_file(big, "TIFF", save_all=True, append_images=[other, big.resize((60, 80))])
    volume = put(tmp_path, "t.tif", data)
    assert count_pages(volume) == 3
    assert [load_picture(read_page(volume, n)).width for n in (1, 2, 3)] == [600, 800, 60]
    reduced = Image.new("L", (30, 40))
    tag = {254: 1}
    frames = io.BytesIO()
    big.save(frames, "TIFF", save_all=True, append_images=[reduced])
    from PIL import TiffImagePlugin

    with TiffImagePlugin.AppendingTiffWriter(io.BytesIO(as_file(big, "TIFF"))) as writer:
        reduced.save(writer, "TIFF", tiffinfo=tag)
        writer.newFrame()
        both = writer.f.getvalue()
    assert count_pages(put(tmp_path, "r.tif", both)) == 1


def test_a_frame_of_a_film_can_be_asked_for(tmp_path):
    frames = [Image.new("RGB", (40, 30), colour) for colour in ("red", "lime", "blue")]
    volume = put(tmp_path, "f.gif", as_file(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert load_picture(os.fsdecode(volume)).pixels[0, 0].tolist() == [255, 0, 0]
    assert load_picture(f"{os.fsdecode(volume)}#page=2").pixels[0, 0].tolist() == [0, 255, 0]


def encrypted() -> bytes:
    data = pdf([lines(SQUARE)])
    entry = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O (%b) /U (%b) /P -4 >> /ID [(a) (a)] " % (
        b"o" * 32,
        b"u" * 32,
    )
    return data.replace(b"trailer << ", b"trailer << " + entry)


HOSTILE = {
    "encrypted.pdf": (encrypted, "is encrypted"),
    "cut.pdf": (lambda: b"%PDF-1.7\n" + os.urandom(2000), "is damaged"),
    "nothing.pdf": (lambda: b"", "is empty"),
    "other.pdf": (lambda: b"hello, world" * 100, "is damaged"),
    "cut.cbz": (lambda: b"PK\x03\x04" + bytes(100), "is damaged"),
    "no-pages.cbz": (lambda: zipped({"a.txt": b"x"}), "has no pages"),
}


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_volume_is_refused_in_a_sentence(tmp_path, name):
    if name.endswith(".pdf") and not volumes.can_read_pdf():
        pytest.skip("the extra pdf is not installed")
    make, said = HOSTILE[name]
    with pytest.raises(SketchseekError) as refusal:
        count_pages(put(tmp_path, name, make()))
    assert said in str(refusal.value)
    assert str(refusal.value).startswith(name)
    assert "\n" not in str(refusal.value)


def test_a_volume_of_too_many_pages_is_refused(tmp_path):
    many = zipped({f"{n}.png": b"" for n in range(volumes.MAX_PAGES + 1)})
    with pytest.raises(SketchseekError, match="more than 5,000: split it"):
        count_pages(put(tmp_path, "many.cbz", many))


def test_a_page_that_unpacks_to_gigabytes_is_refused(tmp_path):
    volume = put(tmp_path, "bomb.cbz", zipped({"a.png": bytes(300 * 2**20), "b.png": as_file(scan(), "PNG")}))
    with pytest.raises(SketchseekError, match="more than 256 MB"):
        read_page(volume, 1)
    assert load_picture(read_page(volume, 2)).width == 600  # the rest goes on


@needs_pdf
def test_a_page_that_takes_too_long_ends_and_the_others_of_its_volume_are_not_tried(tmp_path, monkeypatch):
    children = Children(
        "sketchseek.sources.volume_pages:work", memory=volumes.PAGE_MEMORY, seconds=0.05, patience=60
    )
    monkeypatch.setattr(volumes, "_children", lambda: children)
    monkeypatch.setattr(volumes, "_costly", {})
    many = b"q 595 0 0 842 0 0 cm /I Do Q\n" * 200
    image = {
        "I": (
            zlib.compress(bytes(3000 * 3000)),
            "/Width 3000 /Height 3000 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode",
        )
    }
    volume = put(tmp_path, "slow.pdf", pdf([many] * 4, image))
    try:
        said = []
        for page in (1, 2, 3, 4):
            with pytest.raises(SketchseekError) as refusal:
                read_page(volume, page)
            said.append(str(refusal.value))
    finally:
        children.close()
    assert said[:3] == ["slow.pdf takes too much time to read."] * 3
    assert said[3] == "3 other pages of slow.pdf took too much to read."


@needs_pdf
def test_a_page_as_large_as_a_town_is_drawn_at_the_usual_size(tmp_path):
    volume = put(tmp_path, "wide.pdf", pdf([lines(SQUARE) + text("x")], size=(200_000, 100_000)))
    picture = load_picture(read_page(volume, 1))
    assert max(picture.width, picture.height) <= 1600
