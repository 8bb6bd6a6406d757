"""Budgets over HTTP: who sets and sees them; a request that could do nothing is refused with a way out."""

from __future__ import annotations

from decimal import Decimal

import pytest
from fencepost_contracts.http_budgets import BudgetView
from fencepost_contracts.http_views import Page
from fencepost_domain.budget import DEADLINE, Estimate

from tests.store.test_budgets import a_call, settle, start
from tests.support.api import Served, a_key, saying
from tests.support.lives import OTHER_TENANT, USER, Lives


async def spend(lives: Lives, cost: str) -> None:
    held = await lives.claimed()
    call = a_call(lives, reserve=Estimate(1, 1, Decimal(cost)))
    assert (await start(lives, held, call)).attempt == 1
    await settle(lives, held, call, cost)


async def test_an_admin_sets_a_budget_and_everybody_sees_what_holds_them(
    served: Served, lives: Lives
) -> None:
    chief, ann = served.as_("chief", "admin"), served.as_(USER, "user")
    put = await chief.put("/v1/budgets", json={"per": "day", "limits": {"cost": "5.00", "model_calls": 100}})
    assert put.status_code == 200
    own = {"user_id": USER, "per": "month", "limits": {"cost": "2.50"}}
    await chief.put("/v1/budgets", json=own)
    await chief.put("/v1/budgets", json={**own, "user_id": "somebody"})
    await spend(lives, "0.25")

    page = Page[BudgetView].model_validate((await chief.get("/v1/budgets")).json())
    assert [(one.scope, one.user_id) for one in page.items] == [
        ("tenant", None), ("user", "somebody"), ("user", USER)
    ]  # fmt: skip
    tenant = page.items[0]
    assert (tenant.limits, tenant.used["cost"], tenant.used["model_calls"]) == (
        {"cost": "5", "model_calls": "100"}, "0.25", "1"
    )  # fmt: skip
    assert tenant.set_by == "user:chief" and tenant.ends_at is not None
    mine = (await ann.get("/v1/budgets")).json()["items"]
    assert [(one["scope"], one["user_id"], one["used"]["cost"]) for one in mine] == [("user", USER, "0.25")]


async def test_nobody_else_sets_one_and_no_other_tenant_sees_it(served: Served) -> None:
    for role in ("user", "operator", "approver"):
        answer = await served.as_(USER, role).put("/v1/budgets", json={"per": "day", "limits": {"cost": "1"}})
        assert answer.status_code == 403, role
    chief = served.as_("chief", "admin")
    await chief.put("/v1/budgets", json={"per": "day", "limits": {"cost": "1"}})
    stranger = served.as_("chief", "admin", tenant=OTHER_TENANT)
    assert (await stranger.get("/v1/budgets")).json()["items"] == []
    await stranger.put("/v1/budgets", json={"per": "day", "limits": None})
    assert len((await chief.get("/v1/budgets")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"per": "week", "limits": {"cost": "1"}}, "/per"),
        ({"per": "day", "limits": {"cost": 1.5}}, "/limits/cost"),
        ({"per": "day", "limits": {"cost": "-1"}}, "/limits/cost"),
        ({"per": "day", "limits": {"model_calls": -1}}, "/limits/model_calls"),
        ({"per": "day", "limits": {"tokens": 1}}, "/limits/tokens"),
        ({"per": "day", "limits": {}}, "/limits"),
        ({"per": "day"}, "/limits"),
        ({"limits": None}, "/per"),
        ({"per": "day", "limits": None, "user_id": ""}, "/user_id"),
    ],
)
async def test_a_malformed_budget_is_refused_with_its_place(
    served: Served, body: dict[str, object], pointer: str
) -> None:
    answer = await served.as_("chief", "admin").put("/v1/budgets", json=body)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


