"""presentation-arguments-v1: each code fires on its own fault, at its place, and on nothing that is right."""

import json
from typing import Any

import pytest
from fencepost_documents.gates.facts import PresentationFacts
from fencepost_documents.gates.presentation import GATE, MOST, judge
from fencepost_documents.ir import RecordSet
from fencepost_documents.office.from_records import outline_from_records
from fencepost_documents.office.outline import arguments_of
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
    assert named == {code for code, *_ in BAD}


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
