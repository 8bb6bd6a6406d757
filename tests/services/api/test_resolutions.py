"""Decisions over HTTP: one transition whatever the clicks (I13, case AP-1), by who may decide."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from fencepost_contracts.http_approvals import InterruptView
from fencepost_contracts.http_views import Page
from fencepost_domain.vocabulary import InterruptKind, Risk
from fencepost_runtime import failpoints
from fencepost_store import interrupts
from fencepost_store.runs import lock_run

from tests.support.api import Served, a_key, serving
from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives
from tests.support.postgres import Database

APPROVE, REJECT = {"decision": "approve"}, {"decision": "reject"}


async def decide(
    client: httpx.AsyncClient, interrupt: object, body: Any, key: str | None = None
) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else a_key()
    return await client.post(f"/v1/interrupts/{interrupt}/resolution", json=body, headers=headers)


async def resolved_events(lives: Lives) -> int:
    rows = await lives.sql("SELECT 1 AS one FROM agent.run_events WHERE type = 'interrupt.resolved'")
    return len(rows)


async def action_of(lives: Lives, index: int = 0) -> dict[str, Any]:
    [row] = await lives.sql(
        "SELECT status, decision, decided_by, note FROM agent.actions WHERE index = %s", index
    )
    return row


async def test_an_approval_is_shown_decided_and_wakes_its_run(served: Served, lives: Lives) -> None:
    held, interrupt = await lives.waiting()
    ann = served.as_()
    listed = Page[InterruptView].model_validate((await ann.get("/v1/approvals?status=open")).json())
    assert [item.id for item in listed.items] == [interrupt]

    decided = await decide(ann, interrupt, {**APPROVE, "note": "fine"})

    assert decided.status_code == 200, decided.text
    view = InterruptView.model_validate(decided.json())
    assert (view.status, view.resolved_by) == ("resolved", USER)
    assert view.resolution == {
        "decision": "approve", "decisions": [{"index": 0, "decision": "approve"}], "note": "fine"
    }  # fmt: skip
    assert await lives.status(held.run.id) == "queued"
    assert await action_of(lives) == {
        "status": "approved", "decision": "approve", "decided_by": USER, "note": "fine"
    }  # fmt: skip
    assert await lives.violations() == []


async def test_i13_a_double_click_is_one_decision(served: Served, lives: Lives) -> None:
    _, interrupt = await lives.waiting()
    clients = [served.as_() for _ in range(8)]
    answers = await asyncio.gather(*(decide(c, interrupt, APPROVE) for c in clients))
    assert {a.status_code for a in answers} == {200}
    assert len({str(a.json()["resolution"]) for a in answers}) == 1
    assert sum("idempotent-replayed" not in a.headers for a in answers) == 1
    assert await resolved_events(lives) == 1


async def test_ap1_a_reject_races_an_approve(served: Served, lives: Lives) -> None:
    for _ in range(5):
        _, interrupt = await lives.waiting()
        answers = await asyncio.gather(
            *(decide(served.as_(), interrupt, body) for body in (APPROVE, REJECT) * 3)
        )
        won = {a.json()["resolution"]["decision"] for a in answers if a.status_code == 200}
        lost = [a for a in answers if a.status_code == 409]
        assert len(won) == 1 and len(lost) == 3
        assert {a.json()["code"] for a in lost} == {"already_resolved"}
        assert {a.json()["resolution"]["decision"] for a in lost} == won
    assert await resolved_events(lives) == 5


async def test_ap1_the_same_decision_later_is_the_stored_one(served: Served, lives: Lives) -> None:
    held, interrupt = await lives.waiting()
    first = await decide(served.as_(), interrupt, APPROVE, key="k1")
    [again] = await lives.claim()
    await lives.finalize(again)
    later = await decide(served.as_(), interrupt, {**APPROVE, "note": "again"}, key="k2")
    assert (later.status_code, later.headers["idempotent-replayed"]) == (200, "true")
    assert later.json()["resolution"] == first.json()["resolution"]
    assert held.run.id == again.run.id


async def test_ap1_too_late_is_too_late_though_no_sweep_ran(served: Served, lives: Lives) -> None:
    _, interrupt = await lives.waiting()
    await lives.age("agent.interrupts", "expires_at", "id = %s", interrupt)
    late = await decide(served.as_(), interrupt, APPROVE)
    assert (late.status_code, late.json()["code"]) == (410, "interrupt_expired")
    [row] = await lives.sql("SELECT status FROM agent.interrupts WHERE id = %s", interrupt)
    assert row["status"] == "open"  # the sweep gives the run its outcome
    assert (await action_of(lives))["status"] == "prepared"


async def test_ap1_expiry_is_judged_after_the_lock_was_had(served: Served, lives: Lives) -> None:
    held, interrupt = await lives.waiting()
    async with lives.reconciler.transaction() as tx:
        await lock_run(tx, held.run.id)
        waiting = asyncio.create_task(decide(served.as_(), interrupt, APPROVE))
        await blocked(lives)
        await lives.age("agent.interrupts", "expires_at", "id = %s", interrupt)
    assert (await waiting).status_code == 410
    assert await resolved_events(lives) == 0


async def blocked(lives: Lives) -> None:
    """Until somebody of the api waits for a lock."""
    while not await lives.sql(
        "SELECT 1 AS one FROM pg_stat_activity WHERE usename = 'fencepost_api' AND wait_event_type = 'Lock' "
        "AND datname = current_database()"
    ):
        await asyncio.sleep(0.01)


async def test_ap1_others_are_decided_after_a_restart(
    served: Served, lives: Lives, database: Database, tmp_path: Path
) -> None:
    open_ones = [await lives.waiting() for _ in range(3)]
    await lives.age("agent.interrupts", "expires_at", "id = %s", open_ones[0][1])
    served.api.stop.set()
    async with serving(database.dsn("api"), tmp_path, signer=served.signer) as restarted:
        answers = [await decide(restarted.as_(), interrupt, APPROVE) for _, interrupt in open_ones]
    assert [a.status_code for a in answers] == [410, 200, 200]
    assert [await lives.status(held.run.id) for held, _ in open_ones] == ["waiting", "queued", "queued"]


async def test_i17_a_replayed_question_has_one_id_over_http(served: Served, lives: Lives) -> None:
    held, interrupt = await lives.waiting()
    await lives.pause(held.run.id)
    await served.as_().post(f"/v1/runs/{held.run.id}/resume")
    shown = (await served.as_().get(f"/v1/runs/{held.run.id}")).json()
    assert (shown["status"], shown["interrupt"]["id"]) == ("waiting", str(interrupt))


async def test_a_decision_of_a_paused_run_counts_and_resumes_as_queued(served: Served, lives: Lives) -> None:
    held, interrupt = await lives.waiting()
    await lives.pause(held.run.id)
    assert (await decide(served.as_(), interrupt, APPROVE)).status_code == 200
    assert await lives.status(held.run.id) == "paused"
    resumed = await served.as_().post(f"/v1/runs/{held.run.id}/resume")
    assert resumed.json()["status"] == "queued"


async def test_a_key_used_for_another_decision_is_refused(served: Served, lives: Lives) -> None:
    _, interrupt = await lives.waiting()
    await decide(served.as_(), interrupt, APPROVE, key="k")
    other = await decide(served.as_(), interrupt, REJECT, key="k")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


@pytest.mark.parametrize("where", ["api.resolve.before_commit", "api.resolve.before_response"])
async def test_i13_a_lost_answer_is_asked_for_again(
    served: Served, lives: Lives, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv(failpoints.DIRECTORY_VARIABLE, str(tmp_path / "fp"))
    held, interrupt = await lives.waiting()
    failpoints.arm(tmp_path / "fp", where, "error")
    assert (await decide(served.as_(), interrupt, APPROVE, key="k")).status_code == 500
    stored = where == "api.resolve.before_response"
    assert await resolved_events(lives) == int(stored)
    assert await lives.status(held.run.id) == ("queued" if stored else "waiting")
    again = await decide(served.as_(), interrupt, APPROVE, key="k")
    assert (again.status_code, "idempotent-replayed" in again.headers) == (200, stored)
    assert await resolved_events(lives) == 1


# ── who may ─────────────────────────────────────────────────────────────────────────────────────────


async def test_an_approver_sees_the_question_and_not_the_conversation(served: Served, lives: Lives) -> None:
    held, interrupt = await lives.waiting(text="my secret wish")
    peer = served.as_("peer", "approver")
    shown = await peer.get(f"/v1/interrupts/{interrupt}")
    assert shown.status_code == 200 and "my secret wish" not in shown.text
    for path in (
        f"/v1/runs/{held.run.id}",
        f"/v1/runs/{held.run.id}/events",
        f"/v1/runs/{held.run.id}/stream",
        f"/v1/conversations/{held.run.conversation_id}/messages",
    ):
        assert (await peer.get(path)).status_code == 404
    assert (await decide(peer, interrupt, APPROVE)).status_code == 200
    assert (await action_of(lives))["decided_by"] == "peer"


async def four_eyes(served: Served, *risks: str) -> None:
    chief = served.as_("chief", "admin")
    patched = await chief.patch("/v1/settings", json={"approval": {"four_eyes": list(risks)}})
    assert patched.status_code == 200, patched.text


async def high_risk(lives: Lives) -> Any:
    """An approval of high risk that USER's run asks for."""
    held = await lives.claimed()
    await lives.prepared(held, risk=Risk.HIGH)
    return (await ask(lives, held, risk="high")).interrupt_id


