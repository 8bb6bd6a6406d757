"""One key is one run: I01, I02, case ID-1, on real Postgres under the api's role."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fencepost_api.usecases import create_run as usecase
from fencepost_runtime import failpoints
from sqlalchemy import event

from tests.support.api import Served, a_key, saying
from tests.support.eventually import eventually
from tests.support.lives import OTHER_TENANT, Lives

JSON = {"Content-Type": "application/json"}
TABLES = ("runs", "run_events", "run_event_payloads", "outbox", "budgets", "messages", "conversations")


async def counted(lives: Lives) -> dict[str, int]:
    [row] = await lives.sql("SELECT " + ", ".join(f"(SELECT count(*) FROM agent.{t}) AS {t}" for t in TABLES))
    return row


@pytest.fixture
def armed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of failpoints of this process."""
    folder = tmp_path / "failpoints"
    monkeypatch.setenv(failpoints.DIRECTORY_VARIABLE, str(folder))
    return folder


async def test_i01_a_run_its_event_and_its_hint_exist_together(served: Served, lives: Lives) -> None:
    assert (await served.as_().post("/v1/runs", json=saying(), headers=a_key())).status_code == 201
    assert await counted(lives) == dict.fromkeys(TABLES, 1)


async def test_i01_a_failure_before_commit_leaves_nothing(served: Served, lives: Lives, armed: Path) -> None:
    failpoints.arm(armed, "api.create.before_commit", "error")
    failed = await served.as_().post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"})
    assert (failed.status_code, failed.json()["code"]) == (500, "internal")
    assert "failpoint" not in failed.text
    assert await counted(lives) == dict.fromkeys(TABLES, 0)
    again = await served.as_().post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"})
    assert again.status_code == 201 and "idempotent-replayed" not in again.headers


async def test_i02_a_lost_response_is_asked_for_again_under_its_key(
    served: Served, lives: Lives, armed: Path
) -> None:
    failpoints.arm(armed, "api.create.before_response", "error")
    lost = await served.as_().post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"})
    assert lost.status_code == 500
    again = await served.as_().post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert await counted(lives) == dict.fromkeys(TABLES, 1)


async def test_a_run_is_made_in_four_statements(served: Served) -> None:
    """Between BEGIN and COMMIT; each more is a round trip of every request."""
    served.api.modules.keep("all", frozenset({"direct", "life"}))  # as where workers serve them
    await served.as_().post("/v1/runs", json=saying(), headers=a_key())  # from here on who asks is known
    seen: list[str] = []

    def note(*args: Any) -> None:
        seen.append(args[2])

    event.listen(served.api.store.engine.sync_engine, "before_cursor_execute", note)
    assert (await served.as_().post("/v1/runs", json=saying(), headers=a_key())).status_code == 201
    assert len(seen) == 4, seen


async def test_i02_sixteen_twins_get_one_run(served: Served, lives: Lives) -> None:
    clients = [served.as_() for _ in range(16)]
    answers = await asyncio.gather(
        *(c.post("/v1/runs", json=saying(), headers={"Idempotency-Key": "twin"}) for c in clients)
    )
    assert {a.status_code for a in answers} == {201}
    assert len({a.json()["id"] for a in answers}) == 1
    assert sum("idempotent-replayed" not in a.headers for a in answers) == 1
    assert await counted(lives) == dict.fromkeys(TABLES, 1)


async def test_i02_a_key_belongs_to_a_tenant_and_a_user(served: Served, lives: Lives) -> None:
    callers = [served.as_(), served.as_("other"), served.as_(tenant=OTHER_TENANT)]
    answers = [await c.post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"}) for c in callers]
    assert {a.status_code for a in answers} == {201}
    assert len({a.json()["id"] for a in answers}) == 3


async def test_i02_a_replay_shows_the_run_as_it_is_now(served: Served, lives: Lives) -> None:
    made = await served.as_().post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"})
    await served.as_().post(f"/v1/runs/{made.json()['id']}/cancel")
    again = await served.as_().post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["status"]) == (201, "cancelled")
    assert again.headers["location"] == made.headers["location"]


