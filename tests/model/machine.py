"""Any order of any steps, by owners and by zombies that kept their old fences; see test_protocol_machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from fencepost_domain.action import Action
from fencepost_domain.errors import Conflict, FenceLost, FencepostError, Gone
from fencepost_domain.fence import FenceKind
from fencepost_domain.vocabulary import EffectClass, EffectState, InterruptKind, Risk, RunStatus
from fencepost_store.claims import heartbeat, register_worker
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.model import steps
from tests.model.choices import STEPS
from tests.model.history import History
from tests.model.world import ENDED, LONG, Hand, may_drain, may_record, may_start
from tests.support import attempts
from tests.support.lives import MODULE

MOST_RUNS = 3


class ProtocolMachine(History):
    """Rules are what somebody does; `self.rows` is what the rows said after the last one."""

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        possible = [name for name, (weight, _) in STEPS.items() for _ in range(weight) if self._can(name)]
        name = data.draw(st.sampled_from(possible), "step")
        told = {key: data.draw(drawn, key) for key, drawn in STEPS[name][1].items()}
        getattr(self, name)(**told)

    def _can(self, name: str) -> bool:
        """May anything come of it?"""
        rows = self.rows.values()
        match name:
            case "create":
                return len(rows) < MOST_RUNS
            case "claim":
                return any(row["status"] == "queued" for row in rows)
            case "drained":
                return any(hand.drains for hand in self.hands)
            case "start":
                return bool(self.hands and self.actions)
            case "outcome":
                return bool(self.actions)
            case "decide":
                return any(row["interrupts"] for row in rows)
            case "lease_passes" | "stop_and_tell":
                return any(row["leased"] for row in rows)
            case "ask_of_run" | "time_passes" | "sweep" | "restart":
                return bool(rows)
            case _:
                return bool(self.hands)

    # ── people and workers ───────────────────────────────────────────────────────────────────────────

    def create(self, shared: bool, timed: bool) -> None:
        self.world.do(
            self.world.lives.queued(
                conversation_id=self.conversation if shared else None,
                deadline=timedelta(days=1) if timed else None,
            )
        )
        self.after()

    def claim(self, slot: str, limit: int) -> None:
        before = self.rows
        for claimed in self.world.claim(self.world.owner(slot), limit):
            was = before[claimed.run.id]
            assert was["status"] == "queued"
            assert claimed.run.revision == was["revision"] + 1
            assert claimed.run.wakes == was["wakes"]
            self.hands.append(Hand(claimed))
        self.after()

    def beat(self, slot: str) -> None:
        """Each hand of the slot's present boot is named once, the newest claim of a run for all of them."""
        owner = self.world.owner(slot)
        mine = {hand.run_id: hand for hand in self.hands if hand.fence.owner == owner}

        async def work() -> Any:
            named = {run_id: hand.fence.revision for run_id, hand in mine.items()}
            async with self.world.lives.worker.transaction() as tx:
                return await heartbeat(tx, owner=owner, held=named, lease=LONG)

        for answer in self.world.do(work()):
            row, hand = self.rows[answer.run_id], mine.get(answer.run_id)
            assert hand is not None, "a run of this owner that it never claimed"
            running = row["status"] == "running" and row["revision"] == hand.fence.revision
            kept = row["lease_owner"] == owner and (running or row["status"] == "cancelling")
            word = "stop" if row["status"] == "cancelling" else "pause" if row["pause_asked"] else "held"
            assert answer.answer == (word if kept else "taken")
            if answer.answer == "stop":
                told = replace(
                    hand.claim.run, status=RunStatus.CANCELLING, lease_owner=owner, revision=answer.revision
                )
                self.hands.append(Hand(replace(hand.claim, run=told), drains=True))
        self.after()

    def restart(self, slot: str) -> None:
        """A new boot of the slot: what the old one held is past at once."""
        self.world.boots[slot] += 1

        async def work() -> int:
            boot = f"boot-{self.world.boots[slot]}"
            async with self.world.lives.worker.transaction() as tx:
                return await register_worker(
                    tx, slot=slot, boot_id=boot, modules=[MODULE], versions=[], alive_for=LONG
                )

        self.world.do(work())
        self.after()
        for row in self.rows.values():
            assert not (row["leased"] and row["lease_owner"].startswith(f"{slot}:"))

    def note(self, pick: int, kind: FenceKind) -> None:
        hand = self.hand(pick)
        row = self.rows[hand.run_id]
        allowed = may_drain(row, hand) if kind is FenceKind.DRAIN else may_record(row, hand)
        self.fenced(hand, allowed, steps.note(self.world, hand, kind))

    def checkpoint(self, pick: int) -> None:
        hand = self.hand(pick)
        allowed = may_record(self.rows[hand.run_id], hand)
        answer = self.world.do(steps.checkpoint(self.world, hand))
        assert answer == ("written" if allowed else "lost")
        self.after(unchanged=None if allowed else hand.run_id)

    def let_go(self, pick: int, step: str) -> None:
        hand = self.hand(pick)
        allowed = may_record(self.rows[hand.run_id], hand)
        self.fenced(hand, allowed, getattr(steps, step)(self.world, hand))

    def drained(self, pick: int) -> None:
        told = [hand for hand in self.hands if hand.drains]
        hand = told[-1 - pick % len(told)]
        self.fenced(hand, may_drain(self.rows[hand.run_id], hand), steps.drained(self.world, hand))

    def ask(self, pick: int, kind: InterruptKind) -> None:
        """A look that was overtaken, or an answer that is there already, leaves the run due (AP-6)."""
        hand = self.hand(pick)
        row = self.rows[hand.run_id]
        asked = self.fenced(hand, may_record(row, hand), self.world.lives.ask(hand.claim, kind=kind))
        if isinstance(asked, FencepostError):
            return
        now = self.rows[hand.run_id]
        is_open = any(
            one["id"] == str(asked.interrupt_id) for one in now["interrupts"] if one["status"] == "open"
        )
        parks = is_open and row["wakes"] == hand.claim.run.wakes
        assert now["status"] == ("waiting" if parks else "queued")

    def wait_for_tool(self, pick: int) -> None:
        hand = self.hand(pick)
        row = self.rows[hand.run_id]
        parked = self.fenced(hand, may_record(row, hand), self.world.lives.park_on_tool(hand.claim))
        if not isinstance(parked, FencepostError):
            overtaken = row["wakes"] != hand.claim.run.wakes
            assert self.rows[hand.run_id]["status"] == ("queued" if overtaken else "waiting")

    # ── the gateway ──────────────────────────────────────────────────────────────────────────────────

    def prepare(self, pick: int, risk: Risk) -> None:
        hand = self.hand(pick)
        if hand.drains or hand.run_id in self.actions:
            return
        work = steps.prepare(self.world, hand, risk=risk, effect_class=EffectClass.EXTERNAL_QUERYABLE)
        made = self.fenced(hand, may_start(self.rows[hand.run_id], hand), work)
        if isinstance(made, Action):
            self.actions[hand.run_id] = made

    def start(self, pick: int) -> None:
        """An attempt is opened once, under the start fence, for what a person allowed (I10, I12, I22)."""
        hand = self.hand(pick)
        action = self.actions.get(hand.run_id)
        if action is None:
            return
        row = self.rows[hand.run_id]
        opened = self.fenced(hand, may_start(row, hand), attempts.start(self.world.lives, hand.fence, action))
        if opened is True:
            assert row["attempts"] == []
            assert row["actions"] == ["approved" if action.approval else "prepared"]
        elif isinstance(opened, FencepostError) and not isinstance(opened, FenceLost):
            assert isinstance(opened, Conflict)
            assert action.approval
            assert row["actions"] != ["approved"]

    def act(self, pick: int) -> None:
        """What needs no approval, in one go."""
        self.prepare(pick, Risk.LOW)
        if self.actions:
            self.start(pick)

    def outcome(self, pick: int, state: EffectState) -> None:
        """What happened is written once, whatever became of the run, and moves no status (I05)."""
        action = list(self.actions.values())[-1 - pick % len(self.actions)]
        row = self.rows[action.run_id]
        written = self.world.do(attempts.settle(self.world.lives, action, state))
        assert written == (row["attempts"] in (["started"], ["unknown"]))
        self.after(unchanged=None if written else action.run_id)
        assert self.rows[action.run_id]["status"] == row["status"]

    # ── people ───────────────────────────────────────────────────────────────────────────────────────

    def decide(self, pick: int, decision: str) -> None:
        asked = [(row, one) for row in self.rows.values() for one in row["interrupts"]]
        row, question = asked[-1 - pick % len(asked)]
        run_id = row["id"]
        done = self.world.attempt(self.world.lives.resolve(UUID(question["id"]), decision))
        takes = question["status"] == "open" and row["status"] not in ENDED | {"cancelling"}
        if isinstance(done, Gone):  # its time was over, and nobody had noticed
            takes = False
        assert isinstance(done, FencepostError) or (done is not None) == takes
        self.after(unchanged=None if takes else run_id)
        if takes:
            now = self.rows[run_id]
            assert now["wakes"] == row["wakes"] + 1
            assert now["status"] == ("queued" if row["status"] == "waiting" else row["status"])

    def ask_of_run(self, pick: int, ask: str) -> None:
        run_id = self.picked(pick)
        assert run_id is not None
        work: Any = (
            self.world.lives.pause(run_id) if ask == "pause" else getattr(steps, ask)(self.world, run_id)
        )
        row = self.rows[run_id]
        done = self.world.attempt(work)
        if row["status"] in ENDED:
            assert isinstance(done, Conflict)
        changed = not isinstance(done, FencepostError) and done is not None
        self.after(unchanged=None if changed else run_id)
        if ask == "cancel" and row["status"] not in ENDED:
            assert self.rows[run_id]["status"] in (
                "cancelling",
                "cancelled",
                *([row["status"]] if done is None else []),
            )

    # ── time, and the reconciler ─────────────────────────────────────────────────────────────────────

    def lease_passes(self, pick: int, swept: bool) -> None:
        leased = [run_id for run_id, row in self.rows.items() if row["leased"]]
        self.pass_time("runs", "lease_expires_at", "id = %s", leased[-1 - pick % len(leased)])
        if swept:
            self.sweep("leases")

    def stop_and_tell(self, pick: int) -> None:
        """Cancelled, and its owner's next heartbeat hears it."""
        leased = [run_id for run_id, row in self.rows.items() if row["leased"]]
        run_id = leased[-1 - pick % len(leased)]
        self.world.attempt(steps.cancel(self.world, run_id))
        self.after()
        slot = str(self.rows[run_id]["lease_owner"]).partition(":")[0]
        if self.rows[run_id]["lease_owner"] == self.world.owner(slot):
            self.beat(slot)

    def time_passes(self, what: str) -> None:
        """For all of a kind at once: what is past stays past until somebody acts."""
        self.pass_kind(what)

    def sweep(self, name: str) -> None:
        for each in self.world.sweeps if name == "all" else [name]:
            self.world.sweep(each)
            self.after()
