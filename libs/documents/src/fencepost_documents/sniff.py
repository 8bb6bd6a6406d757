"""Which kind a file is, by what is in it. Its name decides only between kinds of text."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Final

from fencepost_documents.errors import DocumentRefused

OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
PARTS: Final = (("word/document", "docx"), ("ppt/presentation", "pptx"), ("xl/workbook", "xlsx"))
# Found at the start of files that people rename; named so that the refusal says what the file is.
OTHERS: Final = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"BM", "a BMP picture"),
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"RIFF", "a media file"),
    (b"{\\rtf", "RTF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"MZ", "a program"),
    (b"\x7fELF", "a program"),
    (b"%!PS", "PostScript"),
)
HTML: Final = re.compile(rb"^\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html|head|table)\b", re.IGNORECASE)
XML: Final = re.compile(rb"^\s*<\?xml\b")
SUFFIXES: Final = {
    "pdf": "pdf", "docx": "docx", "docm": "docx", "dotx": "docx", "pptx": "pptx", "pptm": "pptx",
    "ppsx": "pptx",
    "xlsx": "xlsx", "xlsm": "xlsx", "xltx": "xlsx", "csv": "csv", "tsv": "csv", "md": "markdown",
    "markdown": "markdown", "txt": "text", "text": "text", "log": "text",
}  # fmt: skip


def kind_of_name(name: str) -> str | None:
    """The kind a name claims, None when it claims none we read."""
    return SUFFIXES.get(name.rpartition(".")[2].lower()) if "." in name else None


def sniff(data: bytes) -> str:
    """`pdf`, `docx`, `pptx`, `xlsx`, or `plain` for some kind of text. Raises DocumentRefused."""
    if not data:
        raise DocumentRefused("empty", "0 bytes")
    if b"%PDF-" in data[:1024]:  # readers allow junk ahead of it
        return "pdf"
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _package(data)
    if data.startswith(OLE):
        # A protected .docx is this container with a stream of that name.
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise DocumentRefused("password_protected", "an encrypted office package")
        raise DocumentRefused("legacy_format", "an OLE compound file")
    for start, what in OTHERS:
        if data.startswith(start) and not _readable(data):
            raise DocumentRefused("unsupported_kind", what)
    if data.startswith(b"{\\rtf"):
        raise DocumentRefused("unsupported_kind", "RTF")
    if HTML.match(data[:2048]):
        raise DocumentRefused("unsupported_kind", "a web page (HTML)")
    if XML.match(data[:2048]):
        raise DocumentRefused("unsupported_kind", "XML")
    return "plain"


def _readable(data: bytes) -> bool:
    """No control characters in the beginning: text that happens to start with `BM` or `MZ`."""
    return not any(byte < 32 and byte not in (9, 10, 13) for byte in data[:512])


def _package(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = package.namelist()
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
        raise DocumentRefused("corrupt", f"not a whole zip package: {error}") from error
    for start, kind in PARTS:
        if any(name.startswith(start) and name.endswith(".xml") for name in names):
            return kind
    if "xl/workbook.bin" in names:
        raise DocumentRefused("unsupported_kind", "a binary workbook (.xlsb)")
    if "mimetype" in names:
        raise DocumentRefused("unsupported_kind", "an OpenDocument or e-book file")
    raise DocumentRefused("unsupported_kind", "a zip archive")


_MARKS: Final = re.compile(
    r"^(?:#{1,6} \S|```|\|.+\|\s*$|\s*\|?\s*:?-{3,}:?\s*\|)|\[[^\]\n]+\]\([^)\n]+\)|\*\*\S", re.MULTILINE
)


def looks_like_markdown(text: str) -> bool:
    """A heading, a fence, a table or marks, more than once in what is read first."""
    return len(_MARKS.findall(text[:20_000])) >= 2
