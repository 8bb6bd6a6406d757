"""I23: a budget is never exceeded by more than what was reserved in flight; each reservation has its end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from fencepost_domain.budget import Estimate, Per
from fencepost_domain.errors import Conflict, FenceLost
from fencepost_domain.vocabulary import CallState
from fencepost_store import budgets, model_calls
from fencepost_store.claims import Claim
from fencepost_store.model_calls import NewCall, Opened, Outcome
from fencepost_store.sweeps import time_out_model_calls

from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives

A_DIME = Estimate(100, 50, Decimal("0.10"), "USD", "test-1")


def a_call(lives: Lives, key: str = "k", *, reserve: Estimate = A_DIME, **more: Any) -> NewCall:
    within = more.pop("within", timedelta(minutes=1))
    role, limit = more.pop("role", "module"), more.pop("calls_limit", 1000)
    return NewCall(lives.ids.uuid7(), key, role, "p", "m", "0" * 64, within, limit, reserve=reserve)


async def start(lives: Lives, held: Claim, call: NewCall) -> Opened:
    async with lives.worker.transaction() as tx:
        return await model_calls.open_call(tx, held.fence, call)


async def settle(
    lives: Lives, held: Claim, call: NewCall, cost: str, tokens: tuple[int, int] = (60, 20)
) -> None:
    outcome = Outcome(CallState.SETTLED, answer={"text": "x"}, cost=Decimal(cost),
                      input_tokens=tokens[0], output_tokens=tokens[1])  # fmt: skip
    async with lives.worker.transaction() as tx:
        await model_calls.settle_call(tx, held.run, call, 1, outcome)


async def limit(
    lives: Lives, user: str = "", per: Per = Per.DAY, *, tenant: Any = TENANT, **limits: Any
) -> None:
    async with lives.api.transaction(tenant) as tx:
        await budgets.set_shared_budget(tx, user, per, limits, "admin-1")


async def lineage(lives: Lives, held: Claim) -> Mapping[str, Any]:
    (row,) = await lives.sql("SELECT * FROM agent.budgets WHERE root_run_id = %s", held.run.id)
    return row


async def shared(lives: Lives, user: str = "") -> Mapping[str, Any]:
    (row,) = await lives.sql("SELECT * FROM agent.shared_budgets WHERE user_id = %s", user)
    return row


def in_flight(row: Mapping[str, Any]) -> tuple[int, int, Decimal]:
    return row["reserved_input"], row["reserved_output"], row["reserved_cost"]


NONE = (0, 0, Decimal(0))


async def test_i23_sixteen_runs_at_once_never_exceed_what_their_tenant_and_user_may_spend(
    lives: Lives,
) -> None:
    """Each spends as fast as it can until it is refused, while calls of dead workers time out beside them."""
    await limit(lives, cost="3.00")
    await limit(lives, USER, Per.MONTH, cost="2.55", input_tokens=100_000)
    runs = [await lives.claimed() for _ in range(16)]
    dice = random.Random(23)
    costs = [[Decimal(dice.randrange(0, 11)) / 100 for _ in range(40)] for _ in runs]
    watching = True
    peak = Decimal(0)

    async def watch() -> None:
        nonlocal peak
        while watching:
            rows = await lives.sql(
                "SELECT user_id, cost + reserved_cost AS spent, limits FROM agent.shared_budgets"
            )
            for row in rows:
                assert row["spent"] <= Decimal(row["limits"]["cost"]), row
                peak = max(peak, row["spent"])

    async def spend(held: Claim, amounts: list[Decimal]) -> int:
        for number, amount in enumerate(amounts):
            lost = number % 5 == 4
            call = a_call(lives, f"k{number}", within=timedelta(0) if lost else timedelta(minutes=1))
            opened = await start(lives, held, call)
            if opened.attempt is None:
                assert opened.reached == "user_cost"
                return number
            if not lost:
                await settle(lives, held, call, str(amount))
        return len(amounts)

    async def sweep() -> None:
        while watching:
            async with lives.reconciler.transaction() as tx:
                await time_out_model_calls(tx, 8)
            await asyncio.sleep(0)

    beside = [asyncio.create_task(watch()), asyncio.create_task(sweep())]
    async with asyncio.timeout(60):
        await asyncio.gather(*(spend(held, amounts) for held, amounts in zip(runs, costs, strict=True)))
    watching = False
    await asyncio.gather(*beside)
    async with lives.reconciler.transaction() as tx:
        await time_out_model_calls(tx, 100)

    (sums,) = await lives.sql(
        "SELECT sum(cost) AS cost, sum(input_tokens) AS input FROM agent.model_calls WHERE state <> 'started'"
    )
    user, tenant = await shared(lives, USER), await shared(lives)
    assert user["cost"] == tenant["cost"] == sums["cost"] <= Decimal("2.55")
    assert user["input_tokens"] == sums["input"]
    assert in_flight(user) == in_flight(tenant) == NONE
    assert peak > Decimal("2.40"), "it was refused while there was room"


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({"model_calls": 2}, "model_calls"),
        ({"input_tokens": 250}, "input_tokens"),
        ({"output_tokens": 149}, "output_tokens"),
        ({"cost": "0.29"}, "cost"),
    ],
)
async def test_each_limit_of_a_run_refuses_the_call_that_might_pass_it(
    lives: Lives, limits: dict[str, Any], reached: str
) -> None:
    held = await lives.claimed(budget=limits)
    assert [(await start(lives, held, a_call(lives, key))).attempt for key in "ab"] == [1, 1]

    third = await start(lives, held, a_call(lives, "c"))

    assert (third.attempt, third.answer, third.reached) == (None, None, reached)
    assert in_flight(await lineage(lives, held)) == (200, 100, Decimal("0.20"))


async def test_a_role_has_its_own_number_of_calls(lives: Lives) -> None:
    held = await lives.claimed()
    for key in "ab":
        assert (await start(lives, held, a_call(lives, key, role="planner", calls_limit=2))).attempt == 1

    assert (
        await start(lives, held, a_call(lives, "c", role="planner", calls_limit=2))
    ).reached == "role_calls"
    assert (await start(lives, held, a_call(lives, "d", role="composer", calls_limit=2))).attempt == 1


@pytest.mark.parametrize(("user", "reached"), [("", "tenant_cost"), (USER, "user_cost")])
async def test_what_one_scope_refuses_is_reserved_in_none(lives: Lives, user: str, reached: str) -> None:
    await limit(lives, "", Per.TOTAL, cost="100", model_calls=1000)
    await limit(lives, user, Per.DAY, cost="0.15")
    held = await lives.claimed()
    assert (await start(lives, held, a_call(lives, "a"))).attempt == 1
    before = await lives.sql("SELECT * FROM agent.shared_budgets ORDER BY user_id, per")

    assert (await start(lives, held, a_call(lives, "b"))).reached == reached

    assert await lives.sql("SELECT * FROM agent.shared_budgets ORDER BY user_id, per") == before
    assert in_flight(await lineage(lives, held)) == (100, 50, Decimal("0.10"))
    assert (await lives.sql("SELECT count(*) AS n FROM agent.model_calls"))[0]["n"] == 1


async def test_a_users_limit_is_nobody_elses_nor_a_tenants(lives: Lives) -> None:
    await limit(lives, USER, cost="0")
    await limit(lives, "", tenant=OTHER_TENANT, cost="0")
    refused = await lives.claimed()
    assert (await start(lives, refused, a_call(lives))).reached == "user_cost"

    other = await lives.claimed(user="user-2")
    assert (await start(lives, other, a_call(lives))).attempt == 1
    abroad = await lives.claimed(tenant=OTHER_TENANT)
    assert (await start(lives, abroad, a_call(lives))).reached == "tenant_cost"


async def test_settling_gives_back_what_was_not_used_and_charges_what_was(lives: Lives) -> None:
    await limit(lives, cost="1")
    held = await lives.claimed()
    call = a_call(lives)
    await start(lives, held, call)

    await settle(lives, held, call, "0.04")

    for row in (await lineage(lives, held), await shared(lives)):
        assert (row["input_tokens"], row["output_tokens"], row["cost"]) == (60, 20, Decimal("0.04"))
        assert in_flight(row) == NONE
    with pytest.raises(FenceLost):
        await settle(lives, held, call, "0.04")  # once
    assert (await lineage(lives, held))["cost"] == Decimal("0.04")


async def test_a_stored_answer_reserves_nothing(lives: Lives) -> None:
    held = await lives.claimed(budget={"cost": "0.10"})
    call = a_call(lives)
    await start(lives, held, call)
    await settle(lives, held, call, "0.10")

    again = await start(lives, held, a_call(lives))

    assert again.answer == {"text": "x"}
    assert in_flight(await lineage(lives, held)) == NONE


async def test_a_call_that_never_came_back_is_charged_in_full_and_a_late_outcome_mends_it(
    lives: Lives,
) -> None:
    await limit(lives, cost="1")
    held = await lives.claimed()
    call = a_call(lives, within=timedelta(0))
    await start(lives, held, call)

    async with lives.reconciler.transaction() as tx:
        assert await time_out_model_calls(tx, 10) == 1
        assert await time_out_model_calls(tx, 10) == 0, "its end comes once"
    for row in (await lineage(lives, held), await shared(lives)):
        assert (row["input_tokens"], row["output_tokens"], row["cost"]) == (100, 50, Decimal("0.10"))
        assert in_flight(row) == NONE

    async with lives.worker.transaction() as tx:
        outcome = Outcome(
            CallState.SETTLED, answer={}, input_tokens=10, output_tokens=5, cost=Decimal("0.01")
        )
        await model_calls.settle_late(tx, held.run.id, call, 1, outcome)
    for row in (await lineage(lives, held), await shared(lives)):
        assert (row["input_tokens"], row["output_tokens"], row["cost"]) == (10, 5, Decimal("0.01"))
        assert in_flight(row) == NONE


async def test_a_new_day_begins_at_zero_and_keeps_what_is_in_flight(lives: Lives) -> None:
    await limit(lives, cost="0.20")
    held = await lives.claimed()
    first, second = a_call(lives, "a"), a_call(lives, "b")
    await start(lives, held, first)
    await settle(lives, held, first, "0.10")
    await start(lives, held, second)
    assert (await start(lives, held, a_call(lives, "c"))).reached == "tenant_cost"

    await lives.sql("UPDATE agent.shared_budgets SET window_start = window_start - interval '1 day'")

    assert (await start(lives, held, a_call(lives, "d"))).attempt == 1
    row = await shared(lives)
    assert (row["cost"], row["reserved_cost"], row["model_calls"]) == (0, Decimal("0.20"), 1)
    assert (await start(lives, held, a_call(lives, "e"))).reached == "tenant_cost"
    await settle(lives, held, second, "0.10")
    row = await shared(lives)
    assert (row["cost"], row["reserved_cost"]) == (Decimal("0.10"), Decimal("0.10"))


async def test_actions_are_taken_from_every_scope_or_from_none(lives: Lives) -> None:
    await limit(lives, USER, actions=2)
    held = await lives.claimed(budget={"actions": 5})

    async def take() -> None:
        async with lives.gateway.transaction(TENANT) as tx:
            await budgets.take_action(tx, held.run.id, USER, 10)

    await take()
    await take()
    with pytest.raises(Conflict) as refused:
        await take()

    assert (refused.value.code, refused.value.stored) == ("budget_exhausted", {"limit": "user_actions"})
    assert ((await lineage(lives, held))["actions"], (await shared(lives, USER))["actions"]) == (2, 2)


async def test_a_lineage_repeats_external_tools_a_limited_number_of_times(lives: Lives) -> None:
    held = await lives.claimed(budget={"recoveries": 2})

    async def take() -> None:
        async with lives.gateway.transaction(TENANT) as tx:
            await budgets.take_recovery(tx, held.run.id)

    await take()
    await take()
    with pytest.raises(Conflict) as refused:
        await take()
    assert refused.value.stored == {"limit": "recoveries"}


async def test_a_budget_that_is_removed_while_a_call_is_out_holds_nobody_up(lives: Lives) -> None:
    await limit(lives, cost="1")
    held = await lives.claimed()
    call, other = a_call(lives, "a"), a_call(lives, "b")
    await start(lives, held, call)
    async with lives.api.transaction(TENANT) as tx:
        assert await budgets.remove_shared_budget(tx, "", Per.DAY)
        assert not await budgets.remove_shared_budget(tx, "", Per.DAY)
    await start(lives, held, other)
    await limit(lives, cost="1")

    await settle(lives, held, call, "0.05")
    await settle(lives, held, other, "0.05")

    assert in_flight(await shared(lives)) == NONE
    assert (await lineage(lives, held))["cost"] == Decimal("0.10")


async def test_a_budget_tells_how_it_stands(lives: Lives) -> None:
    await limit(lives, cost="1", model_calls=9)
    await limit(lives, "user-2", Per.TOTAL, actions=3)
    held = await lives.claimed()
    await start(lives, held, a_call(lives))

    async with lives.api.transaction(TENANT) as tx:
        (mine,) = await budgets.shared_budgets(tx, USER)
        everybodys = await budgets.shared_budgets(tx, USER, everybody=True)

    assert (mine.budget.scope, mine.budget.per, mine.set_by) == ("tenant", Per.DAY, "admin-1")
    assert mine.budget.reserved["cost"] == Decimal("0.10") and mine.budget.used["model_calls"] == 1
    assert mine.budget.ends_at is not None and mine.budget.starts_at is not None
    assert mine.budget.starts_at <= mine.now < mine.budget.ends_at
    assert [one.budget.user_id for one in everybodys] == [None, "user-2"]
    assert everybodys[1].budget.ends_at is None


@pytest.mark.parametrize("seed", range(4))
async def test_i23_whatever_becomes_of_calls_counters_are_their_sums(lives: Lives, seed: int) -> None:
    """Opened, answered, failed, forgotten, late, and tried again, in any order: nothing is lost or kept."""
    dice = random.Random(seed)
    await limit(lives, cost="2.00")
    runs = [await lives.claimed() for _ in range(3)]
    out: list[tuple[Claim, NewCall]] = []
    for number in range(60):
        move = dice.choice(["open", "open", "settle", "fail", "forget", "late", "sweep"])
        if move == "open":
            held = dice.choice(runs)
            cost = Decimal(dice.randrange(1, 30)) / 100
            reserve = Estimate(dice.randrange(1, 200), dice.randrange(1, 90), cost, "USD", "test-1")
            call = a_call(lives, f"k{number}", reserve=reserve)
            if (await start(lives, held, call)).attempt is not None:
                out.append((held, call))
        elif move == "sweep":
            async with lives.reconciler.transaction() as tx:
                await time_out_model_calls(tx, 100)
        elif out:
            held, call = out[dice.randrange(len(out))]
            share = Decimal(dice.randrange(0, 101)) / 100
            used = Outcome(
                CallState.SETTLED if move == "settle" else CallState.FAILED,
                answer={} if move == "settle" else None,
                input_tokens=int(call.reserve.input_tokens * share),
                output_tokens=int(call.reserve.output_tokens * share),
                cost=call.reserve.cost * share,
            )
            if move == "forget":
                await lives.sql("UPDATE agent.model_calls SET ends_at = now() WHERE id = %s", call.id)
            elif move == "late":
                async with lives.worker.transaction() as tx:
                    await model_calls.settle_late(tx, held.run.id, call, 1, used)
            else:
                with suppress(FenceLost):  # settled before
                    async with lives.worker.transaction() as tx:
                        await model_calls.settle_call(tx, held.run, call, 1, used)
        row = await shared(lives)
        assert row["cost"] + row["reserved_cost"] <= Decimal("2.00"), (seed, number, move)
    found = [one for one in await lives.violations() if one.check == "i23_budget_is_what_was_used"]
    assert found == []
    (sums,) = await lives.sql(
        "SELECT sum(cost) AS cost, sum(input_tokens) AS input,"
        " coalesce(sum(reserved_cost) FILTER (WHERE state = 'started'), 0) AS flying FROM agent.model_calls"
    )
    row = await shared(lives)
    assert (row["cost"], row["input_tokens"], row["reserved_cost"]) == (
        sums["cost"],
        sums["input"],
        sums["flying"],
    )


async def test_what_undoes_an_effect_is_not_held_up_by_its_tenants_budget(lives: Lives) -> None:
    await limit(lives, actions=0)
    first = await lives.claimed()
    undoing = await lives.claimed()
    await lives.sql(
        "UPDATE agent.runs SET origin_kind = 'compensation', origin_run_id = %s WHERE id = %s",
        first.run.id,
        undoing.run.id,
    )

    async with lives.gateway.transaction(TENANT) as tx:
        await budgets.take_action(tx, undoing.run.id, USER, 10)
        with pytest.raises(Conflict):
            await budgets.take_action(tx, first.run.id, USER, 10)

    assert (await shared(lives))["actions"] == 0
