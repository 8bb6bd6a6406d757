"""A presentation of as many pages as were asked for, where that can be had without losing a record. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from .deck_layout import lay_deck
from .outline import Outline, Slide


def page_count(outline: Outline) -> int:
    """Pages that the writer will make of it."""
    return len(lay_deck(outline))


def fit_pages(outline: Outline, least: int, most: int) -> Outline:
    """The outline, or one with the same records that has from least to most pages.

    For fewer pages the overview and the list of sources go, which say nothing that the rest doesn't; for
    more, a table goes on on another slide sooner. Where neither is enough the outline comes back as it was.
    """
    pages = page_count(outline)
    if least <= pages <= most:
        return outline
    variants = _shorter(outline) if pages > most else _longer(outline, least)
    return next((one for one in variants if least <= page_count(one) <= most), outline)


def _shorter(outline: Outline) -> Iterator[Outline]:
    for kinds in (("bullets",), ("closing",), ("bullets", "closing")):
        yield outline.model_copy(
            update={"slides": tuple(one for one in outline.slides if one.kind not in kinds)}
        )


def _longer(outline: Outline, least: int) -> Iterator[Outline]:
    """The largest table in ever more slides, as even as can be."""
    tables = [(len(one.table.rows), at) for at, one in enumerate(outline.slides) if one.table is not None]
    rows, at = max(tables, default=(0, 0))
    for parts in range(2, min(rows, least) + 1):
        slides = [*outline.slides[:at], *_parts(outline.slides[at], parts), *outline.slides[at + 1 :]]
        yield outline.model_copy(update={"slides": tuple(slides)})


def _parts(slide: Slide, parts: int) -> Iterator[Slide]:
    table = slide.table
    assert table is not None  # chosen by its rows
    size = ceil(len(table.rows) / parts)
    for start in range(0, len(table.rows), size):
        rows = table.model_copy(update={"rows": table.rows[start : start + size]})
        yield slide.model_copy(update={"table": rows, "notes": slide.notes if start == 0 else ""})
