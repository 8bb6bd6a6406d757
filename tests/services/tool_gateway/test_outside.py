"""Effects that leave the house, each class on a real provider whose own log is the truth (02 §5, ID-4)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from fencepost_domain.effect import effect_key
from fencepost_reconciler.loops.settle_effects import SettleEffects
from fencepost_store.claims import Claim

from tests.support.eventually import eventually
from tests.support.gateway import Served, code, serving
from tests.support.lives import Lives
from tests.support.parcels import SEND, TOKEN, Provider, parcels_module, providing_parcels, secrets_folder


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[Provider]:
    async with providing_parcels() as running:
        yield running


@pytest.fixture
async def outside(lives: Lives, provider: Provider, tmp_path: Path) -> AsyncIterator[Served]:
    await provider.switch(
        mode="normal", times=0, no_keys=False, memory_seconds=86_400, visible_after=0, lookup_fails=False
    )
    secrets = secrets_folder(tmp_path / "secrets")
    async with serving(lives, dirs=[parcels_module(provider.url)], secrets=secrets) as running:
        yield running


async def begun(served: Served, tool: str, **more: Any) -> tuple[Claim, dict[str, Any], str]:
    """A run whose one action is prepared, and approved where that is asked; and its effect's key."""
    held = await served.bound(module="probe", **more)
    action = await served.prepared(held, f"probe.{tool}", SEND)
    if action["approval"]:
        held = await served.approved(held, action)
    return held, action, effect_key(held.run.id, 0)


async def effect(served: Served, key: str) -> dict[str, Any]:
    [row] = await served.lives.sql(
        "SELECT to_jsonb(e) AS row FROM agent.effects e WHERE effect_key = %s", key
    )
    found: dict[str, Any] = row["row"]
    return found


async def over(served: Served, key: str, *, by: str = "1 hour ago") -> None:
    """The newest attempt's end is past, and what it waits for too; the sweep has seen it."""
    past, took = f"clock_timestamp() - interval '{by.removesuffix(' ago')}'", "interval '2 seconds'"
    await served.lives.sql(
        f"UPDATE agent.effect_attempts SET attempt_ends_at = {past}, started_at = {past} - {took}"
        " WHERE effect_key = %s",
        key,
    )
    await served.lives.sql("UPDATE agent.actions SET decided_at = decided_at - interval '1 day'")
    await SettleEffects(served.lives.reconciler).run_once()
    await served.lives.sql(
        "UPDATE agent.effects SET next_look_at = NULL WHERE effect_key = %s AND next_look_at IS NOT NULL", key
    )


async def look(served: Served, held: Claim) -> dict[str, Any]:
    response = await served.post("lookup", held.fence, {"index": 0, "advance": True})
    assert response.status_code == 200, response.text
    return dict(response.json())


async def test_it_is_sent_once_and_the_exact_request_is_stored_without_its_credential(
    outside: Served, provider: Provider
) -> None:
    held, action, key = await begun(outside, "idempotent")
    answer = (await outside.commit(held, action)).json()
    assert answer["state"] == "completed" and answer["result"]["id"] and not answer["replayed"]
    again = (await outside.commit(held, action)).json()
    assert again["replayed"] and again["result"] == answer["result"]
    assert await provider.sent(key) == 1
    [row] = await outside.lives.sql("SELECT request, outcome FROM agent.effect_attempts")
    request = json.loads(bytes(row["request"]))
    assert request["headers"]["Idempotency-Key"] == key
    assert json.loads(request["body"]) == SEND
    dumped = await outside.lives.sql("SELECT CAST(to_jsonb(e) AS text) AS row FROM agent.effects e")
    assert TOKEN not in json.dumps([str(row), str(dumped)])
    types = await outside.lives.event_types(held.run.id)
    assert types.count("action.started") == types.count("action.committed") == 1
    assert (await effect(outside, key))["external_id"] == answer["result"]["id"]
    assert await outside.lives.violations() == []


async def test_a_read_goes_out_and_opens_nothing_before(outside: Served, provider: Provider) -> None:
    sender, sent, key = await begun(outside, "idempotent")
    await outside.commit(sender, sent)
    held = await outside.bound(module="probe")
    action = await outside.prepared(held, "probe.find", {"key": key})
    answer = (await outside.commit(held, action)).json()
    assert answer["state"] == "completed" and answer["result"]["id"]


@pytest.mark.parametrize("mode", ["accept_then_drop", "accept_then_hang"])
async def test_id4_an_answer_lost_is_unknown_and_repeated_byte_for_byte_under_one_key(
    outside: Served, provider: Provider, mode: str
) -> None:
    held, action, key = await begun(outside, "idempotent")
    await provider.switch(mode=mode, seconds=20)
    assert (await outside.commit(held, action)).status_code == 202
    assert (await effect(outside, key))["state"] == "unknown"
    await over(outside, key, by="1 second ago")
    answer = (await outside.commit(held, action)).json()
    assert answer["state"] == "completed"
    raws = [one["raw"] for one in await provider.log() if one.get("key") == key]
    assert len(raws) == 2 and raws[0] == raws[1], "the stored request, byte for byte"
    assert await provider.sent(key) == 1
    assert await outside.lives.violations() == []


