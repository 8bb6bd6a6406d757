"""Handing over: fenced as a cancel, ended with a package, and gone on from by somebody else, once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import httpx
import pytest
from fencepost_domain.errors import FenceLost

from tests.support.api import Served, a_key, saying
from tests.support.lives import OTHER_TENANT, USER, Lives


async def hand_over(client: httpx.AsyncClient, run_id: UUID | str, **body: Any) -> httpx.Response:
    return await client.post(
        f"/v1/runs/{run_id}/handoff", json={"note": "I am away", **body}, headers=a_key()
    )


async def go_on(client: httpx.AsyncClient, run_id: UUID | str, **body: Any) -> httpx.Response:
    return await client.post("/v1/runs", json={"continues": str(run_id), **body}, headers=a_key())


async def half_done(lives: Lives) -> UUID:
    """Action 0 is done, action 1 waits for its approval."""
    held = await lives.claimed(text="book the room and send the invitation")
    done = await lives.prepared(held, index=0, tool="life.book_room", arguments={"room": "blue"})
    await lives.sql("UPDATE agent.actions SET status = 'approved', decided_by = %s", USER)
    await lives.opened(done)
    await lives.landed(done)
    await lives.prepared(held, index=1, tool="life.send_invitation", arguments={"to": "bob"})
    from fencepost_domain.vocabulary import InterruptKind

    await lives.ask(held, kind=InterruptKind.INPUT)
    return held.run.id


async def test_a_waiting_run_is_handed_over_at_once_with_its_package(served: Served, lives: Lives) -> None:
    run_id = await half_done(lives)
    answer = await hand_over(served.as_(), run_id, assignee="bob")
    assert answer.status_code == 202, answer.text
    body = answer.json()
    assert (body["status"], body["finalization"]["reason"]) == ("blocked", "handed_over")
    assert "life.book_room" in body["output"]["text"]
    package = body["handoff"]
    assert package == {**(await served.as_().get(f"/v1/runs/{run_id}/handoff")).json()}
    assert (package["by"], package["assignee"], package["note"]) == (f"user:{USER}", "bob", "I am away")
    assert package["goal"] == "book the room and send the invitation"
    assert [(a["tool"], a["arguments"], a["result"]) for a in package["done"]] == [
        ("life.book_room", {"room": "blue"}, {"ok": True})
    ]
    assert package["done"][0]["effect_key"] == f"{run_id}:action:0:commit"
    assert [a["tool"] for a in package["plan_left"]] == ["life.send_invitation"]
    assert package["open_effects"] == [] and package["next_step"]
    assert package["contract"]["module"] == "life"
    assert (await lives.sql("SELECT status FROM agent.interrupts"))[0]["status"] == "withdrawn"
    assert [v for v in await lives.violations() if v.check != "i12_attempt_was_approved"] == []


async def test_i22_a_running_run_is_fenced_by_the_hand_over_and_drained_as_blocked(
    served: Served, lives: Lives
) -> None:
    held = await lives.claimed()
    action = await lives.prepared(held)
    await lives.opened(action)
    assert (await hand_over(served.as_(), held.run.id)).json()["status"] == "cancelling"
    with pytest.raises(FenceLost):
        await lives.finalize(held)
    again = await hand_over(served.as_(), held.run.id)
    assert (again.status_code, again.json()["status"]) == (202, "cancelling")
    early = await served.as_().get(f"/v1/runs/{held.run.id}/handoff")
    assert (early.status_code, early.json()["code"]) == (409, "not_handed_over")
    from fencepost_reconciler.loops.drain import Drain
    from fencepost_runtime.system import SystemClock

    from tests.support.graces import Over
    from tests.support.lives import LEASE

    await lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)
    await lives.age("agent.runs", "drain_until", "id = %s", held.run.id)
    assert await Drain(lives.reconciler, Over(LEASE, SystemClock())).run_once() == {"blocked": 1}
    package = (await served.as_().get(f"/v1/runs/{held.run.id}/handoff")).json()
    assert [(e["tool"], e["effect"]) for e in package["open_effects"]] == [("create_reminder", "started")]
    await lives.landed(action)
    package = (await served.as_().get(f"/v1/runs/{held.run.id}/handoff")).json()
    assert package["open_effects"] == [] and len(package["done"]) == 1, "settled later: shown as it is now"


async def test_the_same_person_goes_on_in_the_same_conversation_and_lineage(
    served: Served, lives: Lives
) -> None:
    run_id = await half_done(lives)
    first = (await hand_over(served.as_(), run_id)).json()
    answer = await go_on(served.as_(), run_id)
    assert answer.status_code == 201, answer.text
    new = answer.json()
    assert (new["continues"], new["conversation_id"]) == (str(run_id), first["conversation_id"])
    assert new["module"] == first["module"] and new["input"]["text"] == first["input"]["text"]
    facts = new["input"]["continues"]
    assert facts["run_id"] == str(run_id) and facts["done"][0]["tool"] == "life.book_room"
    rows = await lives.sql("SELECT root_run_id FROM agent.runs WHERE id = %s", UUID(new["id"]))
    assert rows == [{"root_run_id": run_id}]
    assert len(await lives.sql("SELECT * FROM agent.budgets")) == 1, "one budget a lineage"


async def test_the_one_it_was_given_to_goes_on_and_nobody_else(served: Served, lives: Lives) -> None:
    run_id = await half_done(lives)
    await hand_over(served.as_(), run_id, assignee="bob")
    for stranger in (served.as_("eve"), served.as_("bob", tenant=OTHER_TENANT)):
        assert (await stranger.get(f"/v1/runs/{run_id}/handoff")).status_code == 404
        assert (await go_on(stranger, run_id)).status_code == 404
    bob = served.as_("bob")
    assert (await bob.get(f"/v1/runs/{run_id}")).status_code == 404, "the package, not the conversation"
    assert (await bob.get(f"/v1/runs/{run_id}/handoff")).json()["goal"]
    new = (await go_on(bob, run_id, input={"text": "just send the invitation"})).json()
    assert (new["user_id"], new["input"]["text"]) == ("bob", "just send the invitation")
    rows = await lives.sql("SELECT conversation_id FROM agent.runs WHERE id = %s", run_id)
    assert new["conversation_id"] != str(rows[0]["conversation_id"])


async def test_one_goes_on_at_a_time(served: Served, lives: Lives) -> None:
    run_id = await half_done(lives)
    await hand_over(served.as_(), run_id)
    first = (await go_on(served.as_(), run_id)).json()
    second = await go_on(served.as_(), run_id)
    assert (second.status_code, second.json()["code"]) == (409, "already_continued")
    assert second.json()["run_id"] == first["id"]
    await served.as_().post(f"/v1/runs/{first['id']}/cancel", headers=a_key())
    assert (await go_on(served.as_(), run_id)).status_code == 201, "the first came to nothing"


async def test_what_cannot_be_handed_over_or_gone_on_from(served: Served, lives: Lives) -> None:
    client = served.as_()
    done = await lives.claimed()
    await lives.finalize(done)
    assert (await hand_over(client, done.run.id)).json()["code"] == "run_finished"
    assert (await go_on(client, done.run.id)).json()["code"] == "not_handed_over"
    stopping = await lives.claimed()
    await lives.cancel(stopping.run.id)
    assert (await hand_over(client, stopping.run.id)).json()["code"] == "run_cancelling"
    live = await lives.queued()
    assert (await go_on(client, live)).json()["code"] == "not_handed_over"
    assert (await hand_over(served.as_("eve"), live)).status_code == 404
    assert (await hand_over(client, live, note="")).status_code == 422
    assert (await client.post("/v1/runs", json={}, headers=a_key())).status_code == 422
    assert (await client.post("/v1/runs", json=saying(), headers=a_key())).status_code == 201
