"""Every mutant by name: what it changes, and which named checks have to notice (issue 3, point 5)."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import check_fence
from fencepost_store import model_calls
from fencepost_store import outbox as outbox_store
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store, Tx

from tests.mutants import checks
from tests.mutants.mutants_effects import EFFECTS, TOKENS
from tests.mutants.mutants_outside import OUTSIDE
from tests.mutants.mutate import Mutant, Text, functions, schema, texts, together
from tests.services.reconciler import test_expire_leases
from tests.store import test_races_claims as claims
from tests.store import test_races_fence as fences
from tests.store import test_races_log as log

# ── the fence, in the two statements that carry it whole ────────────────────────────────────────────────

_IN_RECORD: Final = {
    "status": (
        Text("record_run", "WHERE status = :from_status\n       AND revision", "WHERE revision"),
        Text("record_run", "WHEN 'record' THEN status = 'running' AND ", "WHEN 'record' THEN "),
    ),
    "owner": (Text("record_run", "'running' AND lease_owner = :owner AND", "'running' AND"),),
    "revision": (Text("record_run", "AND revision = :from_revision", ""),),
    "expiry": (
        Text("record_run", "= :owner AND lease_expires_at > clock_timestamp()", "= :owner"),
    ),
}  # fmt: skip
_IN_GROUP: Final = {
    "status": Text("write_group", "WHERE h.status = 'running'\n       AND h.revision", "WHERE h.revision"),
    "owner": Text("write_group", "AND h.lease_owner = a.owner", ""),
    "revision": Text("write_group", "AND h.revision = a.revision", ""),
    "expiry": Text("write_group", "AND h.lease_expires_at > clock_timestamp()", ""),
}
FENCE: Final = [
    *(
        Mutant(f"record: fence without {part}", texts(*changes), partial(_check, part=part))
        for _check in (fences.record_refuses_a_lost_fence,)
        for part, changes in _IN_RECORD.items()
    ),
    *(
        Mutant(f"group writer: fence without {part}", texts(change), partial(_check, part=part))
        for _check in (fences.group_writer_refuses_a_lost_fence,)
        for part, change in _IN_GROUP.items()
    ),
]


# The start fence of a model call, as it stands in its one statement.
_START: Final = (
    "status = 'running'\n       AND revision = :revision\n       AND lease_owner = :owner\n"
    "       AND lease_expires_at > clock_timestamp()\n       AND deadline_at > clock_timestamp()"
)


def _in_an_earlier_transaction(open_call: Any) -> Any:
    """The fence is judged, and its lock let go, before the statement that writes."""

    async def opened(tx: Tx, fence: Fence, new: Any) -> Any:
        async with Store(tx.connection.engine, tx.ids).transaction(tx.tenant_id) as earlier:
            locked = await lock_run(earlier, fence.run_id)
            check_fence(locked.run, fence, FenceKind.START, locked.now)
        return await open_call(tx, fence, new)

    return opened


_UNFENCED_START: Final = (
    Text("open_model_call", _START, "true"),
    Text("open_model_call", "FOR NO KEY UPDATE", ""),
)
LOCKS: Final = [
    Mutant(
        "FOR KEY SHARE instead of the run's lock",
        texts(Text("open_model_call", "FOR NO KEY UPDATE", "FOR KEY SHARE")),
        fences.test_i07_a_write_that_took_the_row_first_makes_the_take_over_wait,
    ),
    Mutant(
        "fence checked in an earlier transaction",
        together(
            functions((model_calls, "open_call", _in_an_earlier_transaction)), texts(*_UNFENCED_START)
        ),
        fences.test_i07_a_write_that_took_the_row_first_makes_the_take_over_wait,
    ),
    Mutant(
        "a start without its fence",
        texts(Text("open_model_call", _START, "true")),
        fences.test_i07_a_write_that_takes_the_row_after_the_take_over_is_refused,
    ),
    Mutant(
        "expiry sweep without revision",
        texts(*_IN_RECORD["revision"]),
        partial(
            test_expire_leases.test_wf2_a_decision_on_a_stale_list_writes_nothing,
            rival="is claimed by another",
        ),
    ),
    Mutant(
        "chain append without the lock",
        texts(
            Text("lock_run", "FOR NO KEY UPDATE", ""),
            Text("record_run", ":run_id\n       FOR NO KEY UPDATE", ":run_id"),
        ),
        log.appends_from_everywhere_make_one_chain,
    ),
    Mutant(
        "claim lets an older run stand before the conversation's holder",
        texts(Text("claim_runs", "c.holder_run_id = q.id)\n ", "false)\n ")),
        claims.test_i08_a_run_that_comes_back_to_its_conversation_waits_for_the_holder_only,
    ),
]  # fmt: skip


# ── hints and facts ─────────────────────────────────────────────────────────────────────────────────────


def _hint_first(create_run: Any) -> Any:
    """The hint is committed by itself, before the run it speaks of."""

    async def created(tx: Tx, new: Any) -> Any:
        async with Store(tx.connection.engine, tx.ids).transaction(new.tenant_id) as earlier:
            await earlier.connection.exec_driver_sql(
                "INSERT INTO agent.outbox (id, tenant_id, run_id, module, event_type, publish_at)"
                " VALUES (%s, %s, %s, %s, 'agent.run.requested.v1', clock_timestamp())",
                (tx.ids.uuid7(), new.tenant_id, new.id, new.module),
            )
        return await create_run(tx, new)

    return created


def _marked_when_taken(take_due: Any) -> Any:
    async def taken(tx: Tx, **more: Any) -> Any:
        rows = await take_due(tx, **more)
        await outbox_store.mark_published(tx, [row.id for row in rows])
        return rows

    return taken


_HINT = ":event_type, run.traceparent, run.available_at FROM run"
HINTS: Final = [
    Mutant(
        "outbox outside the transaction: after it, and the process died between",
        texts(Text("start_run", _HINT, f"{_HINT} WHERE false")),
        log.a_run_and_its_hint_stand_or_fall_together,
    ),
    Mutant(
        "outbox outside the transaction: before it",
        functions((log, "create_run", _hint_first)),
        log.a_run_and_its_hint_stand_or_fall_together,
    ),
    Mutant(
        "outbox outside the transaction of a wake-up",
        texts(Text("record_run", "AS o (id, module, event_type, publish_at)\n      CROSS JOIN passed p",
                   "AS o (id, module, event_type, publish_at)\n      CROSS JOIN passed p WHERE false")),
        log.work_that_becomes_due_is_told,
    ),
    Mutant(
        "outbox marked before the report",
        functions((outbox_store, "take_due", _marked_when_taken)),
        checks.a_hint_is_marked_only_after_its_report,
    ),
    Mutant(
        "inbox unique constraint dropped",
        schema("ALTER TABLE agent.inbox DROP CONSTRAINT inbox_pkey"),
        checks.a_fact_takes_effect_once,
    ),
    Mutant(
        "run-key unique constraint dropped",
        together(
            schema("ALTER TABLE agent.runs DROP CONSTRAINT runs_one_per_idempotency_key"),
            texts(Text("start_run", "ON CONSTRAINT runs_one_per_idempotency_key", "")),
        ),
        log.twins_get_the_same_run,
    ),
]  # fmt: skip


MUTANTS: Final = [*FENCE, *LOCKS, *HINTS, *EFFECTS, *OUTSIDE, *TOKENS]
