"""Every invariant that tables can show, checked on a live database (design 03).

One REPEATABLE READ, READ ONLY transaction, so that what changes meanwhile never looks like a violation;
rows are streamed, no run is in memory whole. The fault suite runs it after every injected crash,
`fencepost verify` for operators. What tables can't show is checked against the scripted providers' logs.
"""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from fencepost_domain.chain import anchor_signature
from psycopg.rows import dict_row

from fencepost_store.integrity_chain import CHAIN_CHECKS, EVERY_ID, Violation, chain_violations
from fencepost_store.raw import raw
from fencepost_store.transaction import Tx

Connection = psycopg.AsyncConnection[dict[str, Any]]
MOST_PER_CHECK: Final = 200  # an operator needs the first ones; a broken database may have millions
BATCH_ROWS: Final = 2_000  # rows fetched at once by a cursor

# Check -> the invariant it shows. Each is a statement of sql/integrity.sql that returns (subject, detail).
SQL_CHECKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "i01_run_has_first_event": "I01",
        "i01_run_has_hint": "I01",
        "i01_nothing_without_its_run": "I01",
        "i02_one_run_per_key": "I02",
        "i03_thread_is_run": "I03",
        "i04_lease_fits_status": "I04",
        "i06_one_finalization_per_end": "I06",
        "i06_success_is_settled": "I06",
        "i08_somebody_looks_after_it": "I08",
        "i08_due_run_was_told": "I08",
        "i10_one_open_attempt": "I10",
        "i10_effect_fits_its_attempts": "I10",
        "i10_nothing_unknown_is_forgotten": "I10",
        "i10_person_gave_evidence": "I10",
        "i10_task_follows_its_effect": "I10",
        "i10_compensation_has_its_run": "I10",
        "i11_completion_has_its_event": "I11",
        "i12_attempt_was_approved": "I12",
        "i12_approval_is_stored": "I12",
        "i12_votes_make_the_decision": "I12",
        "i13_rejected_is_never_tried": "I13",
        "i13_grant_uses_within_limits": "I13",
        "i13_link_decided_once": "I13",
        "i15_gate_let_it_through": "I15",
        "i16_bound_versions_exist": "I16",
        "i17_asked_once": "I17",
        "i17_end_asks_nothing": "I17",
        "i21_one_final_message": "I21",
        "i22_no_attempt_after_the_stop": "I22",
        "i22_open_attempts_are_named": "I22",
        "i23_budget_is_what_was_used": "I23",
        "i27_tenants_agree": "I27",
        "i31_fired_once": "I31",
        "i11_state_log_is_whole": "I11",
        "i11_state_is_its_fold": "I11",
        "i11_state_change_has_its_event": "I11",
        "i20_erased_is_no_loss": "I20",
        "i29_versions_have_one_owner": "I29",
        "i30_committed_is_what_was_checked": "I30",
        "conversation_holder_is_at_work": "I08",
        "conversation_is_in_order": "I21",
    }
)
BUSINESS_CHECK: Final = "i11_business_row_has_its_effect"
SIGNATURE_CHECK: Final = "i20_anchors_are_signed"  # only where the keys are at hand
CHECKS: Final = (*SQL_CHECKS, BUSINESS_CHECK, *CHAIN_CHECKS, SIGNATURE_CHECK)


class CannotRead(Exception):
    """The role may not read a table that has to be checked: nothing would be proven."""


