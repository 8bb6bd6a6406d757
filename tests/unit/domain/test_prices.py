"""The price table: decimals only, the worst price for what nobody priced, a place for each mistake."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from fencepost_domain.budget import DEFAULTS, Kind, Per, SharedBudget, used_up
from fencepost_domain.errors import Invalid
from fencepost_domain.prices import price_table, written
from hypothesis import given
from hypothesis import strategies as st

RAW: dict[str, Any] = {
    "version": "2026-12-01",
    "currency": "USD",
    "unknown": {"input": "15", "output": "75"},
    "models": {
        "acme/small": {"input": "0.15", "output": "0.6"},
        "acme/*": {"input": "1", "output": "2"},
        "offline/*": {"input": "0", "output": "0"},
    },
}
TABLE = price_table(RAW)


@pytest.mark.parametrize(
    ("provider", "model", "cost"),
    [
        ("acme", "small", "0.00075"),
        ("acme", "large", "0.003"),
        ("other", "small", "0.09"),
        ("offline", "anything", "0"),
    ],
)
def test_a_call_costs_by_the_nearest_row(provider: str, model: str, cost: str) -> None:
    assert written(TABLE.cost(provider, model, 1000, 1000)) == cost


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**6))
def test_more_tokens_never_cost_less_and_nothing_is_rounded_away(given_: int, made: int, more: int) -> None:
    cost = TABLE.cost("acme", "small", given_, made)

    assert TABLE.cost("acme", "small", given_ + more, made) >= cost
    assert cost * 1_000_000 >= Decimal("0.15") * given_ + Decimal("0.6") * made
    assert Decimal(written(cost)) == cost and set(written(cost)) <= set("0123456789.")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"version": ""}, "/version"),
        ({"currency": "usd"}, "/currency"),
        ({"unknown": None}, "/unknown"),
        ({"unknown": {"input": "1"}}, "/unknown"),
        ({"unknown": {"input": 1.5, "output": "1"}}, "/unknown/input"),
        ({"unknown": {"input": "-1", "output": "1"}}, "/unknown/input"),
        ({"unknown": {"input": "NaN", "output": "1"}}, "/unknown/input"),
        ({"unknown": {"input": "1", "output": "1e99"}}, "/unknown/output"),
        ({"models": {"small": {"input": "1", "output": "1"}}}, "/models/small"),
        ({"models": []}, "/models"),
        ({"discount": "all"}, "/discount"),
    ],
)
def test_a_malformed_table_is_refused_with_its_place(change: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        price_table({**RAW, **change})

    assert (refused.value.pointer, refused.value.code) == (pointer, "prices_malformed")


def a_budget(user: str | None, cost: str, used: str) -> SharedBudget:
    return SharedBudget(user, Per.DAY, {"cost": Decimal(cost)}, {"cost": Decimal(used)}, {}, None, None)


def test_the_tenants_shortage_is_told_before_the_users() -> None:
    mine, ours = a_budget("ann", "1", "1"), a_budget(None, "9", "9")

    assert used_up([mine, ours]) == (ours, Kind.COST)
    assert used_up([mine]) == (mine, Kind.COST)
    assert used_up([a_budget("ann", "1", "0.99"), a_budget(None, "9", "0")]) is None
    assert used_up([a_budget("ann", "0", "0")]) is not None, "a limit of nothing allows nothing"


def test_a_run_has_the_defaults_of_the_design() -> None:
    assert (DEFAULTS["actions"], DEFAULTS["model_calls"], DEFAULTS["recoveries"]) == (10, 64, 120)
    assert {"input_tokens", "output_tokens", "cost"} <= set(DEFAULTS)
