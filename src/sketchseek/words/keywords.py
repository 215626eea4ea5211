"""The keywords, titles and captions in a picture file: EXIF, XMP and IPTC, as photo programs write them.

Only the file's metadata is read, never its pixels. Everything is bounded, no entity is expanded, and what is
damaged says nothing: a picture without readable keywords is a picture without keywords.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from PIL import ExifTags, Image

MOST = 64
"""Texts of a picture that are kept."""
LONGEST = 200
"""Characters of each."""
_LARGEST_XMP = 1_000_000
_LARGEST_IPTC = 300_000
# Of XMP: properties whose texts say what a picture shows, by namespace and name.
_DC = "http://purl.org/dc/elements/1.1/"
_PHOTOSHOP = "http://ns.adobe.com/photoshop/1.0/"
_LIGHTROOM = "http://ns.adobe.com/lightroom/1.0/"
_DIGIKAM = "http://www.digikam.org/ns/1.0/"
_PROPERTIES = frozenset(
    {
        f"{_DC} subject",
        f"{_DC} title",
        f"{_DC} description",
        f"{_PHOTOSHOP} Headline",
        f"{_LIGHTROOM} hierarchicalSubject",
        f"{_DIGIKAM} TagsList",
    }
)
# Of IPTC's application record (2): object name, keywords, headline, caption.
_IPTC = frozenset({5, 25, 105, 120})
_UTF8 = b"\x1b%G"
_EXIF = (
    ExifTags.Base.ImageDescription,
    ExifTags.Base.XPTitle,
    ExifTags.Base.XPKeywords,
    ExifTags.Base.XPSubject,
)


def read_keywords(picture: str | Path | bytes) -> tuple[str, ...]:
    """Keywords, titles and captions in a picture's metadata, each once, in the order of IPTC, XMP, EXIF.

    picture : a file's path, or its content.
    """
    source = io.BytesIO(picture) if isinstance(picture, bytes) else picture
    found: dict[str, None] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of damaged metadata
            with Image.open(source) as image:
                for text in _texts(image):
                    clean = " ".join(text.split())[:LONGEST]
                    if clean:
                        found[clean] = None
                    if len(found) >= MOST:
                        break
    except Exception:  # a decoder's own, of which there are many kinds
        return tuple(found)
    return tuple(found)


def _texts(image: Image.Image) -> Iterator[str]:
    for read in (_iptc_of, _xmp_of, _exif_of):
        try:
            yield from read(image)
        except (ValueError, TypeError, LookupError, OSError, SyntaxError, struct.error, expat.ExpatError):
            continue  # damaged: the others may not be


def _iptc_of(image: Image.Image) -> Iterator[str]:
    photoshop = image.info.get("photoshop")
    block: Any = photoshop.get(0x0404) if isinstance(photoshop, dict) else None
    if block is None and (tags := getattr(image, "tag_v2", None)) is not None:  # TIFF
        block = tags.get(33723)
    if isinstance(block, bytes):
        yield from iptc_texts(block)


def iptc_texts(block: bytes) -> Iterator[str]:
    """The texts of an IPTC-IIM block: data sets of a marker, record, number, length and value."""
    block, at, encoding = block[:_LARGEST_IPTC], 0, "latin-1"
    while at + 5 <= len(block) and block[at] == 0x1C:
        record, number, length = struct.unpack_from(">BBH", block, at + 1)
        if length & 0x8000:  # an extended length: no text that a person typed
            return
        value = block[at + 5 : at + 5 + length]
        at += 5 + length
        if (record, number) == (1, 90) and value == _UTF8:
            encoding = "utf-8"
        elif record == 2 and number in _IPTC:
            yield _decoded(value, encoding)


def _decoded(value: bytes, encoding: str) -> str:
    try:
        return value.decode("utf-8")  # what programs write, whatever they declare
    except UnicodeDecodeError:
        return value.decode(encoding, "replace")


def _xmp_of(image: Image.Image) -> Iterator[str]:
    packet = (
        image.info.get("xmp") or image.info.get("XML:com.adobe.xmp") or image.info.get("Raw profile type xmp")
    )
    if packet is None and (tags := getattr(image, "tag_v2", None)) is not None:
        packet = tags.get(700)
    if isinstance(packet, str):
        packet = packet.encode()
    if isinstance(packet, bytes):
        yield from xmp_texts(packet)


def xmp_texts(packet: bytes) -> list[str]:
    """The texts of an XMP packet's subjects, titles and captions. One that declares anything is refused."""
    if len(packet) > _LARGEST_XMP:
        return []
    reader, found = expat.ParserCreate(namespace_separator=" "), _Found()
    reader.StartDoctypeDeclHandler = _refuse  # without a declaration there is no entity to expand
    reader.StartElementHandler, reader.EndElementHandler = found.start, found.end
    reader.CharacterDataHandler = found.text
    reader.Parse(packet.strip(b"\x00 \r\n\t"), True)
    return found.texts


def _refuse(*_: object) -> None:
    raise ValueError("an XMP packet with a document type")


class _Found:
    """Collects the texts inside of the properties that are wanted."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._inside = 0
        self._parts: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._inside or name in _PROPERTIES:
            self._inside += 1
            self._parts = []
        for attribute, value in attributes.items():  # a property may be written as an attribute
            if attribute in _PROPERTIES:
                self._keep(value)

    def end(self, name: str) -> None:
        if self._inside:
            self._inside -= 1
            self._keep("".join(self._parts))
            self._parts = []

    def text(self, data: str) -> None:
        if self._inside:
            self._parts.append(data)

    def _keep(self, text: str) -> None:
        # Hierarchies: "Animals|Birds|Owl" of Lightroom, "Animals/Birds/Owl" of digiKam.
        if text.strip() and len(self.texts) < MOST:
            self.texts.append(text[: 4 * LONGEST].replace("|", " ").replace("/", " "))


def _exif_of(image: Image.Image) -> Iterator[str]:
    exif = image.getexif()
    for tag in _EXIF:
        value = exif.get(tag)
        if isinstance(value, bytes):  # Windows writes UTF-16
            value = value[: 4 * LONGEST].decode("utf-16-le", "replace")
        if isinstance(value, str):
            yield from (part.rstrip("\x00") for part in value[: 4 * LONGEST].split(";"))
