"""Budgets in the whole mesh: set at the command line, met by real runs, seen by whom they hold."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Caller


def chief(caller: Caller) -> dict[str, str]:
    return {"FENCEPOST_TOKEN": caller.token("chief", ("admin",))}


def shown(caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = caller.cli_json("budgets", "show")
    return found


async def test_a_budget_is_set_used_met_and_raised_at_the_command_line(caller: Caller) -> None:
    told = caller.cli("budgets", "set", "--user", caller.user, "--model-calls", "2", env=chief(caller))
    assert told.returncode == 0 and "0 of 2" in told.stdout, told.stderr
    for text in ("hello", "hi there"):
        ended = await caller.ask(text)
        assert ended["status"] == "succeeded"
    assert [(one["scope"], one["used"]["model_calls"]) for one in shown(caller)] == [("user", "2")]
    assert "1 model calls, " in caller.cli("show", ended["id"][-8:]).stdout

    refused = caller.cli("run", "hello again")
    assert refused.returncode == 1
    assert "2 of 2" in refused.stderr and "fencepost budgets set" in refused.stderr
    assert "budget_exhausted" in refused.stderr

    caller.cli("budgets", "set", "--user", caller.user, "--model-calls", "3", env=chief(caller))
    assert (await caller.ask("hello again"))["status"] == "succeeded"
    cleared = caller.cli("budgets", "clear", "--user", caller.user, env=chief(caller))
    assert cleared.returncode == 0 and shown(caller) == []


async def test_a_budget_that_ends_on_the_way_ends_the_run_and_says_so(caller: Caller) -> None:
    caller.cli("budgets", "set", "--output-tokens", "10", env=chief(caller))

    ended = await caller.ask("你好")

    end = ended["finalization"]
    assert (ended["status"], end["reason"], end["code"]) == (
        "failed",
        "budget_exhausted",
        "tenant_output_tokens",
    )
    assert "管理员可以提高额度" in end["explanation"]
    assert ended["usage"]["model_calls"] == 0


async def test_what_is_not_a_limit_is_refused_before_it_is_sent(caller: Caller) -> None:
    nothing = caller.cli("budgets", "set", env=chief(caller))
    assert nothing.returncode == 2 and "name at least one limit" in nothing.stderr
    mine = caller.cli("budgets", "set", "--cost", "1")
    assert mine.returncode in (1, 2) and "forbidden" in mine.stderr
    malformed = caller.cli("budgets", "set", "--cost", "much", env=chief(caller))
    assert malformed.returncode in (1, 2) and "/limits/cost" in malformed.stderr
