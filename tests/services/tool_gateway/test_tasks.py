"""Asynchronous tools at the gateway: started once, followed by the task's own state, ended once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from fencepost_domain.decision import Finalization, FinalMessage
from fencepost_domain.endings import decide_stop
from fencepost_domain.vocabulary import Reason, RunStatus, Stop
from fencepost_runtime.keys import KeyRing
from fencepost_store import pins
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.tasks import take_due_tasks
from fencepost_tool_gateway import callbacks
from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.world import outside_world

from tests.support.fixed_secrets import FixedSecrets
from tests.support.gateway import KEYS, SECRET, Served, code, serving
from tests.support.lives import TENANT, Lives
from tests.support.skills import Skill, Skills, research, skill_server

TOOL = "research.write_report"
LEFT = "SELECT extract(epoch FROM poll_at - clock_timestamp()) AS left FROM agent.tasks"
TOPIC = {"topic": "durable agents"}


@dataclass
class Desk:
    """A gateway with the module research, its tool accepted, and the skill server behind it."""

    served: Served
    skills: Skills

    async def started(self) -> tuple[Any, dict[str, Any]]:
        held = await self.served.bound(module="research")
        action = await self.served.prepared(held, TOOL, TOPIC)
        return held, action

    async def task(self) -> dict[str, Any]:
        [row] = await self.served.lives.sql("SELECT * FROM agent.tasks")
        return dict(row)

    async def effect(self) -> dict[str, Any]:
        [row] = await self.served.lives.sql("SELECT state, result, error, external_id FROM agent.effects")
        return dict(row)

    async def poll(self) -> dict[str, Any]:
        """As the reconciler asks."""
        headers = {"Authorization": f"Bearer {SECRET}"}
        answer = await self.served.client.get(f"/internal/tasks/{(await self.task())['id']}", headers=headers)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def tell(self, skill: Skill, token: str | None) -> Any:
        """As the skill server calls back; the gateway is in this process."""
        assert skill.callback is not None
        path = skill.callback.removeprefix("http://gateway")
        return await self.served.client.post(path, headers={"Authorization": f"Bearer {token}".encode()})


async def at_desk(lives: Lives, folder: Path, skills: Skills, **contract: Any) -> AsyncIterator[Desk]:
    root = research(folder / "modules", skills.url, **contract)
    world = outside_world(FixedSecrets(), Egress())
    world.tasks.callback_url, world.tasks.keys = "http://gateway", KEYS
    async with serving(lives, dirs=[root], outside=world) as served:
        await served.catalogs.look(lives.gateway)
        async with lives.api.transaction() as tx:
            [pin] = await pins.list_pins(tx)
            await pins.decide_pin(
                tx, module=pin.module, tool=pin.tool, fingerprint=pin.fingerprint, wanted="accepted", who="op"
            )
        await served.catalogs.follow(lives.gateway)
        yield Desk(served, skills)


@pytest_asyncio.fixture
async def desk(lives: Lives, tmp_path: Path) -> AsyncIterator[Desk]:
    async with skill_server() as skills:
        async for made in at_desk(lives, tmp_path, skills):
            yield made


async def test_a_start_is_accepted_once_and_its_end_is_the_outcome(desk: Desk) -> None:
    held, action = await desk.started()
    for _ in range(3):
        answer = await desk.served.commit(held, action)
        assert (answer.status_code, answer.json()["is_task"]) == (202, True), answer.text
    assert len(desk.skills.tasks) == 1
    assert ((await desk.effect())["state"], (await desk.effect())["external_id"]) == ("accepted", "r-1")
    assert (await desk.poll()) | {"id": 0} == {"id": 0, "state": "running", "is_over": False}
    desk.skills.silent = True
    await desk.skills.end(desk.skills.only)
    assert (await desk.poll())["state"] == "completed"
    answer = await desk.served.commit(held, action)
    assert (answer.status_code, answer.json()["result"]) == (200, {"pages": 3})
    polls = desk.skills.only.polls
    assert (await desk.poll())["is_over"] and desk.skills.only.polls == polls, "over isn't asked after"


@pytest.mark.parametrize(("state", "reason"), [("broken", "task_failed"), ("cancelled", "task_cancelled")])
async def test_a_task_that_fails_says_why(desk: Desk, state: str, reason: str) -> None:
    held, action = await desk.started()
    await desk.served.commit(held, action)
    desk.skills.silent = True
    await desk.skills.end(desk.skills.only, state, error="no sources")
    await desk.poll()
    answer = (await desk.served.commit(held, action)).json()
    assert (answer["state"], answer["error"]["code"]) == ("failed", reason)
    assert (await desk.task())["state"] == ("failed" if state == "broken" else "cancelled")


async def test_an_event_makes_us_ask_at_once_and_is_believed_no_further(desk: Desk) -> None:
    held, action = await desk.started()
    await desk.served.commit(held, action)
    skill = desk.skills.only
    early = await desk.tell(skill, skill.token)
    assert (early.status_code, early.json()["is_over"]) == (200, False), "the task says that it works on"
    desk.skills.silent = True
    await desk.skills.end(skill)
    for _ in range(2):  # told twice
        assert (await desk.tell(skill, skill.token)).json()["is_over"]
    assert (await desk.effect())["state"] == "completed"
    completed = await desk.served.lives.sql("SELECT 1 FROM agent.run_events WHERE type = 'action.committed'")
    assert len(completed) == 1


async def test_ap5_a_token_of_another_task_or_none_is_401(desk: Desk) -> None:
    held, action = await desk.started()
    await desk.served.commit(held, action)
    skill = desk.skills.only
    other = callbacks.token(KEYS, "01970000-0000-7000-8000-000000000001:action:0:commit")
    stranger = callbacks.token(KeyRing("k1", {"k1": b"2" * 32}), skill.callback.rpartition("/")[2])  # type: ignore[union-attr]
    for token in (
        other,
        stranger,
        "",
        "k1.",
        "k9.x",
        "ké.ké",
        "k1." + "x" * 999,
    ):
        answer = await desk.tell(skill, token)
        assert (answer.status_code, code(answer)) == (401, "unauthenticated"), token[:20]
    assert skill.polls == 0


async def test_an_old_key_still_tells_and_a_retired_one_does_not(desk: Desk) -> None:
    ring = KeyRing("k2", {"k2": b"2" * 32, "k1": KEYS.keys["k1"]})
    key = "x:action:0:commit"
    assert callbacks.is_valid(ring, key, callbacks.token(KEYS, key))
    assert not callbacks.is_valid(KeyRing("k2", {"k2": b"2" * 32}), key, callbacks.token(KEYS, key))


async def test_a_lost_start_is_a_persons_and_a_late_end_settles_it(desk: Desk) -> None:
    desk.skills.lose = True
    held, action = await desk.started()
    answer = await desk.served.commit(held, action)
    assert (await desk.effect())["state"] == "unknown", answer.text
    assert len(desk.skills.tasks) == 1, "never started again by the machine"
    refused = await desk.served.commit(held, action)
    assert code(refused) == "reconcile"
    assert len(desk.skills.tasks) == 1


async def test_a_task_past_its_time_is_asked_to_stop_and_then_unknown(lives: Lives, tmp_path: Path) -> None:
    async with skill_server() as skills:
        skills.stubborn = True
        async for desk in at_desk(lives, tmp_path, skills, seconds=0.2):
            held, action = await desk.started()
            await desk.served.commit(held, action)
            await lives.age("agent.tasks", "expires_at", "true")
            assert (await desk.poll())["state"] == "unknown"
            assert skills.only.cancels == 1 and (await desk.effect())["error"]["code"] == "task_expired"


async def test_a_stopped_run_asks_its_task_to_stop_at_once_and_once(desk: Desk) -> None:
    held, action = await desk.started()
    await desk.served.commit(held, action)
    await desk.served.lives.sql("UPDATE agent.tasks SET poll_at = clock_timestamp() + interval '5 seconds'")
    async with desk.served.lives.api.transaction(TENANT) as tx:
        locked = await lock_run(tx, held.run.id)
        decision = decide_stop(
            locked.run, tx.ids.uuid7(), stop=Stop.CANCEL, actor="user:u", settled=False,
            finalization=Finalization(RunStatus.CANCELLED, Reason.USER_CANCELLED, "x", "api"),
            message=FinalMessage(tx.ids.uuid7(), "x"),
        )  # fmt: skip
        assert decision is not None
        await record(tx, locked.run, decision)
    [row] = await desk.served.lives.sql(LEFT)
    assert row["left"] <= 0, "whoever polls asks after it now, not in five seconds"
    desk.skills.stubborn = True
    for _ in range(3):
        await desk.poll()
    assert desk.skills.only.cancels == 1

    desk.skills.only.state = "cancelled"
    await desk.poll()
    assert (await desk.effect())["state"] == "failed"


async def test_polling_doubles_from_half_a_second_to_five_and_one_reconciler_takes_each(desk: Desk) -> None:
    held, action = await desk.started()
    await desk.served.commit(held, action)
    lives = desk.served.lives
    waits = []
    for _ in range(6):
        await lives.sql("UPDATE agent.tasks SET poll_at = clock_timestamp()")
        async with lives.reconciler.transaction() as tx:
            [taken] = await take_due_tasks(tx, 10)
            assert isinstance(taken, UUID)
        async with lives.reconciler.transaction() as tx:
            assert await take_due_tasks(tx, 10) == []
        [row] = await lives.sql(LEFT)
        waits.append(round(float(row["left"]) + 0.2))
    assert waits == [1, 2, 4, 5, 5, 5], "the first, 500 ms, is from acceptance"


async def test_a_server_that_is_down_changes_nothing(desk: Desk) -> None:
    held, action = await desk.started()
    await desk.served.commit(held, action)
    desk.skills.down = True
    assert (await desk.poll())["state"] == "running"
    desk.skills.down, desk.skills.silent = False, True
    await desk.skills.end(desk.skills.only)
    assert (await desk.poll())["state"] == "completed"
