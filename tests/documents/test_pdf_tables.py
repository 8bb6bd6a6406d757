"""Tables of a PDF: drawn ones by their rules, others by the gaps that all lines leave."""

from collections.abc import Sequence

from fencepost_documents.ir import SourceDocument
from fencepost_documents.read import read_document

from tests.documents.made.pdfs import Page, Text, lines, pdf, table

HEAD = ("名称", "时间", "地点", "金额")


def grid(xs: Sequence[float], ys: Sequence[float]) -> bytes:
    """Strokes around every cell."""
    across = [f"{xs[0]} {y} m {xs[-1]} {y} l S" for y in ys]
    down = [f"{x} {ys[0]} m {x} {ys[-1]} l S" for x in xs]
    return "\n".join([*across, *down]).encode()


def boxes(xs: Sequence[float], ys: Sequence[float]) -> bytes:
    """Rules as thin filled rectangles, as Word's export draws them."""
    across = [f"{xs[0]} {y} {xs[-1] - xs[0]} 0.5 re f" for y in ys]
    down = [f"{x} {ys[-1]} 0.5 {ys[0] - ys[-1]} re f" for x in xs]
    return "\n".join([*across, *down]).encode()


def rows(document: SourceDocument) -> list[dict[str, str]]:
    return [dict(unit.columns) for unit in document.units if unit.columns]


def read(*pages: Page) -> SourceDocument:
    return read_document(pdf(*pages), "t.pdf")


XS, YS = (70, 190, 310, 430, 550), (720, 690, 640, 610)
WRAPPED = (
    *(Text(75 + 120 * at, 700, name) for at, name in enumerate(HEAD)),
    Text(75, 672, "很长很长的名称"), Text(75, 656, "要换行才放得下"), Text(195, 672, "2026-03-05"),
    Text(315, 672, "上海"), Text(435, 672, "1200"),
    Text(75, 620, "复盘会"), Text(195, 620, "2026-04-01"), Text(435, 620, "800"),
)  # fmt: skip
FIRST = {"名称": "很长很长的名称要换行才放得下", "时间": "2026-03-05", "地点": "上海", "金额": "1200"}


def test_a_row_is_what_stands_between_two_rules_however_it_wraps() -> None:
    for drawn in (grid(XS, YS), boxes(XS, YS)):
        found = rows(read(Page(WRAPPED, drawn=drawn)))
        assert found == [FIRST, {"名称": "复盘会", "时间": "2026-04-01", "金额": "800"}]


def test_a_drawn_table_is_upright_on_a_rotated_page_too() -> None:
    turned = tuple(Text(595 - one.y, one.x, one.text, one.size, True) for one in WRAPPED)
    across = [f"{595 - y} {XS[0]} m {595 - y} {XS[-1]} l S" for y in YS]
    down = [f"{595 - YS[0]} {x} m {595 - YS[-1]} {x} l S" for x in XS]
    found = read(Page(turned, rotate=90, drawn="\n".join([*across, *down]).encode()))
    assert rows(found)[0] == FIRST
    assert [problem.code for problem in found.problems] == ["page_rotated"]


def test_a_missing_rule_is_a_cell_over_two_rows() -> None:
    xs = (70, 190, 310)
    drawn = grid(xs, (720, 700, 660)) + b"\n190 680 m 310 680 l S"
    texts = (
        Text(75, 705, "部门"), Text(195, 705, "名称"), Text(75, 685, "市场部"), Text(195, 685, "展会"),
        Text(195, 665, "广告"),
    )  # fmt: skip
    found = read(Page(texts, drawn=drawn))
    assert rows(found) == [{"部门": "市场部", "名称": "展会"}, {"部门": "市场部", "名称": "广告"}]
    assert [problem.code for problem in found.problems] == ["merged_cells"]


