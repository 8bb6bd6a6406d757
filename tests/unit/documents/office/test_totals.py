"""What a request wants added up or drawn, and what comes of it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.numbers import is_measure, number_of, shown_number
from fencepost_documents.office.from_records import Words, outline_from_records, workbook_from_records
from fencepost_documents.office.outline import Language
from fencepost_documents.office.tallies import stored_tally, tallies_of
from fencepost_documents.office.totals import chart_of_totals, said, totals_of
from fencepost_documents.office.wish import MONTH, Wish, wish_of
from fencepost_domain.task_contract import TaskContract


def of(*rows: dict[str, str]) -> RecordSet:
    records = tuple(
        Record(source_locator=f"Sheet1!{at}", artifact_id="a1", fields=row) for at, row in enumerate(rows, 2)
    )
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return RecordSet(
        records=records, fields=names, coverage=Coverage(units_total=len(rows), units_used=len(rows), ratio=1)
    )


SALES = of(
    {"Region": "North", "Quarter": "Q1", "amount": "1,000.50", "Units": "3", "time": "2026-01-05"},
    {"Region": "South", "Quarter": "Q1", "amount": "200", "Units": "5", "time": "2026-02-05"},
    {"Region": "North", "Quarter": "Q2", "amount": "-0.25", "Units": "4", "time": "2026-02-11"},
    {"Region": "South", "Quarter": "Q2", "amount": "unknown", "Units": "1", "time": "2026-03-01"},
)
HEADINGS = {"amount": "Revenue", "time": "Date"}
CHINESE = of(
    {"地区": "华东", "amount": "¥1,200", "时段": "上午"}, {"地区": "华北", "amount": "300元", "时段": "下午"}
)
WISHES = [
    ("make a presentation with a bar chart of revenue by region", Wish("amount", "Region")),
    ("a horizontal bar chart of the units per quarter", Wish("Units", "Quarter", kind="bar")),
    ("a pie chart of revenue for each region", Wish("amount", "Region", kind="pie")),
    ("line graph of revenue by month", Wish("amount", MONTH, kind="line")),
    ("make a spreadsheet with the total revenue per region", Wish("amount", "Region")),
    ("the average number of units by region, as a word document", Wish("Units", "Region", average=True)),
    ("a chart of how many by region", Wish(None, "Region")),
    ("sort it by region and draw a chart", None),
    ("a presentation with region, quarter and revenue", None),
    ("a chart of revenue", Wish("amount", "Region")),
    ("a chart", None),
    ("send it by monday", None),
]
WISHES_ZH = [
    ("按地区统计销售金额，做成柱状图", Wish("amount", "地区")),
    ("生成PPT，用饼图展示各地区的金额", Wish("amount", "地区", kind="pie")),
    ("每个地区的平均金额，做成Excel", Wish("amount", "地区", average=True)),
    ("按地区排序，生成带图表的PPT", None),
    ("包含地区、金额", None),
]


@pytest.mark.parametrize(("asked", "wish"), WISHES, ids=[asked for asked, _ in WISHES])
def test_what_is_wanted_in_english(asked: str, wish: Wish | None) -> None:
    assert wish_of(asked, SALES, HEADINGS) == wish


@pytest.mark.parametrize(("asked", "wish"), WISHES_ZH, ids=[asked for asked, _ in WISHES_ZH])
def test_what_is_wanted_in_chinese(asked: str, wish: Wish | None) -> None:
    assert wish_of(asked, CHINESE, {"amount": "金额"}) == wish


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234.50", (Decimal("1234.50"), "")),
        ("￥１２", (Decimal(12), "¥")),
        ("12元", (Decimal(12), "¥")),
        ("-3", (Decimal(-3), "")),
        ("$ 5", (Decimal(5), "$")),
        ("0.5", (Decimal("0.5"), "")),
        ("007", None),
        ("3万元", None),
        ("12%", None),
        ("5-6", None),
        ("$5元", None),
        ("12,34", None),
        ("", None),
    ],
)
def test_a_cell_is_one_amount_or_none(text: str, number: tuple[Decimal, str] | None) -> None:
    assert number_of(text) == number


def test_codes_years_and_several_currencies_are_not_added_up() -> None:
    mixed = of(
        {"amount": "$5", "number": "17", "Year": "2025"}, {"amount": "€5", "number": "18", "Year": "2026"}
    )
    assert not any(is_measure(mixed, field) for field in mixed.fields)


def totals(asked: str, records: RecordSet = SALES, language: Language = "en", **headings: str):  # type: ignore[no-untyped-def]
    headings = headings or HEADINGS
    wish = wish_of(asked, records, headings)
    assert wish is not None
    found = totals_of(records, wish, language, headings)
    assert found is not None
    return found


def test_sums_are_exact_and_say_what_they_leave_out() -> None:
    found = totals("total revenue per region")
    assert found.groups == (("North", Decimal("1000.25")), ("South", Decimal("200")))
    assert list(said(found)) == [
        "Total Revenue by Region: North 1,000.25; South 200",
        "Left out of it: 1 records without a number",
    ]
    average = totals("average revenue by region")
    assert average.groups[0] == ("North", Decimal("500.125"))
    assert shown_number(average.groups[0][1]) == "500.12"


def test_months_stand_in_order_and_a_currency_is_named() -> None:
    assert [name for name, _ in totals("line chart of units by month").groups] == [
        "2026-01",
        "2026-02",
        "2026-03",
    ]
    found = totals("按地区统计金额", CHINESE, "zh", amount="金额")
    assert next(said(found)) == "各地区金额 (¥)合计：华东 1,200、华北 300"


def test_a_pie_has_no_negative_slice_and_of_many_groups_the_largest_are_drawn() -> None:
    negative = of({"Region": "A", "amount": "-1"}, {"Region": "B", "amount": "2"})
    assert chart_of_totals(totals("pie chart of revenue by region", negative)).kind == "column"
    many = of(*({"Region": f"R{at}", "amount": str(at)} for at in range(40)))
    chart = chart_of_totals(totals("chart of revenue by region", many))
    assert len(chart.categories) == 24 and chart.categories[0] == "R39"
    assert chart.title == "Total Revenue by Region (24 largest)"


def test_what_was_asked_for_stands_in_the_file_under_the_documents_own_headings() -> None:
    words = Words("a bar chart of revenue by region", HEADINGS)
    made = outline_from_records(SALES, TaskContract(pictures=True), "en", words=words)
    table = next(slide.table for slide in made.slides if slide.table)
    assert table.columns == ("Region", "Quarter", "Revenue", "Units", "Date")
    chart = next(slide.chart for slide in made.slides if slide.chart)
    assert (chart.categories, chart.series[0].values) == (("North", "South"), (1000.25, 200.0))
    assert any("North 1,000.25" in line for line in made.slides[1].bullets)

    book = workbook_from_records(
        SALES, TaskContract(), "en", words=Words("total revenue per region", HEADINGS)
    )
    assert [sheet.name for sheet in book.sheets] == ["Records", "Total Revenue by Region"]
    assert [row.cells for row in book.sheets[1].table.rows] == [("North", "1000.25"), ("South", "200")]  # type: ignore[union-attr]


def test_a_picture_of_nothing_in_particular_says_more_than_how_many_files_there_were() -> None:
    rows = of({"Region": "A", "amount": "5"}, {"Region": "B", "amount": "7"}, {"Region": "C", "amount": "7"})
    made = outline_from_records(rows, TaskContract(pictures=True), "en")
    chart = next(slide.chart for slide in made.slides if slide.chart)
    assert (chart.categories, chart.series[0].values) == (("A", "B", "C"), (5.0, 7.0, 7.0))


def test_a_heading_in_another_language_gives_way_to_the_fields_name() -> None:
    made = outline_from_records(SALES, TaskContract(), "zh", words=Words("做成PPT", HEADINGS))
    table = next(slide.table for slide in made.slides if slide.table)
    assert table.columns == ("Region", "Quarter", "金额", "Units", "时间")


def test_what_is_stored_of_the_groups_adds_up_over_documents_and_holds_no_long_texts() -> None:
    long = of(*({"Region": f"R{at % 2}", "amount": "0.10", "note": "x" * 61} for at in range(10)))
    kept = tallies_of(long)
    assert kept == [
        {"by": "Region", "groups": [["R0", 5, {"amount": ["0.50", 5]}], ["R1", 5, {"amount": ["0.50", 5]}]]}
    ]
    whole = stored_tally([kept, kept], "Region")
    assert whole is not None and whole["R0"].sums == {"amount": Decimal("1.00")} and whole["R0"].count == 10
    assert stored_tally([kept, []], "Region") is None