@pytest.mark.parametrize("tool", ["idempotent", "keyless"])
async def test_id4_past_the_providers_memory_nothing_is_resent(
    outside: Served, provider: Provider, tool: str
) -> None:
    """`idempotent` knows its key for a minute; `keyless` declares no memory at all."""
    held, action, key = await begun(outside, tool)
    await provider.switch(mode="accept_then_drop")
    assert (await outside.commit(held, action)).status_code == 202
    await over(outside, key)
    answer = await outside.commit(held, action)
    assert code(answer) == "reconcile"
    assert answer.json()["effect"]["state"] == "needs_human"
    assert await provider.sent(key) == 1
    assert await outside.lives.violations() == []


async def test_i10_an_opaque_effect_is_never_repeated_by_the_machine(
    outside: Served, provider: Provider
) -> None:
    held, action, key = await begun(outside, "opaque")
    before = await provider.sent()
    await provider.switch(mode="accept_then_drop")
    assert (await outside.commit(held, action)).status_code == 202
    await over(outside, key, by="1 second ago")
    for _ in range(3):
        assert code(await outside.commit(held, action)) == "reconcile"
        assert (await look(outside, held))["state"] == "needs_human"
    assert await provider.sent() == before + 1
    assert await outside.lives.violations() == []


async def test_what_a_look_up_finds_is_completed_and_not_sent_again(
    outside: Served, provider: Provider
) -> None:
    held, action, key = await begun(outside, "queryable")
    await provider.switch(mode="accept_then_drop")
    assert (await outside.commit(held, action)).status_code == 202
    assert (await look(outside, held))["state"] == "unknown", "not before the attempt's end"
    await over(outside, key, by="1 second ago")
    assert (await look(outside, held))["state"] == "completed"
    answer = (await outside.commit(held, action)).json()
    assert answer["state"] == "completed" and answer["result"]["id"]
    assert await provider.sent(key) == 1
    assert await outside.lives.violations() == []


async def test_i10_absent_counts_only_after_the_attempts_end_and_settle_within(
    outside: Served, provider: Provider
) -> None:
    """An eventually consistent look-up says 404 at first; believed too early it would send a second one."""
    held, action, key = await begun(outside, "queryable")
    await provider.switch(visible_after=1.0)
    await provider.switch(mode="accept_then_drop")
    assert (await outside.commit(held, action)).status_code == 202
    await over(outside, key, by="0 second ago")
    first = await look(outside, held)
    assert first["state"] == "unknown", "settle_within isn't over"
    assert (await outside.commit(held, action)).status_code == 202
    stored = await effect(outside, key)
    assert stored["next_look_at"] is not None

    async def settled() -> bool:
        return bool((await look(outside, held))["state"] == "completed")

    await eventually(settled)
    assert await provider.sent(key) == 1
    assert await outside.lives.violations() == []


async def test_a_settled_absent_is_sent_again_under_the_same_key(outside: Served, provider: Provider) -> None:
    held, action, key = await begun(outside, "queryable")
    await provider.switch(mode="error")
    assert (await outside.commit(held, action)).status_code == 202, "HTTP 500 proves nothing"
    await over(outside, key)
    assert (await look(outside, held))["state"] == "absent"
    answer = (await outside.commit(held, action)).json()
    assert answer["state"] == "completed"
    assert await provider.sent(key) == 1
    states = await outside.lives.sql("SELECT state FROM agent.effect_attempts ORDER BY attempt")
    assert [row["state"] for row in states] == ["absent", "completed"]
    assert await outside.lives.violations() == []


async def test_a_look_up_that_stays_unsure_goes_to_a_person(outside: Served, provider: Provider) -> None:
    held, action, key = await begun(outside, "queryable")
    await provider.switch(mode="accept_then_drop", lookup_fails=True)
    assert (await outside.commit(held, action)).status_code == 202
    await over(outside, key)
    for _ in range(8):
        assert (await look(outside, held))["state"] == "unknown"
        await outside.lives.sql("UPDATE agent.effects SET next_look_at = NULL WHERE effect_key = %s", key)
    assert (await look(outside, held))["state"] == "needs_human"
    assert code(await outside.commit(held, action)) == "reconcile"
    assert await provider.sent(key) == 1


