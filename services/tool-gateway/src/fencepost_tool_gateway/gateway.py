"""What every request of this service needs, built once in main and passed down."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from fencepost_domain.errors import FenceLost
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.ports import Clock, Ids
from fencepost_domain.run import Run, check_fence
from fencepost_domain.vocabulary import RunMode
from fencepost_runtime.keys import KeyRing
from fencepost_runtime.system import SystemClock
from fencepost_store.actions import tenant_of_run
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store

from fencepost_tool_gateway.catalog import Catalogs
from fencepost_tool_gateway.problems import Refused

MOST_TENANTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Gateway:
    """boot: this process's id, which its attempts carry. actor: how its events are signed.

    sending: what is on its way out; a stop waits for it. making: what takes its time, by fence and place.
    """

    store: Store
    catalogs: Catalogs
    keys: KeyRing
    ids: Ids
    boot: str
    clock: Clock = field(default_factory=SystemClock)
    sending: set[asyncio.Task[None]] = field(default_factory=set)
    making: dict[tuple[str, int, int], asyncio.Task[Any]] = field(default_factory=dict)
    ring: Callable[[], None] = field(default=lambda: None)  # the reconciler is told that a task ended
    _tenants: OrderedDict[UUID, UUID] = field(default_factory=OrderedDict)

    @property
    def actor(self) -> str:
        return f"gateway:{self.boot}"

    async def tenant_of(self, run_id: UUID) -> UUID:
        """A run's tenant never changes, so it is asked once. Raises FenceLost when there is no such run."""
        known = self._tenants.get(run_id)
        if known is None:
            async with self.store.transaction() as tx:
                known = await tenant_of_run(tx, run_id)
            if known is None:
                raise FenceLost(run_id, "there is no such run")
            self._tenants[run_id] = known
            while len(self._tenants) > MOST_TENANTS:
                self._tenants.popitem(last=False)
        return known


def check_start(locked: Locked, fence: Fence) -> Run:
    """The run, when something new may be started for it: live mode, and the start fence holds.

    Raises Refused simulation, FenceLost.
    """
    if locked.run.mode is not RunMode.LIVE:
        raise Refused("simulation", "a simulation may not touch the world")
    check_fence(locked.run, fence, FenceKind.START, locked.now)
    return locked.run
