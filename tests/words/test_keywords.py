import io
import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image

from sketchseek import Index
from sketchseek.indexing.worker import Reader, Task, Unchanged
from sketchseek.storage.store import Store
from sketchseek.words.keywords import LONGEST, MOST, iptc_texts, read_keywords, xmp_texts

XMP = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmlns:lr="http://ns.adobe.com/lightroom/1.0/" xmp:CreatorTool="darktable" photoshop:Headline="Wet day">
{}
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
SUBJECTS = (
    "<dc:subject><rdf:Bag><rdf:li>umbrella</rdf:li><rdf:li>Straße</rdf:li></rdf:Bag></dc:subject>"
    "<lr:hierarchicalSubject><rdf:Bag><rdf:li>Things|Rain gear</rdf:li></rdf:Bag></lr:hierarchicalSubject>"
    "<dc:creator><rdf:Seq><rdf:li>Somebody</rdf:li></rdf:Seq></dc:creator>"
)


def dataset(record, number, value):
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value


def photoshop(block):
    """An APP13 segment as Photoshop and digiKam write it."""
    body = (
        b"Photoshop 3.0\x008BIM\x04\x04\x00\x00"
        + struct.pack(">I", len(block))
        + block
        + b"\0" * (len(block) % 2)
    )
    return b"\xff\xed" + struct.pack(">H", len(body) + 2) + body


def jpeg(iptc=b"", **saved):
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG", **saved)
    content = file.getvalue()
    return content[:2] + (photoshop(iptc) if iptc else b"") + content[2:]


def test_reads_what_photo_programs_write(tmp_path):
    exif = Image.Exif()
    exif[ExifTags.Base.ImageDescription] = "Rain in the city"
    exif[ExifTags.Base.XPKeywords] = "street;people\0".encode("utf-16-le")
    iptc = dataset(1, 90, b"\x1b%G") + dataset(2, 25, "Größe".encode()) + dataset(2, 80, b"Somebody")
    content = jpeg(iptc, exif=exif, xmp=XMP.format(SUBJECTS).encode())
    words = (
        "Größe",
        "Wet day",
        "umbrella",
        "Straße",
        "Things Rain gear",
        "Rain in the city",
        "street",
        "people",
    )
    assert read_keywords(content) == words
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    assert read_keywords(path) == read_keywords(str(path)) == words


@pytest.mark.parametrize("form", ["PNG", "WEBP", "TIFF"])
def test_reads_xmp_of_other_files(form):
    file, packet = io.BytesIO(), XMP.format(SUBJECTS).encode()
    saved = {"xmp": packet}
    if form == "PNG":
        from PIL.PngImagePlugin import PngInfo

        info = PngInfo()
        info.add_itxt("XML:com.adobe.xmp", packet.decode())
        saved = {"pnginfo": info}
    elif form == "TIFF":
        saved = {"tiffinfo": {700: packet}}
    Image.new("RGB", (8, 8)).save(file, form, **saved)
    assert "umbrella" in read_keywords(file.getvalue())


def test_latin_1_is_read_where_it_is_no_utf_8():
    assert list(iptc_texts(dataset(2, 25, "Größe".encode("latin-1")))) == ["Größe"]


def test_no_entity_is_expanded():
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>' + XMP.format(
        "<dc:title><rdf:Alt><rdf:li>&b;</rdf:li></rdf:Alt></dc:title>"
    )
    with pytest.raises(ValueError, match="document type"):
        xmp_texts(bomb.encode())
    assert read_keywords(jpeg(dataset(2, 25, b"kept"), xmp=bomb.encode())) == ("kept",)


def test_what_is_damaged_leaves_the_rest():
    assert read_keywords(jpeg(dataset(2, 25, b"kept"), xmp=b"<x:xmpmeta><unfinished")) == ("kept",)
    assert read_keywords(jpeg(dataset(2, 25, b"kept") + b"\x1c\x02\x19\xff\xff")) == ("kept",)
    assert read_keywords(jpeg(b"\x1c\x02", xmp=XMP.format(SUBJECTS).encode()))[:1] == ("Wet day",)


def test_is_bounded():
    many = b"".join(dataset(2, 25, b"word %d" % i) for i in range(4 * MOST))
    assert len(read_keywords(jpeg(many))) == MOST
    assert read_keywords(jpeg(dataset(2, 120, b"x" * 9000))) == ("x" * LONGEST,)
    assert xmp_texts(XMP.format(SUBJECTS + " " * 1_000_001).encode()) == []


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"not a picture", b"\xff\xd8\xff\xed\x00"])
def test_no_picture_has_no_keywords(content, tmp_path):
    assert read_keywords(content) == ()
    assert read_keywords(tmp_path / "absent.jpg") == ()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_survived(noise):
    assert all(isinstance(text, str) for text in iptc_texts(noise))
    read_keywords(jpeg(b"\x1c\x02\x19" + noise, xmp=noise))


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """An index of pictures, one of which has keywords that nobody looked for yet."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "1.jpg").write_bytes(jpeg(dataset(2, 25, b"Umbrellas") + dataset(2, 120, b"A wet day, 2024")))
    (folder / "2.jpg").write_bytes(jpeg(dataset(2, 25, b"bicycle")))
    for name in ("1.jpg", "2.jpg"):
        os.utime(folder / name, (1e9, 1e9))
    with monkeypatch.context() as before:
        before.setattr("sketchseek.indexing.worker._keywords", lambda _: None)
        index = Index.create(tmp_path / "index", "compact", detector="canny")
        run(index, folder)
    return index, folder


def run(index, folder):
    """Index in this process."""

    class Here:
        def __init__(self, config, *_):
            self.reader = Reader(config)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def results(self, tasks):
            return map(self.reader, tasks)

    report = index.add([folder], workers=Here)
    assert report.failed == []
    return report


def test_the_next_run_reads_keywords_and_no_pixel(kept, monkeypatch):
    index, folder = kept
    assert index.search(words="umbrella", k=5) == []
    known = Store.open(index.location).table(["digest"])["digest"].to_pylist()
    monkeypatch.setattr(Image.Image, "load", None)
    monkeypatch.setattr("sketchseek.contours.picture_contours", None)
    found = Reader(index.config)(Task(bytes(folder / "1.jpg"), known[0], lacks_keywords=True))
    assert isinstance(found, Unchanged)
    assert found.keywords == "Umbrellas\nA wet day, 2024"
    assert run(index, folder).unchanged == 2
    for opened in (index, Index.open(index.location)):
        hits = opened.search(words="umbrella")
        assert [(hit.picture, hit.matched) for hit in hits] == [(str(folder / "1.jpg"), "umbrellas")]
    monkeypatch.setattr("sketchseek.indexing.worker.read_steadily", None)
    assert run(index, folder).unchanged == 2  # and they are read once


def test_keywords_follow_a_file(kept):
    index, folder = kept
    run(index, folder)
    (folder / "1.jpg").write_bytes(jpeg(dataset(2, 25, b"lamp")))
    (folder / "2.jpg").rename(folder / "3.jpg")
    run(index, folder)
    assert [hit.matched for hit in index.search(words="umbrella")] == []
    assert [hit.picture for hit in index.search(words="lamp")] == [str(folder / "1.jpg")]
    assert [hit.picture for hit in index.search(words="bicycle")] == [str(folder / "3.jpg")]
