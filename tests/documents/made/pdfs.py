"""PDF files for tests, written by hand: what a page says, how it is turned, and what is wrong with it.

Fonts aren't embedded: a reader of text needs the map from codes to characters, which is here (`ToUnicode`),
and widths. Programs write the same, around a font.
"""

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import pypdf
from pypdf.generic import NameObject, TextStringObject, create_string_object

IMAGE = b"\x80" * 64


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    text: str
    size: float = 11
    turned: bool = False  # written upwards


@dataclass(frozen=True)
class Page:
    texts: tuple[Text, ...] = ()
    rotate: int = 0
    picture: bool = False
    drawn: bytes = b""  # strokes and fills ahead of the text
    raw: bytes = b""  # content as it is
    extra: bytes = b""  # further keys of the page


def lines(*texts: str, size: float = 11, x: float = 72, y: float = 760, step: float = 16) -> tuple[Text, ...]:
    return tuple(Text(x, y - step * at, text, size) for at, text in enumerate(texts) if text)


def table(
    rows: Sequence[Sequence[str]], *, y: float = 700, xs: Sequence[float] = (72, 200, 320, 440)
) -> tuple[Text, ...]:
    return tuple(
        Text(xs[column], y - 18 * at, cell)
        for at, row in enumerate(rows)
        for column, cell in enumerate(row)
        if cell
    )


def pdf(*pages: Page, mapped: bool = True, root: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """mapped: whether the font says which characters its codes are. root: further keys of the catalog.
    more: further objects, numbered from 10.
    """
    objects: dict[int, bytes] = {}
    first = 100
    kids = b" ".join(b"%d 0 R" % (first + 2 * at) for at in range(len(pages)))
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R " + root + b" >>"
    objects[2] = b"<< /Type /Pages /Kids [" + kids + b"] /Count %d >>" % len(pages)
    used = sorted({c for page in pages for text in page.texts for c in text.text})
    objects[3] = (
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Made /Encoding /Identity-H /DescendantFonts [4 0 R]"
        + (b" /ToUnicode 5 0 R" if mapped else b"") + b" >>"
    )  # fmt: skip
    narrow = b" ".join(b"%d [500]" % ord(c) for c in used if ord(c) < 0x2E80)
    objects[4] = (
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Made /CIDSystemInfo << /Registry (Adobe) /Ordering"
        b" (Identity) /Supplement 0 >> /DW 1000 /W [" + narrow + b"] >>"
    )
    objects[5] = stream(_cmap(used))
    objects[6] = stream(
        IMAGE,
        b"/Type /XObject /Subtype /Image /Width 8 /Height 8 /BitsPerComponent 8 /ColorSpace /DeviceGray",
    )
    for at, page in enumerate(pages):
        number = first + 2 * at
        turned = b" /Rotate %d" % page.rotate if page.rotate else b""
        objects[number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >>"
            + (b" /XObject << /Im1 6 0 R >>" if page.picture else b"")
            + b" >> /Contents %d 0 R" % (number + 1) + turned + page.extra + b" >>"
        )  # fmt: skip
        objects[number + 1] = stream(page.raw or _content(page))
    objects |= {10 + at: one for at, one in enumerate(more)}
    return written(objects)


def stream(data: bytes, keys: bytes = b"") -> bytes:
    packed = zlib.compress(data)
    return (
        b"<< /Length %d /Filter /FlateDecode " % len(packed)
        + keys
        + b" >>\nstream\n"
        + packed
        + b"\nendstream"
    )


def written(objects: dict[int, bytes]) -> bytes:
    made = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = {}
    for number, body in sorted(objects.items()):
        places[number] = len(made)
        made += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(made)
    made += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in sorted(places.items()):
        made += b"%d 1\n%010d 00000 n \n" % (number, place)
    made += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (max(objects) + 1, start)
    return bytes(made)


def _content(page: Page) -> bytes:
    parts = [b"q 400 0 0 400 90 200 cm /Im1 Do Q"] if page.picture else []
    parts += [page.drawn] if page.drawn else []
    for text in page.texts:
        matrix = b"0 1 -1 0" if text.turned else b"1 0 0 1"
        code = text.text.encode("utf-16-be").hex().encode()
        parts.append(b"BT /F1 %g Tf %s %g %g Tm <%s> Tj ET" % (text.size, matrix, text.x, text.y, code))
    return b"\n".join(parts) or b" "


def _cmap(used: Sequence[str]) -> bytes:
    rows = "".join(f"<{ord(c):04X}> <{c.encode('utf-16-be').hex().upper()}>\n" for c in used)
    return (
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /Made def\n"
        "/CMapType 2 def\n"
        "1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
        f"{len(used)} beginbfchar\n{rows}endbfchar\nendcmap\nend\nend"
    ).encode()


def locked(data: bytes, user_password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(user_password, "owner", algorithm="AES-256")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def with_attachment(data: bytes) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    writer.add_attachment("secret.txt", b"CANARY in an attachment")
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def form(name: str, value: str) -> bytes:
    """A page with one filled-in field, whose text is only in the field."""
    widget = pypdf.generic.DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/FT"): NameObject("/Tx"),
            NameObject("/T"): TextStringObject(name),
            NameObject("/V"): create_string_object(value),
        }
    )
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(Page(lines("报名表")))))
    page = writer.pages[0]
    page[NameObject("/Annots")] = pypdf.generic.ArrayObject([widget])
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()
