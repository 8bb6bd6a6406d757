"""What the ledger says of an action, for who only asks."""

from __future__ import annotations

from contextlib import suppress

from fencepost_contracts.tools import ActionRequest, CancelAnswer, LookupAnswer, ToolError
from fencepost_domain.effect import effect_key
from fencepost_domain.errors import NotFound
from fencepost_domain.fence import Fence
from fencepost_store.actions import look_at_run
from fencepost_store.effects import look_at_effect

from fencepost_tool_gateway.advance import advance
from fencepost_tool_gateway.gateway import Gateway


async def look_up(gateway: Gateway, fence: Fence, request: ActionRequest) -> LookupAnswer:
    """The state of an action's effect; `absent` before any attempt. Any fence of the run may ask.

    For classes with nothing outside (`none`, `local`) the ledger is the whole truth; of others, with
    `advance`, the world is asked first where that is due. Nothing is started by it.
    """
    if request.advance:
        with suppress(NotFound):
            key = effect_key(fence.run_id, request.index)
            await advance(gateway, await gateway.tenant_of(fence.run_id), key)
    async with gateway.store.snapshot(await gateway.tenant_of(fence.run_id)) as tx:
        await look_at_run(tx, fence.run_id)
        found = await look_at_effect(tx, fence.run_id, request.index)
    if found is None:
        return LookupAnswer(index=request.index, n=None, state="absent")
    effect, _ = found
    return LookupAnswer(
        index=request.index,
        n=effect.n,
        state=str(effect.state),
        result=effect.result,
        error=ToolError.model_validate(effect.error) if effect.error is not None else None,
    )


async def cancel(gateway: Gateway, fence: Fence, request: ActionRequest) -> CancelAnswer:
    """Ask the other side to stop. Nothing is outside yet: what was opened is done, the rest never starts."""
    answer = await look_up(gateway, fence, request)
    if answer.n is None:
        return CancelAnswer(outcome="nothing")
    return CancelAnswer(outcome="too_late", state=answer.state)
