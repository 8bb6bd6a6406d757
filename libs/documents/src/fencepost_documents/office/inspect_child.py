"""The process that looks into one made file: bytes on stdin, one JSON object of `Inspection` on stdout."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, Final

from fencepost_documents import package, sniff
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import Limits
from fencepost_documents.office.inspection import gather
from fencepost_documents.one_document import answer_one

_ACTIVE: Final = ("vbaproject", "activex", "oleobject", "externallink", ".bin", ".exe", "attachedtoolbars")
_FONTS: Final = ("typeface", "eastAsia", "ascii")


def main() -> None:
    answer_one(look)


def look(data: bytes, _name: str, limits: Limits) -> dict[str, Any]:
    """Raises DocumentRefused for what isn't a whole office file of the three kinds."""
    kind = sniff.sniff(data)
    if kind not in _READERS:
        raise DocumentRefused("unsupported_kind", f"{kind}, not an office file")
    package.check(data, limits)
    try:
        said = _READERS[kind](data)
    except (
        KeyError,
        ValueError,
        AttributeError,
        TypeError,
        IndexError,
        SyntaxError,
        zipfile.BadZipFile,
    ) as error:
        raise DocumentRefused("corrupt", f"{type(error).__name__}: {error}"[:300]) from error
    return {"kind": kind, "active": _active(data), **said}


def _presentation(data: bytes) -> dict[str, Any]:
    from pptx import Presentation

    deck: Any = Presentation(io.BytesIO(data))
    tables, blank, characters, charts, notes = [], [], 0, 0, 0
    fonts: set[str] = set()
    for number, slide in enumerate(deck.slides, 1):
        texts: list[str] = []
        drawn = 0
        for shape in slide.shapes:
            if shape.has_text_frame and shape.name != "Page number":
                texts.append(shape.text_frame.text)
            if shape.has_chart:
                drawn += 1
            if getattr(shape, "has_table", False):
                rows = [[cell.text_frame.text for cell in row.cells] for row in shape.table.rows]
                tables.append(rows)
                texts += [cell for row in rows for cell in row]
        fonts.update(_named_fonts(slide._element))
        written = sum(len("".join(text.split())) for text in texts)
        if not written and not drawn:
            blank.append(number)
        characters, charts = characters + written, charts + drawn
        notes += bool(slide.has_notes_slide and slide.notes_slide.notes_text_frame.text.strip())
    return {
        "pages": len(deck.slides), "blank": blank, "characters": characters, "charts": charts, "notes": notes,
        "tables": _plain(tables), "fonts": sorted(fonts),
    }  # fmt: skip


def _document(data: bytes) -> dict[str, Any]:
    from docx import Document
    from docx.oxml.ns import qn

    document: Any = Document(io.BytesIO(data))
    tables = [[[cell.text for cell in row.cells] for row in table.rows] for table in document.tables]
    body = document.element.body
    words = "".join(text.text or "" for text in body.iter(qn("w:t")))
    chart = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
    return {
        "characters": len("".join(words.split())), "charts": sum(1 for _ in body.iter(chart)),
        "tables": _plain(tables), "fonts": sorted(set(_named_fonts(body))),
    }  # fmt: skip


def _workbook(data: bytes) -> dict[str, Any]:
    import mimetypes

    # The machine's lists, which openpyxl would ask for when it finds a drawing, are out of reach here.
    mimetypes.knownfiles.clear()
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), keep_links=False)
    tables, characters, charts, formulas = [], 0, 0, 0
    fonts: set[str] = set()
    for sheet in book.worksheets:
        charts += len(sheet._charts)
        rows = [[_shown(cell) for cell in row] for row in sheet.iter_rows()]
        formulas += sum(1 for row in sheet.iter_rows() for cell in row if cell.data_type == "f")
        characters += sum(len("".join(cell.split())) for row in rows for cell in row)
        fonts.update(cell.font.name for row in sheet.iter_rows(max_row=2) for cell in row if cell.font.name)
        if sheet.tables or not sheet._charts:
            tables.append(rows)
    return {
        "characters": characters, "charts": charts, "tables": _plain(tables), "formulas": formulas,
        "fonts": sorted(fonts),
    }  # fmt: skip


def _shown(cell: Any) -> str:
    """As a person sees it: a number in its own format, as the writer gave it one."""
    if cell.value is None or isinstance(cell.value, str):
        return cell.value or ""
    form = cell.number_format or ""
    places = len(form.partition(".")[2])
    if isinstance(cell.value, int | float) and form.strip("#,0.") == "" and form:
        return f"{cell.value:,.{places}f}" if "," in form else f"{cell.value:.{places}f}"
    return str(cell.value)


def _plain(tables: Sequence[Sequence[Sequence[str]]]) -> list[dict[str, Any]]:
    return [table.model_dump(mode="json") for table in gather(tables)]


def _named_fonts(root: Any) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if name.rpartition("}")[2] in _FONTS and value and not value.startswith("+"):
                yield value


def _active(data: bytes) -> list[str]:
    """Parts that could act when the file is opened, and relations that lead out of it."""
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as whole:
        for name in whole.namelist():
            leads_out = name.endswith(".rels") and b'TargetMode="External"' in whole.read(name)
            if leads_out or any(mark in name.casefold() for mark in _ACTIVE):
                found.append(name)
    return found[:20]


_READERS: Final = {"pptx": _presentation, "docx": _document, "xlsx": _workbook}

if __name__ == "__main__":
    main()
