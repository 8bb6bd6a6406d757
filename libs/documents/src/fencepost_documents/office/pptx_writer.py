"""A presentation from its outline: real titles, lists, tables, charts and speaker notes.

Positions come from `deck_layout`, which measured every text: none leaves its shape on any renderer's font.
"""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any, Final

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Emu, Pt

from .clean import clean_line
from .deck_layout import (
    BOTTOM,
    BULLET_SPACE,
    GAP,
    HEIGHT,
    INDENT,
    INNER,
    MARGIN,
    TITLE_TOP,
    WIDTH,
    Page,
    bullets_height,
    lay_deck,
)  # fmt: skip
from .fonts import EAST_ASIAN, FONTS, LATIN, language_tag, set_drawing_fonts
from .outline import Outline
from .packing import normalise
from .palette import ACCENT, DEEP, INK, QUIET
from .pptx_parts import add_chart, add_table
from .report import QualityReport, report_on

_COVER, _LISTED, _TITLE_ONLY = 0, 1, 5  # layouts of the library's own template
_BLANK_TITLE: Final = {"zh": "（无标题）", "en": "(untitled)"}


def write_presentation(outline: Outline, made_at: datetime) -> tuple[bytes, QualityReport]:
    """PPTX bytes, the same for the same outline and time, and what they hold."""
    deck = _new_deck(outline, made_at)
    pages = lay_deck(outline)
    for number, page in enumerate(pages, 1):
        _draw(deck, page, outline, f"{number} / {len(pages)}")
    out = io.BytesIO()
    deck.save(out)
    return normalise(out.getvalue(), made_at), report_on(outline, "pptx", pages=len(pages), fonts=FONTS)


def _new_deck(outline: Outline, made_at: datetime) -> Any:
    deck: Any = Presentation()
    stretch = Pt(WIDTH) / deck.slide_width
    deck.slide_width, deck.slide_height = Pt(WIDTH), Pt(HEIGHT)
    for held in (deck.slide_master, *deck.slide_layouts):
        for shape in held.shapes:
            if shape.left is not None:
                shape.left, shape.width = Emu(int(shape.left * stretch)), Emu(int(shape.width * stretch))
    _set_theme_fonts(deck)
    _drop_printer(deck)
    about = deck.core_properties
    about.title, about.author, about.last_modified_by = clean_line(outline.title), "Fencepost", "Fencepost"
    about.language, about.created, about.modified = language_tag(outline.language), made_at, made_at
    return deck


def _drop_printer(deck: Any) -> None:
    """The template's settings of somebody's printer: bytes that no reader can judge."""
    for key, relation in list(deck.part.rels.items()):
        if relation.reltype.endswith("/printerSettings"):
            deck.part.rels.pop(key)


def _set_theme_fonts(deck: Any) -> None:
    """What a person types into the file later has the same fonts."""
    theme = next(
        rel.target_part for rel in deck.slide_master.part.rels.values() if rel.reltype.endswith("/theme")
    )
    text = theme.blob.decode()
    for old in ("Calibri Light", "Calibri"):
        text = text.replace(f'<a:latin typeface="{old}"/>', f'<a:latin typeface="{LATIN}"/>')
    theme._blob = text.replace('<a:ea typeface=""/>', f'<a:ea typeface="{EAST_ASIAN}"/>').encode()


def _draw(deck: Any, page: Page, outline: Outline, number: str) -> None:
    if page.kind == "title":
        slide = deck.slides.add_slide(deck.slide_layouts[_COVER])
        _draw_cover(slide, page, outline)
    else:
        plain = not page.bullets or page.table is not None or page.chart is not None
        slide = deck.slides.add_slide(deck.slide_layouts[_TITLE_ONLY if plain else _LISTED])
        _bar(slide, 0, 0, WIDTH, 8, ACCENT)
        _write_title(slide.shapes.title, page, outline, MARGIN, TITLE_TOP, INNER)
        _draw_body(slide, page, outline)
        _write_number(slide, number, outline)
    if notes := _notes(page, outline):
        slide.notes_slide.notes_text_frame.text = notes


def _draw_cover(slide: Any, page: Page, outline: Outline) -> None:
    tall = bullets_height(page.bullets, page.bullet_size) if page.bullets else 0.0
    top = max((HEIGHT - page.title_height - tall - GAP) / 2 - 10, MARGIN)
    _bar(slide, 0, 0, 24, HEIGHT, DEEP)
    _bar(slide, MARGIN + 10, top + page.title_height, 120, 4, ACCENT)
    _write_title(slide.shapes.title, page, outline, MARGIN + 10, top, INNER - 20)
    body = slide.placeholders[1]
    if not page.bullets:
        body._element.getparent().remove(body._element)
        return
    _place(body, MARGIN + 10, top + page.title_height + GAP, INNER - 20, tall)
    for index, text in enumerate(page.bullets):
        _paragraph(body.text_frame, index, text, page.bullet_size, QUIET, outline)


