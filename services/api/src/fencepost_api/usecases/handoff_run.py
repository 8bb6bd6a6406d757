"""Hand a run over: it is fenced as a cancel does, and ends `blocked` / `handed_over` with a package."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fencepost_contracts.http_admin import HandoffRequest
from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.vocabulary import Reason, RunStatus, Stop
from fencepost_runtime.failpoints import ahit
from fencepost_store import stuck, views
from fencepost_store.runs import Locked, lock_run
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.handoff import package
from fencepost_api.render import Row
from fencepost_api.usecases.erased import check_not_erased
from fencepost_api.usecases.steered import steer
from fencepost_api.usecases.stop_run import stop


async def handoff_run(api: Api, caller: Caller, run_id: UUID, asked: HandoffRequest) -> Row:
    """The run as it is after the ask; the same again for one being handed over already.

    Raises NotFound, also for another's; Conflict run_finished, run_cancelling (stopped for another reason).
    """

    async def ask(tx: Tx, locked: Locked) -> None:
        run = locked.run
        if run.status is RunStatus.CANCELLING and run.stop is not Stop.HANDOFF:
            raise Conflict("run_cancelling", "the run is being stopped", {"status": str(run.status)})
        await stop(api, tx, caller, run, Stop.HANDOFF, note=asked.note, assignee=asked.assignee)
        await ahit("api.handoff.before_commit")

    row = await steer(api, caller, run_id, ask)
    await ahit("api.handoff.before_response")
    return row


async def handed_over(tx: Tx, caller: Caller, run_id: UUID) -> tuple[Row, dict[str, Any]]:
    """A handed-over run and its package, for its owner, its assignee and operators.

    Raises NotFound for everybody else; Gone run_erased; Conflict not_handed_over while it isn't, or ended
    otherwise.
    """
    row = await views.run(tx, run_id)
    whole = package(row)
    assignee = whole["assignee"] if whole else None
    if not caller.oversees and caller.user_id not in (row["user_id"], assignee):
        raise NotFound("run", run_id)
    check_not_erased(row["input"])
    ended = row["finalization"]
    if whole is None or ended is None or ended["reason"] != Reason.HANDED_OVER:
        raise Conflict("not_handed_over", "hand it over first: POST /v1/runs/{id}/handoff")
    return row, whole


async def to_continue(tx: Tx, caller: Caller, run_id: UUID) -> tuple[Row, dict[str, Any]]:
    """The same, once for all who go on: its row is held, and no run that goes on from it lives or succeeded.

    Raises besides Conflict already_continued.
    """
    await lock_run(tx, run_id)
    row, whole = await handed_over(tx, caller, run_id)
    other = await stuck.continuation_of(tx, run_id)
    if other is not None:
        raise Conflict("already_continued", "a run goes on from it already", {"run_id": str(other)})
    return row, whole
