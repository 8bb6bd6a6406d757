"""What operators ask and order: why live runs aren't moving, and repairs that keep every rule."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import FenceLost
from fencepost_domain.vocabulary import Ev
from fencepost_reconciler.loops.worker_versions import WorkerVersions
from fencepost_runtime.system import SystemClock
from fencepost_store.claims import register_worker
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.support.api import Served, a_key
from tests.support.lives import MODULE, OTHER_TENANT, OWNER, TENANT, USER, Lives

SECRET_TEXT = "tell nobody about the blue folder"


async def stuck(client: httpx.AsyncClient, run_id: UUID | None = None, **query: str) -> list[dict[str, Any]]:
    query |= {"run": str(run_id)} if run_id else {}
    answer = await client.get("/v1/admin/stuck", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


async def order(client: httpx.AsyncClient, run_id: UUID, verb: str, reason: str = "tried") -> httpx.Response:
    return await client.post(
        f"/v1/admin/runs/{run_id}/repairs", json={"verb": verb, "reason": reason}, headers=a_key()
    )


async def alive(lives: Lives) -> None:
    """The worker that `Lives.claim` claims as."""
    slot, _, boot = OWNER.partition(":")
    async with lives.worker.transaction() as tx:
        await register_worker(
            tx, slot=slot, boot_id=boot, modules=[MODULE], versions=["g"], alive_for=timedelta(minutes=5)
        )


async def repaired(lives: Lives, run_id: UUID) -> list[dict[str, Any]]:
    rows = await lives.sql(
        "SELECT e.actor, convert_from(p.payload, 'UTF8') AS payload FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq) WHERE run_id = %s AND type = 'run.repaired'",
        run_id,
    )
    return [{"actor": row["actor"], **json.loads(row["payload"])} for row in rows]


async def test_each_live_run_is_explained_and_nothing_of_what_it_says_is_shown(
    served: Served, lives: Lives
) -> None:
    operator = served.as_("ops", "operator")
    unserved = await lives.queued(text=SECRET_TEXT)
    assert (await stuck(operator, unserved))[0]["code"] == "no_worker"
    await alive(lives)
    assert (await stuck(operator, unserved))[0]["code"] == "in_line"
    [held] = await lives.claim()
    later, _ = await lives.waiting()
    paused = await lives.queued()
    await lives.pause(paused)
    behind = await lives.queued(conversation_id=held.run.conversation_id)
    found = {one["run_id"]: one for one in await stuck(operator)}
    assert {run_id: one["code"] for run_id, one in found.items()} == {
        str(held.run.id): "at_work",
        str(later.run.id): "needs_approval",
        str(paused): "paused",
        str(behind): "conversation_held",
    }
    assert found[str(later.run.id)]["details"]["asked_of"] == USER
    assert str(held.run.id) in found[str(behind)]["why"]
    assert SECRET_TEXT not in json.dumps(found)
    assert [one["run_id"] for one in await stuck(operator, moving="true")] == [str(held.run.id)]
    chinese = await operator.get(
        "/v1/admin/stuck", params={"run": str(paused)}, headers={"Accept-Language": "zh-CN,zh;q=0.9"}
    )
    assert "暂停" in chinese.json()["items"][0]["why"]


async def test_pages_of_stuck_runs_leave_none_out(served: Served, lives: Lives) -> None:
    made = [str(await lives.queued()) for _ in range(5)]
    operator, seen, cursor = served.as_("ops", "operator"), [], {}
    while True:
        page = (await operator.get("/v1/admin/stuck", params={"limit": "2", **cursor})).json()
        seen += [one["run_id"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == made


async def test_who_may_look_and_whose_runs_are_shown(served: Served, lives: Lives) -> None:
    mine, others = await lives.queued(), await lives.queued(tenant=OTHER_TENANT)
    assert (await served.as_().get("/v1/admin/stuck")).status_code == 403
    assert (await order(served.as_(), mine, "requeue")).status_code == 403
    operator, platform = served.as_("ops", "operator"), served.as_("root", "platform")
    assert [one["run_id"] for one in await stuck(operator)] == [str(mine)]
    assert {(one["run_id"], one["tenant_id"]) for one in await stuck(platform)} == {
        (str(mine), str(TENANT)), (str(others), str(OTHER_TENANT)),
    }  # fmt: skip
    assert (await order(operator, others, "requeue")).status_code == 404
    assert (await order(platform, others, "requeue")).json()["code"] == "nothing_to_repair"


async def test_i05_a_released_lease_fences_the_owner_that_had_it(served: Served, lives: Lives) -> None:
    held = await lives.claimed()
    answer = await order(served.as_("ops", "operator"), held.run.id, "release_lease", "the host is gone")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["status"], answer.json()["revision"]) == ("queued", held.run.revision + 1)
    with pytest.raises(FenceLost):
        await lives.finalize(held)
    [again] = await lives.claim()
    assert again.run.id == held.run.id and again.run.attempt == held.run.attempt, "it costs no attempt"
    await lives.finalize(again)
    [told] = await repaired(lives, held.run.id)
    assert told["actor"] == "user:ops" and told["reason"] == "the host is gone" and told["owner"] == OWNER
    [audit] = await lives.sql("SELECT actor, what, detail FROM agent.audit")
    assert (audit["actor"], audit["what"]) == ("user:ops", "release_lease")
    assert await lives.violations() == []


async def test_a_cancelling_run_whose_lease_is_released_is_ended_by_the_reconciler(
    served: Served, lives: Lives
) -> None:
    held = await lives.claimed()
    await lives.cancel(held.run.id)
    answer = await order(served.as_("ops", "operator"), held.run.id, "release_lease")
    assert answer.json()["status"] == "cancelling"
    assert (await lives.run(held.run.id))["lease_owner"] is None
    assert await lives.violations() == []


async def test_a_backoff_is_cut_short_and_an_open_question_is_not(served: Served, lives: Lives) -> None:
    operator = served.as_("ops", "operator")
    run_id = await lives.queued()
    await lives.sql(
        "UPDATE agent.runs SET available_at = clock_timestamp() + interval '1 hour' WHERE id = %s", run_id
    )
    assert (await stuck(operator, run_id))[0]["repairs"] == ["requeue"]
    assert (await order(operator, run_id, "requeue")).status_code == 200
    assert [one.run.id for one in await lives.claim()] == [run_id]
    waiting, _ = await lives.waiting()
    refused = await order(operator, waiting.run.id, "requeue")
    assert refused.json()["code"] == "nothing_to_repair" and "approval" in refused.json()["detail"]
    held = await lives.claimed()
    await lives.park_on_tool(held)
    assert (await order(operator, held.run.id, "requeue")).json()["status"] == "queued"
    assert await lives.violations() == []


async def test_an_approval_is_expired_before_its_time_and_can_not_be_given_any_more(
    served: Served, lives: Lives
) -> None:
    operator = served.as_("ops", "operator")
    held, interrupt = await lives.waiting()
    assert (await order(operator, held.run.id, "expire_approval")).json()["status"] == "queued"
    late = await served.as_().post(
        f"/v1/interrupts/{interrupt}/resolution", json={"decision": "approve"}, headers=a_key()
    )
    assert (late.status_code, late.json()["code"]) == (410, "interrupt_expired")
    assert (await lives.prepared_as_stored(held)).status == "expired"
    assert (await order(operator, held.run.id, "expire_approval")).json()["code"] == "nothing_to_repair"
    assert await lives.violations() == []


async def test_a_finished_run_needs_no_repair_and_isnt_stuck(served: Served, lives: Lives) -> None:
    held = await lives.claimed()
    await lives.finalize(held)
    operator = served.as_("ops", "operator")
    assert (await order(operator, held.run.id, "release_lease")).json()["code"] == "run_finished"
    assert await stuck(operator) == []


@pytest.mark.parametrize(
    "body", [{"verb": "release_lease"}, {"verb": "delete", "reason": "x"}, {"verb": "requeue", "reason": " "}]
)
async def test_a_repair_says_what_and_why(served: Served, lives: Lives, body: dict[str, str]) -> None:
    run_id = await lives.queued()
    answer = await served.as_("ops", "operator").post(f"/v1/admin/runs/{run_id}/repairs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_i16_a_run_that_nobody_serves_is_forked_on_an_operators_word(
    served: Served, lives: Lives
) -> None:
    """From its last point, under what is served now; the one that can't go on is stopped and says so."""
    run_id = await lives.queued()
    bound = NewEvent(lives.ids.uuid7(), Ev.RUN_BOUND, {"graph": "gone", "manifest": "m", "catalog": None})
    async with lives.api.transaction(TENANT) as tx:
        await record(tx, (await lock_run(tx, run_id)).run, Decision(None, events=(bound,)))
    await lives.sql("INSERT INTO agent.manifests (fingerprint, body) VALUES ('m', '{}')")
    await lives.sql("UPDATE agent.runs SET graph_version = 'gone', manifest_fp = 'm' WHERE id = %s", run_id)
    await WorkerVersions(lives.reconciler, SystemClock(), timedelta(0), timedelta(0)).run_once()
    operator = served.as_("ops", "operator")
    [found] = await stuck(operator, run_id)
    path = f"/v1/interrupts/{found['details']['interrupt_id']}/resolution"
    key = a_key()
    answer = await operator.post(path, json={"choice": "fork"}, headers=key)
    assert (answer.status_code, answer.json()["code"]) == (409, "version_not_served"), "by nobody at all"
    assert await lives.status(run_id) == "waiting"
    await lives.sql(
        "INSERT INTO agent.definitions (fingerprint, module, version, body)"
        " VALUES ('new', '*', 'core-3', ''), ('old', '*', 'core-2', ''), ('theirs', 'other', 'other-1', '')"
    )
    async with lives.worker.transaction() as tx:
        await register_worker(
            tx,
            slot="w",
            boot_id="b",
            modules=[MODULE],
            versions=["theirs", "new", "old"],
            alive_for=timedelta(minutes=5),
        )
    answer = await operator.post(path, json={"choice": "fork"}, headers=key)
    assert answer.status_code == 200, answer.text
    forked = answer.json()["resolution"]["run_id"]
    shown = (await operator.get(f"/v1/runs/{run_id}")).json()
    assert shown["status"] == "cancelled" and forked in shown["finalization"]["explanation"]
    [row] = await lives.sql(
        "SELECT status, graph_version, origin_run_id, user_id, conversation_id, root_run_id"
        " FROM agent.runs WHERE id = %s",
        UUID(forked),
    )
    assert (row["status"], row["graph_version"], row["origin_run_id"]) == ("queued", "new", run_id)
    [old] = await lives.sql(
        "SELECT user_id, conversation_id, root_run_id FROM agent.runs WHERE id = %s", run_id
    )
    assert {name: row[name] for name in old} == dict(old)
    again = await operator.post(path, json={"choice": "fork"}, headers=key)
    assert again.json()["resolution"]["run_id"] == forked
    assert await lives.violations() == []


@pytest.mark.parametrize(("choice", "status"), [("stay", "queued"), ("stop", "cancelled")])
async def test_i16_what_becomes_of_a_run_that_nobody_serves_is_an_operators_word(
    served: Served, lives: Lives, choice: str, status: str
) -> None:
    run_id = await lives.queued()
    await lives.sql("UPDATE agent.runs SET graph_version = 'gone' WHERE id = %s", run_id)
    await WorkerVersions(lives.reconciler, SystemClock(), timedelta(0), timedelta(0)).run_once()
    operator = served.as_("ops", "operator")
    [found] = await stuck(operator, run_id)
    assert (found["code"], found["waiting_on"]) == ("version_not_served", "version")
    path = f"/v1/interrupts/{found['details']['interrupt_id']}/resolution"
    assert (await served.as_().post(path, json={"choice": choice}, headers=a_key())).status_code == 403
    answer = await operator.post(path, json={"choice": choice}, headers=a_key())
    assert answer.status_code == 200, answer.text
    assert await lives.status(run_id) == status
    assert await lives.violations() == []
