"""A contract is proven requirement by requirement, on what is delivered, by the newest judgement."""

from __future__ import annotations

import pytest
from fencepost_domain.acceptance import Acceptance, Proof, judge_acceptance
from fencepost_domain.errors import Invalid
from fencepost_domain.task_contract import Requirement, TaskContract
from fencepost_worker.flow.unproven import unproven_text

DECK = TaskContract(file_kinds=("pptx",), language="zh", tables=True)


def proven(contract: TaskContract, subject: str = "a1") -> list[Proof]:
    return [Proof(name, subject, True, "artifact-quality-v1") for name in contract.hard_requirements]


def test_all_proven_is_met() -> None:
    assert judge_acceptance(DECK, proven(DECK), {"a1": "pptx"}).met


@pytest.mark.parametrize("name", DECK.hard_requirements)
def test_each_requirement_alone_is_missed(name: str) -> None:
    proofs = [proof for proof in proven(DECK) if proof.requirement != name]

    assert judge_acceptance(DECK, proofs, {"a1": "pptx"}) == Acceptance(missing=(name,))


@pytest.mark.parametrize("name", DECK.hard_requirements)
def test_each_requirement_alone_is_refused_by_a_newer_judgement(name: str) -> None:
    proofs = [*proven(DECK), Proof(name, "a1", False, "artifact-quality-v1")]

    assert judge_acceptance(DECK, proofs, {"a1": "pptx"}) == Acceptance(failed=(name,))


def test_proofs_of_another_file_prove_nothing_of_the_delivered_one() -> None:
    found = judge_acceptance(DECK, proven(DECK, "rejected"), {"a2": "pptx"})

    assert set(found.missing) == set(DECK.hard_requirements)


def test_nothing_delivered_is_nothing_proven() -> None:
    assert "artifact_exists" in judge_acceptance(DECK, proven(DECK), {}).missing


def test_each_kind_asked_for_must_be_there() -> None:
    both = TaskContract(file_kinds=("pptx", "email"))
    proofs = [*proven(both, "a1"), *proven(both, "mail")]

    assert judge_acceptance(both, proofs, {"a1": "pptx", "mail": "email"}).met
    assert judge_acceptance(both, proofs, {"a1": "pptx"}).missing == ("draft_exists",)
    assert "artifact_exists" in judge_acceptance(both, proofs, {"mail": "email"}).missing


def test_a_table_is_enough_in_one_of_two_files() -> None:
    both = TaskContract(file_kinds=("pptx", "docx"), tables=True)
    proofs = [*proven(both, "a1"), *(p for p in proven(both, "a2") if p.requirement != "tables_present")]

    assert judge_acceptance(both, proofs, {"a1": "pptx", "a2": "docx"}).met
    language = TaskContract(file_kinds=("pptx", "docx"), language="zh")
    proofs = [
        *proven(language, "a1"),
        *(p for p in proven(language, "a2") if p.requirement != "language_matches"),
    ]
    assert judge_acceptance(language, proofs, {"a1": "pptx", "a2": "docx"}).missing == ("language_matches",)


def test_a_contract_without_files_asks_for_no_proof() -> None:
    plain = TaskContract(language="en", full_coverage=True, attachments=("a",), required_fields=("x",))

    assert plain.hard_requirements == ()
    assert judge_acceptance(plain, [], {}).met


def test_a_proof_survives_the_state_and_a_torn_one_proves_nothing() -> None:
    proof = Proof(Requirement.ARTIFACT_OPENS, "a1", True, "artifact-quality-v1", "event 12")

    assert Proof.from_json(proof.to_json()) == proof
    for torn in ({}, {**proof.to_json(), "passed": "true"}, {**proof.to_json(), "passed": 1}):
        with pytest.raises(Invalid):
            Proof.from_json(torn)


def test_every_requirement_has_its_words_in_both_languages() -> None:
    everything = [str(name) for name in Requirement]

    for zh, joint in ((True, "、"), (False, "; ")):
        said = unproven_text(everything, zh)
        assert said.count(joint) == len(everything) - 1
        assert not any(name in said for name in everything)
    assert unproven_text((), zh=True) == ""