def test_a_frame_around_a_page_or_a_paragraph_is_no_table() -> None:
    frame = b"5 5 585 832 re S\n60 600 400 160 re S"
    found = read(Page(lines("第一段话。", "", "第二段话。", y=700), drawn=frame))
    assert [unit.kind for unit in found.units] == ["paragraph", "paragraph"]


def test_text_above_and_below_a_table_keeps_its_place() -> None:
    around = (Text(72, 760, "活动清单"), Text(72, 560, "以上。"))
    found = read(Page((*WRAPPED, *around), drawn=grid(XS, YS)))
    assert found.units[0].text == "活动清单" and found.units[-1].text == "以上。"
    assert len(rows(found)) == 2


def test_a_table_goes_on_under_its_header_on_the_next_page() -> None:
    more = (
        Text(75, 770, "总结会"),
        Text(195, 770, "2026-05-01"),
        Text(315, 770, "北京"),
        Text(435, 770, "90"),
    )
    end = (Text(75, 740, "年会"), Text(195, 740, "2026-12-31"), Text(315, 740, "上海"), Text(435, 740, "9"))
    second = Page((*more, *end), drawn=grid(XS, (790, 760, 730)))
    found = read(Page(WRAPPED, drawn=grid(XS, YS)), second)
    assert rows(found)[2:] == [
        {"名称": "总结会", "时间": "2026-05-01", "地点": "北京", "金额": "90"},
        {"名称": "年会", "时间": "2026-12-31", "地点": "上海", "金额": "9"},
    ]
    assert found.units[-1].locator == "p2:¶2"


def test_a_row_that_a_page_breaks_is_one_row() -> None:
    rest = (Text(195, 770, "下午"), Text(435, 770, "元"))
    more = (Text(75, 740, "年会"), Text(195, 740, "2026-12-31"), Text(315, 740, "上海"), Text(435, 740, "9"))
    second = Page((*rest, *more), drawn=grid(XS, (790, 760, 730)))
    found = rows(read(Page(WRAPPED, drawn=grid(XS, YS)), second))
    assert len(found) == 3
    assert found[1] == {"名称": "复盘会", "时间": "2026-04-01下午", "金额": "800元"}


def test_numbers_set_to_the_right_are_parted_from_the_words_beside_them() -> None:
    body = [
        Text(x, 680 - 18 * at, text)
        for at, (number, name, day) in enumerate(
            [("1", "开工会", "3月5日"), ("22", "复盘会", "4月1日"), ("333", "总结会", "5月1日")]
        )
        for x, text in ((112 - 5.5 * len(number), number), (114, name), (200, day))
    ]
    head = (Text(55, 700, "编号"), Text(114, 700, "名称"), Text(200, 700, "时间"))
    assert rows(read(Page((*head, *body)))) == [
        {"编号": "1", "名称": "开工会", "时间": "3月5日"},
        {"编号": "22", "名称": "复盘会", "时间": "4月1日"},
        {"编号": "333", "名称": "总结会", "时间": "5月1日"},
    ]


def test_an_undrawn_table_goes_on_at_the_next_page() -> None:
    first = table((HEAD, ("开工会", "2026-03-05", "上海", "1200"), ("复盘会", "2026-04-01", "北京", "800")))
    second = table((("总结会", "2026-05-01", "北京", "90"), ("年会", "2026-12-31", "", "9")), y=780)
    found = rows(read(Page(first), Page(second)))
    assert found[2] == {"名称": "总结会", "时间": "2026-05-01", "地点": "北京", "金额": "90"}
    assert found[3] == {"名称": "年会", "时间": "2026-12-31", "金额": "9"}


def test_prose_with_a_wide_gap_is_no_table() -> None:
    texts = (
        Text(72, 700, "甲方：某某公司"),
        Text(320, 700, "乙方：另一公司"),
        Text(72, 684, "双方于三月五日在上海签订本合同，共同遵守。"),
    )
    assert rows(read(Page(texts))) == []
