"""A real restore: the database goes back to its copy, the other side doesn't (`fencepost recover`, 02 §5).

What was sent after the copy is found, repeated under its key, or put before a person; never sent twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
import pytest_asyncio
from fencepost_domain.effect import effect_key
from fencepost_domain.waits import decide_pause, decide_resume
from fencepost_store import claims
from fencepost_store.claims import Claim
from fencepost_store.record import record
from fencepost_store.runs import lock_run, open_wait

from tests.support.eventually import eventually
from tests.support.gateway import Served, code, serving
from tests.support.lives import OWNER, TENANT, Lives, living
from tests.support.parcels import SEND, Provider, parcels_module, providing_parcels, secrets_folder
from tests.support.postgres import Cluster, Database

_numbers = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[Provider]:
    async with providing_parcels() as running:
        yield running


@dataclass(slots=True)
class Machine:
    """A database, its copies, and a gateway over whichever stands."""

    cluster: Cluster
    database: Database
    names: list[str]
    modules: Path
    secrets: Path

    @asynccontextmanager
    async def up(self) -> AsyncIterator[Served]:
        async with (
            living(self.database) as lives,
            serving(lives, dirs=[self.modules], secrets=self.secrets) as served,
        ):
            yield served

    def back_up(self) -> str:
        """A copy as it stands; nobody may be connected."""
        name = f"{self.names[0]}_copy{len(self.names)}"
        self.cluster.create(name, urlsplit(self.database.admin).path[1:])
        self.names.append(name)
        return name

    def restore(self, copy: str) -> None:
        """The copy's content stands from now on; what came after it is gone."""
        name = f"{self.names[0]}_back{len(self.names)}"
        self.database = self.cluster.create(name, copy)
        self.names.append(name)


@pytest.fixture
async def machine(
    postgres_cluster: Cluster, migrated_template: str, provider: Provider, tmp_path: Path
) -> AsyncIterator[Machine]:
    await provider.switch(mode="normal", times=0, visible_after=0, lookup_fails=False, no_keys=False)
    name = f"fencepost_restored_{os.getpid()}_{next(_numbers)}"
    database = postgres_cluster.create(name, migrated_template)
    modules = parcels_module(provider.url, settle_within=0.5)
    made = Machine(postgres_cluster, database, [name], modules, secrets_folder(tmp_path / "secrets"))
    yield made
    for one in made.names:
        postgres_cluster.drop(one)


async def recovered(machine: Machine, lost_after: Any, *more: str) -> dict[str, Any]:
    return await commanded(machine, "recover", "--lost-after", lost_after.isoformat(), *more)


async def commanded(machine: Machine, *words: str) -> dict[str, Any]:
    """The command itself, as an operator gives it."""
    told = {**os.environ, "FENCEPOST_DATABASE_URL": machine.database.dsn()}
    verb = (*words, "--json")
    asked = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fencepost_cli.main", *verb, env=told, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asked.communicate()
    assert asked.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found


async def instant(lives: Lives) -> Any:
    [row] = await lives.sql("SELECT clock_timestamp() AS now")
    return row["now"]


async def resumed(lives: Lives, run_id: UUID) -> None:
    async with lives.api.transaction(TENANT) as tx:
        locked = await lock_run(tx, run_id)
        waits = await open_wait(tx, run_id)
        decision = decide_resume(
            locked.run, tx.ids.uuid7(), actor="user:ops", still_open=waits, now=locked.now
        )
        assert decision is not None
        await record(tx, locked.run, decision)


async def goes_on(served: Served, run_id: UUID) -> Claim:
    """Claimed by a worker of the new epoch, and let through by its gate."""
    held = await served.again(run_id, owner="s9:b9", module="probe")
    await served.lives.sql("UPDATE agent.runs SET gate_revision = revision WHERE id = %s", run_id)
    return held


async def sent_after_the_copy(machine: Machine, tool: str, *, sends: bool = True) -> tuple[UUID, Any]:
    """A run whose action is prepared in the copy and done after it; the database is then the copy again."""
    async with machine.up() as served:
        held = await served.bound(module="probe")
        action = await served.prepared(held, f"probe.{tool}", SEND)
        if action["approval"]:
            held = await served.approved(held, action)
        since = await instant(served.lives)
    copy = machine.back_up()
    if sends:
        async with machine.up() as served:
            answer = await served.commit(held, action)
            assert answer.json()["state"] == "completed"
    machine.restore(copy)
    return held.run.id, since


