"""Markdown by markdown-it (CommonMark and tables); HTML in it stays text, links aren't followed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from fencepost_documents.draft import Draft
from fencepost_documents.tables import Row, write_table

BREAKS: Final = {"softbreak": "\n", "hardbreak": "\n"}
LITERAL: Final = frozenset({"fence", "code_block", "html_block"})


def read(text: str, draft: Draft) -> None:
    tokens = iter(MarkdownIt("commonmark", {"html": False}).enable("table").parse(text))
    depth, level = 0, None
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "heading_open":
            level = int(token.tag[1:])
        elif token.type == "heading_close":
            level = None
        elif token.type == "table_open":
            write_table(draft, _rows(tokens))
        elif token.type == "inline":
            kind = "heading" if level else "list_item" if depth else "paragraph"
            draft.unit(_place(token), kind, _seen(token.children or ()), level=level or depth or None)
        elif token.type in LITERAL:
            draft.unit(_place(token), "paragraph", token.content)


def _place(token: Token) -> str:
    return f"line{token.map[0] + 1 if token.map else 1}"


def _rows(tokens: Iterable[Token]) -> list[Row]:
    """Takes the tokens of one table off the stream."""
    rows: list[Row] = []
    place, cells = "line1", list[str]()
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            place, cells = _place(token), []
        elif token.type == "inline":
            cells.append(_seen(token.children or ()))
        elif token.type == "tr_close":
            rows.append(Row(place, tuple(cells)))
    return rows


def _seen(children: Sequence[Token]) -> str:
    """What a reader sees of inline text: no marks; an image is its description."""
    return "".join(BREAKS.get(child.type, child.content) for child in children)
