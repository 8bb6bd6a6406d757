"""Word documents by python-docx: it opens the package; text is read from the XML itself.

Its own `paragraph.text` leaves out content controls, tracked insertions and text boxes, which people's
documents are full of. Blocks with text count from 1: `¶14` is the fourteenth paragraph or table.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, Final

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from lxml.etree import XMLSyntaxError

from fencepost_documents.draft import Draft
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.package import as_plain
from fencepost_documents.tables import Row, write_table

P, TBL, SDT, T = qn("w:p"), qn("w:tbl"), qn("w:sdt"), qn("w:t")
BREAKS: Final = {
    qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-",
}  # fmt: skip
LEFT_OUT: Final = frozenset(
    {
        qn("w:del"), qn("w:moveFrom"), qn("w:instrText"), qn("w:pPr"), qn("w:tbl"), qn("w:txbxContent"),
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    }
)  # fmt: skip
HEADING: Final = re.compile(r"^(?:heading|标题)\s*([1-9])$", re.IGNORECASE)
LIST_STYLE: Final = re.compile(r"^(?:list|列表|列出段落)", re.IGNORECASE)
OUTLINE_NONE: Final = 9  # w:outlineLvl of body text


def read(data: bytes, draft: Draft) -> None:
    try:
        document = docx.Document(io.BytesIO(as_plain(data)))
    except (KeyError, ValueError, XMLSyntaxError, AttributeError) as error:
        raise DocumentRefused("corrupt", f"not a whole Word document: {error}"[:300]) from error
    _Body(draft, _styles(document)).blocks(document.element.body)
    _notes(document, draft)


def _styles(document: Any) -> dict[str, tuple[str, int | None]]:
    """Style id -> its name and outline level (1 for the highest), following what it is based on."""
    found: dict[str, tuple[str, int | None]] = {}
    for style in document.styles.element.findall(qn("w:style")):
        name = style.find(qn("w:name"))
        level = style.find(f"{qn('w:pPr')}/{qn('w:outlineLvl')}")
        named = (name.get(qn("w:val")) or "") if name is not None else ""
        found[style.get(qn("w:styleId")) or ""] = (named, _level(level))
    return found


def _level(element: Any) -> int | None:
    value = element.get(qn("w:val")) if element is not None else None
    return int(value) + 1 if value and value.isdigit() and int(value) < OUTLINE_NONE else None


class _Body:
    def __init__(self, draft: Draft, styles: dict[str, tuple[str, int | None]]) -> None:
        self._draft, self._styles, self._number = draft, styles, 0

    def blocks(self, container: Any) -> None:
        for block in _blocks(container):
            if block.tag == P:
                self._paragraph(block)
            elif block.tag == TBL:
                self._number += 1
                self._table(block, f"¶{self._number}")

    def _paragraph(self, paragraph: Any) -> None:
        self._say_what_is_left(paragraph)
        text = text_of(paragraph)
        if text.strip():
            self._number += 1
            kind, level = self._kind(paragraph)
            self._draft.unit(f"¶{self._number}", kind, text, level=level)
        for box in _boxes(paragraph):
            self.blocks(box)

    def _kind(self, paragraph: Any) -> tuple[str, int | None]:
        properties = paragraph.find(qn("w:pPr"))
        if properties is None:
            return "paragraph", None
        style = properties.find(qn("w:pStyle"))
        name, outline = self._styles.get(style.get(qn("w:val")) if style is not None else "", ("", None))
        heading = HEADING.match(name)
        level = int(heading[1]) if heading else outline or _level(properties.find(qn("w:outlineLvl")))
        if name.lower() == "title" or name == "标题":
            level = 1
        if level:
            return "heading", level
        numbering = properties.find(qn("w:numPr"))
        if numbering is not None or LIST_STYLE.match(name):
            depth = numbering.find(qn("w:ilvl")) if numbering is not None else None
            return "list_item", int(depth.get(qn("w:val")) or 0) + 1 if depth is not None else 1
        return "paragraph", None

    def _say_what_is_left(self, paragraph: Any) -> None:
        place = f"¶{self._number + 1}"
        if next(paragraph.iter(qn("w:delText")), None) is not None:
            self._draft.problem("changes_pending", place)
        if next(paragraph.iter(qn("w:altChunk")), None) is not None:
            self._draft.problem("embedded_ignored", place)
        if any(_is_hidden(run) for run in paragraph.iter(qn("w:r"))):
            self._draft.problem("hidden_text", place)

    def _table(self, table: Any, place: str) -> None:
        """A vertical merge counts for each of its rows, as a reader sees it; a horizontal one once."""
        rows, above, merged = list[Row](), dict[int, str](), False
        for number, row in enumerate(_rows(table), 1):
            cells, spans = list[str](), set[int]()
            for cell in row.iter(qn("w:tc")):
                if _table_of(cell) is not table:
                    continue
                for inner, nested in enumerate(cell.iter(TBL), 1):
                    if _table_of(nested) is table:
                        self._table(nested, f"{place}:r{number}:t{inner}")
                text, width, continues = _cell(cell)
                if continues:
                    text, merged = above.get(len(cells), ""), True
                above[len(cells)] = text
                merged = merged or width > 1
                cells.append(text)
                spans.update(range(len(cells), len(cells) + width - 1))
                cells += [text] * (width - 1)
            rows.append(Row(f"{place}:r{number}", tuple(cells), (), frozenset(spans)))
        if merged:
            self._draft.problem("merged_cells", place)
        write_table(self._draft, [row for row in rows if any(row.cells)])


def _blocks(container: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, those in content controls and insertions too."""
    for child in container:
        if child.tag in (P, TBL):
            yield child
        elif child.tag in (SDT, qn("w:sdtContent"), qn("w:ins"), qn("w:moveTo"), qn("w:customXml")):
            yield from _blocks(child)


