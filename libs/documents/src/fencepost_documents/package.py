"""Office packages, judged by their directory before any parser sees them (design 08 §6).

Figures come from the directory, which may lie: a member that inflates to more than it says is cut off by
`zipfile` itself (it reads no more than the declared size and then checks the CRC).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from typing import Final
from xml.parsers import expat

import defusedxml.ElementTree as ET
from defusedxml.common import DefusedXmlException

from fencepost_documents.draft import Draft
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import MIB, Limits

ENCRYPTED: Final = 0x1
RATIO_COUNTS_FROM: Final = MIB  # a small member may well be all zeros
PROLOG: Final = 4096  # bytes read at a time until the first element
STRICT: Final = b"purl.oclc.org/ooxml"
REL: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
HOSTILE_MARKS: Final = ("\\", "\x00")
TYPES: Final = "[Content_Types].xml"
# With macros, a template, a show: the same document under other names, which the parsers don't know.
VARIANTS: Final = re.compile(
    rb"application/vnd\.(?:ms-(word|powerpoint)\.(?:document|template|presentation|slideshow)"
    rb"\.macroEnabled(?:Template)?"
    rb"|openxmlformats-officedocument\.(wordprocessing|presentation)ml\.(?:template|slideshow))\.main\+xml"
)
PLAIN: Final = {
    b"word": b"wordprocessingml.document",
    b"wordprocessing": b"wordprocessingml.document",
    b"powerpoint": b"presentationml.presentation",
    b"presentation": b"presentationml.presentation",
}


def check(data: bytes, limits: Limits) -> None:
    """Raises DocumentRefused: zip_bomb zip_unsafe xml_forbidden password_protected strict_format corrupt."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            members = package.infolist()
            _directory(members, limits)
            for member in members:
                if member.filename.lower().endswith((".xml", ".rels", ".vml")):
                    _no_doctype(package, member)
            if STRICT in package.read("_rels/.rels"):
                raise DocumentRefused("strict_format", "its relations are those of ISO Strict")
    except KeyError as error:
        raise DocumentRefused("corrupt", f"the package has no {error}") from error
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError) as error:
        raise DocumentRefused("corrupt", f"not a whole zip package: {error}") from error


def _directory(members: list[zipfile.ZipInfo], limits: Limits) -> None:
    if len(members) > limits.zip_members:
        raise DocumentRefused("zip_bomb", f"{len(members)} members, {limits.zip_members} are allowed")
    total = 0
    for member in members:
        name = member.filename
        if (
            name.startswith("/")
            or ":" in name
            or ".." in name.split("/")
            or any(m in name for m in HOSTILE_MARKS)
        ):
            raise DocumentRefused("zip_unsafe", "a member's name leaves the package", repr(name)[:200])
        if member.flag_bits & ENCRYPTED:
            raise DocumentRefused("password_protected", "members are encrypted", repr(name)[:200])
        total += member.file_size
        ratio = member.file_size / max(1, member.compress_size)
        if member.file_size > limits.zip_member_bytes or (
            ratio > limits.zip_ratio and member.file_size > RATIO_COUNTS_FROM
        ):
            raise DocumentRefused(
                "zip_bomb", f"{member.compress_size} bytes would become {member.file_size}", repr(name)[:200]
            )
    if total > limits.zip_total_bytes:
        raise DocumentRefused("zip_bomb", f"{total} bytes in all, {limits.zip_total_bytes} are allowed")
    twice = [name for name, count in Counter(member.filename for member in members).items() if count > 1]
    if twice:  # which of the two a program shows is its own affair, so what we read may not be what was seen
        raise DocumentRefused("zip_unsafe", "a member is there twice", repr(twice[0])[:200])


class _Root(Exception):
    """The first element: whatever a DOCTYPE could say stands before it."""


def _no_doctype(package: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Reads up to the first element. What isn't XML is left to the parser that wants it."""

    def doctype(*_: object) -> None:
        raise DocumentRefused("xml_forbidden", "it has a DOCTYPE", repr(member.filename)[:200])

    def root(*_: object) -> None:
        raise _Root

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = root
    with package.open(member) as stream:
        try:
            while chunk := stream.read(PROLOG):
                parser.Parse(chunk, False)
        except (_Root, expat.ExpatError):
            return


def say_what_is_ignored(data: bytes, draft: Draft) -> None:
    """Macros, embedded files and what lies outside: none is opened, each is said."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = package.namelist()
        if macros := [name for name in names if name.endswith("vbaProject.bin")]:
            draft.problem("macros_ignored", None, ", ".join(macros))
        if inside := [name for name in names if "/embeddings/" in name or "/activeX/" in name]:
            draft.problem("embedded_ignored", None, ", ".join(inside[:5]))
        for name in names:
            if name.endswith(".rels"):
                _outside(package, name, draft)


def _outside(package: zipfile.ZipFile, name: str, draft: Draft) -> None:
    """A hyperlink is a text with an address and says nothing; anything else would be fetched by an editor."""
    try:
        root = ET.fromstring(package.read(name))
    except (ET.ParseError, DefusedXmlException) as error:
        raise DocumentRefused("corrupt", f"relations are not XML: {error}", name) from error
    for relation in root.iter(REL):
        kind = relation.get("Type", "").rpartition("/")[2]
        if relation.get("TargetMode") == "External" and kind != "hyperlink":
            draft.problem("external_ignored", None, f"{kind}: {relation.get('Target', '')}")


def as_plain(data: bytes) -> bytes:
    """The package with its main part named as a plain document; macros stay where nobody runs them."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        if not VARIANTS.search(package.read(TYPES)):
            return data
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as copy:
            for member in package.infolist():
                content = package.read(member)
                copy.writestr(
                    member.filename,
                    VARIANTS.sub(_plain_name, content) if member.filename == TYPES else content,
                )
        return made.getvalue()


def _plain_name(found: re.Match[bytes]) -> bytes:
    return b"application/vnd.openxmlformats-officedocument." + PLAIN[found[1] or found[2]] + b".main+xml"
