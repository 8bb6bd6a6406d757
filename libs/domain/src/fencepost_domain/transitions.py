"""The run's state table: the only place that allows a change of status.

Rows are (event, from, to, roles). The migration writes the same rows into `agent.run_transitions`, where a
trigger refuses everything else, by role; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fencepost_domain.errors import IllegalTransition
from fencepost_domain.vocabulary import TERMINAL, Role, RunEvent, RunStatus

S, E, R = RunStatus, RunEvent, Role
LIVE_BUT_CANCELLING: Final = (S.QUEUED, S.RUNNING, S.WAITING, S.PAUSED)


@dataclass(frozen=True, slots=True)
class Transition:
    event: RunEvent
    before: RunStatus
    after: RunStatus
    roles: frozenset[Role]


def _rows(
    event: RunEvent, before: Iterable[RunStatus], after: Iterable[RunStatus], *roles: Role
) -> list[Transition]:
    return [Transition(event, b, a, frozenset(roles)) for b in before for a in after if b != a]


RUN_TRANSITIONS: Final[tuple[Transition, ...]] = (
    *_rows(E.CLAIMED, [S.QUEUED], [S.RUNNING], R.WORKER),
    *_rows(E.DEFERRED, [S.RUNNING], [S.QUEUED], R.WORKER),
    *_rows(E.INTERRUPTED, [S.RUNNING], [S.WAITING, S.QUEUED], R.WORKER),
    *_rows(E.WOKEN, [S.WAITING], [S.QUEUED], R.API, R.RECONCILER),
    *_rows(E.LEASE_EXPIRED, [S.RUNNING], [S.QUEUED], R.RECONCILER),
    *_rows(E.ATTEMPTS_EXHAUSTED, [S.RUNNING], [S.FAILED], R.RECONCILER),
    *_rows(E.REROUTED, [S.RUNNING], [S.QUEUED], R.WORKER),
    *_rows(E.PAUSE_ASKED, [S.QUEUED, S.WAITING], [S.PAUSED], R.API),
    *_rows(E.PAUSED, [S.RUNNING], [S.PAUSED], R.WORKER),
    *_rows(E.RESUMED, [S.PAUSED], [S.WAITING, S.QUEUED], R.API),
    # The reconciler passes a parent's stop on to its children: no transaction locks both (design 02 §2).
    *_rows(E.CANCEL_ASKED, LIVE_BUT_CANCELLING, [S.CANCELLING, S.CANCELLED], R.API, R.RECONCILER),
    *_rows(E.DEADLINE_PASSED, LIVE_BUT_CANCELLING, [S.CANCELLING, S.EXPIRED], R.RECONCILER),
    *_rows(E.HANDOFF_ASKED, LIVE_BUT_CANCELLING, [S.CANCELLING, S.BLOCKED], R.API),
    *_rows(E.UNSERVED, [S.QUEUED], [S.WAITING], R.RECONCILER),
    *_rows(E.REPAIRED, [S.RUNNING], [S.QUEUED], R.API),
    *_rows(E.DRAINED, [S.CANCELLING], [S.CANCELLED, S.EXPIRED, S.BLOCKED], R.WORKER, R.RECONCILER),
    *_rows(E.FINALIZED, [S.RUNNING], sorted(TERMINAL), R.WORKER),
)
_ALLOWED: Final = {(t.event, t.before, t.after) for t in RUN_TRANSITIONS}


def check_transition(event: RunEvent, before: RunStatus, after: RunStatus) -> None:
    """Raise IllegalTransition unless the table has the row."""
    if (event, before, after) not in _ALLOWED:
        raise IllegalTransition("run", before, f"{event} to {after}")
