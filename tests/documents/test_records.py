"""Records keep their place, and coverage names what became none: "all rows" is provable or refuted."""

import pytest
from fencepost_documents.ir import Problem, SourceDocument, Unit
from fencepost_documents.read import read_document
from fencepost_documents.records import extract_records, headings_of, join_sets

from tests.documents.made import hostile, packages


def text(*lines: str, name: str = "a.txt") -> SourceDocument:
    return read_document("\n".join(lines).encode(), name, artifact_id="a1")


def made(*units: Unit, problems: tuple[Problem, ...] = ()) -> SourceDocument:
    return SourceDocument(artifact_id="a1", name="a", kind="text", sha256="0", units=units, problems=problems)


def test_three_hundred_rows_are_three_hundred_records_and_the_sum_is_none() -> None:
    found = extract_records(read_document(packages.many_rows(), "300.xlsx", artifact_id="x1"))
    assert len(found.records) == 300
    assert found.fields == ("number", "name", "time", "place", "amount")
    assert found.coverage.model_dump() == {
        "units_total": 300, "units_used": 300, "ratio": 1.0, "left_out": (),
    }  # fmt: skip
    last = found.records[-1]
    assert (last.artifact_id, last.source_locator) == ("x1", "活动清单!301")
    assert last.fields["name"] == "活动300" and last.fields["amount"] == "3000"


def test_thirty_pages_of_labelled_lines_are_thirty_records() -> None:
    found = extract_records(read_document(hostile.thirty_pages(), "30.pdf"))
    assert len(found.records) == 30 and found.coverage.ratio == 1.0
    assert found.records[16].source_locator == "p17:¶2"
    assert found.records[16].fields == {"name": "活动17", "time": "2026-05-10 14:00", "place": "北京"}


def test_labels_stand_together_until_one_comes_again() -> None:
    found = extract_records(
        text("名称：甲", "时间：3月", "名称：乙", "时间：4月", "", "以上为全部活动。", "备注：无")
    )
    assert [dict(one.fields) for one in found.records] == [
        {"name": "甲", "time": "3月"},
        {"name": "乙", "time": "4月"},
    ]
    assert found.records[1].source_locator == "line3"
    assert found.coverage.units_total == 4  # one label alone is a remark, prose is none


def test_a_heading_lends_its_name_to_the_lines_below() -> None:
    found = extract_records(text("# 开工会", "", "时间：3月", "", "地点：上海", name="a.md"))
    assert [dict(one.fields) for one in found.records] == [{"name": "开工会", "time": "3月", "place": "上海"}]


def test_labels_in_one_line_are_one_record() -> None:
    found = extract_records(text("1. 名称：甲；时间：3月；地点：上海", "2. 名称：乙；时间：4月；地点：北京"))
    assert [one.fields["place"] for one in found.records] == ["上海", "北京"]


def test_list_items_are_records_and_the_line_that_introduces_them_is_none() -> None:
    found = extract_records(text("- 需要准备：", "- 投影仪", "- 话筒"))
    assert [dict(one.fields) for one in found.records] == [{"item": "投影仪"}, {"item": "话筒"}]
    assert found.coverage.units_total == 2


def test_a_form_of_two_columns_is_one_record_a_row() -> None:
    rows = [("姓名", "张三"), ("电话", "13800000000")]
    units = [
        Unit(locator=f"¶1:r{n}", kind="table_row", text=" | ".join(row)) for n, row in enumerate(rows, 1)
    ]
    found = extract_records(made(*units))
    assert [dict(one.fields) for one in found.records] == [{"name": "张三"}, {"phone": "13800000000"}]


def test_a_row_without_any_wanted_field_is_left_out_by_name() -> None:
    document = text("名称,地点", "甲,北京", "乙,", ",上海", name="a.csv")
    found = extract_records(document, ["place"])
    assert [one.source_locator for one in found.records] == ["line2", "line4"]
    assert found.coverage.left_out == ("line3",) and found.coverage.ratio == pytest.approx(2 / 3)


def test_rows_whose_columns_nobody_named_are_left_out_by_name() -> None:
    units = [Unit(locator=f"line{n}", kind="table_row", text="1 | 2 | 3") for n in (1, 2)]
    assert extract_records(made(*units)).coverage.left_out == ("line1", "line2")


def test_a_page_that_could_not_be_read_counts_as_left_out() -> None:
    row = Unit(locator="p1:¶2", kind="table_row", text="甲", columns={"名称": "甲"})
    found = extract_records(made(row, problems=(Problem(code="page_without_text", locator="p2"),)))
    assert found.coverage.left_out == ("p2",) and found.coverage.ratio == 0.5


def test_several_documents_are_one_set_with_names_ahead_of_what_they_left_out() -> None:
    one = extract_records(text("名称,地点", "甲,北京", ",上海", name="a.csv"), ["name"])
    whole = join_sets([("a.csv", one), ("b.csv", one)], unread=["坏.pdf"])
    assert len(whole.records) == 2
    assert whole.coverage.left_out == ("a.csv line3", "b.csv line3", "坏.pdf")
    assert whole.coverage.units_total == 5 and whole.coverage.ratio == pytest.approx(0.4)


def test_nothing_to_cover_is_covered() -> None:
    assert extract_records(text("Just prose here.")).coverage.ratio == 1.0


def test_the_same_bytes_give_the_same_records() -> None:
    data = packages.merged_xlsx()
    assert extract_records(read_document(data, "m.xlsx")) == extract_records(read_document(data, "m.xlsx"))


def test_a_documents_own_headings_are_kept_beside_the_fields() -> None:
    units = [
        Unit(
            locator=f"S!{n}",
            kind="table_row",
            text="A | 5 | x",
            columns={"Name": "A", "预算 （元）": "5", "Zone": "x"},
        )
        for n in (2, 3)
    ]
    assert headings_of(made(*units)) == {"name": "Name", "amount": "预算 （元）"}
