"""Pruning, partitions, the walk over the chains, and the process as a whole."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from fencepost_domain.errors import Invalid
from fencepost_reconciler.loops.prune import Prune
from fencepost_reconciler.loops.sign_heads import SignHeads
from fencepost_reconciler.loops.verify_chain import VerifyChain
from fencepost_reconciler.main import make_loops
from fencepost_runtime.settings import ReconcilerSettings
from fencepost_runtime.system import SystemClock
from fencepost_runtime.wake import BellEar
from fencepost_runtime.wake.none import SilentPublisher
from fencepost_store import integrity
from fencepost_store.anchors import AnchorKey
from fencepost_store.engine import make_engine
from fencepost_store.integrity_chain import Violation
from fencepost_store.retention import Month, drop_month, old_months
from fencepost_store.sql import statement
from fencepost_store.transaction import Store, Tx
from sqlalchemy import text
from structlog.testing import capture_logs

from tests.support.eventually import eventually
from tests.support.lives import Lives, counts
from tests.support.postgres import Database

OLD = {"agent.feed": "at", "agent.outbox": "published_at", "agent.inbox": "received_at"}


async def test_what_is_past_its_time_is_pruned_and_the_rest_kept(lives: Lives) -> None:
    await lives.queued()
    await lives.queued()
    for consumer in ("a", "b"):
        await lives.sql(
            "INSERT INTO agent.inbox (consumer, event_id) VALUES (%s, %s)", consumer, lives.ids.uuid7()
        )
    for table, column in OLD.items():
        await lives.age(table, column, f"ctid = (SELECT min(ctid) FROM {table})", by="15 days ago")
    before = {table: await size(lives, table) for table in OLD}
    assert counts(await Prune(lives.reconciler).run_once()) == {"feed": 1, "outbox": 1, "inbox": 1}
    assert {table: await size(lives, table) for table in OLD} == {table: n - 1 for table, n in before.items()}
    unpublished = await lives.sql("SELECT count(*) AS n FROM agent.outbox WHERE published_at IS NULL")
    assert unpublished == [{"n": 1}], "what was never published is never pruned"


async def size(lives: Lives, table: str) -> int:
    [row] = await lives.sql(f"SELECT count(*) AS n FROM {table}")
    return int(row["n"])


async def test_partitions_are_made_ahead(lives: Lives) -> None:
    [(name)] = await lives.sql(
        "SELECT max(c.relname) AS name FROM pg_class c WHERE c.relname ~ '^run_events_[0-9]{6}$'"
    )
    await lives.sql(f"DROP TABLE agent.{name['name']}")
    assert counts(await Prune(lives.reconciler).run_once()) == {"partitions": 1}
    await lives.queued()
    assert await size(lives, "agent.run_events_default") == 0


async def test_an_event_outside_every_month_raises_an_alarm(lives: Lives) -> None:
    """A host whose clock is years ahead makes ids of that time."""
    await lives.queued(run_id=UUID("0200f000-0000-7000-8000-000000000001"))
    with capture_logs() as lines:
        await Prune(lives.reconciler).run_once()
    assert "partitions.default_is_used" in {line["event"] for line in lines}
    assert await lives.violations() == []


LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE = datetime(2026, 6, 1, tzinfo=UTC)


async def old_run(lives: Lives, number: int) -> UUID:
    """A run of January 2026 that ended then, in a partition of that month."""
    for table in ("run_events", "run_event_payloads"):
        await lives.sql(
            f"CREATE TABLE IF NOT EXISTS agent.{table}_202601 PARTITION OF agent.{table}"
            " FOR VALUES FROM ('019b76da-a800-0000-0000-000000000000')"
            " TO ('019c167f-cc00-0000-0000-000000000000')"
        )
    run_id = UUID(int=0x019B76DA_B000_7000_8000 << 48 | number)
    await lives.queued(run_id=run_id)
    [held] = await lives.claim()
    await lives.finalize(held)
    await lives.sql(
        "UPDATE agent.runs SET finished_at = created_at + interval '1 second', created_at = %s WHERE id = %s",
        LONG_AGO, run_id,
    )  # fmt: skip
    await lives.sql("UPDATE agent.runs SET finished_at = %s WHERE id = %s", LONG_AGO, run_id)
    return run_id


async def test_i20_an_old_month_of_the_log_goes_whole_and_verify_says_pruned(
    lives: Lives, database: Database
) -> None:
    first, second = [await old_run(lives, number) for number in (1, 2)]
    today = await lives.queued()
    owner = Store(make_engine(database.admin, size=1), lives.ids)
    try:

        async def keepers() -> dict[UUID, str]:
            async with owner.transaction() as tx:
                [month] = await old_months(tx, BEFORE)
            assert (month.name, month.runs) == ("202601", 2)
            return {one.run_id: one.why for one in month.keepers}

        async def drop() -> Month:
            return await drop_month(owner, "202601", BEFORE, actor="operator:test", reason="retention")

        assert await keepers() == {first: "not_anchored", second: "not_anchored"}
        assert not (await drop()).dropped
        await SignHeads(lives.reconciler, AnchorKey("k1", b"k" * 32)).run_once()
        await lives.sql("UPDATE agent.runs SET finished_at = %s WHERE id = %s", BEFORE, second)
        assert await keepers() == {second: "ended_since"}
        await lives.sql("UPDATE agent.runs SET finished_at = %s WHERE id = %s", LONG_AGO, second)
        assert await keepers() == {}
        assert (await drop()).dropped
        async with owner.transaction() as tx:
            assert await old_months(tx, BEFORE) == []
            with pytest.raises(Invalid):
                await old_months(tx, datetime(2999, 1, 1, tzinfo=UTC))
    finally:
        await owner.close()
    assert await size(lives, "agent.run_events") == (await lives.run(today))["event_seq"]
    assert await lives.violations() == []
    [audit] = await lives.sql("SELECT detail FROM agent.audit WHERE what = 'log.dropped'")
    assert audit["detail"] == {"month": "202601", "runs": 2, "reason": "retention"}


@pytest.mark.parametrize("name", ["replay_events", "replay_counts", "replay_instants", "view_events"])
async def test_a_runs_log_is_read_from_its_own_month_alone(
    lives: Lives, database: Database, name: str
) -> None:
    """Also under a generic plan, as services have them: other months are pruned when it is executed."""
    run_id = await lives.queued()
    given = {
        "run_id": run_id, "after": 0, "upto": 9, "limit": 5, "only": None, "reads": None, "seqs": [1],
    }  # fmt: skip
    engine = make_engine(database.admin, size=1, generic_plans=True)
    try:
        async with engine.connect() as connection:
            plan = text("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + str(statement(name)))
            lines = [row[0] for row in await connection.execute(plan, given)]
    finally:
        await engine.dispose()
    read = [
        match[1]
        for line in lines
        if (match := re.search(r" on (run_event\w*) ", line + " ")) and "never executed" not in line
    ]
    assert read and {found[-6:] for found in read} == {f"{datetime.now(UTC):%Y%m}"}, lines


async def test_the_walk_finds_an_altered_event_and_starts_again(lives: Lives) -> None:
    runs = [await lives.queued() for _ in range(5)]
    walk = VerifyChain(lives.reconciler, batch=2)
    assert [counts(await walk.run_once()) for _ in range(3)] == [{}] * 3
    await lives.sql("ALTER TABLE agent.run_events DISABLE TRIGGER ALL")
    await lives.sql("UPDATE agent.run_events SET actor = 'user:mallory' WHERE run_id = %s", runs[3])
    with capture_logs() as lines:
        assert [counts(await walk.run_once()) for _ in range(3)] == [{}, {"violations": 1}, {}]
    [line] = [line for line in lines if line["event"] == "integrity.violated"]
    assert (line["check"], line["subject"]) == ("i20_chain_verifies", f"run {runs[3]} seq 1")


async def test_the_walk_goes_on_behind_a_run_that_is_too_long_for_it(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run's history takes longer than the role's statement_timeout: fewer at once, then past it."""
    runs = [await lives.queued() for _ in range(5)]
    seen: list[tuple[object, object]] = []
    real = integrity.chains_between

    async def slow(tx: Tx, after: UUID, upto: UUID) -> list[Violation]:
        seen.append((after, upto))
        if after < runs[2] <= upto:
            await tx.connection.exec_driver_sql("SET LOCAL statement_timeout = 1")
            await tx.connection.exec_driver_sql("SELECT pg_sleep(1)")
        return await real(tx, after, upto)

    monkeypatch.setattr(integrity, "chains_between", slow)
    walk = VerifyChain(lives.reconciler, batch=4)
    done = [counts(await walk.run_once()) for _ in range(8)]
    assert {"too_long": 1} in done
    assert {"failed": 1} not in done
    assert runs[4] in {upto for _, upto in seen}, "the walk went on behind it"


