"""An effect's attempt by the store's own doors, in the order of the gateway's commit (design 02 §4, §5).

Run, approval, action, effect; fence, approval, expiry and token judged above the locks; then `started`.
"""

from __future__ import annotations

from fencepost_domain.action import Action, check_commit
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import check_fence
from fencepost_domain.vocabulary import TERMINAL, ActionStatus, EffectState, Ev
from fencepost_store import actions, effects
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.support.lives import Lives

BOOT = "gw-1"


async def start(
    lives: Lives, fence: Fence, action: Action, *, boot: str = BOOT, timeout_seconds: float = 60.0
) -> bool:
    """Open the attempt under the start fence. False: one was opened before, its stored state is the answer.

    Raises FenceLost, Conflict as `check_commit` does.
    """
    async with lives.gateway.transaction(action.tenant_id) as tx:
        locked = await lock_run(tx, fence.run_id)
        check_fence(locked.run, fence, FenceKind.START, locked.now)
        asked = next(a for a in await actions.actions_at(tx, fence.run_id, action.index) if a.n == action.n)
        approval = (
            await actions.lock_approval(tx, fence.run_id, asked.interrupt_id) if asked.interrupt_id else None
        )
        found = await actions.lock_action(tx, fence.run_id, action.index, action.n)
        if found is None:
            raise Conflict("withdrawn", "there is no such preparation")
        current, now = found
        if await effects.lock_effect(tx, fence.run_id, action.index) is not None:
            return False
        check_commit(current, approval, edited_hash=None, now=now)
        await actions.spend_token(tx, current)
        await effects.open_attempt(
            tx,
            current,
            root_run_id=current.run_id,
            request=current.arguments.encode(),
            boot=boot,
            timeout_seconds=timeout_seconds,
        )
        told = {"index": action.index, "n": action.n, "tool": action.tool}
        event = NewEvent(tx.ids.uuid7(), Ev.ACTION_STARTED, told, f"gateway:{boot}")
        await record(tx, locked.run, Decision(None, events=(event,), fence=fence, fence_kind=FenceKind.START))
        return True


async def settle(
    lives: Lives, action: Action, state: EffectState = EffectState.COMPLETED, *, boot: str = BOOT
) -> bool:
    """The attempt's outcome, whatever became of the run. False: it was settled before."""
    async with lives.gateway.transaction(action.tenant_id) as tx:
        locked = await lock_run(tx, action.run_id)
        outcome = effects.Outcome(state, result={"ok": True} if state is EffectState.COMPLETED else None)
        if not await effects.settle_attempt(tx, action, 1, outcome, boot=boot):
            return False
        done = state is EffectState.COMPLETED
        await actions.end_action(tx, action, ActionStatus.COMMITTED if done else ActionStatus.FAILED)
        told = {"index": action.index, "n": action.n, "tool": action.tool}
        told["late"] = locked.run.status in TERMINAL
        kind = Ev.ACTION_COMMITTED if done else Ev.ACTION_FAILED
        event = NewEvent(tx.ids.uuid7(), kind, told, f"gateway:{boot}")
        await record(tx, locked.run, Decision(None, sets={"wake": True}, events=(event,)))
        return True
