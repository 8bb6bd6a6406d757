"""A task contract keeps what follows from it, whoever writes it and whatever is proposed."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_domain.errors import Invalid
from fencepost_domain.task_contract import (
    FILE_KINDS,
    MAX_FIELDS,
    Requirement,
    TaskContract,
    refine,
    with_attachments,
)
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text("abcxyz名称时间", min_size=1, max_size=6)
CONTRACTS = st.builds(
    TaskContract,
    file_kinds=st.lists(st.sampled_from(FILE_KINDS), unique=True, max_size=3).map(tuple),
    full_coverage=st.booleans(),
    attachments=st.lists(NAMES, unique=True, max_size=3).map(tuple),
    required_fields=st.lists(NAMES, unique=True, max_size=4).map(tuple),
    language=st.sampled_from([None, "zh", "en"]),
    tables=st.booleans(),
    pictures=st.booleans(),
)
ANYTHING = st.none() | st.booleans() | st.integers() | NAMES | st.lists(NAMES | st.integers(), max_size=3)
FIELDS = [*TaskContract.__slots__, "goal"]
PROPOSALS = st.dictionaries(
    st.sampled_from(FIELDS),
    ANYTHING
    | st.lists(st.sampled_from(FILE_KINDS), max_size=2)
    | st.lists(st.sampled_from(list(Requirement)), max_size=3),
    max_size=6,
)


@given(CONTRACTS, st.lists(PROPOSALS, max_size=5))
def test_no_sequence_of_refinements_takes_anything_back(
    contract: TaskContract, proposals: list[dict[str, Any]]
) -> None:
    refined = contract
    for proposal in proposals:
        refined = refine(refined, proposal).contract

    assert set(refined.hard_requirements) >= set(contract.hard_requirements)
    assert refined.attachments == contract.attachments
    assert refined.required_fields[: len(contract.required_fields)] == contract.required_fields
    assert refined.file_kinds == contract.file_kinds or not contract.file_kinds
    assert refined.language == contract.language or contract.language is None
    assert refined.full_coverage >= contract.full_coverage
    assert refined.tables >= contract.tables and refined.pictures >= contract.pictures
    assert len(refined.required_fields) <= MAX_FIELDS


@given(CONTRACTS)
def test_a_contract_survives_json(contract: TaskContract) -> None:
    assert TaskContract.from_json(contract.to_json()) == contract


@given(CONTRACTS)
def test_a_requirement_cut_out_of_the_stored_form_comes_back(contract: TaskContract) -> None:
    assert TaskContract.from_json({**contract.to_json(), "hard_requirements": []}) == contract


@pytest.mark.parametrize(
    ("stored", "pointer"),
    [
        ({"version": "task-contract-v2"}, "/version"),
        ({"completion": "any_passes"}, "/completion"),
        ({"file_kinds": ["exe"]}, "/file_kinds"),
        ({"full_coverage": 1}, "/full_coverage"),
        ({"required_fields": "name"}, "/required_fields"),
        ({"hard_requirements": [3]}, "/hard_requirements"),
        ({"language": ["zh"]}, "/language"),
        ({"strictness": "low"}, "/strictness"),
        ("a contract", ""),
    ],
)
def test_another_shape_is_refused_with_its_place(stored: object, pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        TaskContract.from_json(stored)

    assert refused.value.pointer == pointer


def test_a_planner_adds_and_is_told_what_it_may_not_say() -> None:
    contract = TaskContract(file_kinds=("pptx",), language="zh", required_fields=("名称",))

    found = refine(
        contract,
        {
            "required_fields": ["地点"],
            "hard_requirements": ["tables_present"],
            "language": "en",
            "file_kinds": ["docx"],
            "full_coverage": False,
            "attachments": ["other"],
            "deadline": "never",
        },
    )

    assert found.contract.required_fields == ("名称", "地点")
    assert found.contract.tables and "tables_present" in found.contract.hard_requirements
    assert found.contract.language == "zh" and found.contract.file_kinds == ("pptx",)
    assert set(found.refused) == {"/language", "/file_kinds", "/attachments", "/deadline"}


def test_further_attachments_of_the_user_bind_too() -> None:
    contract = TaskContract(file_kinds=("docx",), full_coverage=True)

    bound = with_attachments(contract, ["a", "b", "a"])

    assert bound.attachments == ("a", "b")
    assert "source_coverage_complete" in bound.hard_requirements