@pytest.mark.parametrize(("user", "limit"), [(None, "tenant_cost"), (USER, "user_cost")])
async def test_a_run_that_could_do_nothing_is_refused_with_the_way_out(
    served: Served, lives: Lives, user: str | None, limit: str
) -> None:
    chief, ann = served.as_("chief", "admin"), served.as_(USER, "user")
    await chief.put("/v1/budgets", json={"user_id": user, "per": "day", "limits": {"cost": "0.50"}})
    assert (await ann.post("/v1/runs", json=saying(), headers=a_key())).status_code == 201
    await spend(lives, "0.50")
    key = a_key()

    refused = await ann.post("/v1/runs", json=saying(), headers=key)

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (429, "budget_exhausted")
    assert problem["errors"][0]["code"] == limit
    assert "0.5 of 0.5" in problem["detail"] and "fencepost budgets set" in problem["detail"]
    assert 0 < int(refused.headers["retry-after"]) <= 86_400
    chinese = await ann.post("/v1/runs", json=saying(text="明早九点提醒我交周报"), headers=a_key())
    said = chinese.json()["detail"]
    assert "额度已用完：已用 0.5，上限 0.5" in said and "管理员可以提高额度" in said
    assert (await ann.post("/v1/runs", json=saying(), headers=key)).status_code == 429
    await chief.put("/v1/budgets", json={"user_id": user, "per": "day", "limits": {"cost": "1"}})
    assert (await ann.post("/v1/runs", json=saying(), headers=key)).status_code == 201, "the key was not used"


async def test_a_total_budget_doesnt_say_when_to_come_again(served: Served, lives: Lives) -> None:
    chief, ann = served.as_("chief", "admin"), served.as_(USER, "user")
    await chief.put("/v1/budgets", json={"per": "total", "limits": {"model_calls": 1}})
    await spend(lives, "0.10")

    refused = await ann.post("/v1/runs", json=saying(), headers=a_key())

    assert refused.status_code == 429 and "retry-after" not in refused.headers


async def test_a_budget_of_seconds_is_the_longest_deadline(served: Served, lives: Lives) -> None:
    chief, ann = served.as_("chief", "admin"), served.as_(USER, "user")

    async def deadline_of(path: str = "/v1/runs", **more: object) -> float:
        body = saying(**more) if path == "/v1/runs" else {}
        answer = await ann.post(path, json=body, headers=a_key())
        assert answer.status_code == 201, answer.text
        made = answer.json()
        (row,) = await lives.sql(
            "SELECT extract(epoch FROM deadline_at - created_at) AS s FROM agent.runs WHERE id = %s",
            made["id"],
        )
        return float(row["s"])

    assert await deadline_of() == DEADLINE.total_seconds(), "nothing runs for ever"
    await chief.patch("/v1/settings?scope=tenant", json={"budgets": {"seconds": 600}})
    assert await deadline_of() == 600
    assert await deadline_of(deadline_seconds=60) == 60
    assert await deadline_of(deadline_seconds=6000) == 600
    assert await deadline_of(budget={"seconds": 30}) == 30
    stopped = (await ann.post("/v1/runs", json=saying(budget={"seconds": 30}), headers=a_key())).json()["id"]
    assert (await ann.post(f"/v1/runs/{stopped}/cancel", json={}, headers=a_key())).is_success
    assert await deadline_of(f"/v1/runs/{stopped}/retry") == 30, "the lineage's own, anew"


async def test_a_retry_is_refused_like_a_new_run(served: Served, lives: Lives) -> None:
    chief, ann = served.as_("chief", "admin"), served.as_(USER, "user")
    held = await lives.claimed()
    await lives.finalize(held)
    await chief.put("/v1/budgets", json={"user_id": USER, "per": "day", "limits": {"model_calls": 0}})

    refused = await ann.post(f"/v1/runs/{held.run.id}/retry", json={}, headers=a_key())

    assert (refused.status_code, refused.json()["code"]) == (429, "budget_exhausted")