async def test_a_refusal_is_failed_and_429_is_sent_again_when_it_says(
    outside: Served, provider: Provider
) -> None:
    held, action, key = await begun(outside, "opaque")
    await provider.switch(mode="reject")
    answer = (await outside.commit(held, action)).json()
    assert answer["state"] == "failed" and answer["error"]["code"] == "rejected"
    assert "not now" in answer["error"]["detail"]
    held, action, key = await begun(outside, "asked")
    await provider.switch(mode="limit", seconds=1)
    assert (await outside.commit(held, action)).status_code == 202
    assert (await effect(outside, key))["state"] == "absent"
    assert (await outside.commit(held, action)).status_code == 202, "not before Retry-After"
    assert await provider.sent(key) == 0

    async def done() -> bool:
        return bool((await outside.commit(held, action)).json()["state"] == "completed")

    await eventually(done)
    assert await provider.sent(key) == 1
    assert await outside.lives.violations() == []


async def test_what_never_left_is_sent_later_and_its_last_refusal_stands(
    outside: Served, provider: Provider
) -> None:
    """No credential: nothing is sent, five times; then the action failed and nothing is open."""
    held, action, key = await begun(outside, "idempotent")
    secret = next(outside.catalogs.executor.outside_of(t) for t in outside.catalogs.now("probe").tools)
    secret._secrets._folder = Path("/nowhere")  # type: ignore[union-attr]
    for _ in range(4):
        assert (await outside.commit(held, action)).status_code == 202
        await outside.lives.sql("UPDATE agent.effects SET next_look_at = NULL WHERE effect_key = %s", key)
    answer = (await outside.commit(held, action)).json()
    assert answer["state"] == "failed" and answer["error"]["code"] == "secret_missing"
    assert await provider.sent(key) == 0
    assert await outside.lives.violations() == []


async def test_a_refused_repeat_proves_nothing_about_the_attempt_before(
    outside: Served, provider: Provider
) -> None:
    held, action, key = await begun(outside, "idempotent")
    await provider.switch(mode="accept_then_drop")
    assert (await outside.commit(held, action)).status_code == 202
    await over(outside, key, by="1 second ago")
    await provider.switch(mode="reject")
    assert (await outside.commit(held, action)).status_code == 202
    assert (await effect(outside, key))["state"] == "unknown", "attempt 1 was accepted"
    assert await provider.sent(key) == 1


async def test_a_result_outside_its_schema_is_completed_and_no_observation(
    outside: Served, provider: Provider, lives: Lives, tmp_path: Path
) -> None:
    held, action, key = await begun(outside, "idempotent")
    tool = outside.catalogs.now("probe").tool("probe.idempotent")
    assert tool is not None
    from tests.support.gateway import module_folder
    from tests.support.parcels import contract

    wrong = contract(provider.url).replace("required: [id]", "required: [tracking]")
    secrets = secrets_folder(tmp_path / "more")
    async with serving(lives, dirs=[module_folder(wrong, "")], secrets=secrets) as strict:
        held, action, key = await begun(strict, "idempotent")
        answer = (await strict.commit(held, action)).json()
        assert answer["state"] == "completed" and answer["result_invalid"] and answer["result"] is None
        assert answer["error"]["code"] == "result_invalid"
        assert (await effect(strict, key))["result"]["to"] == "Bob", "kept as evidence"
        assert await provider.sent(key) == 1
        assert await lives.violations() == []


async def test_wf4_a_late_reply_is_evidence_and_starts_nothing(outside: Served, provider: Provider) -> None:
    """Cancelled while it is being sent: the reply is recorded, moves no status and starts no step."""
    held, action, key = await begun(outside, "idempotent")
    await provider.switch(mode="slow", seconds=1)
    import asyncio

    sending = asyncio.ensure_future(outside.commit(held, action))

    async def opened() -> bool:
        return await outside.attempts() == 1

    await eventually(opened)
    await outside.lives.cancel(held.run.id)
    await sending
    assert (await effect(outside, key))["state"] == "completed"
    assert await outside.lives.status(held.run.id) == "cancelling"
    types = await outside.lives.event_types(held.run.id)
    assert types.index("run.cancel_asked") < types.index("action.committed")
    assert await provider.sent(key) == 1
    assert await outside.lives.violations() == []


async def test_wf4_i22_a_stopped_run_repeats_nothing(outside: Served, provider: Provider) -> None:
    """A retry that was waiting is disarmed by the cancel: its commit finds the fence lost."""
    held, action, key = await begun(outside, "asked")
    await provider.switch(mode="limit", seconds=60)
    assert (await outside.commit(held, action)).status_code == 202
    await outside.lives.cancel(held.run.id)
    await outside.lives.sql("UPDATE agent.effects SET next_look_at = NULL WHERE effect_key = %s", key)
    answer = await outside.commit(held, action)
    assert answer.json().get("code") == "fence_lost" or answer.json().get("state") == "failed"
    assert (await look(outside, held))["state"] == "withdrawn"
    assert await provider.sent(key) == 0
    assert await outside.attempts() == 1
    assert await outside.lives.violations() == []


