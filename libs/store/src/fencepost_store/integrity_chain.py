"""The chains of all runs, streamed: hashes, payloads and anchors (I20), and the events' fold (I04, I06)."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from fencepost_domain.chain import ChainBreak, ChainCheck, ChainedEvent, payload_hash
from fencepost_domain.vocabulary import Ev, RunStatus

from fencepost_store.integrity_fold import StatusFold

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """What breaks which invariant. `check` is the named check that found it."""

    invariant: str
    check: str
    subject: str
    detail: str


@dataclass(slots=True)
class _RunHistory:
    """What one run's events come to while they stream by: constant memory, however long the run is."""

    head: Row
    check: ChainCheck
    breaks: list[ChainBreak] = field(default_factory=list)
    anchored: bytes | None = None
    fold: StatusFold = field(default_factory=StatusFold)
    erased: bool = False
    without_payload: list[int] = field(default_factory=list)
    altered: list[int] = field(default_factory=list)


async def chain_violations(rows: AsyncIterable[Row]) -> AsyncIterator[Violation]:
    """rows: of statement `chains`, in order. Holds one run's events in memory, never more."""
    history: _RunHistory | None = None
    async for row in rows:
        if history is None or row["run_id"] != history.head["run_id"]:
            if history is not None:
                for violation in _judge(history):
                    yield violation
            history = _RunHistory(row, ChainCheck(row["run_id"]))
        if row["seq"] is not None:
            _add(history, row)
    if history is not None:
        for violation in _judge(history):
            yield violation


def _add(history: _RunHistory, row: Row) -> None:
    event = to_event(row)
    history.breaks += history.check.add(event)
    if event.seq == history.head["anchor_seq"]:
        history.anchored = event.hash
    history.fold.add(row["seq"], row["type"], row["at"], row["payload"])
    history.erased = history.erased or row["type"] == Ev.ERASED
    if row["payload"] is None or row["salt"] is None:
        history.without_payload.append(row["seq"])
    elif payload_hash(bytes(row["salt"]), bytes(row["payload"])) != bytes(row["payload_hash"]):
        history.altered.append(row["seq"])


def to_event(row: Row) -> ChainedEvent:
    return ChainedEvent(
        run_id=row["run_id"],
        seq=row["seq"],
        id=row["id"],
        type=row["type"],
        schema_version=row["schema_version"],
        actor=row["actor"],
        at=row["at"],
        causation_id=row["causation_id"],
        correlation_id=row["correlation_id"],
        payload_hash=bytes(row["payload_hash"]),
        prev_hash=bytes(row["prev_hash"]),
        hash=bytes(row["hash"]),
    )


def _judge(history: _RunHistory) -> Iterator[Violation]:
    head = history.head
    subject = f"run {head['run_id']}"
    if not history.check.seq and _is_pruned(head):
        return
    broken = [*history.breaks, *history.check.end(head["head_seq"], bytes(head["event_head"]))]
    for fault in broken:
        where, what = f"{subject} seq {fault.seq}", f"{fault.fault}: {fault.detail}"
        yield Violation("I20", "i20_chain_verifies", where, what)
    yield from _anchor(history, subject)
    for seq in history.altered:
        yield Violation("I20", "i20_payloads_verify", f"{subject} seq {seq}", "its payload was altered")
    if not history.erased:
        for seq in history.without_payload:
            yield Violation("I20", "i20_payloads_verify", f"{subject} seq {seq}", "its payload is missing")
    if not broken:  # a torn history folds to nonsense; the tear is what is to be told
        yield from _folded(history, subject)


def _is_pruned(head: Row) -> bool:
    return head["anchor_seq"] == head["head_seq"] and bytes(head["anchor_hash"]) == bytes(head["event_head"])


def _anchor(history: _RunHistory, subject: str) -> Iterator[Violation]:
    seq = history.head["anchor_seq"]
    if seq is None:
        return
    if history.anchored is None:
        yield Violation("I20", "i20_anchors_verify", f"{subject} seq {seq}", "anchored, and missing")
    elif history.anchored != bytes(history.head["anchor_hash"]):
        yield Violation("I20", "i20_anchors_verify", f"{subject} seq {seq}", "not what was anchored")


def _folded(history: _RunHistory, subject: str) -> Iterator[Violation]:
    fold, head = history.fold, history.head
    for seq, fault in fold.faults:
        yield Violation("I06", "i06_events_follow_the_table", f"{subject} seq {seq}", fault)
    if RunStatus(head["status"]) not in fold.possible:
        said = " or ".join(sorted(fold.possible)) or "nothing"
        detail = f"{head['status']}, its events say {said}"
        yield Violation("I06", "i06_status_is_what_the_events_say", subject, detail)
    if fold.revision != head["revision"]:
        yield Violation(
            "I04",
            "i04_revision_counts_the_changes",
            subject,
            f"revision {head['revision']}, its events say {fold.revision} changes of status",
        )


EVERY_ID = (UUID(int=0), UUID(int=(1 << 128) - 1))
CHAIN_CHECKS = (
    "i20_chain_verifies",
    "i20_anchors_verify",
    "i20_payloads_verify",
    "i06_events_follow_the_table",
    "i06_status_is_what_the_events_say",
    "i04_revision_counts_the_changes",
)
