"""Commit of what leaves the house: started is committed, then it is sent, then the outcome is recorded.

A commit is the only thing that opens attempts, the first and every repeat, under the run's start fence; so a
stopped run starts nothing more (I22). The send goes on when the caller hangs up: its outcome is recorded all
the same, and the next commit finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from fencepost_contracts.tools import CommitAnswer, CommitRequest, InProgress, Tool, ToolError
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.effect import ROOM, Heard, Next, effect_key, next_step
from fencepost_domain.errors import Conflict, NotFound, Unavailable
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectState, Ev
from fencepost_runtime.failpoints import FailpointError, ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import effects_outside as store
from fencepost_store.effects_outside import WholeEffect
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.tasks import insert_task
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.advance import advance, know, unsettled
from fencepost_tool_gateway.catalog import Compiled
from fencepost_tool_gateway.conversation_state import hold_state
from fencepost_tool_gateway.executors.port import Outside, Sending, Told
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.judge import SHORTEST_RETRY, Authorised, accepted, authorise, authorise_repeat
from fencepost_tool_gateway.lost import lost_before, opened_as_lost
from fencepost_tool_gateway.settle import Report, settle

log = get_logger(__name__)
ANSWER_WITHIN: Final = 20.0  # seconds; under the caller's time-out, who asks again and finds the outcome
LONGEST_RETRY: Final = 5.0  # seconds; how long a caller sleeps before it asks again
TURNS: Final = 4  # a look-up, a repeat, its answer: more in one request is left to the next
ASK_AGAIN: Final = (0.2, 0.5, 1.0)  # seconds between asking whether `started` was committed


@dataclass(frozen=True, slots=True)
class Started:
    """An attempt that is committed as `started`. ends: at the latest, by this process's monotonic clock."""

    tool: Tool
    outside: Outside
    bound: Compiled
    run_id: UUID
    key: str
    number: int
    request: bytes
    ends: float


async def commit_first(
    gateway: Gateway, tenant: UUID, fence: Fence, request: CommitRequest, open_first: OpenFirst
) -> CommitAnswer | InProgress:
    """Open attempt 1 and send it. Raises what `authorise` raises; Unavailable: it isn't known as started."""
    before = gateway.clock.monotonic()

    async def write(tx: Tx) -> Started | CommitAnswer | InProgress:
        may = await authorise(gateway, tx, await lock_run(tx, fence.run_id), fence, request)
        if not isinstance(may, Authorised):
            return may if isinstance(may, CommitAnswer | InProgress) else InProgress(retry_after_seconds=0.2)
        return await _opened(gateway, tx, fence, may, before, open_first)

    started = await _committed(gateway, tenant, effect_key(fence.run_id, request.index), write)
    if not isinstance(started, Started):
        return started
    await ahit("gateway.send.after_start")
    return await _sent(gateway, tenant, started)


OpenFirst = Callable[[Gateway, Tx, Authorised, bytes], Awaitable[None]]


async def _opened(
    gateway: Gateway, tx: Tx, fence: Fence, may: Authorised, before: float, open_first: OpenFirst
) -> Started | InProgress:
    tool, action = may.call.tool, may.action
    outside = gateway.catalogs.executor.outside_of(tool)
    assert outside is not None  # the caller asked
    key = effect_key(action.run_id, action.index)
    request = outside.request(may.call, key)
    await open_first(gateway, tx, may, request)
    if lost_before(may.around, action.effect_class) is not None:
        return await opened_as_lost(gateway, tx, fence, may, key)
    if tool.source is not None and tool.source.task is not None:
        await insert_task(
            tx, effect_key=key, run_id=action.run_id, tenant_id=action.tenant_id, tool=tool.name,
            timeout_seconds=tool.timeout_seconds, lives_seconds=tool.source.task.lives_seconds,
        )  # fmt: skip
    await hold_state(tx, may.run, may.bound.words, tool.name, may.call.arguments)
    await _tell_started(gateway, tx, may.run, fence, may, key, 1)
    ends = before + tool.timeout_seconds
    return Started(tool, outside, may.bound, action.run_id, key, 1, request, ends)


