"""Why a run isn't moving: an answer for every live status and kind of wait, and words for every answer."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fencepost_api.stuck_words import CODES, sentences
from fencepost_domain.stuck import OpenEffect, Question, Stands, explain
from fencepost_domain.vocabulary import TERMINAL, InterruptKind, RunStatus, Stop, WaitingOn

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
SOON, PAST = NOW + timedelta(minutes=5), NOW - timedelta(minutes=5)
DUE = Stands(
    now=NOW, status=RunStatus.QUEUED, waiting_on=None, stop=None, pause_asked=False, attempt=0,
    max_attempts=5,
    available_at=PAST, lease_owner=None, lease_expires_at=None, paused_until=None, drain_until=None,
    deadline_at=None, served=True, module_served=True, owner_alive=False, moved_at=NOW,
)  # fmt: skip
HELD = replace(
    DUE, status=RunStatus.RUNNING, lease_owner="w:1", lease_expires_at=SOON, owner_alive=True, attempt=1
)
EFFECT = OpenEffect("k", "work.send", "started", SOON, None)


def waits(on: WaitingOn, **more: Any) -> Stands:
    return replace(DUE, status=RunStatus.WAITING, waiting_on=on, **more)


def asked(kind: InterruptKind) -> Question:
    return Question("i", kind, "medium", "user-1", SOON)


CASES: dict[str, tuple[Stands, str, str, datetime | None, bool]] = {
    "put off": (replace(DUE, available_at=SOON, moved_why="model_failed"), "not_due", "time", SOON, False),
    "nobody for the module": (
        replace(DUE, served=False, module_served=False), "no_worker", "operator", None, False),
    "nobody for the version": (replace(DUE, served=False), "version_not_served", "operator", None, False),
    "its conversation is held": (replace(DUE, holder="r2"), "conversation_held", "run", None, False),
    "another comes first": (replace(DUE, before="r2"), "behind_in_conversation", "run", None, False),
    "in line": (replace(DUE, ahead=3, tenants_ahead=1), "in_line", "worker", None, True),
    "at work": (HELD, "at_work", "worker", None, True),
    "pausing": (replace(HELD, pause_asked=True), "pausing", "worker", None, True),
    "asking a model": (replace(HELD, model_call_ends_at=SOON), "asking_model", "worker", SOON, True),
    "calling a tool": (replace(HELD, effects=[EFFECT]), "tool_in_progress", "provider", SOON, True),
    "owner gone": (replace(HELD, owner_alive=False), "owner_silent", "reconciler", SOON, False),
    "lease past": (replace(HELD, lease_expires_at=NOW), "owner_silent", "reconciler", NOW, False),
    "approval": (
        waits(WaitingOn.APPROVAL, question=asked(InterruptKind.APPROVAL)),
        "needs_approval", "person", SOON, False),
    "input": (
        waits(WaitingOn.INPUT, question=asked(InterruptKind.INPUT)), "needs_answer", "person", SOON, False),
    "reconcile, asked": (
        waits(WaitingOn.RECONCILE, question=asked(InterruptKind.RECONCILE)),
        "needs_reconcile", "person", SOON, False),
    "reconcile, not asked": (
        waits(WaitingOn.RECONCILE, effects=[EFFECT]), "needs_reconcile", "person", None, False),
    "version": (
        waits(WaitingOn.VERSION, question=asked(InterruptKind.VERSION)),
        "version_not_served", "person", SOON, False),
    "tool": (waits(WaitingOn.TOOL, effects=[EFFECT]), "tool_in_progress", "provider", SOON, False),
    "tool, polled": (
        waits(WaitingOn.TOOL, available_at=SOON), "tool_in_progress", "provider", SOON, False),
    "children": (waits(WaitingOn.CHILD, children=2), "children", "run", None, False),
    "nothing is awaited any more": (waits(WaitingOn.TOOL), "wait_over", "reconciler", None, False),
    "paused": (
        replace(DUE, status=RunStatus.PAUSED, paused_until=SOON, moved_by="user:u"),
        "paused", "person", SOON, False),
    "draining": (
        replace(HELD, status=RunStatus.CANCELLING, stop=Stop.CANCEL, drain_until=SOON),
        "draining", "worker", SOON, True),
    "draining, an attempt open": (
        replace(DUE, status=RunStatus.CANCELLING, stop=Stop.DEADLINE, drain_until=SOON, effects=[EFFECT]),
        "draining", "provider", SOON, True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_way_of_standing_has_its_answer(case: str) -> None:
    stands, code, by, until, moving = CASES[case]
    found = explain(stands)
    assert (found.code, found.by, found.until, found.moving) == (code, by, until, moving)
    for locale in ("en", "zh-CN"):
        why, moves = sentences(found, locale, module="life", graph="g1")
        assert why and moves and "{" not in why + moves


def test_every_answer_has_words_and_every_word_an_answer() -> None:
    assert {explain(stands).code for stands, *_ in CASES.values()} == CODES


def test_every_live_run_has_an_answer() -> None:
    """The product of statuses, waits and questions: nothing is left without a reason and a mover."""
    live = [status for status in RunStatus if status not in TERMINAL]
    questions = [None, *map(asked, InterruptKind)]
    for status, on, question, alive in itertools.product(live, [None, *WaitingOn], questions, [True, False]):
        found = explain(
            replace(
                HELD, status=status, waiting_on=on, question=question, owner_alive=alive, drain_until=SOON
            )
        )
        assert found.code in CODES and found.by


def test_attempts_nearly_used_up_and_sweeps_that_are_overdue_are_warned_of() -> None:
    assert explain(replace(HELD, attempt=4)).warnings == ("attempts_nearly_used",)
    assert explain(replace(HELD, attempt=3)).warnings == ()
    assert explain(replace(HELD, lease_expires_at=PAST)).warnings == ("overdue",)
    assert explain(waits(WaitingOn.TOOL, moved_at=PAST)).warnings == ("overdue",)
    orphaned = replace(
        HELD, status=RunStatus.CANCELLING, stop=Stop.CANCEL, drain_until=PAST, owner_alive=False
    )
    found = explain(orphaned)
    assert (found.moving, found.repairs, found.warnings) == (False, ("release_lease",), ("overdue",))
