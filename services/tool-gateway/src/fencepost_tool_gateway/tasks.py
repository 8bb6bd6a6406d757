"""Asks after a task and writes down its end: for the reconciler, which polls, and for a callback.

The task's own state decides. What it says is recorded as the outcome of its attempt, once; `wakes` and the
task's row tell who waits. Asked twice at once, the second finds it recorded.
"""

from __future__ import annotations

from uuid import UUID

from fencepost_contracts.tools import TaskAnswer
from fencepost_domain.effect import Heard
from fencepost_domain.errors import NotFound
from fencepost_domain.vocabulary import EffectState
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import tasks as store
from fencepost_store.tasks import Task

from fencepost_tool_gateway import callbacks
from fencepost_tool_gateway.advance import Known, know
from fencepost_tool_gateway.executors.port import Told
from fencepost_tool_gateway.executors.tasks import TaskExecutor
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.problems import Refused
from fencepost_tool_gateway.settle import Report, settle

log = get_logger(__name__)
LIVE = frozenset({EffectState.STARTED, EffectState.ACCEPTED})


async def look_at_task(gateway: Gateway, task_id: UUID) -> TaskAnswer:
    """The task's state, asked after now when it isn't over. Raises NotFound."""
    async with gateway.store.transaction() as tx:
        tenant = await store.tenant_of_task(tx, task_id)
    if tenant is None:
        raise NotFound("task", task_id)
    async with gateway.store.snapshot(tenant) as tx:
        task = await store.task_by_id(tx, task_id)
    if task is None:
        raise NotFound("task", task_id)
    if task.ended_at is None:
        await _ask_after(gateway, tenant, task)
        async with gateway.store.snapshot(tenant) as tx:
            task = await store.task_by_id(tx, task_id) or task
    return TaskAnswer(id=task.id, state=task.state, is_over=task.ended_at is not None)


async def take_event(gateway: Gateway, effect_key: str, given: str) -> TaskAnswer:
    """A terminal event, told by whoever has the token. Raises Refused unauthenticated, NotFound."""
    if not callbacks.is_valid(gateway.keys, effect_key, given):
        raise Refused("unauthenticated", "this token is none of this task's")
    tenant = await gateway.tenant_of(UUID(effect_key.partition(":")[0]))
    async with gateway.store.snapshot(tenant) as tx:
        task_id = await store.task_of_effect(tx, effect_key)
    if task_id is None:
        raise NotFound("task", effect_key)
    answer = await look_at_task(gateway, task_id)
    if answer.is_over:
        gateway.ring()
    return answer


async def _ask_after(gateway: Gateway, tenant: UUID, task: Task) -> None:
    known = await know(gateway, tenant, task.effect_key)
    outside, tool = known.outside, known.tool
    if known.effect.state not in LIVE or not isinstance(outside, TaskExecutor) or tool is None:
        return
    if task.external_id is None:
        if known.effect.now > known.effect.ends_at:
            lost = Told(Heard.UNKNOWN, code="not_accepted", detail="nobody knows whether it was started")
            await _record(gateway, tenant, task, known, lost)
        return
    if (task.is_stopping or task.is_past) and task.cancel_asked_at is None:
        await outside.cancel(tool, task.external_id, tool.timeout_seconds)
        async with gateway.store.transaction(tenant) as tx:
            await store.note_cancel_asked(tx, task.id)
    told = await outside.follow(tool, task.external_id, tool.timeout_seconds)
    await ahit("gateway.task.after_answer")
    if told is None and task.is_past:
        told = Told(Heard.UNKNOWN, code="task_expired", detail="its time is over")
    if told is not None:
        await _record(gateway, tenant, task, known, told)


async def _record(gateway: Gateway, tenant: UUID, task: Task, known: Known, told: Told) -> None:
    report = Report(task.effect_key, len(known.effect.attempts), told, "task", None)
    state = await settle(gateway, tenant, task.run_id, report, known.bound)
    log.info("task.ended", task_id=str(task.id), state=str(state), code=told.code)
