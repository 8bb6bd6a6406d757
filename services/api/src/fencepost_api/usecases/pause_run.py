"""Pause and resume: a person's break, which keeps questions open and the deadline's clock still."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from fencepost_domain.decision import Decision
from fencepost_domain.waits import decide_pause, decide_resume
from fencepost_runtime.failpoints import ahit
from fencepost_store.record import record
from fencepost_store.runs import Locked, open_wait
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.render import Row
from fencepost_api.usecases.steered import steer

Decide = Callable[[Tx, Locked], Awaitable[Decision | None]]


async def pause_run(api: Api, caller: Caller, run_id: UUID) -> Row:
    """Raises NotFound; Conflict run_finished, run_cancelling."""

    async def decide(tx: Tx, locked: Locked) -> Decision | None:
        return decide_pause(locked.run, api.ids.uuid7(), actor=f"user:{caller.user_id}", now=locked.now)

    return await _steer(api, caller, run_id, decide)


async def resume_run(api: Api, caller: Caller, run_id: UUID) -> Row:
    """Raises NotFound; Conflict run_finished, run_cancelling."""

    async def decide(tx: Tx, locked: Locked) -> Decision | None:
        return decide_resume(
            locked.run,
            api.ids.uuid7(),
            actor=f"user:{caller.user_id}",
            still_open=await open_wait(tx, run_id),
            now=locked.now,
        )

    return await _steer(api, caller, run_id, decide)


async def _steer(api: Api, caller: Caller, run_id: UUID, decide: Decide) -> Row:
    async def ask(tx: Tx, locked: Locked) -> None:
        decision = await decide(tx, locked)
        if decision is not None:
            await record(tx, locked.run, decision)
            await ahit("api.pause.before_commit")

    row = await steer(api, caller, run_id, ask)
    await ahit("api.pause.before_response")
    return row
