"""The conversation's state around a call: may it be made now, and what does its result write (design 02 §9).

Judged at prepare, where the model can still take the way out, and again at commit under the state's lock:
what was approved days ago isn't done when the state it relied on is gone. A result's writes are in the
transaction that completes its effect, so state and world can't disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_contracts.state import StateWords
from fencepost_contracts.tools import PrepareCall
from fencepost_domain.decision import NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectClass, Ev
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store.state import Written, lock_state, present_state, write_state
from fencepost_store.transaction import Tx
from opentelemetry import trace

from fencepost_tool_gateway.catalog import Compiled
from fencepost_tool_gateway.execute import ToolFailed

log = get_logger(__name__)
_changes: Final = counter("fencepost.state.changes", "Changes written to conversations' state")
# What is rolled back with its state's write; what reached the world is recorded all the same.
UNDONE: Final = frozenset({EffectClass.NONE, EffectClass.LOCAL})


async def state_for(tx: Tx, run: Run, calls: Sequence[PrepareCall], bound: Compiled) -> Mapping[str, Any]:
    """The present state, read only where one of the calls is judged by it."""
    if not any(bound.words.reads(call.tool) for call in calls):
        return {}
    return (await present_state(tx, run.conversation_id)).values


async def hold_state(tx: Tx, run: Run, words: StateWords, tool: str, arguments: Mapping[str, Any]) -> None:
    """Judge a call by the state under its lock, which is kept for what the result writes.

    Raises Conflict precondition_changed: prepared again, the call is refused with the way out.
    """
    if not words.reads(tool):
        return
    head = await lock_state(tx, run.conversation_id, run.tenant_id)
    for _, why in words.refusals(tool, arguments, head.body):
        raise Conflict("precondition_changed", f"the conversation's state changed: {why}")


async def write_result(
    tx: Tx,
    run: Run,
    words: StateWords,
    tool: str,
    effect_class: EffectClass,
    arguments: Mapping[str, Any],
    result: Any,
    actor: str,
) -> list[NewEvent]:
    """Write what a completed call says of the state; returns the events that tell it, for the same record.

    A write that can't be made undoes a local call (ToolFailed state_refused); of a call that reached the
    world the refusal is an event, because what happened has to be recorded.
    """
    if not words.writes(tool):
        return []
    head = await lock_state(tx, run.conversation_id, run.tenant_id)
    try:
        changes = words.changes(tool, arguments, result, head.body)
        written = await write_state(
            tx, head, changes, source=f"tool:{tool}", run_id=run.id, trace_id=_trace_id()
        )
    except Conflict as refused:
        if effect_class in UNDONE:
            raise ToolFailed("state_refused", str(refused)) from None
        log.error("state.write_refused", run_id=str(run.id), tool=tool, detail=str(refused))
        told = {"tool": tool, "detail": str(refused)}
        return [NewEvent(tx.ids.uuid7(), Ev.STATE_REFUSED, told, actor)]
    await ahit("gateway.state.after_write")
    if not written:
        return []
    _changes.add(len(written), {"module": run.module})
    return [NewEvent(tx.ids.uuid7(), Ev.STATE_CHANGED, _told(run, tool, written), actor)]


def _told(run: Run, tool: str, written: Sequence[Written]) -> dict[str, Any]:
    """Ids, keys and numbers; the values are in the state's own events."""
    return {
        "conversation_id": str(run.conversation_id),
        "source": f"tool:{tool}",
        "changes": [
            {
                "seq": one.seq,
                "key": one.changed.key,
                "operation": str(one.changed.operation),
                "event_id": str(one.event_id),
            }
            for one in written
        ],
    }


def _trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
