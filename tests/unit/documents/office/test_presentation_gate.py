"""presentation-arguments-v1: each code fires on its own fault, at its place, and on nothing that is right."""

import json
from typing import Any

import pytest
from fencepost_documents.gates.facts import PresentationFacts
from fencepost_documents.gates.presentation import GATE, MOST, judge
from fencepost_documents.gates.presentation_words import fitting_languages, untranslated
from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.office.from_records import outline_from_records
from fencepost_documents.office.outline import arguments_of
from fencepost_documents.office.wording import cell_text
from fencepost_domain.gates import GateOutcome

from tests.unit.documents.office.outlines import SOURCE, arguments, contract, facts, records
from tests.unit.documents.office.presentation_cases import BAD, GOOD, deck


@pytest.mark.parametrize(("code", "position", "subject", "known"), BAD)
def test_each_fault_is_named_by_code_and_place(code: str, position: str, subject: Any, known: Any) -> None:
    judged = judge(subject, known)
    assert (code, position) in [(one.code, one.position) for one in judged.violations]
    assert all(one.fix and one.detail for one in judged.violations)
    assert set(judged.codes) == {code}, "one fault is no other fault too"


@pytest.mark.parametrize(("why", "subject", "known"), GOOD, ids=[one[0] for one in GOOD])
def test_what_is_right_passes(why: str, subject: Any, known: Any) -> None:
    assert [(one.code, one.position, one.detail) for one in judge(subject, known).violations] == []


def test_every_code_of_the_table_has_a_bad_example() -> None:
    from fencepost_documents.gates import presentation

    said = presentation.__doc__ or ""
    table = [line.split("|")[1] for line in said.splitlines() if line.startswith("| `")]
    named = {code.strip("` ,") for cellule in table for code in cellule.split("`") if code.strip("` ,")}
    assert named == {code for code, *_ in BAD} == set(presentation.CODES)


def test_english_decks_hold_no_chinese_but_in_brackets() -> None:
    english = json.loads(
        json.dumps(arguments())
        .replace(r"\u6d3b\u52a8", "Event ")
        .encode()
        .decode("unicode_escape")
        .encode("utf-16", "surrogatepass")
        .decode("utf-16")
    )
    english["language"] = "en"
    judged = judge(english, facts(contract={"language": "en"}))
    assert set(judged.codes) == {"untranslated"}
    cells = {
        "title": "Events (活动)",
        "kind": "bullets",
        "bullets": ["Held in Beijing (北京)", "“年会” was the first"],
    }
    only = {"title": "Events of 2026", "language": "en", "slides": [cells]}
    free = {"attachments": (), "required_fields": (), "tables": False, "language": "en"}
    assert judge(only, facts(sources=(), records=None, contract=free)).passed


def test_a_stored_judgement_is_replayed_from_its_json() -> None:
    known = facts()
    again = PresentationFacts.from_json(json.loads(json.dumps(known.to_json())))
    assert again == known
    for _, _, subject, _ in BAD[:20]:
        first = judge(subject, known)
        assert judge(json.loads(json.dumps(subject)), again) == first
        assert first.gate == GATE


def test_all_codes_are_told_however_often_one_occurs() -> None:
    rows = [{"cells": ["——", "——", "——"]} for _ in range(500)]
    subject = deck(
        lambda it: [it["slides"][2]["table"].update(rows=rows), it["slides"][1].update(bullets=[])]
    )
    judged = judge(subject, facts())
    assert len(judged.violations) <= MOST
    assert {"cell_punctuation", "locator_missing", "record_missing", "slide_without_content"} <= set(
        judged.codes
    )


@pytest.mark.parametrize("subject", [{}, {"slides": None}, {"slides": [{}]}, {"title": 1, "slides": "x"}])
def test_what_is_no_outline_fails_and_breaks_nothing(subject: Any) -> None:
    assert judge(subject, facts()).outcome is GateOutcome.FAILED


def test_the_offline_outline_of_real_records_passes_in_both_languages() -> None:
    zh = outline_from_records(
        records(), contract(pictures=True), "zh", {SOURCE: "活动清单 final version of all.xlsx"}
    )
    assert judge(arguments_of(zh), facts(contract={"pictures": True})).violations == ()
    items = [("Annual meeting", "2026-01-15 09:00", "Berlin"), ("Open day", "2026-03-02 14:30 周一", "")]
    en = outline_from_records(
        records(items), contract(language="en", required_fields=("name", "date")), "en", {}
    )
    known = facts(records=records(items), contract={"language": "en", "required_fields": ("name", "date")})
    assert judge(arguments_of(en), known).violations == ()