async def ask(lives: Lives, held: Any, **more: Any) -> interrupts.Asked:
    kind = more.pop("kind", InterruptKind.APPROVAL)
    actions = more.pop("actions", ((0, 1),) if kind is InterruptKind.APPROVAL else ())
    new = interrupts.NewInterrupt(lives.ids.uuid7(), kind, 0, 1, "Shall I?", actions=actions, **more)
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        return await interrupts.open_and_park(
            tx, locked.run, locked.now, held.fence, new, wakes_seen=held.run.wakes, event_id=tx.ids.uuid7()
        )


async def test_four_eyes_ask_for_another_person(served: Served, lives: Lives) -> None:
    await four_eyes(served, "high")
    interrupt = await high_risk(lives)
    for roles in (("user",), ("user", "approver", "operator", "admin")):
        own = await decide(served.as_(USER, *roles), interrupt, APPROVE)
        assert (own.status_code, own.json()["code"]) == (403, "forbidden")
    assert (await decide(served.as_("peer", "approver"), interrupt, APPROVE)).status_code == 200


async def test_who_edits_under_four_eyes_is_the_author_and_approves_nothing(
    served: Served, lives: Lives
) -> None:
    await four_eyes(served, "high")
    interrupt = await high_risk(lives)
    edited = {**APPROVE, "arguments": {"title": "mine"}}
    decided = await decide(served.as_("peer", "approver"), interrupt, edited)
    assert (decided.status_code, decided.json()["status"]) == (200, "resolved")
    assert (await action_of(lives))[
        "status"
    ] == "prepared"  # the gateway prepares the edit, and it is asked for


