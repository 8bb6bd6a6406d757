"""Run a tool's own code, and tell apart its failure, a changed world, and a database that doesn't answer.

What a tool raises is its failure: rolled back, recorded, never quoted to anyone. What the database says of
itself (gone, locked too long, to be retried) is no failure of the tool and goes through.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final
from uuid import UUID

from fencepost.authoring import PreconditionChanged, ToolRefused
from fencepost.files import NewArtifact, Result
from fencepost_contracts import canonical
from fencepost_contracts.tools import Tool
from fencepost_domain.action import Action
from fencepost_domain.effect import Heard, effect_key
from fencepost_domain.errors import Conflict, FenceLost, Unavailable
from fencepost_domain.vocabulary import EffectClass, EffectState
from fencepost_runtime.artifacts import ArtifactsUnavailable
from fencepost_runtime.failpoints import FailpointError
from fencepost_runtime.logging import get_logger
from fencepost_store.effects import Outcome
from fencepost_store.errors import domain_error, is_retryable, sqlstate
from fencepost_store.transaction import Store, Tx
from sqlalchemy.exc import DBAPIError

from fencepost_tool_gateway.catalog import Compiled
from fencepost_tool_gateway.executors.port import Call, Executor, Outside, Sending
from fencepost_tool_gateway.files import check_files

log = get_logger(__name__)
CANCELED_BY_TIMEOUT: Final = "57014"  # the role's statement_timeout ended the tool's own statement


class ToolFailed(Exception):
    """The tool didn't do it: the transaction is rolled back, the failure recorded in the next."""

    def __init__(self, code: str, detail: str) -> None:
        self.reason = (code, detail)
        error = {"code": code, "detail": detail}
        self.outcome = Outcome(EffectState.FAILED, error=error, result_invalid=code == "result_invalid")
        super().__init__(f"{code}: {detail}")


class OutOfTime(ToolFailed):
    """A tool of ours ran out of its time. Slow itself, or held up by a database that stands still?"""

    def __init__(self) -> None:
        super().__init__("timeout", "the tool took too long; nothing was done")


async def run_local(executor: Executor, tx: Tx, bound: Compiled, call: Call, action: Action) -> Outcome:
    """The business write, in the transaction that holds the run's row, on what was approved.

    Raises Conflict precondition_changed, ToolFailed, or what the database says of itself.
    """
    await check_relied_on(executor, tx, call, action)
    async with Guarded():
        result = await executor.call(tx, call)
    return _checked(bound, call.tool, result)


async def check_relied_on(executor: Executor, tx: Tx, call: Call, action: Action) -> None:
    """What the plan relied on is as it was. Raises as `run_local` does."""
    async with Guarded():
        relied_on = canonical.plain(await executor.precondition(tx, call))
        if relied_on != action.precondition:
            raise PreconditionChanged


async def make(
    executor: Executor, store: Store, bound: Compiled, call: Call
) -> tuple[Outcome, tuple[NewArtifact, ...]]:
    """A tool's own work outside any transaction: what it gives, and the files that belong to it.

    Raises ToolFailed, Unavailable when the files' store doesn't answer.
    """
    async with Guarded():
        result = await executor.make(store, call)
        files = tuple(result.artifacts) if isinstance(result, Result) else ()
        check_files(files, executor.shelf.most)
        if files and call.tool.effect_class is not EffectClass.LOCAL:
            raise ToolFailed("result_invalid", "a tool that makes files is of effect class `local`")
    return _checked(bound, call.tool, result.output if isinstance(result, Result) else result), files


async def observe(executor: Executor, tx: Tx, bound: Compiled, call: Call) -> Outcome:
    """A tool of class `none`, in a read-only snapshot. Raises ToolFailed."""
    async with Guarded():
        result = await executor.call(tx, call)
    return _checked(bound, call.tool, result)


async def observe_outside(outside: Outside, bound: Compiled, call: Call) -> Outcome:
    """The same of somebody else's server: nothing is changed there, so nothing is open meanwhile.

    Raises ToolFailed.
    """
    key = effect_key(call.run.id, call.index)
    seconds = call.tool.timeout_seconds
    try:
        request = outside.request(call, key)
    except ToolRefused as error:
        raise ToolFailed(error.code, error.detail) from None
    try:
        async with asyncio.timeout(seconds):
            told = await outside.send(Sending(call.tool, key, request, 1, seconds))
    except TimeoutError:
        raise ToolFailed("timeout", "no answer in time") from None
    if told.heard is not Heard.COMPLETED:
        raise ToolFailed(told.code or "tool_failed", told.detail)
    return _checked(bound, call.tool, told.result)


def _checked(bound: Compiled, tool: Tool, result: Any) -> Outcome:
    """A result is an observation only once it fits the output schema. Raises ToolFailed result_invalid."""
    try:
        plain = canonical.loads(canonical.dumps(result))
    except ValueError:
        raise ToolFailed("result_invalid", "the result is no JSON") from None
    faults = bound.outputs[tool.name].faults(plain)
    if faults:
        detail = "; ".join(f"{fault.pointer or '/'}: {fault.detail}" for fault in faults)
        raise ToolFailed("result_invalid", detail[:1000])
    return Outcome(EffectState.COMPLETED, plain)


def tell_failure(failed: ToolFailed, run_id: UUID) -> None:
    """Log what a tool raised: outside every transaction, since rendering a traceback takes time."""
    code = failed.outcome.error["code"] if failed.outcome.error else ""
    log.error("tool.failed", run_id=str(run_id), code=code, exc_info=failed.__cause__)


class Guarded:
    """Around the tool's own code: what it raises is its failure, what the database says is the database's."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if error is None or not isinstance(error, Exception) or isinstance(error, FailpointError):
            return
        if isinstance(error, PreconditionChanged):
            raise Conflict("precondition_changed", "what was approved isn't so any more") from None
        if isinstance(error, ToolRefused):
            raise ToolFailed(error.code, error.detail) from None
        if isinstance(error, TimeoutError):
            raise OutOfTime from None
        if isinstance(error, ArtifactsUnavailable):
            raise Unavailable("the files' store") from error
        if isinstance(error, DBAPIError):
            _check_database(error)
        if isinstance(error, FenceLost | Unavailable | ToolFailed):
            return
        raise ToolFailed("tool_failed", "the tool failed; nothing was done") from error


def _check_database(error: DBAPIError) -> None:
    """Re-raise what isn't the tool's fault; return for what is (a constraint, a bad value)."""
    if sqlstate(error) == CANCELED_BY_TIMEOUT:
        raise OutOfTime from None
    if is_retryable(error) or isinstance(domain_error(error), Unavailable):
        raise error
