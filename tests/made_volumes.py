"""Volumes made by hand: PDF of lines, scans and text, as small as can be."""

from __future__ import annotations

import zlib


def pdf(
    pages: list[bytes],
    images: dict[str, tuple[bytes, str]] | None = None,
    size=(595, 842),
    extra: bytes = b"",
) -> bytes:
    """A PDF of content streams. images : by name, a stream and the entries of its dictionary."""
    objects = [b"", b""]
    named = b""
    for name, (stream, entries) in (images or {}).items():
        objects.append(_stream(stream, f"/Type /XObject /Subtype /Image {entries}".encode()))
        named += b"/%b %d 0 R " % (name.encode(), len(objects))
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    resources = b"<< /Font << /F %d 0 R >> /XObject << %b>> >>" % (len(objects), named)
    kids = []
    for content in pages:
        objects.append(_stream(zlib.compress(content), b"/Filter /FlateDecode"))
        box = b"[0 0 %d %d]" % size
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox %b /Resources %b /Contents %d 0 R %b >>"
            % (box, resources, len(objects), extra)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(kids))
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


def _stream(data: bytes, entries: bytes) -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), entries, data)


def lines(strokes, height: float = 842, pen: float = 1.5) -> bytes:
    """A content stream that draws polylines, in points from the upper left corner."""
    words = [f"{pen} w 1 J 1 j"]
    for stroke in strokes:
        for i, (x, y) in enumerate(stroke):
            words.append(f"{x:.2f} {height - y:.2f} {'l' if i else 'm'}")
        words.append("S")
    return "\n".join(words).encode()


def text(said: str, x: float = 60, y: float = 60, size: float = 12) -> bytes:
    """A content stream that writes a line of letters."""
    return f"BT /F {size} Tf {x} {y} Td ({said}) Tj ET".encode()


def shown(name: str, width: float = 595, height: float = 842) -> bytes:
    """A content stream that shows an image on all of a page."""
    return f"q {width} 0 0 {height} 0 0 cm /{name} Do Q".encode()