async def test_a_plain_colleague_sees_and_decides_nothing(served: Served, lives: Lives) -> None:
    _, interrupt = await lives.waiting()
    colleague = served.as_("colleague")
    assert (await colleague.get(f"/v1/interrupts/{interrupt}")).status_code == 404
    assert (await decide(colleague, interrupt, APPROVE)).status_code == 404
    assert (await colleague.get("/v1/approvals")).json()["items"] == []
    assert (await decide(served.as_(tenant=OTHER_TENANT), interrupt, APPROVE)).status_code == 404


# ── what is decided ─────────────────────────────────────────────────────────────────────────────────


async def test_edited_arguments_are_stored_and_approve_nothing_prepared(served: Served, lives: Lives) -> None:
    _, interrupt = await lives.waiting()
    decided = await decide(served.as_(), interrupt, {**APPROVE, "arguments": {"title": "other"}})
    assert decided.json()["resolution"]["decisions"] == [
        {"index": 0, "decision": "approve", "arguments": {"title": "other"}}
    ]
    assert (await action_of(lives))["status"] == "prepared"  # the gateway approves the new preparation
    same = await decide(served.as_(), interrupt, {**APPROVE, "arguments": {"title": "other"}})
    plain = await decide(served.as_(), interrupt, APPROVE)
    assert (same.status_code, plain.status_code) == (200, 409)


