"""Which pages a presentation gets: sizes, cuts and titles, before any library draws them. Points everywhere.

Pure: the same outline gives the same pages. Nothing is left out: what doesn't fit a page goes on on the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .clean import clean, clean_line
from .measure import LINE_HEIGHT, line_count, wrap
from .outline import Chart, Language, Outline, Slide
from .table_layout import TablePage, lay_table

WIDTH: Final = 960.0  # 13.33 by 7.5 inches
HEIGHT: Final = 540.0
MARGIN: Final = 48.0
INNER: Final = WIDTH - 2 * MARGIN
TITLE_TOP: Final = 28.0
BOTTOM: Final = 496.0  # below stands the page number
GAP: Final = 14.0
INDENT: Final = 20.0
BULLET_SPACE: Final = 6.0
_TITLE_SIZES: Final = (28, 24, 20, 18, 16, 14, 12)
_COVER_SIZES: Final = (44, 36, 30, 24, 20, 16)
COVER_BULLETS: Final = 18
_BULLET_SIZES: Final = (22, 20, 18, 16)
_TEXT_SLACK: Final = 0.4
_CONTINUED: Final = {"zh": "（续）", "en": "(cont.)"}


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the file. body_top: where what stands under the title begins."""

    slide: int
    kind: str
    title: str
    title_size: int
    title_height: float
    bullets: tuple[str, ...] = ()
    bullet_size: int = 0
    table: TablePage | None = None
    table_top: float = 0.0
    chart: Chart | None = None
    notes: str = ""

    @property
    def body_top(self) -> float:
        return TITLE_TOP + self.title_height + GAP


def lay_deck(outline: Outline) -> tuple[Page, ...]:
    """All pages; those of a slide that takes several are numbered, and its notes stand at the first."""
    pages: list[Page] = []
    for index, slide in enumerate(outline.slides):
        pages += _numbered(list(_pages(index, slide, outline.language)), outline.language)
    return tuple(pages)


def _numbered(pages: list[Page], language: Language) -> list[Page]:
    if len(pages) == 1:
        return pages
    total = len(pages)
    form = "{}（{}/{}）" if language == "zh" else "{} ({}/{})"
    return [
        replace(page, title=form.format(page.title, at, total), notes=page.notes if at == 1 else "")
        for at, page in enumerate(pages, 1)
    ]


def _pages(index: int, slide: Slide, language: Language) -> Iterator[Page]:
    bullets = tuple(text for one in slide.bullets if (text := clean(one).strip()))
    title = clean_line(slide.title)
    blank = _titled(index, slide, title)
    if slide.kind == "title":
        fits = bullets_height(bullets, COVER_BULLETS) <= HEIGHT - 2 * MARGIN - GAP - blank.title_height
        yield replace(blank, bullets=bullets if fits else (), bullet_size=COVER_BULLETS)
        if fits and slide.table is None and slide.chart is None:
            return
        bullets, slide = () if fits else bullets, slide.model_copy(update={"kind": "bullets", "notes": ""})
        blank = _titled(index, slide, title)
    lead = bullets if _is_lead(bullets, slide) else ()
    if bullets and not lead:
        yield from _bullet_pages(blank, bullets)
    if slide.table is not None:
        yield from _table_pages(blank, slide, lead, language)
    if slide.chart is not None:
        yield replace(
            blank, kind="chart", chart=slide.chart, bullets=() if slide.table else lead, bullet_size=14
        )
    if not bullets and slide.table is None and slide.chart is None:
        yield blank


def _titled(index: int, slide: Slide, title: str) -> Page:
    """A page with its title only. The number that may follow it is reckoned in."""
    sizes = _COVER_SIZES if slide.kind == "title" else _TITLE_SIZES
    width = INNER if slide.kind != "title" else INNER - 40
    most = 3 if slide.kind == "title" else 2
    size = next((one for one in sizes if _lines(title + "（000/000）", one, width) <= most), sizes[-1])
    height = max(_lines(title + "（000/000）", size, width), 1) * size * LINE_HEIGHT + 8
    return Page(index, slide.kind, title, size, height, notes=clean(slide.notes).strip())


def _lines(text: str, size: float, width: float, *, bold: bool = True) -> int:
    return line_count(text, width / size - _TEXT_SLACK, bold=bold)


def _is_lead(bullets: Sequence[str], slide: Slide) -> bool:
    """A few lines over a table or chart share its page."""
    if slide.table is None and slide.chart is None:
        return False
    return 0 < sum(_lines(one, 14, INNER - INDENT, bold=False) for one in bullets) <= 3


def bullets_height(bullets: Sequence[str], size: int) -> float:
    lines = sum(_lines(one, size, INNER - INDENT, bold=False) for one in bullets)
    return lines * size * LINE_HEIGHT + len(bullets) * BULLET_SPACE + 6


def _bullet_pages(blank: Page, bullets: tuple[str, ...]) -> Iterator[Page]:
    room = BOTTOM - blank.body_top
    for size in _BULLET_SIZES:
        if bullets_height(bullets, size) <= room:
            yield replace(blank, kind="bullets", bullets=bullets, bullet_size=size)
            return
    size = _BULLET_SIZES[-1]
    page: list[str] = []
    for bullet in _no_taller(bullets, size, room):
        if page and bullets_height([*page, bullet], size) > room:
            yield replace(blank, kind="bullets", bullets=tuple(page), bullet_size=size)
            page = []
        page.append(bullet)
    yield replace(blank, kind="bullets", bullets=tuple(page), bullet_size=size)


def _no_taller(bullets: Sequence[str], size: int, room: float) -> Iterator[str]:
    """Bullets that each fit a page; a longer one is cut between its lines."""
    most = int((room - 2 * BULLET_SPACE) / (size * LINE_HEIGHT))
    for bullet in bullets:
        lines = wrap(bullet, (INNER - INDENT) / size - _TEXT_SLACK)
        if len(lines) <= most:
            yield bullet
            continue
        for start in range(0, len(lines), most):
            yield "\n".join(lines[start : start + most])


def _table_pages(blank: Page, slide: Slide, lead: tuple[str, ...], language: Language) -> Iterator[Page]:
    assert slide.table is not None
    taken = bullets_height(lead, 14) + GAP if lead else 0.0
    room = BOTTOM - blank.body_top
    parts = list(lay_table(slide.table, INNER, room - taken, room, _CONTINUED[language]))
    if lead and slide.table.rows and not parts[0].rows:  # no row has room beside the lead
        yield from _bullet_pages(blank, lead)
        yield from _table_pages(blank, slide, (), language)
        return
    for number, part in enumerate(parts):
        top = blank.body_top + (0.0 if number else taken)
        yield replace(
            blank, kind="table", table=part, table_top=top, bullets=() if number else lead, bullet_size=14
        )
