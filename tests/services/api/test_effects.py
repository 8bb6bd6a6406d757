"""What only a person can find out about an effect: listed, said once with evidence, and the run goes on."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fencepost_domain.effect import effect_key
from fencepost_domain.vocabulary import EffectState, InterruptKind
from fencepost_store import interrupts
from fencepost_store.runs import lock_run

from tests.support.api import Served, a_key
from tests.support.lives import OTHER_TENANT, Lives

SAID = {"outcome": "completed", "evidence": "mail log of 12:03, message 77", "external_id": "m-77"}


async def waits_for_a_person(lives: Lives) -> tuple[UUID, str]:
    """A run parked on reconcile: its one effect is needs_human."""
    held = await lives.claimed()
    action = await lives.prepared(held)
    await lives.opened(action)
    key = effect_key(held.run.id, 0)
    await lives.age("agent.effect_attempts", "attempt_ends_at", "effect_key = %s", key)
    await lives.sql("UPDATE agent.effect_attempts SET state = 'unknown' WHERE effect_key = %s", key)
    for state in (EffectState.UNKNOWN, EffectState.NEEDS_HUMAN):
        await lives.sql("UPDATE agent.effects SET state = %s WHERE effect_key = %s", str(state), key)
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        new = interrupts.NewInterrupt(tx.ids.uuid7(), InterruptKind.RECONCILE, 0, 1, "What became of it?")
        await interrupts.open_and_park(
            tx, locked.run, locked.now, held.fence, new, wakes_seen=locked.run.wakes, event_id=tx.ids.uuid7()
        )
    return held.run.id, key


async def test_an_operator_settles_it_once_and_the_run_goes_on(served: Served, lives: Lives) -> None:
    run_id, key = await waits_for_a_person(lives)
    operator = served.as_("olga", "operator")
    listed = (await operator.get("/v1/effects?state=needs_human")).json()
    assert [one["id"] for one in listed["items"]] == [key] and listed["next_cursor"] is None
    header = a_key()
    answer = await operator.post(f"/v1/effects/{key}/resolution", json=SAID, headers=header)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["state"], answer.json()["external_id"]) == ("completed", "m-77")
    assert answer.json()["resolved_by"] == "olga"
    assert await lives.status(run_id) == "queued"
    again = await operator.post(f"/v1/effects/{key}/resolution", json=SAID, headers=header)
    assert again.status_code == 200 and again.headers["Idempotent-Replayed"] == "true"
    other = {**SAID, "outcome": "absent"}
    refused = await operator.post(f"/v1/effects/{key}/resolution", json=other, headers=a_key())
    assert (refused.status_code, refused.json()["code"]) == (409, "already_resolved")
    types = await lives.event_types(run_id)
    assert types.count("effect.resolved") == types.count("interrupt.resolved") == 1


@pytest.mark.parametrize("outcome", ["absent", "abandoned"])
async def test_what_a_person_says_is_the_effects_state(served: Served, lives: Lives, outcome: str) -> None:
    run_id, key = await waits_for_a_person(lives)
    said: dict[str, Any] = {"outcome": outcome, "evidence": "looked at their books"}
    answer = await served.as_("olga", "operator").post(
        f"/v1/effects/{key}/resolution", json=said, headers=a_key()
    )
    assert answer.json()["state"] == outcome
    assert await lives.status(run_id) == "queued"


async def test_i27_nobody_else_settles_it_and_nothing_without_evidence(served: Served, lives: Lives) -> None:
    _, key = await waits_for_a_person(lives)
    path = f"/v1/effects/{key}/resolution"
    assert (await served.as_().post(path, json=SAID, headers=a_key())).status_code == 403
    assert (await served.as_().get("/v1/effects")).status_code == 403
    stranger = served.as_("olga", "operator", tenant=OTHER_TENANT)
    assert (await stranger.get("/v1/effects")).json()["items"] == []
    assert (await stranger.get(f"/v1/effects/{key}")).status_code == 404
    assert (await stranger.post(path, json=SAID, headers=a_key())).status_code == 404
    operator = served.as_("olga", "operator")
    for body in ({"outcome": "completed"}, {**SAID, "evidence": "  "}, {**SAID, "outcome": "failed"}):
        assert (await operator.post(path, json=body, headers=a_key())).status_code == 422
    assert (await operator.post(path, json=SAID)).status_code == 400
    assert (await operator.get("/v1/effects/nothing")).status_code == 404


async def test_a_reconcile_question_is_answered_by_settling_its_effect(served: Served, lives: Lives) -> None:
    """Answered as any question, the run would wake, commit again and find what it found before."""
    run_id, key = await waits_for_a_person(lives)
    operator = served.as_("olga", "operator")
    [asked] = (await operator.get("/v1/interrupts?kind=reconcile")).json()["items"]
    path = f"/v1/interrupts/{asked['id']}/resolution"
    for said in ({"text": "it went out"}, {"decision": "approve"}, {"choice": "completed"}):
        refused = await operator.post(path, json=said, headers=a_key())
        assert (refused.status_code, refused.json()["code"]) == (409, "settle_the_effect"), refused.text
        assert refused.json()["effect_key"] == key and f"/v1/effects/{key}" in refused.json()["detail"]
    stranger = await served.as_("u1", "user").post(path, json={"text": "x"}, headers=a_key())
    assert stranger.status_code in (403, 404)
    assert await lives.status(run_id) == "waiting"
    answer = await operator.post(f"/v1/effects/{key}/resolution", json=SAID, headers=a_key())
    assert answer.status_code == 200
    assert (await operator.get(f"/v1/interrupts/{asked['id']}")).json()["status"] == "resolved"
    assert await lives.status(run_id) == "queued"
