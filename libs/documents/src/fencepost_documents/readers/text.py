"""Plain text: paragraphs, and a unit of its own for each labelled line or list item."""

from __future__ import annotations

import re
from typing import Final

from fencepost_documents.draft import Draft
from fencepost_documents.fields import labelled

BULLETS: Final = "•·●▪◦○■□◆◇➢✓\uf0b7\uf0a7\uf0d8\uf06c\uf0fc\uf076"  # the last ones: Word's symbol fonts
ITEM: Final = re.compile(
    rf"^(\s*)(?:[-*+]\s+|[{BULLETS}]\s*|\(?\d{{1,3}}[.)]\s+|\d{{1,3}}[、）]\s*|[一二三四五六七八九十]{{1,3}}、\s*)(\S.*)$"
)
INDENT: Final = 2  # spaces a level


def read(text: str, draft: Draft) -> None:
    """Blank lines part paragraphs; a wrapped line belongs to the one before it."""
    start, held = 0, list[str]()

    def close() -> None:
        if held:
            draft.unit(f"line{start}", "paragraph", "\n".join(held))
            held.clear()

    for number, line in enumerate(lines(text), 1):
        if "\ufffd" in line:
            draft.problem("replacement_character", f"line{number}")
        item = ITEM.match(line)
        if not line.strip():
            close()
        elif item:
            close()
            draft.unit(f"line{number}", "list_item", item[2], level=len(item[1]) // INDENT + 1)
        elif labelled(line):
            close()
            draft.unit(f"line{number}", "paragraph", line)
        else:
            start = start if held else number
            held.append(line.strip())
    close()


def lines(text: str) -> list[str]:
    """Lines as an editor counts them: form feeds and other separators don't start one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