BODY: dict[str, Any] = {"input": {"text": "paid"}, "metadata": {"amount": "0.0010", "b": "2"}}
SAME = (
    b'{"metadata": {"b": "2", "amount": "0.0010"},   "input": {"text": "paid"}}',
    b'\n{\t"input":{"text":"p\\u0061id"},"metadata":{"b":"2","amount":"0.0010"}}\n',
)
OTHER = (
    BODY | {"metadata": {"amount": "0.001", "b": "2"}},
    BODY | {"input": {"text": "paid "}},
    BODY | {"module": "companion"},
    BODY | {"metadata": {}},
)


@pytest.mark.parametrize("body", SAME)
async def test_id1_spelling_of_the_container_does_not_count(served: Served, body: bytes) -> None:
    made = await served.as_().post("/v1/runs", json=BODY, headers={"Idempotency-Key": "k"})
    again = await served.as_().post("/v1/runs", content=body, headers={**JSON, "Idempotency-Key": "k"})
    assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert again.json()["id"] == made.json()["id"]


@pytest.mark.parametrize("body", OTHER, ids=[json.dumps(body) for body in OTHER])
async def test_id1_another_value_under_the_key_is_refused(
    served: Served, lives: Lives, body: dict[str, Any]
) -> None:
    await served.as_().post("/v1/runs", json=BODY, headers={"Idempotency-Key": "k"})
    refused = await served.as_().post("/v1/runs", json=body, headers={"Idempotency-Key": "k"})
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert await counted(lives) == dict.fromkeys(TABLES, 1)