async def test_every_loop_is_wired(lives: Lives) -> None:
    """A loop nobody runs is a state nobody leaves."""
    folder = Path(make_loops.__code__.co_filename).parent / "loops"
    written = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    settings = ReconcilerSettings(database_url="postgresql://nobody@localhost/none")
    ear = BellEar(settings)
    loops = make_loops(lives.reconciler, SilentPublisher(), ear, SystemClock(), settings)
    wired = {loop.name for loop in loops}
    assert wired == written


async def test_the_process_sweeps_answers_probes_and_stops(lives: Lives) -> None:
    lost = await lives.lost()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fencepost_reconciler.main"),
        env={
            **os.environ,
            "FENCEPOST_RECONCILER_DATABASE_URL": lives.database.dsn("reconciler"),
            "FENCEPOST_LEASE_SECONDS": "0.9",
            "FENCEPOST_BEAT_SECONDS": "0.3",
            "FENCEPOST_SWEEP_SECONDS": "0.1",
        },
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        log = ""
        while (ready := re.search(r'"health_port": (\d+)', log)) is None:
            line = (await process.stderr.readline()).decode()
            assert line, log
            log += line
        address = f"http://127.0.0.1:{ready[1]}"
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{address}/healthz")).status_code == 200

            async def ready_now() -> bool:
                return (await client.get(f"{address}/readyz")).status_code == 200

            await eventually(ready_now)

        async def taken() -> bool:
            return await lives.status(lost.run.id) == "queued"

        await eventually(taken)
        process.send_signal(signal.SIGTERM)
        log += (await process.stderr.read()).decode()
        assert await process.wait() == 0, log
        assert "loop.failed" not in log, log
    finally:
        if process.returncode is None:
            process.kill()