async def check_invariants(dsn: str, anchor_keys: Mapping[str, bytes] | None = None) -> list[Violation]:
    """All violations, at most 200 a check, by check. Empty: everything that was checked holds.

    dsn: of a role that sees every tenant (the owner, or fencepost_reconciler). anchor_keys: by key id;
    without them anchors are compared with the chains, and their signatures believed. Raises CannotRead.
    """
    async with _snapshot(dsn) as connection:
        found: list[Violation] = []
        for check, invariant in SQL_CHECKS.items():
            found += [v async for v in _by_sql(connection, check, invariant, raw(check))]
        found += [v async for v in _business_rows(connection)]
        counts: dict[str, int] = {}
        async for violation in chain_violations(_chain_rows(connection, *EVERY_ID)):
            counts[violation.check] = counts.get(violation.check, 0) + 1
            if counts[violation.check] <= MOST_PER_CHECK:
                found.append(violation)
        if anchor_keys is not None:
            found += [v async for v in _signatures(connection, anchor_keys)]
        return found


@asynccontextmanager
async def _snapshot(dsn: str) -> AsyncIterator[Connection]:
    """One snapshot of the whole database, without the role's short time limits: this reads for long."""
    async with await psycopg.AsyncConnection.connect(
        dsn, row_factory=dict_row, prepare_threshold=None, application_name="fencepost-verify"
    ) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        await connection.set_read_only(True)
        for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            await connection.execute(f"SET LOCAL {limit} = 0")
        yield connection


async def _by_sql(
    connection: Connection, check: str, invariant: str, statement: LiteralString
) -> AsyncIterator[Violation]:
    cursor = await connection.execute(f"{statement}\n LIMIT {MOST_PER_CHECK}", {})
    async for row in cursor:
        yield Violation(invariant, check, row["subject"], row["detail"])


async def _business_rows(connection: Connection) -> AsyncIterator[Violation]:
    """Over every table of schema app that names the effect which wrote its rows, whatever module it is of."""
    cursor = await connection.execute(raw("tables_with_effects"), {})
    tables = ""
    for row in await cursor.fetchall():
        if not row["readable"]:
            raise CannotRead(f"{row['place']} has to be checked and this role may not read it")
        place = row["place"]  # quoted by format('%I'): a name, never a value
        tables += f" UNION ALL SELECT tenant_id, origin_effect_key, '{place}' FROM {place}"  # noqa: S608
    statement = raw(BUSINESS_CHECK, tables=tables)
    async for violation in _by_sql(connection, BUSINESS_CHECK, "I11", statement):
        yield violation


async def _signatures(connection: Connection, keys: Mapping[str, bytes]) -> AsyncIterator[Violation]:
    async with connection.cursor(name="anchors") as cursor:
        cursor.itersize = BATCH_ROWS
        await cursor.execute(raw("signed_anchors"), {})
        async for row in cursor:
            key = keys.get(row["key_id"])
            signed = anchor_signature(key, row["run_id"], row["seq"], bytes(row["hash"])) if key else None
            if signed is None or not hmac.compare_digest(signed, bytes(row["signature"])):
                fault = "signed by another key" if key else f"signed by {row['key_id']}, which is not known"
                yield Violation("I20", SIGNATURE_CHECK, f"run {row['run_id']} seq {row['seq']}", fault)


async def _chain_rows(connection: Connection, after: UUID, upto: UUID) -> AsyncIterator[dict[str, Any]]:
    async with connection.cursor(name="chains") as cursor:
        cursor.itersize = BATCH_ROWS
        await cursor.execute(raw("chains"), {"after": after, "upto": upto})
        async for row in cursor:
            yield row


async def next_runs(tx: Tx, after: UUID, batch: int) -> tuple[UUID | None, int]:
    """The last of the next `batch` run ids after `after`, and how many they are; (None, 0) at the end."""
    step = await tx.row("next_runs_to_verify", after=after, batch=batch)
    return (step["upto"], step["runs"]) if step is not None else (None, 0)


async def chains_between(tx: Tx, after: UUID, upto: UUID) -> list[Violation]:
    """What is broken in the chains of the runs after `after` up to `upto`, in one statement's snapshot."""
    rows = await tx.rows("chains", after=after, upto=upto)

    async def each() -> AsyncIterator[Mapping[str, Any]]:
        for row in rows:
            yield dict(row)

    return [violation async for violation in chain_violations(each())]