async def test_i12_an_approval_that_expired_opens_no_repeat(outside: Served, provider: Provider) -> None:
    held, action, key = await begun(outside, "asked")
    await provider.switch(mode="limit", seconds=0)
    assert (await outside.commit(held, action)).status_code == 202
    await outside.lives.sql("UPDATE agent.effects SET next_look_at = NULL WHERE effect_key = %s", key)
    await outside.lives.age("agent.interrupts", "expires_at", "run_id = %s", held.run.id)
    assert code(await outside.commit(held, action)) == "approval_expired"
    assert await provider.sent(key) == 0 and await outside.attempts() == 1


async def test_two_commits_at_once_send_one(outside: Served, provider: Provider) -> None:
    import asyncio

    held, action, _ = await begun(outside, "opaque")
    before = await provider.sent()
    await provider.switch(mode="slow", seconds=0.5)
    answers = await asyncio.gather(*(outside.commit(held, action) for _ in range(4)))
    assert {one.status_code for one in answers} <= {200, 202}
    assert await provider.sent() == before + 1
    assert await outside.attempts() == 1


def test_the_longest_wait_is_minutes() -> None:
    from fencepost_domain.effect import wait_after

    assert wait_after(0) == timedelta(seconds=1) and wait_after(30) == timedelta(minutes=5)


async def remembering(lives: Lives, provider: Provider, tmp_path: Path, seconds: int) -> Any:
    """A gateway over a contract whose provider is said to know a key for this long."""
    folder = tmp_path / f"kept-{seconds}"
    return serving(
        lives, dirs=[parcels_module(provider.url, key_memory=seconds)], secrets=secrets_folder(folder)
    )


@pytest.mark.parametrize(("hours", "is_resent"), [(23, True), (25, False)])
async def test_id4_a_retry_is_sent_within_the_providers_day_and_not_after_it(
    lives: Lives, provider: Provider, tmp_path: Path, hours: int, is_resent: bool
) -> None:
    await provider.switch(mode="normal", times=0, no_keys=False, memory_seconds=86_400)
    async with await remembering(lives, provider, tmp_path, 86_400) as served:
        held, action, key = await begun(served, "idempotent")
        await provider.switch(mode="accept_then_drop")
        assert (await served.commit(held, action)).status_code == 202
        await over(served, key, by=f"{hours} hours ago")
        if not is_resent:
            await provider.switch(
                memory_seconds=0
            )  # a day later it has forgotten: a repeat would be a second
        answer = await served.commit(held, action)
        if is_resent:
            assert answer.json()["state"] == "completed"
        else:
            assert code(answer) == "reconcile" and answer.json()["effect"]["state"] == "needs_human"
        whats = [one["what"] for one in await provider.log() if one.get("key") == key]
        assert whats == (["sent", "repeated"] if is_resent else ["sent"])
        assert await served.lives.violations() == []


async def test_id4_a_provider_that_knows_no_keys_is_not_resent_to(
    outside: Served, provider: Provider
) -> None:
    """It would send a second one for the same key; the contract that says so declares no memory."""
    await provider.switch(no_keys=True)
    for tool, state in (("keyless", "needs_human"), ("queryable", "completed")):
        held, action, key = await begun(outside, tool)
        await provider.switch(mode="accept_then_drop")
        assert (await outside.commit(held, action)).status_code == 202
        await over(outside, key)
        await outside.commit(held, action)
        assert (await effect(outside, key))["state"] == state
        assert await provider.sent(key) == 1
    assert await outside.lives.violations() == []


async def test_id4_a_repeat_is_what_was_stored_and_not_the_template_rendered_again(
    outside: Served, provider: Provider
) -> None:
    """The text holds the time; a second rendering would be another text, and another mail."""
    held = await outside.bound(module="probe")
    action = await outside.prepared(held, "probe.idempotent", {**SEND, "at": "2026-12-01T09:00:00Z"})
    key = effect_key(held.run.id, 0)
    await provider.switch(mode="accept_then_drop")
    assert (await outside.commit(held, action)).status_code == 202
    later = {**SEND, "at": "2026-12-01T09:00:07Z"}
    rendered = await outside.prepare(held, "probe.idempotent", later, n=2)
    assert code(rendered) == "reconcile", "nothing new is prepared while an attempt may have landed"
    await over(outside, key, by="1 second ago")
    assert (await outside.commit(held, action)).json()["state"] == "completed"
    raws = [one["raw"] for one in await provider.log() if one.get("key") == key]
    assert len(raws) == 2 and raws[0] == raws[1] and "09:00:00Z" in raws[0]
    assert await provider.sent(key) == 1
