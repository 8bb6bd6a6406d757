"""An order to undo: who may give it, of what, once; and what is said where it can't be given (ADR-0030)."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest
from fencepost_contracts.loader import catalog_text, parse_contract
from fencepost_domain.effect import effect_key
from fencepost_domain.vocabulary import Risk

from tests.support.api import Served, a_key
from tests.support.lives import OTHER_TENANT, USER, Lives
from tests.support.parcels import contract

BODY = {"reason": "the wrong Bob"}


async def published(lives: Lives, text: str | None = None) -> None:
    _, catalog = parse_contract((text or contract("http://127.0.0.1:9")).encode(), "contract.yaml", "probe")
    await lives.sql(
        "INSERT INTO agent.catalogs (fingerprint, module, version, body) VALUES (%s, 'probe', %s, %s)",
        catalog.fingerprint, catalog.version, catalog_text("probe", catalog.version, catalog.tools),
    )  # fmt: skip


async def sent(lives: Lives, tool: str = "probe.opaque", **result: Any) -> tuple[UUID, str]:
    """A run that ended with one completed effect."""
    held = await lives.claimed(module="probe")
    action = await lives.prepared(held, tool=tool, risk=Risk.LOW, arguments={"to": "Bob", "what": "book"})
    await lives.opened(action)
    await lives.landed(action)
    await lives.finalize(held)
    key = effect_key(held.run.id, 0)
    if result:
        await lives.sql(
            "UPDATE agent.effects SET result = CAST(%s AS jsonb) WHERE effect_key = %s",
            json.dumps(result),
            key,
        )
    return held.run.id, key


def order(served: Served, key: str, who: str = "olga", *roles: str, **more: Any) -> Any:
    client = served.as_(who, *(roles or ("operator",)), **more)
    return lambda body=BODY, headers=None: client.post(
        f"/v1/effects/{key}/compensation", json=body, headers=headers if headers is not None else a_key()
    )


async def test_an_order_is_given_once_and_makes_a_run_that_acts_for_the_user(
    served: Served, lives: Lives
) -> None:
    await published(lives)
    run_id, key = await sent(lives, id="p7")
    header = a_key()
    give = order(served, key)
    answers = await asyncio.gather(*(give(headers=header) for _ in range(4)))
    assert {one.status_code for one in answers} == {201}
    replayed = [one for one in answers if one.headers.get("Idempotent-Replayed") == "true"]
    assert len(replayed) == 3
    first = answers[0].json()
    assert (first["state"], first["compensates"]) == ("compensating", None)
    [made] = await lives.sql(
        "SELECT id, user_id, origin_run_id, root_run_id, input FROM agent.runs"
        " WHERE origin_kind = 'compensation'"
    )
    assert {one.headers["Location"] for one in answers} == {f"/v1/runs/{made['id']}"}
    assert first["compensation_run_id"] == str(made["id"])
    assert (made["user_id"], made["origin_run_id"], made["root_run_id"]) == (USER, run_id, made["id"])
    assert made["input"]["ordered"] == {
        "tool": "probe.call_back_opaque", "arguments": {"id": "p7"}, "compensates": key,
        "by": "olga", "reason": "the wrong Bob",
    }  # fmt: skip
    types = await lives.event_types(run_id)
    assert types[-1] == "effect.compensating" and types.count("effect.compensating") == 1
    other = await give({"reason": "another"}, header)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    again = await give()
    assert (again.status_code, again.json()["code"]) == (409, "not_completed")
    assert again.json()["compensation_run_id"] == str(made["id"])
    assert await lives.violations() == []


async def test_i27_only_an_operator_of_the_tenant_orders_and_says_why(served: Served, lives: Lives) -> None:
    await published(lives)
    _, key = await sent(lives, id="p7")
    assert (await order(served, key, USER, "user", "approver")()).status_code == 403
    assert (await order(served, key, tenant=OTHER_TENANT)()).status_code == 404
    give = order(served, key)
    for body in ({}, {"reason": " "}, {**BODY, "arguments": {"id": "p1"}}):
        assert (await give(body)).status_code == 422
    assert (await give(headers={})).status_code == 400
    assert (await order(served, f"{key}x")()).status_code == 404
    [row] = await lives.sql("SELECT state FROM agent.effects")
    assert row["state"] == "completed"


async def test_where_nothing_undoes_it_the_way_out_is_said(served: Served, lives: Lives) -> None:
    _, key = await sent(lives, "probe.asked", id="p1")
    unknown = await order(served, key)()
    assert (unknown.status_code, unknown.json()["code"]) == (409, "not_compensable")
    assert "compensate: {tool, arguments}" in unknown.json()["detail"]
    await published(lives)
    assert (await order(served, key)()).json()["code"] == "not_compensable"
    _, nameless = await sent(lives, "probe.opaque")  # its result has no id
    refused = await order(served, nameless)()
    assert refused.json()["code"] == "not_compensable" and "/result/id" in refused.json()["detail"]
    assert await lives.sql("SELECT 1 AS one FROM agent.runs WHERE origin_kind = 'compensation'") == []


async def test_what_is_not_completed_is_not_undone(served: Served, lives: Lives) -> None:
    await published(lives)
    held = await lives.claimed(module="probe")
    action = await lives.prepared(held, tool="probe.opaque", risk=Risk.LOW)
    await lives.opened(action)
    refused = await order(served, effect_key(held.run.id, 0))()
    assert (refused.status_code, refused.json()["code"]) == (409, "not_completed")
    assert "started" in refused.json()["detail"]


@pytest.mark.parametrize("verb", ["retry", "fork"])
async def test_a_run_that_undoes_is_ordered_anew_and_neither_retried_nor_forked(
    served: Served, lives: Lives, verb: str
) -> None:
    await published(lives)
    _, key = await sent(lives, id="p7")
    made = (await order(served, key)()).json()["compensation_run_id"]
    held = next(one for one in await lives.claim(module="probe", limit=9) if str(one.run.id) == made)
    await lives.finalize(held)
    body = {"at_seq": 1} if verb == "fork" else {}
    refused = await served.as_("olga", "operator").post(f"/v1/runs/{made}/{verb}", json=body, headers=a_key())
    assert (refused.status_code, refused.json()["code"]) == (409, "run_is_an_order"), refused.text
    assert "effects compensate" in refused.json()["detail"]
