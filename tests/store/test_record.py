"""The one write door: what it changes and refuses, and what is true together (I01, I04, I06, I20, I21)."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from fencepost_domain.decision import Decision, Finalization, FinalMessage, NewEvent, NewOutbox
from fencepost_domain.errors import Conflict, FencepostError, IllegalTransition, NotFound
from fencepost_domain.run import RESUMABLE
from fencepost_domain.transitions import RUN_TRANSITIONS, check_transition
from fencepost_domain.vocabulary import TERMINAL, Ev, Reason, Role, RunEvent, RunStatus
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.storable import as_json

from tests.support.lives import OTHER_TENANT, TENANT, Lives

ALLOWED = {(t.event, t.before, t.after) for t in RUN_TRANSITIONS}
PAIRS = {(t.before, t.after, role) for t in RUN_TRANSITIONS for role in t.roles}
S = RunStatus


# ── I06: everything that the table does not have ────────────────────────────────────────────────────


def test_i06_every_step_absent_from_the_table_is_refused() -> None:
    """The product of the enums, less the table."""
    product = set(itertools.product(RunEvent, RunStatus, RunStatus))
    for event, before, after in product - ALLOWED:
        with pytest.raises(IllegalTransition):
            check_transition(event, before, after)
    for event, before, after in ALLOWED:
        check_transition(event, before, after)
    assert len(product) == len(RunEvent) * len(RunStatus) ** 2


def test_i06_terminal_is_for_ever() -> None:
    assert {before for _, before, _ in ALLOWED} == set(RunStatus) - TERMINAL


async def test_i06_the_database_has_the_same_table(lives: Lives) -> None:
    rows = await lives.sql("SELECT event, from_status, to_status, role FROM agent.run_transitions")
    stored = {(r["event"], r["from_status"], r["to_status"], r["role"]) for r in rows}
    assert stored == {
        (str(t.event), str(t.before), str(t.after), str(role)) for t in RUN_TRANSITIONS for role in t.roles
    }


async def test_i06_the_database_refuses_each_pair_that_no_role_has(lives: Lives) -> None:
    """All pairs of statuses for all four roles, tried on a real row."""
    run_id = await lives.queued()
    wrong: list[str] = []
    async with await psycopg.AsyncConnection.connect(lives.database.admin) as connection:
        await connection.execute("ALTER TABLE agent.runs DISABLE ROW LEVEL SECURITY")
        await connection.execute(
            "GRANT UPDATE ON agent.runs TO fencepost_gateway"
        )  # the trigger, not the grant
        checks = await connection.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = 'agent.runs'::regclass AND contype = 'c'"
        )
        for (name,) in await checks.fetchall():
            await connection.execute(f'ALTER TABLE agent.runs DROP CONSTRAINT "{name}"')
        for before, role in itertools.product(RunStatus, Role):
            await connection.execute("RESET ROLE")
            await connection.execute("SET session_replication_role = replica")
            await connection.execute("UPDATE agent.runs SET status = %s WHERE id = %s", [str(before), run_id])
            await connection.execute("SET session_replication_role = origin")
            await connection.execute(f"SET ROLE fencepost_{role}")
            for after in set(RunStatus) - {before}:
                await connection.execute("SAVEPOINT tried")
                try:
                    await connection.execute(
                        "UPDATE agent.runs SET status = %s, revision = revision + 1 WHERE id = %s",
                        [str(after), run_id],
                    )
                    done = True
                except psycopg.Error as refused:
                    assert refused.sqlstate == "FP001"
                    done = False
                await connection.execute("ROLLBACK TO tried")
                if done is not ((before, after, role) in PAIRS):
                    wrong.append(f"{role}: {before} to {after} {'went through' if done else 'was refused'}")
        await connection.rollback()
    assert wrong == []


async def test_i04_the_revision_moves_with_the_status_and_never_else(lives: Lives) -> None:
    run_id = await lives.queued()
    for change in (
        "status = 'cancelled'",  # a change without the revision
        "revision = revision + 1",  # the revision without a change
        "status = 'running', revision = revision + 2",
        "status = 'running', revision = revision - 1",
    ):
        with pytest.raises(psycopg.Error) as refused:
            await lives.sql(f"UPDATE agent.runs SET {change} WHERE id = %s", run_id)
        assert refused.value.sqlstate in ("FP001", "23514")


async def test_i04_every_change_of_status_raises_the_revision_by_one(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    seen = [held.run.revision, (await lives.run(held.run.id))["revision"]]
    seen.append((await lives.append(held.run.id)).revision)  # no change of status
    await lives.resolve(interrupt_id)
    seen.append((await lives.run(held.run.id))["revision"])
    [again] = await lives.claim()
    seen += [again.run.revision, (await lives.finalize(again)).revision]
    assert seen == [1, 2, 2, 3, 4, 5]


async def test_i06_a_terminal_run_without_its_finalization_cannot_commit(lives: Lives) -> None:
    run_id = await lives.queued()
    with pytest.raises(IllegalTransition):
        async with lives.api.transaction(TENANT) as tx:
            await tx.connection.exec_driver_sql(
                "UPDATE agent.runs SET status = 'cancelled', stop = 'cancel', revision = revision + 1,"
                " finished_at = now() WHERE id = %s",
                (run_id,),
            )
    assert await lives.status(run_id) == "queued"


async def test_i06_a_second_end_is_refused_and_changes_nothing(lives: Lives) -> None:
    held = await lives.claimed()
    await lives.finalize(held)
    before = await lives.sql("SELECT * FROM agent.finalizations")
    with pytest.raises(FencepostError):
        await lives.finalize(held, RunStatus.FAILED)
    with pytest.raises(Conflict):
        await lives.cancel(held.run.id)
    assert await lives.sql("SELECT * FROM agent.finalizations") == before
    with pytest.raises(psycopg.Error):
        await lives.sql("UPDATE agent.finalizations SET reason = 'no_progress'")


# ── what is true together ───────────────────────────────────────────────────────────────────────────


async def test_i21_an_end_its_event_and_its_message_are_one_transaction(lives: Lives) -> None:
    held = await lives.claimed()
    await lives.finalize(held)
    [message] = await lives.sql("SELECT * FROM agent.messages WHERE author = 'assistant'")
    assert (message["run_id"], message["seq"]) == (held.run.id, 2)
    assert (await lives.event_types(held.run.id))[-2:] == ["message.completed", "run.finalized"]
    [row] = await lives.sql("SELECT holder_run_id FROM agent.conversations")
    assert row["holder_run_id"] is None
    feed = [line["kind"] for line in await lives.sql("SELECT kind FROM agent.feed ORDER BY id")]
    assert feed[-2:] == ["message.created", "run.status"]


async def test_what_fails_in_the_middle_leaves_nothing(lives: Lives) -> None:
    """A second final message: the run, its events and its outbox stay as they were."""
    held = await lives.claimed()
    before = (await lives.run(held.run.id), await lives.event_types(held.run.id))
    message = FinalMessage(lives.ids.uuid7(), "twice")
    finalization = Finalization(RunStatus.FAILED, Reason.NO_PROGRESS, "x", "worker")
    decision = Decision(
        RunEvent.FINALIZED,
        RunStatus.FAILED,
        sets={"lease_owner": None, "lease_expires_at": None, "claim_nonce": None},
        finalization=finalization,
        message=message,
    )
    with pytest.raises(Conflict):
        async with lives.worker.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            await tx.execute(
                "insert_message",
                {
                    "id": tx.ids.uuid7(),
                    "conversation_id": locked.run.conversation_id,
                    "tenant_id": TENANT,
                    "user_id": locked.run.user_id,
                    "run_id": locked.run.id,
                    "author": "assistant",
                    "text": "first",
                    "artifacts": "[]",
                },
            )
            await record(tx, locked.run, decision)
    assert (await lives.run(held.run.id), await lives.event_types(held.run.id)) == before
    assert await lives.violations() == []


async def test_a_decision_on_a_row_that_changed_is_refused(lives: Lives) -> None:
    run_id = await lives.queued()
    async with lives.api.transaction(TENANT) as tx:
        seen = await lock_run(tx, run_id)
    await lives.claim()
    with pytest.raises(Conflict, match="is not what it was"):
        async with lives.api.transaction(TENANT) as tx:
            await record(tx, seen.run, Decision(None, events=(NewEvent(tx.ids.uuid7(), Ev.NODE_FAILED),)))


async def test_only_listed_columns_can_be_set(lives: Lives) -> None:
    run_id = await lives.queued()
    with pytest.raises(KeyError):
        async with lives.reconciler.transaction() as tx:
            locked = await lock_run(tx, run_id)
            await record(tx, locked.run, Decision(None, sets={"tenant_id": OTHER_TENANT}))


async def test_another_tenants_run_is_not_there(lives: Lives) -> None:
    run_id = await lives.queued()
    with pytest.raises(NotFound):
        async with lives.api.transaction(OTHER_TENANT) as tx:
            await lock_run(tx, run_id)


async def test_an_event_is_appended_once_under_its_id(lives: Lives) -> None:
    """What a writer asks for when its answer was lost."""
    run_id, event_id = await lives.queued(), uuid4()

    async def append() -> None:
        async with lives.reconciler.transaction() as tx:
            locked = await lock_run(tx, run_id)
            event = NewEvent(event_id, Ev.TOOL_REFUSED, {"tool": "x"})
            hint = NewOutbox(RESUMABLE, locked.run.module)
            await record(tx, locked.run, Decision(None, events=(event,), outbox=(hint,)))

    await append()
    with pytest.raises(Conflict) as refused:
        await append()
    assert refused.value.code == "event_exists"
    hints = await lives.sql("SELECT count(*) AS n FROM agent.outbox WHERE event_type = %s", RESUMABLE)
    assert hints == [{"n": 1}]


async def test_ev7_a_nul_in_text_is_replaced_visibly(lives: Lives) -> None:
    held = await lives.claimed(text="a\x00b \\u0000")
    [said] = await lives.sql("SELECT text FROM agent.messages")
    assert said["text"] == "a\ufffdb \\u0000"
    assert (await lives.run(held.run.id))["status"] == "running"


def test_ev7_only_what_cannot_be_stored_is_replaced() -> None:
    given = {"a\x00": ["x\ud800y", "\\u0000", 1, None, {"deep": "\x00"}], "😀": "\U0001f600"}
    assert json.loads(as_json(given)) == {
        "a\ufffd": ["x\ufffdy", "\\u0000", 1, None, {"deep": "\ufffd"}],
        "😀": "\U0001f600",
    }


# ── EV-4, on several processes ──────────────────────────────────────────────────────────────────────


async def test_ev4_sixteen_appends_from_four_processes_make_one_chain(lives: Lives) -> None:
    """By the api's role, the worker's, the gateway's and the reconciler's, all at the same moment."""
    run_id = await lives.queued()
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.support.append_many", lives.database.dsn(str(role))),
            *(str(TENANT), str(run_id), "4"),
            cwd=Path(__file__).parents[2],
            stdin=asyncio.subprocess.PIPE,
        )
        for role in Role
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
    assert [await process.wait() for process in processes] == [0] * 4
    rows = await lives.sql(
        "SELECT seq, prev_hash FROM agent.run_events WHERE run_id = %s ORDER BY seq", run_id
    )
    assert [row["seq"] for row in rows] == list(range(1, 18))
    assert len({bytes(row["prev_hash"]) for row in rows}) == 17
    assert await lives.violations() == []


def test_statuses_have_no_strangers() -> None:
    assert {S.QUEUED, S.RUNNING, S.WAITING, S.PAUSED, S.CANCELLING} | TERMINAL == set(S)
