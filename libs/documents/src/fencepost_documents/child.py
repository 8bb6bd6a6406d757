"""The process that reads one document: a header line and the bytes on stdin, one JSON object on stdout.

It knows nothing else: no environment, an empty working folder, no other descriptor. Whatever it says is
validated by who started it.
"""

from __future__ import annotations

import contextlib
import mimetypes
from collections.abc import Callable
from typing import Any

from fencepost_documents.draft import Draft, Full
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import Limits
from fencepost_documents.one_document import answer_one


def main() -> None:
    answer_one(read)


def read(data: bytes, name: str, limits: Limits) -> dict[str, Any]:
    """Kind, units and problems as plain values."""
    from fencepost_documents import sniff

    draft = Draft(limits)
    kind = sniff.sniff(data)
    reader = _plain if kind == "plain" else _READERS[kind]
    with contextlib.suppress(Full):  # said in the draft
        kind = reader(data, name, draft) or kind
    claimed = sniff.kind_of_name(name)
    if claimed and claimed != kind and not (claimed in ("text", "markdown") and kind in ("csv", "text")):
        draft.problem("name_differs", None, f"{name} is {kind}")
    if not draft.units:
        draft.problem("no_text")
    return {"kind": kind, "units": draft.units, "problems": draft.problems()}


def _pdf(data: bytes, name: str, draft: Draft) -> None:
    from fencepost_documents.readers import pdf

    pdf.read(data, draft)


def _docx(data: bytes, name: str, draft: Draft) -> None:
    from fencepost_documents.readers import docx

    _checked(data, draft)
    docx.read(data, draft)


def _pptx(data: bytes, name: str, draft: Draft) -> None:
    from fencepost_documents.readers import pptx

    _checked(data, draft)
    pptx.read(data, draft)


def _xlsx(data: bytes, name: str, draft: Draft) -> None:
    mimetypes.knownfiles.clear()  # openpyxl would read the machine's own table at its import
    from fencepost_documents.readers import xlsx

    _checked(data, draft)
    xlsx.read(data, draft)


def _checked(data: bytes, draft: Draft) -> None:
    from fencepost_documents import package

    package.check(data, draft.limits)
    package.say_what_is_ignored(data, draft)


def _plain(data: bytes, name: str, draft: Draft) -> str:
    """Between kinds of text the name decides, where the content allows it."""
    from fencepost_documents import encoding, sniff
    from fencepost_documents.readers import delimited, markdown, text

    decoded, _ = encoding.decode(data)
    if "\x00" in decoded:
        raise DocumentRefused("unsupported_kind", "a binary file", f"byte {data.index(0)}")
    claimed = sniff.kind_of_name(name)
    delimiter = None if claimed == "markdown" else delimited.looks_delimited(decoded, named=claimed == "csv")
    if delimiter:
        delimited.read(decoded, draft, delimiter)
        return "csv"
    if claimed == "markdown" or sniff.looks_like_markdown(decoded):
        markdown.read(decoded, draft)
        return "markdown"
    text.read(decoded, draft)
    return "text"


_READERS: dict[str, Callable[[bytes, str, Draft], None]] = {
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
}

if __name__ == "__main__":
    main()