def _draw_body(slide: Any, page: Page, outline: Outline) -> None:
    top = page.body_top
    if page.bullets:
        tall = bullets_height(page.bullets, page.bullet_size)
        shared = page.table is not None or page.chart is not None
        body = slide.shapes.add_textbox(0, 0, 0, 0) if shared else slide.placeholders[1]
        _place(body, MARGIN, top, INNER, min(tall, BOTTOM - top))
        for index, text in enumerate(page.bullets):
            _paragraph(body.text_frame, index, text, page.bullet_size, INK, outline, bullet=True)
        top += tall + GAP
    if page.table is not None:
        add_table(slide, page.table, MARGIN, page.table_top, outline.language, clean_line(page.title))
    elif page.chart is not None:
        add_chart(slide, page.chart, MARGIN, top, INNER, BOTTOM - top, outline.language)


def _write_title(shape: Any, page: Page, outline: Outline, left: float, top: float, width: float) -> None:
    _place(shape, left, top, width, page.title_height)
    text = page.title or _BLANK_TITLE[outline.language]
    _paragraph(shape.text_frame, 0, text, page.title_size, DEEP, outline, bold=True)


def _write_number(slide: Any, number: str, outline: Outline) -> None:
    box = slide.shapes.add_textbox(Pt(WIDTH - MARGIN - 120), Pt(BOTTOM + 12), Pt(120), Pt(22))
    box.name = "Page number"
    _place(box, WIDTH - MARGIN - 120, BOTTOM + 12, 120, 22)
    _paragraph(box.text_frame, 0, number, 10, QUIET, outline)
    box.text_frame.paragraphs[0].alignment = PP_ALIGN.RIGHT


def _place(shape: Any, left: float, top: float, width: float, height: float) -> None:
    shape.left, shape.top, shape.width, shape.height = Pt(left), Pt(top), Pt(width), Pt(height)
    frame = shape.text_frame
    frame.word_wrap = True
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    frame.vertical_anchor = MSO_ANCHOR.TOP
    for fit in ("a:normAutofit", "a:spAutoFit"):  # measured already: a renderer must not shrink it anew
        for element in frame._txBody.bodyPr.findall(qn(fit)):
            frame._txBody.bodyPr.remove(element)


def _paragraph(
    frame: Any, index: int, text: str, size: int, colour: str, outline: Outline, *,
    bold: bool = False, bullet: bool = False,
) -> None:  # fmt: skip
    paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
    paragraph.alignment = PP_ALIGN.LEFT
    paragraph.line_spacing = 1.0
    paragraph.space_before, paragraph.space_after = Pt(0), Pt(BULLET_SPACE if bullet else 0)
    _set_bullet(paragraph, bullet)
    for number, line in enumerate(text.split("\n")):
        if number:
            paragraph.add_line_break()
        run = paragraph.add_run()
        run.text = line
        _style_run(run, size, colour, outline, bold=bold)


def _style_run(run: Any, size: int, colour: str, outline: Outline, *, bold: bool = False) -> None:
    run.font.size, run.font.bold = Pt(size), bold
    run.font.color.rgb = RGBColor.from_string(colour)
    properties = run._r.get_or_add_rPr()
    properties.set("lang", language_tag(outline.language))
    set_drawing_fonts(properties)


def _set_bullet(paragraph: Any, bullet: bool) -> None:
    properties = paragraph._p.get_or_add_pPr()
    if bullet:
        properties.set("marL", str(Pt(INDENT)))
        properties.set("indent", str(-Pt(INDENT)))
        properties.append(properties.makeelement(qn("a:buFont"), {"typeface": LATIN}))
        properties.append(properties.makeelement(qn("a:buChar"), {"char": "•"}))
    else:
        properties.set("marL", "0")
        properties.set("indent", "0")
        properties.append(properties.makeelement(qn("a:buNone"), {}))


def _bar(slide: Any, left: float, top: float, width: float, height: float, colour: str) -> None:
    bar = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, Pt(left), Pt(top), Pt(width), Pt(height))
    bar.fill.solid()
    bar.fill.fore_color.rgb = RGBColor.from_string(colour)
    bar.line.fill.background()
    bar.shadow.inherit = False
    bar.name = "Decoration"


def _notes(page: Page, outline: Outline) -> str:
    """The speaker's words, and where each row of this page comes from."""
    places = [row.locator for row in page.table.rows if row.locator] if page.table else []
    if not places:
        return page.notes
    head = "各行来源：" if outline.language == "zh" else "Sources of the rows:"
    cited = "\n".join([head, *(f"{at}. {clean_line(place)}" for at, place in enumerate(places, 1))])
    return f"{page.notes}\n\n{cited}".strip()
