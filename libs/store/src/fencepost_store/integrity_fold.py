"""What a run's events say about its status: a fold, to be compared with the run's row (I04, I06).

Where the log is ambiguous (a resumed run may wait or be queued; an erased payload says nothing) the fold
keeps every possible status, and a later event decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from fencepost_domain.transitions import RUN_TRANSITIONS
from fencepost_domain.vocabulary import TERMINAL, Ev, RunEvent, RunStatus

S, E = RunStatus, RunEvent

# What an event moves the run to; `run.finalized` and the marks (pause, resume) are read with more care.
_MOVES: Final[Mapping[Ev, tuple[RunEvent, frozenset[RunStatus]]]] = {
    Ev.RUN_CLAIMED: (E.CLAIMED, frozenset({S.RUNNING})),
    Ev.RUN_DEFERRED: (E.DEFERRED, frozenset({S.QUEUED})),
    Ev.RUN_PARKED: (E.INTERRUPTED, frozenset({S.WAITING, S.QUEUED})),
    Ev.RUN_WOKEN: (E.WOKEN, frozenset({S.QUEUED})),
    Ev.RUN_LEASE_EXPIRED: (E.LEASE_EXPIRED, frozenset({S.QUEUED})),
    Ev.RUN_REROUTED: (E.REROUTED, frozenset({S.QUEUED})),
    Ev.RUN_PAUSE_ASKED: (E.PAUSE_ASKED, frozenset({S.PAUSED})),
    Ev.RUN_PAUSED: (E.PAUSED, frozenset({S.PAUSED})),
    Ev.RUN_RESUMED: (E.RESUMED, frozenset({S.WAITING, S.QUEUED})),
    Ev.RUN_CANCEL_ASKED: (E.CANCEL_ASKED, frozenset({S.CANCELLING})),
    Ev.RUN_DEADLINE_PASSED: (E.DEADLINE_PASSED, frozenset({S.CANCELLING})),
    Ev.RUN_HANDOFF_ASKED: (E.HANDOFF_ASKED, frozenset({S.CANCELLING})),
    Ev.RUN_UNSERVED: (E.UNSERVED, frozenset({S.WAITING})),
    Ev.RUN_REPAIRED: (E.REPAIRED, frozenset({S.QUEUED})),
}
# On a running run these are marks: the status stays.
_MARKS: Final = frozenset({Ev.RUN_PAUSE_ASKED, Ev.RUN_RESUMED})
# These may end a run by themselves, with `run.finalized` in the same transaction.
_ENDS_AT_ONCE: Final[Mapping[Ev, RunEvent]] = {
    Ev.RUN_LEASE_EXPIRED: E.ATTEMPTS_EXHAUSTED,
    Ev.RUN_CANCEL_ASKED: E.CANCEL_ASKED,
    Ev.RUN_DEADLINE_PASSED: E.DEADLINE_PASSED,
    Ev.RUN_HANDOFF_ASKED: E.HANDOFF_ASKED,
}
_TABLE: Final = frozenset((t.event, t.before, t.after) for t in RUN_TRANSITIONS)


@dataclass(slots=True)
class StatusFold:
    """Feed it the events in order. `faults` are (seq, what is wrong); `revision` counts the changes."""

    possible: frozenset[RunStatus] = frozenset()
    revision: int = 0
    faults: list[tuple[int, str]] = field(default_factory=list)
    _before: frozenset[RunStatus] = frozenset()
    _last: tuple[Ev, datetime] | None = None

    def add(self, seq: int, kind: str, at: datetime, payload: bytes | None) -> None:
        """Take one event. payload None: erased."""
        if kind == Ev.RUN_REQUESTED:
            self.possible = frozenset({S.QUEUED})
        elif kind == Ev.RUN_FINALIZED:
            self._finish(seq, at, payload)
        elif kind in _MOVES and not self._stays(kind):
            self._move(seq, Ev(kind), at, payload)

    def _stays(self, kind: str) -> bool:
        """Marks on a running run, and repairs of one that isn't running, change no status."""
        if kind == Ev.RUN_REPAIRED:
            return self.possible != {S.RUNNING}
        return kind in _MARKS and self.possible == {S.RUNNING}

    def _move(self, seq: int, kind: Ev, at: datetime, payload: bytes | None) -> None:
        cause, targets = _MOVES[kind]
        if kind is Ev.RUN_PARKED and payload is not None:
            targets = frozenset({S.QUEUED if _value(payload, "woken_meanwhile") else S.WAITING})
        self._before = self.possible
        self._step(seq, kind, frozenset({cause}), targets)
        self._last = (kind, at)

    def _finish(self, seq: int, at: datetime, payload: bytes | None) -> None:
        causes = frozenset({E.FINALIZED, E.DRAINED})
        if self._last is not None and self._last[1] == at and self._last[0] in _ENDS_AT_ONCE:
            # One transaction, one change: what stood before it is what the run ended from.
            causes = frozenset({_ENDS_AT_ONCE[self._last[0]]})
            self.possible = self._before
            self.revision -= 1
        status = _value(payload, "status") if payload is not None else None
        targets = frozenset({RunStatus(str(status))}) if status is not None else TERMINAL
        self._step(seq, Ev.RUN_FINALIZED, causes, targets)
        self._last = None

    def _step(self, seq: int, kind: Ev, causes: frozenset[RunEvent], targets: frozenset[RunStatus]) -> None:
        reached = {
            to for to in targets if any((c, was, to) in _TABLE for c in causes for was in self.possible)
        }
        if not reached:
            was = " or ".join(sorted(self.possible)) or "nothing"
            self.faults.append((seq, f"{kind} after {was}, which the state table does not allow"))
        self.possible = frozenset(reached or targets)
        self.revision += 1


def _value(payload: bytes, name: str) -> Any:
    """A member of a canonical payload; None when it can't be read (the chain check says so)."""
    try:
        read = json.loads(payload)
    except ValueError:
        return None
    return read.get(name) if isinstance(read, dict) else None
