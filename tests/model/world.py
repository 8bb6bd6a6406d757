"""One database under the model's hands: the services' own steps, what the rows say, and time moved by decree.

A hand is a claim that some worker got once. It is never told that it lost its run: every old hand is a
zombie that may try anything at any time. What a hand may still do is predicted here from the row alone, in
words of its own (`holds`), so that the code's fence is compared with the protocol and not with itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

import psycopg
from fencepost_domain.errors import FencepostError
from fencepost_domain.fence import Fence
from fencepost_domain.lease import owner_of
from fencepost_domain.vocabulary import TERMINAL
from fencepost_reconciler.loops.deadlines import Deadlines
from fencepost_reconciler.loops.drain import Drain
from fencepost_reconciler.loops.expire_interrupts import ExpireInterrupts
from fencepost_reconciler.loops.expire_leases import ExpireLeases
from fencepost_reconciler.loops.paused_until import PausedUntil
from fencepost_reconciler.loops.settle_effects import SettleEffects
from fencepost_reconciler.loops.wake_runs import WakeRuns
from fencepost_store.checkpoints import GroupConnection
from fencepost_store.claims import Claim, claim
from psycopg.rows import dict_row

from tests.support.lives import MODULE, Lives, living
from tests.support.postgres import Database

T = TypeVar("T")
Row = Mapping[str, Any]
LONG: Final = timedelta(hours=1)  # a lease that ends only by decree
ENDED: Final = frozenset(str(status) for status in TERMINAL)
PERSON: Final = frozenset({"approval", "input", "reconcile", "version"})

# Everything that a refused write must leave as it was, in one statement: the row whole, the rest counted.
_LOOK: Final = """
SELECT r.id, to_jsonb(r) AS row, r.status, r.revision, r.lease_owner, r.waiting_on, r.wakes, r.pause_asked,
       coalesce(r.lease_expires_at > clock_timestamp(), false) AS leased,
       r.deadline_at <= clock_timestamp() AS late, r.deadline_at < 'infinity' AS timed,
       (SELECT count(*) FROM agent.run_events e WHERE e.run_id = r.id) AS events,
       (SELECT count(*) FROM agent.finalizations f WHERE f.run_id = r.id AND f.status = r.status) AS ends,
       (SELECT count(*) FROM langgraph.checkpoints c WHERE c.run_id = r.id) AS checkpoints,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('id', i.id, 'kind', i.kind, 'status', i.status)
                                  ORDER BY i.id), '[]')
          FROM agent.interrupts i WHERE i.run_id = r.id) AS interrupts,
       (SELECT coalesce(jsonb_agg(t.state ORDER BY t.effect_key, t.attempt), '[]')
          FROM agent.effect_attempts t WHERE t.run_id = r.id) AS attempts,
       (SELECT coalesce(jsonb_agg(a.status ORDER BY a.index, a.n), '[]')
          FROM agent.actions a WHERE a.run_id = r.id) AS actions
  FROM agent.runs r
"""


@dataclass(frozen=True, slots=True)
class Hand:
    """A claim as its worker remembers it. drains: it was told to stop, `claim` has the cancel's revision."""

    claim: Claim
    drains: bool = False

    @property
    def run_id(self) -> UUID:
        return self.claim.run.id

    @property
    def fence(self) -> Fence:
        return self.claim.fence


class Over:
    """The grace after an outage, over: there was none."""

    def answered(self) -> None: ...

    def failed(self) -> None: ...

    def is_over(self) -> bool:
        return True


def owns(row: Row, hand: Hand) -> bool:
    return (row["lease_owner"], row["revision"]) == (hand.fence.owner, hand.fence.revision)


def may_record(row: Row, hand: Hand) -> bool:
    """The record fence, as design 02 §2 words it."""
    return row["status"] == "running" and owns(row, hand) and row["leased"]


def may_start(row: Row, hand: Hand) -> bool:
    return may_record(row, hand) and not row["late"]


def may_drain(row: Row, hand: Hand) -> bool:
    return row["status"] == "cancelling" and owns(row, hand) and row["leased"]


def open_question(row: Row) -> Row | None:
    return next((one for one in row["interrupts"] if one["status"] == "open"), None)


class World:
    """Services, an onlooker with a superuser's eyes, and a loop of its own."""

    def __init__(self, database: Database) -> None:
        self.loop = asyncio.new_event_loop()
        self.onlooker = psycopg.connect(database.admin, autocommit=True, row_factory=dict_row)
        self.onlooker.prepare_threshold = 1
        self._living = living(database)
        self.lives: Lives = self.do(self._living.__aenter__())
        self.group = GroupConnection(database.dsn("worker"))
        self.boots = {"slot-1": 1, "slot-2": 1}
        store = self.lives.reconciler
        grace: Any = Over()
        self.sweeps = {
            "leases": ExpireLeases(store, grace),
            "waits": WakeRuns(store),
            "drain": Drain(store, grace),
            "deadlines": Deadlines(store),
            "interrupts": ExpireInterrupts(store),
            "pauses": PausedUntil(store),
            "effects": SettleEffects(store),
        }

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def attempt(self, work: Coroutine[Any, Any, T]) -> T | FencepostError:
        """What came of it, or how it was refused."""
        try:
            return self.do(work)
        except FencepostError as refused:
            return refused

    def look(self) -> dict[UUID, Row]:
        rows = self.onlooker.execute(_LOOK).fetchall()
        return {row["id"]: row for row in rows}

    def decree(self, statement: str, *params: Any) -> None:
        """Time passes for one row: the only thing that is done behind the services' backs."""
        self.onlooker.execute(statement, params)  # type: ignore[call-overload]

    def owner(self, slot: str) -> str:
        return owner_of(slot, f"boot-{self.boots[slot]}")

    def claim(self, owner: str, limit: int) -> list[Claim]:
        async def work() -> list[Claim]:
            async with self.lives.worker.transaction() as tx:
                nonce = tx.ids.uuid7()
                return await claim(
                    tx, module=MODULE, versions=[], owner=owner, lease=LONG, limit=limit, nonce=nonce
                )

        return self.do(work())

    def sweep(self, name: str) -> dict[str, int]:
        done = self.do(self.sweeps[name].run_once())
        assert "failed" not in done, f"{name}: a candidate failed"
        return done

    def close(self) -> None:
        try:
            self.do(self.group.drop())
            self.do(self._living.__aexit__(None, None, None))
        finally:
            self.onlooker.close()
            self.loop.close()