async def committed_anew(served: Served, run_id: UUID, tool: str) -> Any:
    held = await goes_on(served, run_id)
    action = await served.prepared(held, f"probe.{tool}", SEND)
    return held, action


@pytest.mark.parametrize(("tool", "again"), [("queryable", "looked"), ("idempotent", "repeated")])
async def test_i10_what_was_sent_after_the_backup_is_not_sent_again(
    machine: Machine, provider: Provider, tool: str, again: str
) -> None:
    run_id, since = await sent_after_the_copy(machine, tool)
    key = effect_key(run_id, 0)
    assert await provider.sent(key) == 1
    report = await recovered(machine, since, "--reason", "the disk died")
    assert report["paused"] == [str(run_id)] and report["epoch"] == 2
    async with machine.up() as served:
        assert await served.lives.status(run_id) == "paused"
        assert "run.repaired" in await served.lives.event_types(run_id)
        await resumed(served.lives, run_id)
        held, action = await committed_anew(served, run_id, tool)

        async def done() -> Any:
            answer = await served.commit(held, action)
            return answer.json() if answer.status_code == 200 else None

        found = await eventually(done, timeout=20.0)
        assert found["state"] == "completed" and found["result"]["id"]
        assert await provider.sent(key) == 1, "once, in both histories together"
        assert again in {one["what"] for one in await provider.log() if one.get("key") == key}
        assert await served.lives.violations() == []


async def test_what_was_not_sent_before_is_sent_once_after_the_look_up(
    machine: Machine, provider: Provider
) -> None:
    run_id, since = await sent_after_the_copy(machine, "queryable", sends=False)
    await recovered(machine, since, "--reason", "the disk died")
    async with machine.up() as served:
        await resumed(served.lives, run_id)
        held, action = await committed_anew(served, run_id, "queryable")
        assert (await served.commit(held, action)).status_code == 202, "looked up before anything is sent"
        assert await provider.sent(effect_key(run_id, 0)) == 0

        async def done() -> bool:
            answer = await served.commit(held, action)
            return answer.status_code == 200 and answer.json()["state"] == "completed"

        await eventually(done, timeout=20.0)
        assert await provider.sent(effect_key(run_id, 0)) == 1
        assert await served.lives.violations() == []


async def test_i10_an_opaque_one_is_approved_anew_and_then_a_persons(
    machine: Machine, provider: Provider
) -> None:
    before = await provider.sent()
    run_id, since = await sent_after_the_copy(machine, "opaque")
    await recovered(machine, since, "--reason", "the disk died")
    async with machine.up() as served:
        await resumed(served.lives, run_id)
        held = await goes_on(served, run_id)
        [old] = await served.lives.sql(
            "SELECT index, n, token_id FROM agent.actions WHERE run_id = %s", run_id
        )
        stale = {"index": old["index"], "n": old["n"], "token_id": str(old["token_id"])}
        assert code(await served.commit(held, stale)) == "token_expired", "a yes of before the restore"
        action = await served.prepared(held, "probe.opaque", SEND, n=2)
        await served.decided(await served.asked(held, [action]), {"decision": "approve"})
        held = await goes_on(served, run_id)

        async def asked() -> bool:
            answer = await served.commit(held, action)
            return answer.status_code == 409 and code(answer) == "reconcile"

        await eventually(asked, timeout=20.0)
        [row] = await served.lives.sql("SELECT state FROM agent.effects WHERE run_id = %s", run_id)
        assert row["state"] == "needs_human" and await provider.sent() == before + 1
        assert await served.lives.violations() == []