async def _tell_started(
    gateway: Gateway, tx: Tx, run: Run, fence: Fence, may: Authorised, key: str, attempt: int
) -> None:
    action = may.action
    told = {
        "index": action.index, "n": action.n, "tool": action.tool, "effect_key": key, "attempt": attempt,
    }  # fmt: skip
    event = NewEvent(tx.ids.uuid7(), Ev.ACTION_STARTED, told, gateway.actor)
    await record(tx, run, Decision(None, events=(event,), fence=fence, fence_kind=FenceKind.START))
    await ahit("gateway.send.before_start")


async def go_on(
    gateway: Gateway, tenant: UUID, fence: Fence, request: CommitRequest
) -> CommitAnswer | InProgress:
    """An attempt was opened before: settle what can be settled, repeat what may be repeated, or say who must.

    Raises Conflict reconcile where only a person can, FenceLost, and what `authorise_repeat` raises.
    """
    key = effect_key(fence.run_id, request.index)
    for _ in range(TURNS):
        await advance(gateway, tenant, key)
        known = await know(gateway, tenant, key)
        effect = known.effect
        settled = from_ledger(effect)
        if settled is not None:
            return settled
        if effect.state is EffectState.NEEDS_HUMAN or known.tool is None or known.outside is None:
            raise needs_a_person(effect)
        step, until = next_step(known.unsettled(effect), effect.now)
        if step is Next.WAIT and until is not None:
            return _later((until - effect.now).total_seconds())
        if step is Next.REPEAT:
            answer = await _repeat(gateway, tenant, fence, request, known.outside)
            if not isinstance(answer, InProgress) or answer.retry_after_seconds > SHORTEST_RETRY:
                return answer
    return _later(SHORTEST_RETRY)


def from_ledger(effect: WholeEffect) -> CommitAnswer | None:
    """The stored outcome of a settled effect. A result that doesn't fit its schema is not given out."""
    error = ToolError.model_validate(effect.error) if effect.error else None
    match effect.state:
        case EffectState.COMPLETED | EffectState.COMPENSATING | EffectState.COMPENSATED:
            result = None if effect.result_invalid else effect.result
            return CommitAnswer(
                state="completed",
                result=result,
                error=error,
                replayed=True,
                result_invalid=effect.result_invalid,
            )
        case EffectState.ABANDONED:
            said = ToolError(code="abandoned", detail="a person gave it up; what became of it stays unknown")
            return CommitAnswer(state="failed", error=said, replayed=True)
        case EffectState.FAILED | EffectState.WITHDRAWN:
            said = error or ToolError(code="not_done", detail="it was not done")
            return CommitAnswer(state="failed", error=said, replayed=True)
        case _:
            return None


def needs_a_person(effect: WholeEffect) -> Conflict:
    stored = {
        "effect_key": effect.key, "run_id": str(effect.run_id), "state": str(effect.state),
        "attempts": len(effect.attempts),
    }  # fmt: skip
    return Conflict("reconcile", f"what became of {effect.tool} is not known: a person has to say", stored)


async def _repeat(
    gateway: Gateway, tenant: UUID, fence: Fence, request: CommitRequest, outside: Outside
) -> CommitAnswer | InProgress:
    """The stored request again under the same key, as the next attempt, under the start fence."""
    before = gateway.clock.monotonic()
    key = effect_key(fence.run_id, request.index)

    async def write(tx: Tx) -> Started | InProgress:
        locked = await lock_run(tx, fence.run_id)
        may = await authorise_repeat(gateway, tx, locked, fence, request)
        tool = may.call.tool
        effect = await store.lock_whole_effect(tx, key)
        assert effect is not None  # effects are never deleted
        step, _ = next_step(unsettled(effect, tool), effect.now)
        if step is not Next.REPEAT:
            return InProgress(retry_after_seconds=SHORTEST_RETRY)
        await hold_state(tx, may.run, may.bound.words, tool.name, may.call.arguments)
        number = await store.reopen_attempt(
            tx, effect, boot=gateway.boot, timeout_seconds=tool.timeout_seconds
        )
        await _tell_started(gateway, tx, may.run, fence, may, key, number)
        ends = before + tool.timeout_seconds
        return Started(tool, outside, may.bound, fence.run_id, key, number, effect.request, ends)

    started = await _committed(gateway, tenant, key, write)
    if not isinstance(started, Started):
        return started
    await ahit("gateway.send.after_start")
    return await _sent(gateway, tenant, started)


