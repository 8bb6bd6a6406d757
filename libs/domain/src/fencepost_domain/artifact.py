"""Artifacts: their statuses, what may be called a name, and which contents may pretend to be what.

A verdict is given once: a draft becomes verified or rejected, with evidence, and stays so. A display name is
data: it is never part of a path, and it is cleaned of what could be mistaken for something else (a path, a
header line, text that runs backwards, a device of another system).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ArtifactStatus(StrEnum):
    DRAFT = "draft"
    VERIFIED = "verified"
    REJECTED = "rejected"
    PARTIAL = "partial"  # what a stopped run left; never judged


class Lost(StrEnum):
    """What the scan or a reader found instead of the bytes."""

    MISSING = "missing"
    ALTERED = "altered"


ALLOWED: Final[Mapping[ArtifactStatus, frozenset[ArtifactStatus]]] = {
    ArtifactStatus.DRAFT: frozenset({ArtifactStatus.VERIFIED, ArtifactStatus.REJECTED}),
    ArtifactStatus.VERIFIED: frozenset(),
    ArtifactStatus.REJECTED: frozenset(),
    ArtifactStatus.PARTIAL: frozenset(),
}
LONGEST_NAME: Final = 120  # characters
LONGEST_BYTES: Final = 240  # of UTF-8: file systems take 255
LONGEST_SUFFIX: Final = 16
NAMELESS: Final = "file"
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}
)
_FORBIDDEN: Final = frozenset('<>:"|?*')

# Media type -> what its bytes begin with; None: anything but what another type begins with.
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
MEDIA_TYPES: Final[Mapping[str, tuple[bytes, ...] | None]] = {
    "text/plain": None,
    "text/csv": None,
    "text/markdown": None,
    "application/json": None,
    "message/rfc822": None,
    "application/pdf": (b"%PDF-",),
    _OFFICE + "wordprocessingml.document": _ZIP,
    _OFFICE + "spreadsheetml.sheet": _ZIP,
    _OFFICE + "presentationml.presentation": _ZIP,
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_WORD: Final = _OFFICE + "wordprocessingml.document"
_SHEET: Final = _OFFICE + "spreadsheetml.sheet"
_DECK: Final = _OFFICE + "presentationml.presentation"
_SUFFIXES: Final[Mapping[str, str]] = {
    "txt": "text/plain", "log": "text/plain", "csv": "text/csv", "tsv": "text/csv", "md": "text/markdown",
    "markdown": "text/markdown", "json": "application/json", "pdf": "application/pdf",
    "docx": _WORD, "docm": _WORD, "dotx": _WORD, "xlsx": _SHEET, "xlsm": _SHEET, "xltx": _SHEET,
    "pptx": _DECK, "pptm": _DECK, "ppsx": _DECK, "potx": _DECK,
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
}  # fmt: skip
# What clients say when they don't know; Windows with Excel calls a CSV `application/vnd.ms-excel`.
_VAGUE: Final = frozenset(
    {
        "",
        "application/octet-stream", "binary/octet-stream",
        "application/zip", "application/x-zip-compressed", "application/x-pdf",
        "application/vnd.ms-excel", "application/csv", "application/x-csv", "text/x-csv", "text/x-markdown",
        "text/comma-separated-values", "text/tab-separated-values",
        "application/vnd.ms-word.document.macroenabled.12",
        "application/vnd.ms-excel.sheet.macroenabled.12",
        "application/vnd.ms-powerpoint.presentation.macroenabled.12",
    }
)  # fmt: skip
_BINARY: Final = (
    *_ZIP,
    b"%PDF-",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x7fELF",
    b"MZ",
    b"\xca\xfe\xba\xbe",
)


def media_type_of(name: str) -> str | None:
    """The type of files with this name's suffix; None for a suffix that isn't known."""
    return _SUFFIXES.get(name.rpartition(".")[2].lower()) if "." in name else None


def understood_type(claimed: str, name: str) -> str:
    """The type meant: a vague claim gives way to the name's suffix, any other stands to be judged."""
    plain = claimed.partition(";")[0].strip().lower()
    return media_type_of(name) or plain if plain in _VAGUE else plain


def safe_name(given: str) -> str:
    """What a person may be shown and a browser may save; never empty, at most 120 characters."""
    name = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    kept = [" " if unicodedata.category(c) in ("Zl", "Zp", "Zs") else c for c in name if _visible(c)]
    name = " ".join("".join("_" if c in _FORBIDDEN else c for c in kept).split()).lstrip(". ").rstrip(". ")
    if name.partition(".")[0].strip().casefold() in _DEVICES:
        name = f"_{name}"
    return _shortened(name) or NAMELESS


def _visible(character: str) -> bool:
    """No control, format (direction, zero width), private, unassigned or surrogate character."""
    return not unicodedata.category(character).startswith("C")


def _shortened(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    if not stem or len(suffix) > LONGEST_SUFFIX:
        stem, dot, suffix = name, "", ""
    stem = stem[: LONGEST_NAME - len(dot + suffix)]
    while len((stem + dot + suffix).encode()) > LONGEST_BYTES:
        stem = stem[:-1]
    return stem.rstrip(". ") + dot + suffix


def contradicts(media_type: str, start: bytes) -> bool:
    """The bytes begin as no content of this type can. Raises KeyError for a type that isn't taken."""
    wanted = MEDIA_TYPES[media_type]
    return start.startswith(_BINARY) if wanted is None else not start.startswith(wanted)
