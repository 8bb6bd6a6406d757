"""What must hold between any two looks at the rows, whatever step was between them (design 03)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from tests.model.world import ENDED, PERSON, Hand, Row, may_drain, may_record, open_question

# Of an ended run only observations may still come: events, and `wakes` with them.
FOR_EVER: Final = (
    "status",
    "revision",
    "lease_owner",
    "lease_expires_at",
    "finished_at",
    "waiting_on",
    "stop",
)


def check_laws(before: Mapping[UUID, Row], after: Mapping[UUID, Row], hands: Sequence[Hand]) -> None:
    """Raise AssertionError naming the law that a step broke."""
    for run_id, row in after.items():
        if run_id in before:
            _between(before[run_id], row)
        _now(row)
        owners = {
            (hand.fence.owner, hand.fence.revision)
            for hand in hands
            if hand.run_id == run_id and (may_record(row, hand) or may_drain(row, hand))
        }
        assert len(owners) <= 1, f"I04: {len(owners)} live owners"
    assert set(before) <= set(after), "a run is gone"


def _between(before: Row, after: Row) -> None:
    moved = before["status"] != after["status"]
    raised = after["revision"] - before["revision"]
    assert raised == int(moved), (
        f"I04: {before['status']} -> {after['status']} raised the revision by {raised}"
    )
    assert after["events"] >= before["events"], "I20: events are gone"
    assert not moved or after["events"] > before["events"], "a change of status without an event"
    assert after["wakes"] >= before["wakes"]
    if before["status"] in ENDED:
        for name in FOR_EVER:
            assert after["row"][name] == before["row"][name], f"I06: {name} of an ended run changed"


def _now(row: Row) -> None:
    assert row["ends"] == int(row["status"] in ENDED), (
        f"I06: {row['status']} with {row['ends']} finalizations"
    )
    assert row["attempts"].count("started") <= 1, "I10: two open attempts"
    if row["status"] == "waiting" and row["waiting_on"] in PERSON:
        question = open_question(row)
        assert question is not None, "AP-6: it waits for an answer that nobody is asked for"
        assert question["kind"] == row["waiting_on"]
    if row["status"] in ENDED:
        assert open_question(row) is None, "I17: an ended run asks somebody"
