"""A pause that was asked for and not reached is one mark: taken back by resume, spent by the pause itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import RunMode, RunStatus, WaitingOn
from fencepost_domain.waits import decide_pause, decide_resume

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
ID = UUID(int=1)
MARKED = Run(
    id=ID, tenant_id=ID, user_id="u", roles=("user",), module="life", mode=RunMode.LIVE,
    status=RunStatus.QUEUED,
    waiting_on=None, stop=None, pause_asked=True, revision=3, attempt=1, max_attempts=5, progress=0,
    attempt_progress=0, wakes=0, lease_owner=None, lease_expires_at=None, available_at=NOW, deadline_at=None,
    deadline_left=None, conversation_id=ID, graph_version="", event_seq=4, locale="en", zone=None,
)  # fmt: skip


@pytest.mark.parametrize("status", [RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING])
def test_resume_takes_back_a_pause_that_was_only_asked_for(status: RunStatus) -> None:
    run = replace(
        MARKED, status=status, waiting_on=WaitingOn.APPROVAL if status is RunStatus.WAITING else None
    )
    decision = decide_resume(run, ID, actor="user:u", still_open=None, now=NOW)
    assert decision is not None
    assert decision.to is None
    assert decision.sets == {"pause_asked": False}


def test_a_pause_spends_the_mark_of_an_owner_that_is_gone() -> None:
    decision = decide_pause(MARKED, ID, actor="user:u", now=NOW)
    assert decision is not None
    assert decision.to is RunStatus.PAUSED
    assert decision.sets["pause_asked"] is False


def test_resume_of_what_is_not_paused_says_nothing() -> None:
    assert decide_resume(replace(MARKED, pause_asked=False), ID, actor="u", still_open=None, now=NOW) is None
