"""As many pages as were asked for, with every record, or the outline as it was."""

import pytest
from fencepost_documents.office.from_records import outline_from_records
from fencepost_documents.office.outline import Outline, tables_of
from fencepost_documents.office.page_count import fit_pages, page_count

from tests.unit.documents.office.outlines import contract, records

ITEMS = [(f"活动{n}", f"2026-03-{n % 28 + 1:02d} 09:00", "上海") for n in range(8)]


@pytest.fixture(scope="module")
def outline() -> Outline:
    """Cover, overview, a page of eight rows, sources."""
    made = outline_from_records(records(ITEMS), contract(), "zh", {})
    assert page_count(made) == 4
    return made


@pytest.mark.parametrize("pages", [(4, 4), (1, 10), (3, 3), (2, 2), (1, 3), (5, 5), (7, 9), (11, 11)])
def test_the_pages_fit_and_no_record_is_lost(outline: Outline, pages: tuple[int, int]) -> None:
    made = fit_pages(outline, *pages)

    assert pages[0] <= page_count(made) <= pages[1]
    rows = [row for table in tables_of(made) for row in table.rows]
    assert rows == [row for table in tables_of(outline) for row in table.rows]
    assert made.slides[0] == outline.slides[0] and made.sources == outline.sources


@pytest.mark.parametrize("pages", [(1, 1), (12, 12), (400, 500)])
def test_what_cannot_be_had_changes_nothing(outline: Outline, pages: tuple[int, int]) -> None:
    assert fit_pages(outline, *pages) == outline
