"""Outcomes made true: each is one transaction under the run's fence, decided by the domain.

An answer lost after COMMIT isn't a refusal: an ending is asked for by its message's id, a parked or deferred
run by its revision, before anything is repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from uuid import UUID

from fencepost_domain.decision import Decision
from fencepost_domain.endings import decide_finalize
from fencepost_domain.errors import FenceLost, Unavailable
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.retry import backoff
from fencepost_domain.run import check_fence
from fencepost_domain.vocabulary import Reason, RunStatus, WaitingOn
from fencepost_domain.waits import decide_defer, decide_park, decide_paused, decide_reroute
from fencepost_runtime.failpoints import ahit
from fencepost_store import bindings
from fencepost_store.bindings import EndingFacts
from fencepost_store.checkpoints import RunWrites
from fencepost_store.end_group import RunEnding
from fencepost_store.interrupts import NewInterrupt, open_and_park
from fencepost_store.record import record
from fencepost_store.runs import Locked, lock_run
from fencepost_store.transaction import Store, Tx

from fencepost_worker.ending import End, broken, proposed
from fencepost_worker.engine.port import (
    Awaiting,
    Broken,
    Deferred,
    Finished,
    Outcome,
    Parked,
    Paused,
    Rerouted,
    Waits,
)
from fencepost_worker.flow.step import Question
from fencepost_worker.holding import Held

TRIES: Final = 4
RETRY_SECONDS: Final = 0.2

Work = Callable[[Tx, Locked], Awaitable[None]]


class GroupEnder(Protocol):
    """The group writer, as far as endings need it. Both raise FenceLost, Unavailable."""

    async def end(self, ending: RunEnding) -> bool:
        """Record an ending with others; False when it is to be recorded by itself, nothing being written."""
        ...

    async def write(self, rows: RunWrites) -> None: ...


@dataclass(frozen=True, slots=True)
class Recorder:
    """One per process: writes what an execution came to."""

    store: Store
    group: GroupEnder | None = None

    async def outcome(self, held: Held, outcome: Outcome) -> None:
        """Make an outcome true. Raises FenceLost, Unavailable."""
        match outcome:
            case Finished():
                await self._finish(held, outcome)
            case Parked(question):
                await self._park(held, question)
            case Waits():
                await self._under_fence(held, self._waiting(held))
                await ahit("worker.wait.after_commit")
            case Paused():
                await self._under_fence(held, self._paused(held))
                await ahit("worker.pause.after_commit")
            case Rerouted(module):
                await self._under_fence(held, self._rerouted(held, module))
                await ahit("worker.reroute.after_commit")
            case Awaiting(on, seconds):
                await self._under_fence(held, self._awaiting(held, on, seconds))
                await ahit("worker.defer.after_commit")
            case Deferred():
                await self._defer(held, outcome)
            case Broken(reason, code, detail):
                await self._break(held, Reason(reason), code, detail)

    # ── endings ─────────────────────────────────────────────────────────────────────────────────────

    async def _finish(self, held: Held, finished: Finished) -> None:
        """In a group with others, where this process knows all that the ending says; else by itself."""
        message_id, proposal = UUID(finished.state["message_id"]), finished.proposal
        if self.group is not None and held.usage is not None:
            facts = EndingFacts((), (), held.usage)
            run = held.claim.run
            finalization, message = proposed(proposal, facts, run.locale, message_id)
            decision = decide_finalize(run, held.fence, finalization=finalization, message=message)
            if await self.group.end(RunEnding(held.fence, decision, finished.carried)):
                return
        if self.group is not None and finished.carried:
            await self.group.write(RunWrites(held.fence, held=finished.carried))
        await self._ending(
            held, message_id, lambda facts, locale: proposed(proposal, facts, locale, message_id)
        )

    async def _break(self, held: Held, reason: Reason, code: str, detail: str) -> None:
        message_id = self.store.ids.uuid7()

        def say(facts: EndingFacts, locale: str) -> End:
            return broken(reason, code, detail, facts, locale, message_id)

        await self._ending(held, message_id, say)

    async def _ending(self, held: Held, message_id: UUID, say: Callable[[EndingFacts, str], End]) -> None:
        async def was_recorded(tx: Tx) -> bool:
            return await bindings.is_recorded(tx, held.fence.run_id, message_id)

        async def work(tx: Tx, locked: Locked) -> None:
            check_fence(locked.run, held.fence, FenceKind.RECORD, locked.now)
            finalization, message = say(await bindings.ending_facts(tx, locked.run.id), locked.run.locale)
            decision = decide_finalize(locked.run, held.fence, finalization=finalization, message=message)
            await record(tx, locked.run, decision)
            await ahit("worker.finalize.before_commit")

        await self.acknowledged(held.fence, work, was_recorded)
        await ahit("worker.finalize.after_commit")

    # ── waiting, deferring, handing over ────────────────────────────────────────────────────────────

    async def _park(self, held: Held, question: Question) -> None:
        """Ask and let go. `wakes` is what the claim told: known before anything was looked at (AP-6)."""
        interrupt_id = self.store.ids.uuid7()

        async def work(tx: Tx, locked: Locked) -> None:
            new = _interrupt(interrupt_id, question, locked.now)
            await open_and_park(
                tx,
                locked.run,
                locked.now,
                held.fence,
                new,
                wakes_seen=held.claim.run.wakes,
                event_id=tx.ids.uuid7(),
            )
            await ahit("worker.interrupt.before_commit")

        await self._under_fence(held, work)
        await ahit("worker.interrupt.after_commit")

    def _waiting(self, held: Held) -> Work:
        """Wait on a tool; `wakes` as for a question: a task that ended meanwhile is not slept through."""

        async def work(tx: Tx, locked: Locked) -> None:
            decision = decide_park(
                locked.run,
                held.fence,
                tx.ids.uuid7(),
                waiting_on=WaitingOn.TOOL,
                wakes_seen=held.claim.run.wakes,
                now=locked.now,
            )
            await record(tx, locked.run, decision)
            await ahit("worker.wait.before_commit")

        return work

    def _paused(self, held: Held) -> Work:
        async def work(tx: Tx, locked: Locked) -> None:
            decision = decide_paused(locked.run, held.fence, tx.ids.uuid7(), now=locked.now)
            await record(tx, locked.run, decision)
            await ahit("worker.pause.before_commit")

        return work

    def _awaiting(self, held: Held, on: WaitingOn, seconds: float) -> Work:
        async def work(tx: Tx, locked: Locked) -> None:
            decision = decide_park(
                locked.run,
                held.fence,
                tx.ids.uuid7(),
                waiting_on=on,
                wakes_seen=held.claim.run.wakes,
                now=locked.now,
                poll_at=locked.now + timedelta(seconds=seconds),
            )
            await record(tx, locked.run, decision)
            await ahit("worker.defer.before_commit")

        return work

    def _rerouted(self, held: Held, module: str) -> Work:
        async def work(tx: Tx, locked: Locked) -> None:
            decision = decide_reroute(locked.run, held.fence, tx.ids.uuid7(), module=module, now=locked.now)
            await record(tx, locked.run, decision)
            await ahit("worker.reroute.before_commit")

        return work

    async def _defer(self, held: Held, outcome: Deferred) -> None:
        """Back to the queue with a backoff; with its attempts used up the run fails, and says so."""
        run = held.claim.run
        if outcome.counts and run.attempt >= run.max_attempts:
            await self._break(held, Reason.ATTEMPTS_EXHAUSTED, outcome.reason, outcome.detail)
            return
        hint = timedelta(seconds=outcome.wait_seconds) if outcome.wait_seconds is not None else None
        wait = backoff(run.attempt, hint=hint) if outcome.counts else hint or timedelta(0)

        async def work(tx: Tx, locked: Locked) -> None:
            decision: Decision = decide_defer(
                locked.run,
                held.fence,
                tx.ids.uuid7(),
                wait=wait,
                reason=outcome.reason,
                detail=outcome.detail[:300],
                now=locked.now,
            )
            if not outcome.counts:
                decision = replace(decision, sets={**decision.sets, "next_counts": False})
            await record(tx, locked.run, decision)
            await ahit("worker.defer.before_commit")

        await self._under_fence(held, work)
        await ahit("worker.defer.after_commit")

    async def _under_fence(self, held: Held, work: Work) -> None:
        """A change of status: after a lost answer, a revision that moved on under our hands was ours."""

        async def was_recorded(tx: Tx) -> bool:
            locked = await lock_run(tx, held.fence.run_id)
            return (
                locked.run.revision == held.fence.revision + 1
                and locked.run.status is not RunStatus.CANCELLING
            )

        async def fenced(tx: Tx, locked: Locked) -> None:
            check_fence(locked.run, held.fence, FenceKind.RECORD, locked.now)
            await work(tx, locked)

        await self.acknowledged(held.fence, fenced, was_recorded)

    # ── acknowledgement ─────────────────────────────────────────────────────────────────────────────

    async def acknowledged(
        self, fence: Fence, work: Work, was_recorded: Callable[[Tx], Awaitable[bool]]
    ) -> None:
        """`work` on the locked run, once: repeated only when it is known not to have been committed."""

        async def locked_work(tx: Tx) -> None:
            await work(tx, await lock_run(tx, fence.run_id))

        async def asked_first(tx: Tx) -> None:
            if not await was_recorded(tx):
                await locked_work(tx)

        for remaining in reversed(range(TRIES)):
            try:
                first = remaining == TRIES - 1
                await self.store.run(None, locked_work if first else asked_first)
                return
            except Unavailable:
                if not remaining:
                    raise
                await asyncio.sleep(RETRY_SECONDS)
        raise FenceLost(fence.run_id)


def _interrupt(interrupt_id: UUID, question: Question, now: datetime) -> NewInterrupt:
    expiry: dict[str, Any] = {}
    if question.expires_at is not None:
        expiry["expires_in"] = max(datetime.fromisoformat(question.expires_at) - now, timedelta(0))
    return NewInterrupt(
        interrupt_id,
        question.kind,
        question.index,
        question.n,
        question.text,
        actions=question.actions,
        candidates=question.candidates,
        input_schema=question.input_schema,
        preview=question.preview,
        change=question.change,
        risk=question.risk,
        **expiry,
    )
