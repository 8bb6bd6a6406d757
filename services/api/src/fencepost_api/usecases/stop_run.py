"""Cancel a run: at once when nobody works on it and nothing is open, else its owner drains it (I22)."""

from __future__ import annotations

from uuid import UUID

from fencepost_domain.decision import FinalMessage
from fencepost_domain.endings import decide_stop, stopped
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import UNSETTLED, EffectState, Stop
from fencepost_runtime.failpoints import ahit
from fencepost_store import views
from fencepost_store.record import record
from fencepost_store.runs import Locked, settled
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.render import Row
from fencepost_api.texts import stopped as stopped_text
from fencepost_api.usecases.steered import steer


async def stop_run(api: Api, caller: Caller, run_id: UUID, *, note: str | None) -> Row:
    """The run as it is after the ask; the same again for one being stopped already.

    Raises NotFound, also for another's; Conflict run_finished.
    """

    async def ask(tx: Tx, locked: Locked) -> None:
        await stop(api, tx, caller, locked.run, Stop.CANCEL, note=note)
        await ahit("api.cancel.before_commit")

    row = await steer(api, caller, run_id, ask)
    await ahit("api.cancel.before_response")
    return row


async def stop(
    api: Api,
    tx: Tx,
    caller: Caller,
    run: Run,
    why: Stop,
    *,
    note: str | None = None,
    assignee: str | None = None,
    said: str | None = None,
) -> None:
    """Stop a locked run: at once where nothing is at work, else by a drain. Raises Conflict run_finished.

    said: what it tells people instead of why it was stopped.
    """
    effects = await views.run_effects(tx, run.id)
    done = [e["tool"] for e in effects if e["state"] == EffectState.COMPLETED]
    unsure = [e for e in effects if e["state"] in UNSETTLED or e["state"] == EffectState.ACCEPTED]
    explanation = said or stopped_text(run.locale, why, done, [e["tool"] for e in unsure])
    finalization = stopped(
        why,
        explanation,
        f"user:{caller.user_id}",
        evidence={"completed": [e["effect_key"] for e in effects if e["state"] == EffectState.COMPLETED]},
        left_undone=tuple(e["tool"] for e in effects if e["state"] is None),
        unconfirmed_effects=tuple(
            {"effect_key": e["effect_key"], "tool": e["tool"], "state": e["state"]} for e in unsure
        ),
    )
    decision = decide_stop(
        run,
        api.ids.uuid7(),
        stop=why,
        actor=f"user:{caller.user_id}",
        settled=await settled(tx, run),
        finalization=finalization,
        message=FinalMessage(api.ids.uuid7(), explanation),
        note=note,
        assignee=assignee,
    )
    if decision is not None:
        await record(tx, run, decision)