def _rows(table: Any) -> Iterator[Any]:
    for row in table.iter(qn("w:tr")):
        if _table_of(row) is table:
            yield row


def _table_of(element: Any) -> Any:
    parent = element.getparent()
    while parent is not None and parent.tag != TBL:
        parent = parent.getparent()
    return parent


def _cell(cell: Any) -> tuple[str, int, bool]:
    """Its text, the columns it spans, and whether it goes on from the cell above."""
    properties = cell.find(qn("w:tcPr"))
    span = properties.find(qn("w:gridSpan")) if properties is not None else None
    merge = properties.find(qn("w:vMerge")) if properties is not None else None
    width = span.get(qn("w:val")) if span is not None else None
    text = "\n".join(filter(str.strip, (text_of(p) for p in _blocks(cell) if p.tag == P)))
    continues = merge is not None and merge.get(qn("w:val")) != "restart"
    return text.strip(), min(int(width), 200) if width and width.isdigit() else 1, continues


def _is_hidden(run: Any) -> bool:
    vanish = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return vanish is not None and vanish.get(qn("w:val")) not in ("0", "false")


def _boxes(paragraph: Any) -> Iterator[Any]:
    """Text boxes of this paragraph, each once: a fallback copy for old programs is skipped."""
    for box in paragraph.iter(qn("w:txbxContent")):
        ancestors = {each.tag for each in box.iterancestors()}
        if not ancestors & (LEFT_OUT - {qn("w:tbl"), qn("w:txbxContent")}):
            yield box


def text_of(paragraph: Any) -> str:
    """What is seen: no deletions, field codes or hidden runs; a text box has its own place."""
    parts: list[str] = []

    def walk(element: Any) -> None:
        for child in element:
            if child.tag == T:
                parts.append(child.text or "")
            elif child.tag in BREAKS:
                parts.append(BREAKS[child.tag])
            elif child.tag not in LEFT_OUT and not (child.tag == qn("w:r") and _is_hidden(child)):
                walk(child)

    walk(paragraph)
    return "".join(parts)


_OF_THE_PAGE: Final = ("header", "footer")
_NOTED: Final = ("footnotes", "endnotes", "comments")


def _notes(document: Any, draft: Draft) -> None:
    """What stands beside the text, in its own order: `header1`, `footer1`, `footnote2`, `comment3`."""
    parts: dict[str, list[Any]] = {kind: [] for kind in (*_OF_THE_PAGE, *_NOTED)}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in parts and not relation.is_external:
            parts[kind].append(relation.target_part)
    for kind in _OF_THE_PAGE:  # sections often repeat one; each is said once
        said = dict.fromkeys(_lines_of(parse_xml(part.blob)) for part in _by_name(parts[kind]))
        for number, text in enumerate((text for text in said if text), 1):
            draft.unit(f"{kind}{number}", "note", text)
    for kind in _NOTED:
        for part in parts[kind]:
            bodies = [note for note in parse_xml(part.blob) if not note.get(qn("w:type"))]  # no separators
            for number, note in enumerate(bodies, 1):
                draft.unit(f"{kind[:-1]}{number}", "note", _signed(note))


def _by_name(parts: list[Any]) -> list[Any]:
    return sorted(parts, key=lambda part: (len(part.partname), part.partname))  # header2 before header10


def _lines_of(root: Any) -> str:
    return "\n".join(filter(str.strip, (text_of(paragraph) for paragraph in root.iter(P)))).strip()


def _signed(note: Any) -> str:
    """A note's text; of a comment with its author in front, in brackets: a label would look like a field."""
    author, text = note.get(qn("w:author")), _lines_of(note)
    return f"[{author}] {text}" if author and text else text
