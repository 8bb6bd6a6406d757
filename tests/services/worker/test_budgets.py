"""Budgets at the worker: nothing is sent that might pass a limit; a run at its limit keeps what it has."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from fencepost_domain.budget import Per
from fencepost_store.budgets import set_shared_budget

from tests.services.worker.agentic import MAKE, PLAN, planned
from tests.services.worker.bench import Bench
from tests.support.eventually import eventually
from tests.support.scripted_model import text_answer
from tests.support.worker_runs import TENANT, USER

USED = (Decimal(15) * 7 + Decimal(75) * 5) / 1_000_000  # the scripted provider's usage, at the worst price


async def limited(bench: Bench, user: str = "", **limits: Any) -> None:
    async with bench.runs.api.transaction(TENANT) as tx:
        await set_shared_budget(tx, user, Per.DAY, limits, "admin-1")


async def ending(bench: Bench) -> tuple[Any, ...]:
    (row,) = await bench.runs.fetch(
        "SELECT status, reason, code, explanation, usage FROM agent.finalizations"
    )
    return tuple(row)


@pytest.mark.parametrize(("user", "code"), [("", "tenant_cost"), (USER, "user_cost")])
async def test_i23_a_call_that_might_pass_a_limit_is_never_sent(bench: Bench, user: str, code: str) -> None:
    await limited(bench, user, cost="0.05")
    bench.model.answer(text_answer("hello"))
    async with bench.working():
        run_id = await bench.runs.queued("你好", locale="zh-CN")
        assert await bench.ended(run_id) == "failed"

    status, reason, said, explanation, _ = await ending(bench)
    assert (status, reason, said) == ("failed", "budget_exhausted", code)
    assert "管理员可以提高额度" in explanation
    assert bench.model.requests == []


async def test_what_a_run_used_is_in_its_budget_its_tenants_and_its_ending(bench: Bench) -> None:
    await limited(bench, cost="5")
    bench.model.answer(text_answer("hello"))
    async with bench.working():
        run_id = await bench.runs.queued("hi")
        assert await bench.ended(run_id) == "succeeded"

    _, _, _, _, usage = await ending(bench)
    assert usage == {
        "model_calls": 1,
        "input_tokens": 7,
        "output_tokens": 5,
        "cost": {"value": str(USED), "currency": "USD"},
    }
    for table in ("budgets", "shared_budgets"):
        rows = await bench.runs.fetch(f"SELECT cost, reserved_cost, model_calls FROM agent.{table}")
        assert rows == [(USED, 0, 1)]
    assert await bench.runs.fetch("SELECT cost, currency, prices FROM agent.model_calls") == [
        (USED, "USD", "shipped-2026-12-01")
    ]


async def test_a_provider_that_fails_is_paid_for_what_it_may_have_done(bench: Bench) -> None:
    bench.model.status = 500
    async with bench.working():
        await bench.runs.queued("hi")
        await eventually(lambda: bench.runs.fetch("SELECT 1 FROM agent.model_calls WHERE state = 'failed'"))

    ((paid, reserved),) = await bench.runs.fetch(
        "SELECT input_tokens, reserved_input FROM agent.model_calls ORDER BY started_at LIMIT 1"
    )
    assert paid == reserved > 0
    ((flying,),) = await bench.runs.fetch("SELECT reserved_cost FROM agent.budgets")
    assert flying == 0


async def test_a_run_at_its_limit_ends_partly_with_what_it_has(bench: Bench) -> None:
    again = {"id": "more", "title": "one more", "tool": MAKE, "needs": ["make"], "observable": "a report"}
    plan = {**PLAN, "steps": [*PLAN["steps"], again]}  # type: ignore[misc]
    await planned(bench, planner=[plan])
    async with bench.working():
        run_id = await bench.runs.queued("a report of all rows, twice", budget={"model_calls": 4})
        status = await bench.ended(run_id)

    assert (status, (await ending(bench))[1:3]) == (
        "partially_succeeded",
        ("budget_exhausted", "model_calls"),
    )
    made = await bench.runs.fetch("SELECT model_calls FROM agent.budgets")
    assert made == [(4,)] and len(bench.model.requests) == 4
