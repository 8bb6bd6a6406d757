"""A history of the protocol: its world, what is known of it, and how it comes to an end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

from fencepost_domain.action import Action
from fencepost_domain.errors import FenceLost, FencepostError, IllegalTransition
from hypothesis.stateful import RuleBasedStateMachine, initialize

from tests.model import steps
from tests.model.laws import check_laws
from tests.model.world import ENDED, Hand, Row, World, may_drain, may_record, open_question


class History(RuleBasedStateMachine):
    """`self.rows` is what the rows said after the last step; subclasses have the steps."""

    database: Callable[[], Any]  # a context manager of a fresh clone
    thorough = False  # the checks of every invariant after every step

    @initialize()
    def open(self) -> None:
        self._clone = type(self).database()
        self.world = World(self._clone.__enter__())
        self.rows: dict[UUID, Row] = {}
        self.hands: list[Hand] = []
        self.actions: dict[UUID, Action] = {}
        self.conversation = self.world.lives.ids.uuid7()  # of some of the runs; the others have their own

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            if sys.exc_info()[0] is None:  # a step that failed has said what is wrong
                self._everything_ends()
        finally:
            self.world.close()
            self._clone.__exit__(None, None, None)

    # ── helpers ──────────────────────────────────────────────────────────────────────────────────────

    def picked(self, pick: int, *statuses: str) -> UUID | None:
        """A run, of one of the statuses if any are named."""
        runs = [run_id for run_id, row in self.rows.items() if not statuses or row["status"] in statuses]
        return runs[-1 - pick % len(runs)] if runs else None

    def hand(self, pick: int) -> Hand:
        """Half of the picks are of hands that own their run now, the others of any: mostly zombies."""
        owners = [one for one in self.hands if self.owns(one)]
        among = owners if owners and pick < 8 else self.hands
        return among[-1 - pick % len(among)]

    def owns(self, hand: Hand) -> bool:
        row = self.rows[hand.run_id]
        return may_drain(row, hand) if hand.drains else may_record(row, hand)

    def after(self, *, unchanged: UUID | None = None) -> None:
        """Look at the rows and hold the step against the laws. unchanged: the run of a refused write."""
        before, self.rows = self.rows, self.world.look()
        check_laws(before, self.rows, self.hands)
        if unchanged is not None:
            assert self.rows[unchanged] == before[unchanged], "a refused write left something behind"
        if self.thorough:
            assert self.world.do(self.world.lives.violations()) == []

    def fenced(self, hand: Hand, allowed: bool, work: Any) -> Any:
        """A write of a hand: it happens exactly when the fence holds; a zombie changes nothing."""
        outcome = self.world.attempt(work)
        if allowed:
            assert not isinstance(outcome, FenceLost), f"an owner was refused: {outcome}"
            self.after(unchanged=hand.run_id if isinstance(outcome, FencepostError) else None)
        else:
            # Who was told to stop has the right revision and may only drain.
            refusals = (FenceLost, IllegalTransition) if hand.drains else FenceLost
            assert isinstance(outcome, refusals), f"a zombie's write came out as {outcome!r}"
            self.after(unchanged=hand.run_id)
        return outcome

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────

    def pass_kind(self, what: str) -> None:
        """For all of a kind at once: what is past stays past until somebody acts."""
        match what:
            case "question":
                self.pass_time("interrupts", "expires_at", "status = 'open'")
            case "attempt":
                self.pass_time("effect_attempts", "attempt_ends_at", "state = 'started'")
            case "deadline":
                self.pass_time("runs", "deadline_at", "deadline_at < 'infinity' AND finished_at IS NULL")
            case "drain":
                self.pass_time("runs", "drain_until", "status = 'cancelling'")
            case _:
                self.pass_time("runs", "paused_until", "status = 'paused'")

    def pass_time(self, table: str, column: str, where: str, *params: Any) -> None:
        past = "clock_timestamp() - interval '1 second'"
        self.world.decree(f"UPDATE agent.{table} SET {column} = {past} WHERE {where}", *params)
        self.rows = self.world.look()

    # ── the end of each history ──────────────────────────────────────────────────────────────────────

    def _everything_ends(self) -> None:
        """Nobody of before comes back. One patient worker and the sweeps bring every run to its end."""
        answers = len(self.rows) % 2 == 0  # in half of the histories people answer, in the others time does
        for _ in range(4 * len(self.rows) + 4):
            if all(row["status"] in ENDED for row in self.rows.values()):
                break
            self._one_round(answers)
        left = [(row["status"], row["waiting_on"]) for row in self.rows.values()]
        assert all(status in ENDED for status, _ in left), f"stranded: {left}"
        assert self.world.do(self.world.lives.violations()) == []

    def _one_round(self, answers: bool) -> None:
        for run_id, row in self.rows.items():
            question = open_question(row)
            if answers and question is not None:
                self.world.attempt(self.world.lives.resolve(UUID(question["id"]), "approve"))
            if answers and row["status"] == "paused":
                self.world.attempt(steps.resume(self.world, run_id))
        for what in ("attempt", "drain", *(() if answers else ("question", "pause"))):
            self.pass_kind(what)
        self.pass_time("runs", "lease_expires_at", "lease_owner IS NOT NULL")
        for name in self.world.sweeps:
            self.world.sweep(name)
            self.after()
        claims = self.world.claim("patient:boot-1", 8)
        self.after()
        for claimed in claims:
            paused = self.rows[claimed.run.id]["pause_asked"]
            step = steps.reach_safe_boundary if paused else steps.finalize
            self.world.do(step(self.world, Hand(claimed)))
            self.after()