async def test_i05_who_held_a_run_before_the_restore_holds_nothing_after_it(machine: Machine) -> None:
    async with machine.up() as served:
        lives = served.lives
        slot, boot = OWNER.split(":")
        registered = {"slot": slot, "boot_id": boot, "modules": ["probe"], "versions": ["g1"]}
        async with lives.worker.transaction() as tx:
            await claims.register_worker(tx, **registered, alive_for=timedelta(minutes=1))
        held = await served.bound(module="probe")
        other = await lives.queued(module="probe")
        since = await instant(lives)
    plan = await recovered(machine, since, "--dry-run")
    assert sorted(plan["live_runs"]) == sorted([str(held.run.id), str(other)]) and plan["epoch"] == 1
    assert plan["workers_alive"] == 1
    async with machine.up() as served:
        assert await served.lives.status(held.run.id) == "running", "a dry run changes nothing"
    await recovered(machine, since, "--reason", "fail-over")
    async with machine.up() as served:
        lives = served.lives
        response = await served.prepare(held, "probe.idempotent", SEND)
        assert code(response) == "fence_lost"
        await resumed(lives, other)
        assert await lives.claim(owner=OWNER, module="probe", versions=("g1",)) == []
        async with lives.worker.transaction() as tx:
            kept = await claims.renew_worker(tx, **registered, alive_for=timedelta(minutes=1))
        assert not kept, "the old process ends"
        async with lives.worker.transaction() as tx:
            await claims.register_worker(
                tx, **{**registered, "boot_id": "anew"}, alive_for=timedelta(minutes=1)
            )
        [again] = await lives.claim(owner=f"{slot}:anew", module="probe", versions=("g1",))
        assert again.run.id == other
        assert await lives.violations() == []


async def test_all_that_a_recovery_paused_goes_on_by_one_audited_word(machine: Machine) -> None:
    """Of every user; what somebody paused before stays so, and the second word finds nothing left."""
    async with machine.up() as served:
        lives = served.lives
        one, asleep = await lives.queued(module="probe"), await lives.queued(module="probe")
        async with lives.api.transaction(TENANT) as tx:
            locked = await lock_run(tx, asleep)
            pause = decide_pause(locked.run, tx.ids.uuid7(), actor="user:ann", now=locked.now)
            assert pause is not None
            await record(tx, locked.run, pause)
        since = await instant(lives)
    report = await recovered(machine, since, "--reason", "fail-over")
    assert (report["paused"], report["were_paused"]) == ([str(one)], [str(asleep)])
    word = ("resume", "--all-recovered", "--reason", "the books were looked at")
    assert (await commanded(machine, *word))["resumed"] == [str(one)]
    assert (await commanded(machine, *word))["resumed"] == []
    async with machine.up() as served:
        lives = served.lives
        assert (await lives.status(one), await lives.status(asleep)) == ("queued", "paused")
        [event] = await lives.sql(
            "SELECT actor FROM agent.run_events WHERE run_id = %s AND type = 'run.resumed'", one
        )
        told = await lives.sql("SELECT detail FROM agent.audit WHERE what = 'resume_recovered' ORDER BY 1")
        assert event["actor"].startswith("operator:")
        assert [row["detail"]["runs"] for row in told] == [0, 1]
        assert await lives.violations() == []


async def test_what_was_absent_may_have_been_sent_since(machine: Machine, provider: Provider) -> None:
    async with machine.up() as served:
        held = await served.bound(module="probe")
        action = await served.prepared(held, "probe.queryable", SEND)
        await provider.switch(mode="limit", seconds=0)
        assert (await served.commit(held, action)).status_code == 202
        [row] = await served.lives.sql("SELECT state FROM agent.effects")
        assert row["state"] == "absent"
        since = await instant(served.lives)
    report = await recovered(machine, since, "--reason", "fail-over")
    key = effect_key(held.run.id, 0)
    assert report["reopened"] == [key] and report["to_look_up"] == [key]
    async with machine.up() as served:
        [row] = await served.lives.sql("SELECT state, attempts FROM agent.effects")
        assert (row["state"], row["attempts"]) == ("unknown", 2)
        assert await served.lives.violations() == []


@pytest.mark.parametrize(
    ("given", "why"),
    [("yesterday", "zone"), ("2026-01-01T00:00:00", "zone"), ("2999-01-01T00:00:00Z", "before")],
)
async def test_a_time_that_is_none_is_refused_with_the_way_out(
    machine: Machine, given: str, why: str
) -> None:
    told = {**os.environ, "FENCEPOST_DATABASE_URL": machine.database.dsn()}
    verb = ("recover", "--lost-after", given, "--reason", "x")
    asked = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fencepost_cli.main", *verb, env=told, stderr=asyncio.subprocess.PIPE
    )
    _, said = await asked.communicate()
    assert asked.returncode == 2 and "--lost-after" in said.decode() and why in said.decode()