async def test_several_actions_are_decided_one_by_one(served: Served, lives: Lives) -> None:
    held = await lives.claimed()
    await lives.prepared(held, index=0)
    await lives.prepared(held, index=1, tool="life.add_ledger_entry")
    interrupt = (await ask(lives, held, actions=((0, 1), (1, 1)))).interrupt_id
    partly = await decide(served.as_(), interrupt, {"decisions": [{"index": 0, "decision": "approve"}]})
    assert (partly.status_code, partly.json()["errors"][0]["pointer"]) == (422, "/decisions")
    both = {
        "decisions": [
            {"index": 1, "decision": "reject", "note": "no"},
            {"index": 0, "decision": "approve"},
        ]
    }
    decided = await decide(served.as_(), interrupt, both)
    assert decided.json()["resolution"]["decision"] == "mixed"
    assert (await action_of(lives, 0))["status"] == "approved"
    assert await action_of(lives, 1) == {
        "status": "rejected", "decision": "reject", "decided_by": USER, "note": "no"
    }  # fmt: skip


SCHEMA = {
    "type": "object",
    "properties": {"at": {"type": "string", "format": "date-time"}},
    "required": ["at"],
}
ANSWERS: tuple[tuple[dict[str, Any], int, str], ...] = (
    ({"choice": "a"}, 200, ""),
    ({"choice": "nine"}, 422, "/choice"),
    ({"text": "at nine"}, 200, ""),
    ({"value": {"at": "2026-03-04T09:00:00Z"}}, 200, ""),
    ({"value": {"at": "not a date"}}, 422, "/value/at"),
    ({"value": {"at": "2026-02-30T09:00:00Z"}}, 422, "/value/at"),
    ({"value": {}}, 422, "/value"),
    ({"value": None}, 422, "/value"),
    ({}, 422, ""),
    ({"choice": "a", "text": "b"}, 422, ""),
    (APPROVE, 422, "/decision"),
)


@pytest.mark.parametrize(
    ("body", "status"),
    [({"text": "some"}, 422), ({"text": "3"}, 422), ({"value": "3"}, 422), ({"value": 3}, 200)],
)
async def test_words_stand_for_no_number_where_a_schema_alone_says_what_fits(
    served: Served, lives: Lives, body: dict[str, Any], status: int
) -> None:
    held = await lives.claimed()
    asked = await ask(lives, held, kind=InterruptKind.INPUT, input_schema={"type": "integer"})
    answer = await decide(served.as_(), asked.interrupt_id, body)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(("body", "status", "pointer"), ANSWERS)
async def test_a_question_takes_exactly_one_fitting_answer(
    served: Served, lives: Lives, body: dict[str, Any], status: int, pointer: str
) -> None:
    held = await lives.claimed()
    asked = await ask(
        lives,
        held,
        kind=InterruptKind.INPUT,
        candidates=[{"id": "a", "label": "nine"}, {"id": "b", "label": "ten"}],
        input_schema=SCHEMA,
    )
    answer = await decide(served.as_(), asked.interrupt_id, body)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["resolution"] == body
        assert await lives.status(held.run.id) == "queued"
    else:
        assert answer.json()["errors"][0]["pointer"] == pointer
        assert await lives.status(held.run.id) == "waiting"


async def test_only_who_was_asked_answers_a_question(served: Served, lives: Lives) -> None:
    held = await lives.claimed()
    asked = await ask(lives, held, kind=InterruptKind.INPUT)
    assert (
        await decide(served.as_("peer", "approver"), asked.interrupt_id, {"text": "x"})
    ).status_code == 404
    assert (
        await decide(served.as_("boss", "operator"), asked.interrupt_id, {"text": "x"})
    ).status_code == 200


async def test_the_rights_of_who_decided_are_known_afterwards(served: Served, lives: Lives) -> None:
    _, interrupt = await lives.waiting()
    await decide(served.as_("peer", "approver"), interrupt, APPROVE)
    [row] = await lives.sql("SELECT tenant_id, roles FROM agent.principals WHERE user_id = 'peer'")
    assert (row["tenant_id"], row["roles"]) == (TENANT, ["approver"])
