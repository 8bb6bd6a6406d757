"""Pages before they are drawn: nothing leaves its page, nothing is lost, the header comes again."""

from fencepost_documents.office.clean import clean, squeeze
from fencepost_documents.office.deck_layout import (
    BOTTOM,
    HEIGHT,
    INNER,
    MARGIN,
    WIDTH,
    Page,
    bullets_height,
    lay_deck,
)
from fencepost_documents.office.measure import line_count, text_width, wrap
from fencepost_documents.office.outline import Outline, Slide
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.documents.office.outlines import table_deck

WORDS = st.text(alphabet=st.sampled_from("abcW iMé北京，。（）-0 1\n\u000b\u0000x"), max_size=60)
LONG = st.one_of(
    WORDS, st.integers(1, 60).map(lambda n: "长句子，很长。" * n), st.integers(1, 400).map("W".__mul__)
)


def inside(page: Page) -> None:
    assert page.body_top < BOTTOM - 100
    if page.table is not None:
        assert page.table_top >= page.body_top
        assert page.table_top + page.table.height <= BOTTOM + 0.01
        assert abs(sum(page.table.widths) - INNER) < 0.01
        for row in page.table.rows:
            for width, cell in zip(page.table.widths, row.cells, strict=True):
                lines = line_count(cell, (width - 10) / page.table.size)
                assert lines * page.table.size * 1.2 <= row.height
    elif page.bullets and page.kind == "bullets":
        assert page.body_top + bullets_height(page.bullets, page.bullet_size) <= BOTTOM + 0.01


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.lists(LONG, min_size=1, max_size=80), WORDS)
def test_no_table_leaves_its_page_and_no_cell_is_lost(columns: int, texts: list[str], title: str) -> None:
    rows = [
        [texts[(at * columns + index) % len(texts)] for index in range(columns)]
        for at in range(max(1, len(texts) // columns))
    ]
    outline = table_deck([f"列{at}" for at in range(columns)], rows, title=title or "x")
    pages = lay_deck(outline)
    told: dict[str, str] = {}
    for page in pages:
        inside(page)
        assert page.table is not None
        assert page.table.rows, "a page with a header and nothing under it"
        for at, name in enumerate(page.table.columns):
            shown = "".join(squeeze(row.cells[at]) for row in page.table.rows if row.cells[at] != "（续）")
            told[name] = told.get(name, "") + shown
    groups = len({page.table.columns for page in pages if page.table})
    for at in range(columns):
        whole = "".join(squeeze(row[at]) for row in rows)
        assert told[f"列{at}"] == whole * (groups if at == 0 else 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(LONG, min_size=1, max_size=40), WORDS)
def test_no_bullet_leaves_its_page_and_none_is_lost(bullets: list[str], title: str) -> None:
    slide = Slide(title=title or "x", kind="bullets", bullets=tuple(bullets))
    pages = lay_deck(Outline(title="x", language="zh", slides=(slide,)))
    for page in pages:
        inside(page)
    told = "".join(squeeze(text) for page in pages for text in page.bullets)
    assert told == "".join(squeeze(text) for text in bullets)


@settings(max_examples=200, deadline=None)
@given(LONG, st.floats(3, 60))
def test_wrapping_drops_only_spaces_and_no_line_is_wider(text: str, width: float) -> None:
    lines = wrap(clean(text), width)
    assert squeeze("".join(lines)) == squeeze(text)
    for line in lines:
        assert text_width(line) <= width or len(line.rstrip("，。（）、-")) <= 1


def test_a_long_table_says_which_part_each_page_is() -> None:
    pages = lay_deck(
        table_deck(["名称", "时间"], [[f"第{at}项", "2026-01-01"] for at in range(100)], title="清单")
    )
    assert len(pages) > 3
    assert [page.title for page in pages][:2] == [f"清单（1/{len(pages)}）", f"清单（2/{len(pages)}）"]
    assert {page.table.columns for page in pages if page.table} == {("名称", "时间")}


def test_a_page_is_a_page() -> None:
    assert (WIDTH, HEIGHT) == (960, 540)
    assert BOTTOM + MARGIN > HEIGHT > BOTTOM + 12 + 22


def test_a_cover_loses_nothing_that_does_not_fit_it() -> None:
    few = table_deck(["甲"], [["乙"]])
    [table] = [slide.table for slide in few.slides]
    cover = Slide(
        title="封面", kind="title", bullets=tuple(f"第{at}点" for at in range(40)), table=table, notes="说"
    )
    pages = lay_deck(Outline(title="x", language="zh", slides=(cover,)))
    assert pages[0].kind == "title"
    assert [text for page in pages for text in page.bullets] == list(cover.bullets)
    assert [page.table.columns for page in pages if page.table] == [("甲",)]
    assert [page.notes for page in pages if page.notes] == ["说"]
    for page in pages[1:]:
        inside(page)
    small = cover.model_copy(update={"bullets": ("一",), "table": None})
    [only] = lay_deck(Outline(title="x", language="zh", slides=(small,)))
    assert only.bullets == ("一",)