async def test_id1_while_the_first_is_in_work(served: Served, lives: Lives, armed: Path) -> None:
    """Another request learns so at once; the same one waits, then is told to come again, then replays."""
    failpoints.arm(armed, "api.create.before_commit", "block")
    key = {"Idempotency-Key": "slow"}
    first = asyncio.create_task(served.as_().post("/v1/runs", json=BODY, headers=key))
    await failpoints.wait_hit(armed, "api.create.before_commit")

    loop = asyncio.get_running_loop()
    asked = loop.time()
    other = await served.as_().post("/v1/runs", json=OTHER[0], headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert loop.time() - asked < 0.5
    same = await served.as_().post("/v1/runs", json=BODY, headers=key)  # waits 1 s here, 5 s by default
    assert (same.status_code, same.json()["code"]) == (409, "request_in_progress")
    assert int(same.headers["retry-after"]) >= 1 and loop.time() - asked > 0.9
    waiting = asyncio.create_task(served.as_().post("/v1/runs", json=BODY, headers=key))
    failpoints.release(armed, "api.create.before_commit")

    made, waited = await first, await waiting
    assert (made.status_code, waited.status_code) == (201, 201)
    assert waited.headers["idempotent-replayed"] == "true"
    assert made.json()["id"] == waited.json()["id"]
    assert await counted(lives) == dict.fromkeys(TABLES, 1)


async def test_id1_the_key_is_free_again_when_the_first_was_refused(served: Served) -> None:
    refused = await served.as_().post(
        "/v1/runs", json=saying(module="nosuch"), headers={"Idempotency-Key": "k"}
    )
    assert refused.status_code == 422
    made = await served.as_().post("/v1/runs", json=saying(), headers={"Idempotency-Key": "k"})
    assert made.status_code == 201


async def test_prefer_wait_answers_at_the_end_or_at_a_question(served: Served, lives: Lives) -> None:
    headers = {**a_key(), "Prefer": "respond-async, wait=15"}
    asked = asyncio.create_task(served.as_().post("/v1/runs", json=saying(module="life"), headers=headers))
    await eventually(lambda: bool(served.api.runs.watches))
    [held] = await lives.claim()
    await lives.prepared(held)
    await lives.ask(held)
    answer = await asked
    assert (answer.status_code, answer.headers["preference-applied"]) == (201, "wait=15")
    assert (answer.json()["status"], answer.json()["waiting_on"]) == ("waiting", "approval")
    assert answer.json()["interrupt"]["kind"] == "approval"
    assert [(a["index"], a["tool"], a["risk"], a["effect"]) for a in answer.json()["actions"]] == [
        (0, "create_reminder", "medium", None)
    ]


async def test_prefer_wait_gives_up_when_the_time_is_over(served: Served) -> None:
    headers = {**a_key(), "Prefer": "wait=1"}
    answer = await served.as_().post("/v1/runs", json=saying(), headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (201, "queued")


@pytest.mark.parametrize("prefer", ["wait=abc", "wait=-1", "wait", "return=minimal", "x" * 500])
async def test_a_preference_that_cannot_be_read_is_none(served: Served, prefer: str) -> None:
    answer = await served.as_().post("/v1/runs", json=saying(), headers={**a_key(), "Prefer": prefer})
    assert answer.status_code == 201 and "preference-applied" not in answer.headers


async def test_on_busy_cancel_makes_room_and_never_cancels_its_own_twin(served: Served, lives: Lives) -> None:
    first = await served.as_().post("/v1/runs", json=saying("one"), headers=a_key())
    conversation = first.json()["conversation_id"]
    body = saying("two", conversation_id=conversation, on_busy="cancel")
    answers: list[httpx.Response] = await asyncio.gather(
        *(served.as_().post("/v1/runs", json=body, headers={"Idempotency-Key": "two"}) for _ in range(8))
    )
    assert {a.status_code for a in answers} == {201}
    assert len({a.json()["id"] for a in answers}) == 1
    assert (await served.as_().get(f"/v1/runs/{first.json()['id']}")).json()["status"] == "cancelled"
    assert (await served.as_().get(f"/v1/runs/{answers[0].json()['id']}")).json()["status"] == "queued"


async def test_on_busy_reject_lets_one_of_many_in(served: Served) -> None:
    conversation = str(served.api.ids.uuid7())
    body = saying(conversation_id=conversation, on_busy="reject")
    answers = await asyncio.gather(
        *(served.as_().post("/v1/runs", json=body, headers=a_key()) for _ in range(6))
    )
    assert sorted(a.status_code for a in answers) == [201, 409, 409, 409, 409, 409]
    assert {a.json()["code"] for a in answers if a.status_code == 409} == {"conversation_busy"}


async def test_settings_and_input_give_a_run_its_zone_language_and_currency(
    served: Served, lives: Lives
) -> None:
    ann = served.as_()
    made = await ann.post("/v1/runs", json=saying("打车35块5"), headers=a_key())
    assert await kept(lives, made) == {"locale": "zh-CN", "zone": None, "currency": "CNY"}
    await ann.patch("/v1/settings", json={"zone": "Europe/Berlin", "locale": "de-DE", "currency": "EUR"})
    made = await ann.post("/v1/runs", json=saying("打车35块5"), headers=a_key())
    assert await kept(lives, made) == {"locale": "de-DE", "zone": "Europe/Berlin", "currency": "EUR"}
    given = {"text": "hi", "zone": "America/New_York", "locale": "en-GB", "currency": "GBP"}
    made = await ann.post("/v1/runs", json={"input": given}, headers=a_key())
    assert await kept(lives, made) == {"locale": "en-GB", "zone": "America/New_York", "currency": "GBP"}


async def kept(lives: Lives, made: httpx.Response) -> dict[str, Any]:
    assert made.status_code == 201, made.text
    row = await lives.run(made.json()["id"])
    return {name: row[name] for name in ("locale", "zone", "currency")}


def test_a_fingerprint_tells_values_apart_and_not_spelling() -> None:
    same = [{"a": 1, "b": "\u00e9"}, {"b": "é", "a": 1}]
    other = [{"a": "1", "b": "é"}, {"a": 1, "b": "e\u0301"}, {"a": True, "b": "é"}, {"a": 1}]
    prints = {usecase.fingerprint(value) for value in same}
    assert len(prints) == 1
    assert prints.isdisjoint(usecase.fingerprint(value) for value in other)
