"""The process that reads one document: a header line and the bytes on stdin, one JSON object on stdout.

It knows nothing else: no environment, an empty working folder, no other descriptor. Whatever it says is
validated by who started it.
"""

from __future__ import annotations

import contextlib
import mimetypes
from collections.abc import Callable
from functools import partial
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
    if kind == "plain":
        kind, reader = _plain(data, name)  # before reading: a text that is cut has its kind too
    else:
        reader = partial(_READERS[kind], data, name)
    with contextlib.suppress(Full):  # said in the draft
        reader(draft)
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


def _said(reader: Callable[[Draft], None], used: str) -> Callable[[Draft], None]:
    """The reader; before it, what the text was taken for where that was a guess."""

    def read(draft: Draft) -> None:
        draft.problem("encoding_guessed", None, used)
        reader(draft)

    return read


def _plain(data: bytes, name: str) -> tuple[str, Callable[[Draft], None]]:
    """The kind and its reader; between kinds of text the name decides, where the content allows it."""
    from fencepost_documents import encoding

    decoded, used = encoding.decode(data)
    kind, reader = _kind_of_text(data, decoded, name)
    return kind, _said(reader, used) if encoding.is_guess(used) else reader


def _kind_of_text(data: bytes, decoded: str, name: str) -> tuple[str, Callable[[Draft], None]]:
    from fencepost_documents import sniff
    from fencepost_documents.readers import delimited, markdown, text

    if "\x00" in decoded:
        raise DocumentRefused("unsupported_kind", "a binary file", f"byte {data.index(0)}")
    claimed = sniff.kind_of_name(name)
    delimiter = None if claimed == "markdown" else delimited.looks_delimited(decoded, named=claimed == "csv")
    if delimiter:
        return "csv", partial(delimited.read, decoded, delimiter=delimiter)
    if claimed == "markdown" or sniff.looks_like_markdown(decoded):
        return "markdown", partial(markdown.read, decoded)
    return "text", partial(text.read, decoded)


_READERS: dict[str, Callable[[bytes, str, Draft], None]] = {
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
}

if __name__ == "__main__":
    main()