def test_no_records_at_all_make_no_deck_that_passes() -> None:
    empty: RecordSet = records(())
    outline = outline_from_records(empty, contract(), "zh")
    assert "record_set_missing" in judge(arguments_of(outline), facts(records=empty)).codes


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("见 Open Data Portal", ""),  # three words, each a name's
        ("见 Ministry of Finance", "Ministry of Finance"),
        ("见 Open Data Portal Europe", "Open Data Portal Europe"),
        ("支持 PDF DOCX PPTX XLSX CSV", ""),
        ("选项 A B C D E F 均可", ""),
        ("周五 friday 开会", "friday"),
        ("5月1日 May 1", "May"),
        ("1 May 开会", "May"),
        ("Location", "Location"),
        ("location scouting 团队", ""),
        ("wed2024 项目", ""),
        ("供应商：Sun", ""),
        ("2026-03-02 Mon", "Mon"),
        ("3rd May 开会", "May"),
    ],
)
def test_what_counts_as_untranslated_in_chinese(line: str, left: str) -> None:
    assert untranslated(line, "zh") == left


def test_words_of_charts_are_read_too() -> None:
    for place, change in (
        ("title", {"title": "Number of events per month"}),
        ("categories/1", {"categories": ["北京", "Location", "深圳"]}),
        ("series/0/name", {"series": [{"name": "TODO", "values": [1, 2, 3]}]}),
    ):
        subject = deck(lambda it, change=change: it["slides"][3]["chart"].update(change))
        [violation] = judge(subject, facts()).violations
        assert violation.position == f"/slides/3/chart/{place}"
    assert (
        "into Chinese"
        in judge(deck(lambda it: it["slides"][3]["chart"].update(title="Friday")), facts()).violations[0].fix
    )


@pytest.mark.parametrize(
    ("series", "right"),
    [([[0, 1, 2]], True), ([[1, 2, None]], True), ([[-1, 1, 2]], False), ([[1, 2, 3], [1, 2, 3]], False)],
)
def test_a_pie_is_one_series_of_shares(series: list[list[int | None]], right: bool) -> None:
    named = [{"name": f"组{at}", "values": values} for at, values in enumerate(series)]
    subject = deck(lambda it: it["slides"][3]["chart"].update(kind="pie", series=named))
    assert judge(subject, facts()).passed is right


def test_a_column_of_ends_is_not_short_of_the_starts() -> None:
    found = tuple(
        one.model_copy(
            update={
                "fields": {"名称": one.fields["name"], "开始时间": one.fields["time"], "结束时间": "18:45"}
            }
        )
        for one in records().records
    )
    subject = deck(
        lambda it: [
            it["slides"][2]["table"].update(columns=["名称", "开始时间", "结束时间"]),
            [one["cells"].__setitem__(2, "18:45") for one in it["slides"][2]["table"]["rows"]],
        ]
    )
    known = facts(contract={"required_fields": ("名称", "时间")})
    assert judge(subject, known.model_copy(update={"records": found})).violations == ()
    short = deck(lambda it: it.update(subject))
    short["slides"][2]["table"]["rows"][0]["cells"][2] = "18 点"
    assert judge(short, known.model_copy(update={"records": found})).codes == ("time_incomplete",)


@pytest.mark.parametrize(
    ("value", "zh", "en"),
    [
        ("2026-03-02 Monday 09:00", "2026-03-02 星期一 09:00", "2026-03-02 Monday 09:00"),
        ("Fri. 14:00", "星期五 14:00", "Fri. 14:00"),
        ("Sun", "Sun", "Sun"),
        ("周日 9 点", "周日 9 点", "Sunday 9 点"),
        ("——", "未提供", "Not given"),
        ("北京，，上海", "北京，上海", "北京，上海"),
        ("https://a.example//b", "https://a.example//b", "https://a.example//b"),
    ],
)
def test_a_record_as_a_cell_keeps_its_words_but_for_weekdays_and_empty_marks(
    value: str, zh: str, en: str
) -> None:
    assert (cell_text(value, "zh"), cell_text(value, "en")) == (zh, en)


@pytest.mark.parametrize(
    ("value", "languages"),
    [
        ("上海", ["zh"]),
        ("Berlin", ["zh", "en"]),
        ("Fri. 14:00", ["zh", "en"]),
        ("the quick brown fox jumps", ["en"]),
        ("the quick brown fox 上海 jumps over all", []),
    ],
)
def test_records_stand_untranslated_in_some_languages_only(value: str, languages: list[str]) -> None:
    one = Record(source_locator="line2", artifact_id="a", fields={"name": value})
    whole = Coverage(units_total=1, units_used=1, ratio=1.0)
    assert fitting_languages(RecordSet(records=(one,), coverage=whole)) == languages