T = CommitAnswer | InProgress


async def _committed(
    gateway: Gateway, tenant: UUID, key: str, write: Callable[[Tx], Awaitable[Started | T]]
) -> Started | T:
    """`write`; after a lost answer, whether it was committed: nothing is sent before that is known."""
    written: list[Started | T] = []

    async def noted(tx: Tx) -> Started | T:
        written[:] = [await write(tx)]
        return written[0]

    try:
        return await gateway.store.run(tenant, noted)
    except Unavailable:
        started = written[0] if written else None
        if not isinstance(started, Started):
            raise
        for wait in ASK_AGAIN:
            await asyncio.sleep(wait)
            try:
                found = (await know(gateway, tenant, key)).effect
            except (Unavailable, NotFound):
                continue
            newest = found.attempts[-1]
            if newest.number == started.number and newest.boot == gateway.boot:
                return started
        raise


async def _sent(gateway: Gateway, tenant: UUID, started: Started) -> CommitAnswer | InProgress:
    """Send in a task of its own, so that a caller who hangs up ends nothing, and answer in time."""
    task = asyncio.create_task(_send_and_settle(gateway, tenant, started))
    gateway.sending.add(task)
    task.add_done_callback(gateway.sending.discard)
    done, _ = await asyncio.wait({task}, timeout=ANSWER_WITHIN)
    if not done:
        return _later(max(started.ends - gateway.clock.monotonic(), SHORTEST_RETRY))
    await task  # what it raised is raised here
    effect = (await know(gateway, tenant, started.key)).effect
    settled = from_ledger(effect)
    if settled is not None:
        return settled.model_copy(update={"replayed": False})
    if effect.state is EffectState.ACCEPTED:
        return accepted()
    return InProgress(retry_after_seconds=SHORTEST_RETRY)  # the caller's next turn says what comes now


async def _send_and_settle(gateway: Gateway, tenant: UUID, started: Started) -> None:
    told = await _send(gateway, started)
    await ahit("gateway.send.after_answer")
    report = Report(started.key, started.number, told, gateway.actor, gateway.boot)
    for wait in (*ASK_AGAIN, None):
        try:
            await settle(gateway, tenant, started.run_id, report, started.bound)
        except Unavailable:
            # An outcome that can't be stored now is known to this process alone: worth some tries.
            if wait is None:
                raise
            await asyncio.sleep(wait)
        else:
            return


async def _send(gateway: Gateway, started: Started) -> Told:
    """Only while there is room for the whole call, and not beyond the attempt's end, by our own clock."""
    left = started.ends - gateway.clock.monotonic()
    if left < ROOM * started.tool.timeout_seconds:
        return Told(Heard.LATER, code="not_sent", detail="too little time was left to begin")
    sending = Sending(started.tool, started.key, started.request, started.number, left)
    try:
        async with asyncio.timeout(left):
            return await started.outside.send(sending)
    except TimeoutError:
        return Told(Heard.UNKNOWN, code="timeout", detail="no answer within the attempt's time")
    except FailpointError:
        raise
    except Exception as error:
        log.exception("executor.failed", tool=started.tool.name, effect_key=started.key)
        return Told(Heard.UNKNOWN, code="executor_failed", detail=type(error).__name__)


def _later(seconds: float) -> InProgress:
    return InProgress(retry_after_seconds=min(max(seconds, SHORTEST_RETRY), LONGEST_RETRY))


async def drained(gateway: Gateway, seconds: float) -> int:
    """Wait for what is being sent or made; how many were not over. What was sent is unknown then."""
    under_way = {*gateway.sending, *gateway.making.values()}
    if not under_way:
        return 0
    _, pending = await asyncio.wait(under_way, timeout=seconds)
    return len(pending)
