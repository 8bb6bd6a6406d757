"""I20 beyond events: an erasure reaches conversation state and files, and tells itself apart from a loss."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fencepost_domain.state import Change, Operation
from fencepost_reconciler.loops.scan_artifacts import ScanArtifacts
from fencepost_runtime.artifacts import ArtifactMissing, key_of
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_store import artifacts, evidence, recovery, state
from fencepost_store.claims import Claim
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store

from tests.support.lives import TENANT, USER, Lives

SECRET = "my-secret-value"


@pytest.fixture
async def owner(lives: Lives) -> AsyncIterator[Store]:
    store = Store(make_engine(lives.database.admin, size=1), lives.ids)
    yield store
    await store.close()


@pytest.fixture
def files(tmp_path: Path, lives: Lives) -> FilesystemArtifacts:
    return FilesystemArtifacts(tmp_path / "files", lives.ids)


async def write(lives: Lives, held: Claim, key: str, operation: str, value: Any, **more: Any) -> None:
    async with lives.gateway.transaction(TENANT) as tx:
        head = await state.lock_state(tx, held.run.conversation_id, TENANT)
        change = Change(key, Operation(operation), value, **more)
        await state.write_state(tx, head, [change], source="test", run_id=held.run.id, trace_id=None)


async def snapshot(lives: Lives, conversation_id: UUID) -> None:
    """One of the present, as a busy conversation takes it."""
    await lives.sql(
        "INSERT INTO agent.state_snapshots (conversation_id, seq, tenant_id, body, at)"
        " SELECT conversation_id, seq, tenant_id, body, at FROM agent.state_heads WHERE conversation_id = %s",
        conversation_id,
    )


async def erase(owner: Store, run_id: UUID) -> evidence.Erased:
    async with owner.transaction() as tx:
        await evidence.erase_run(tx, run_id, by="operator:test", reason="asked")
        return await evidence.erased_parts(tx, run_id)


async def now(lives: Lives) -> datetime:
    [row] = await lives.sql("SELECT clock_timestamp() AS now")
    at: datetime = row["now"]
    return at


async def state_at(lives: Lives, conversation_id: UUID, at: datetime | None = None) -> state.StateAt:
    async with lives.api.transaction(TENANT) as tx:
        if at is None:
            return await state.present_state(tx, conversation_id)
        return await state.state_at(tx, conversation_id, at)


async def file(
    lives: Lives, files: FilesystemArtifacts, *, run_id: UUID | None = None, data: bytes = SECRET.encode()
) -> UUID:
    new = lives.ids.uuid7()
    await files.put(key_of(TENANT, new), data)
    row = artifacts.NewArtifact(
        new, TENANT, USER, f"{SECRET}.txt", "text/plain", len(data), hashlib.sha256(data).digest(),
        origin="tool" if run_id else "upload", run_id=run_id, evidence={"said": SECRET},
    )  # fmt: skip
    async with lives.gateway.transaction(TENANT) as tx:
        await artifacts.add_artifact(tx, row)
    return new


async def attach(lives: Lives, run_id: UUID, *ids: UUID) -> None:
    await lives.sql(
        "UPDATE agent.runs SET input = input || jsonb_build_object('attachments', CAST(%s AS text[]))"
        " WHERE id = %s",
        [str(one) for one in ids],
        run_id,
    )


async def everything(lives: Lives) -> str:
    tables = await lives.sql("SELECT tablename FROM pg_tables WHERE schemaname IN ('agent', 'langgraph')")
    found = []
    for table in tables:
        name = table["tablename"]
        schema = "langgraph" if name in ("checkpoints", "writes") else "agent"
        found += await lives.sql(f"SELECT to_jsonb(t) AS row FROM {schema}.{name} t")
    return json.dumps(found, default=str)


async def test_i20_what_a_run_wrote_to_the_state_goes_and_so_does_what_was_computed_from_it(
    lives: Lives, owner: Store
) -> None:
    first = await lives.claimed()
    talk = first.run.conversation_id
    await write(lives, first, "plain", "set", SECRET)
    await write(lives, first, "sum", "set", "10")
    await write(lives, first, "notes", "append", SECRET)
    await snapshot(lives, talk)
    between = await now(lives)
    await lives.finalize(first)
    other = await lives.claimed(conversation_id=talk)
    await write(lives, other, "notes", "append", "of the other")  # holds the first run's item too
    await write(lives, other, "sum", "set", "20")  # anew: nothing of the first is in it
    await write(lives, other, "own", "set", "kept")
    await snapshot(lives, talk)
    later = await now(lives)
    await lives.finalize(other)
    assert (await state_at(lives, talk, between)).values["plain"] == SECRET

    gone = await erase(owner, first.run.id)

    assert (gone.values, gone.files) == (4, 0)
    assert SECRET not in await everything(lives)
    assert await lives.violations() == []
    assert dict((await state_at(lives, talk)).values) == {"sum": "20", "own": "kept"}
    before = await state_at(lives, talk, between)
    assert (dict(before.values), before.erased) == ({}, ("notes", "plain", "sum"))
    then = await state_at(lives, talk, later)
    assert (dict(then.values), then.erased) == ({"sum": "20", "own": "kept"}, ("notes", "plain"))
    third = await lives.claimed(conversation_id=talk)
    await write(lives, third, "notes", "append", "new")
    assert (await state_at(lives, talk)).values["notes"] == ["new"]
    assert await lives.violations() == []


async def test_i20_a_value_that_is_gone_without_an_erasure_is_found(lives: Lives, owner: Store) -> None:
    held = await lives.claimed()
    await write(lives, held, "plain", "set", SECRET)
    await lives.finalize(held)
    other = await lives.claimed(conversation_id=held.run.conversation_id)
    await write(lives, other, "other", "set", 1)
    await lives.finalize(other)
    await erase(owner, held.run.id)
    assert await lives.violations() == []
    await lives.sql("ALTER TABLE agent.state_events DISABLE TRIGGER ALL")
    await lives.sql("UPDATE agent.state_events SET new_value = NULL WHERE key = 'other'")
    assert {v.check for v in await lives.violations()} == {"i20_erased_is_no_loss", "i11_state_is_its_fold"}
    await lives.sql("UPDATE agent.state_events SET new_erased_by = %s WHERE key = 'other'", other.run.id)
    found = {v.check: v.detail for v in await lives.violations()}
    assert "whose log doesn't say so" in found["i20_erased_is_no_loss"]


async def test_nothing_is_erased_without_the_verb(lives: Lives) -> None:
    held = await lives.claimed()
    await write(lives, held, "plain", "set", SECRET)
    await snapshot(lives, held.run.conversation_id)
    for statement in (
        "UPDATE agent.state_events SET new_value = NULL",
        "UPDATE agent.state_snapshots SET body = '{}'",
        "DELETE FROM agent.state_events",
    ):
        with pytest.raises(psycopg.Error, match="append-only"):
            await lives.sql(statement)
    await lives.sql("SET fencepost.erasing = 'x'")  # of another session
    with pytest.raises(psycopg.Error, match="append-only"):
        await lives.sql("UPDATE agent.state_events SET new_value = '1'")


async def test_files_of_an_erased_run_go_with_their_names_and_their_bytes(
    lives: Lives, owner: Store, files: FilesystemArtifacts
) -> None:
    held, other = await lives.claimed(), await lives.claimed()
    made = await file(lives, files, run_id=held.run.id)
    given = await file(lives, files)
    shared, unused = await file(lives, files, data=b"shared"), await file(lives, files, data=b"unused")
    await attach(lives, held.run.id, given, shared)
    await attach(lives, other.run.id, shared)
    await lives.finalize(held)
    scan = ScanArtifacts(lives.reconciler, files)

    gone = await erase(owner, held.run.id)

    assert gone.files == 2
    assert await files.read(key_of(TENANT, made)), "the bytes go after the commit, by their list"
    assert await scan.run_once() == {"erased": 2}
    for one in (made, given):
        with pytest.raises(ArtifactMissing):
            await files.read(key_of(TENANT, one))
        async with lives.api.transaction(TENANT) as tx:
            row = await artifacts.artifact(tx, one, USER)
            assert (row["name"], bytes(row["sha256"]), row["evidence"]) == ("", b"", {})
            assert await artifacts.usable_artifacts(tx, USER, [one]) == {one: "erased"}
    for one in (shared, unused):
        assert await files.read(key_of(TENANT, one))
    assert await scan.run_once() == {}, "an erased file is no lost one, and is removed once"
    assert await lives.violations() == []
    again = await erase(owner, held.run.id)
    assert (again.files, again.values) == (0, 0)


async def test_erased_bytes_that_could_not_be_removed_stay_listed(
    lives: Lives, owner: Store, files: FilesystemArtifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = await lives.claimed()
    made = await file(lives, files, run_id=held.run.id)
    await lives.finalize(held)
    await erase(owner, held.run.id)

    async def away(_: str) -> None:
        raise OSError("away")

    with monkeypatch.context() as patched:
        patched.setattr(files, "delete", away)
        with pytest.raises(OSError, match="away"):
            await ScanArtifacts(lives.reconciler, files).run_once()
    assert await ScanArtifacts(lives.reconciler, files).run_once() == {"erased": 1}
    with pytest.raises(ArtifactMissing):
        await files.read(key_of(TENANT, made))
    await lives.sql("ALTER TABLE agent.artifact_removals DISABLE TRIGGER ALL")
    await lives.sql("DELETE FROM agent.artifact_removals")
    assert [v.check for v in await lives.violations()] == ["i20_erased_is_no_loss"]


async def test_the_gate_of_recovery_names_each_file_that_is_gone_once(
    lives: Lives, files: FilesystemArtifacts
) -> None:
    held = await lives.claimed()
    made, given, whole, others = [await file(lives, files, run_id=held.run.id)] + [
        await file(lives, files) for _ in range(3)
    ]
    await attach(lives, held.run.id, given, whole, made)
    await lives.sql("UPDATE agent.runs SET input = jsonb_insert(input, '{attachments,0}', '\"no id\"')")
    await lives.sql(
        "UPDATE agent.artifacts SET lost = 'missing', lost_at = clock_timestamp() WHERE id = ANY (%s)",
        [made, given, others],
    )
    async with lives.worker.transaction(TENANT) as tx:
        stood = await recovery.read(tx, held.run.id)
    assert set(stood.artifacts_bad) == {str(made), str(given)} and len(stood.artifacts_bad) == 2
