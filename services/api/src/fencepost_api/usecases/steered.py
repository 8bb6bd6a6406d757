"""What a person asks of a run that is there: under its row's lock, in one transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from fencepost_store import views
from fencepost_store.runs import Locked, lock_run
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.render import Row


async def steer(api: Api, caller: Caller, run_id: UUID, ask: Callable[[Tx, Locked], Awaitable[None]]) -> Row:
    """The run as it is after `ask`, committed. Raises NotFound, also for another's, and what `ask` raises."""

    async def work(tx: Tx) -> Row:
        await views.run_access(tx, run_id, None if caller.oversees else caller.user_id)
        await ask(tx, await lock_run(tx, run_id))
        return await views.run(tx, run_id)

    row = await api.store.run(caller.tenant_id, work)
    api.runs.touch(run_id)
    return row
