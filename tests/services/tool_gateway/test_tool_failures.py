"""A tool that fails, lies, hangs or races leaves nothing half-written (I10, I11)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fencepost_contracts.yaml12 import ContractRefused
from fencepost_runtime.failpoints import DIRECTORY_VARIABLE, Action, arm, wait_hit
from fencepost_tool_gateway.catalog import Catalogs

from tests.support.gateway import Served, code, module_folder, serving
from tests.support.lives import Lives
from tests.support.races import LOCK_RUN, holding

KINDS = (
    "unplanned",
    "unfounded",
    "raises",
    "refuses",
    "lies",
    "hangs",
    "stalls",
    "violates",
    "moved",
    "unjsonable",
)
CONTRACT = 'version: "1"\nagent_name: probe\nallowed_tools:\n' + "".join(
    f"""\
  - name: probe.{kind}
    description: It {kind}.
    risk: low
    effect_class: {effect}
    timeout_seconds: 0.5
    input_schema: {{type: object, additionalProperties: false}}
    output_schema: {{type: object, required: [ok], properties: {{ok: {{const: true}}}}}}
"""
    for kind, effect in [*((kind, "local") for kind in KINDS), ("reads", "none"), ("breaks", "none")]
) + "...\n"  # fmt: skip
TOOLS = """\
import asyncio
from fencepost import Plan, ToolRefused, tool
from fencepost.authoring import listing

async def write(ctx, statement="write"):
    whose = {"tenant_id": ctx.tenant_id, "user_id": ctx.user_id, "key": ctx.effect_key}
    await ctx.tx.row(statement, id=ctx.new_id, **whose)

@tool("probe.raises")
async def raises(args, ctx):
    await write(ctx)
    raise RuntimeError("password=hunter2")

@tool("probe.refuses")
async def refuses(args, ctx):
    await write(ctx)
    raise ToolRefused("not today", code="closed")

@tool("probe.lies")
async def lies(args, ctx):
    await write(ctx)
    return {"ok": False}

@tool("probe.unjsonable")
async def unjsonable(args, ctx):
    await write(ctx)
    return {"ok": float("nan")}

@tool("probe.hangs")
async def hangs(args, ctx):
    await write(ctx)
    await asyncio.sleep(60)

STALLS = [60.0]  # of the first call alone

@tool("probe.stalls")
async def stalls(args, ctx):
    await write(ctx)
    if STALLS:
        await asyncio.sleep(STALLS.pop())
    return {"ok": True}

@tool("probe.violates")
async def violates(args, ctx):
    await write(ctx, "violate")

@tool("probe.moved")
class Moved:
    async def prepare(self, args, ctx):
        return listing("moved", args)
    async def precondition(self, args, ctx):
        return {"entries": (await ctx.tx.row("count"))["n"]}
    async def commit(self, args, ctx):
        await write(ctx)
        return {"ok": True}

@tool("probe.unplanned")
class Unplanned:
    async def prepare(self, args, ctx):
        raise RuntimeError("password=hunter2")
    async def commit(self, args, ctx):
        return {"ok": True}

@tool("probe.unfounded")
class Unfounded(Unplanned):
    async def prepare(self, args, ctx):
        plan = listing("unfounded", args)
        return Plan(plan.preview, plan.change, {"version": 1})

@tool("probe.reads")
async def reads(args, ctx):
    return {"ok": (await ctx.tx.row("count"))["n"] >= 0}

@tool("probe.breaks")
async def breaks(args, ctx):
    await write(ctx)
    return {"ok": True}
"""
SQL = """\
-- write --
-- Why: something to roll back.
INSERT INTO app.ledger_entries (id, tenant_id, user_id, kind, amount, currency, category, occurred_on,
                                origin_effect_key)
VALUES (:id, :tenant_id, :user_id, 'expense', 1, 'CNY', 'other', '2026-01-01', :key) RETURNING id;

-- violate --
-- Why: a constraint says no.
INSERT INTO app.ledger_entries (id, tenant_id, user_id, kind, amount, currency, category, occurred_on,
                                origin_effect_key)
VALUES (:id, :tenant_id, :user_id, 'expense', -1, 'CNY', 'other', '2026-01-01', :key) RETURNING id;

-- count --
-- Why: what a plan relies on.
SELECT count(*) AS n FROM app.ledger_entries;
"""


@pytest.fixture
async def probed(lives: Lives) -> AsyncIterator[Served]:
    async with serving(lives, dirs=[module_folder(CONTRACT, TOOLS, sql=SQL)]) as served:
        yield served


FAILURES = {
    "raises": "tool_failed",
    "refuses": "closed",
    "lies": "result_invalid",
    "unjsonable": "result_invalid",
    "hangs": "timeout",
    "violates": "tool_failed",
    "breaks": "tool_failed",
}


async def test_i11_a_tool_that_fails_leaves_only_the_record_of_its_failure(probed: Served) -> None:
    held = await probed.bound(module="probe", budget={"actions": 100})
    for index, (kind, expected) in enumerate(FAILURES.items()):
        action = await probed.prepared(held, f"probe.{kind}", {}, index=index)
        answer = (await probed.commit(held, action)).json()
        assert (answer["state"], answer["error"]["code"]) == ("failed", expected), kind
        assert answer["result_invalid"] is (expected == "result_invalid") and answer["result"] is None
        assert "hunter2" not in str(answer)
        again = (await probed.commit(held, action)).json()
        assert again == {**answer, "replayed": True}
    assert await probed.count("app.ledger_entries") == 0
    assert await probed.attempts() == len(FAILURES)
    rows = await probed.lives.sql(
        "SELECT DISTINCT a.status, e.state FROM agent.actions a JOIN agent.effects e USING (run_id, index)"
    )
    assert rows == [{"status": "failed", "state": "failed"}]
    types = await probed.lives.event_types(held.run.id)
    assert types.count("action.failed") == len(FAILURES) and "action.committed" not in types
    assert await probed.lives.violations() == []


async def test_a_tool_held_up_once_is_done_once_after_all(probed: Served) -> None:
    """A database that stood still is no failure of the tool's: rolled back, it is tried once more."""
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.stalls", {})
    answer = (await probed.commit(held, action)).json()
    assert (answer["state"], answer["result"]) == ("completed", {"ok": True})
    assert (await probed.count("app.ledger_entries"), await probed.attempts()) == (1, 1)
    assert await probed.lives.violations() == []


async def test_a_tool_whose_plan_fails_is_not_prepared_and_not_asked_again(probed: Served) -> None:
    held = await probed.bound(module="probe")
    for kind in ("unplanned", "unfounded"):
        answer = await probed.prepare(held, f"probe.{kind}", {})
        assert (answer.status_code, code(answer)) == (409, "tool_failed") and "hunter2" not in answer.text
    assert await probed.count("agent.actions") == 0


async def test_a_tool_of_class_none_reads_and_its_observation_is_stored(probed: Served) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.reads", {})
    first = (await probed.commit(held, action)).json()
    assert first["result"] == {"ok": True}
    assert (await probed.commit(held, action)).json() == {**first, "replayed": True}


async def test_precondition_changed_asks_for_a_new_preparation(probed: Served) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.moved", {})
    await probed.lives.sql(
        "INSERT INTO app.ledger_entries (id, tenant_id, user_id, kind, amount, currency, category,"
        " occurred_on, origin_effect_key)"
        " VALUES (gen_random_uuid(), %s, 'u', 'expense', 1, 'CNY', 'x', '2026-01-01', 'k')",
        held.run.tenant_id,
    )
    assert code(await probed.commit(held, action)) == "precondition_changed"
    assert await probed.attempts() == 0
    again = await probed.prepared(held, "probe.moved", {}, n=2)
    assert (await probed.commit(held, again)).json()["state"] == "completed"
    assert await probed.count("app.ledger_entries") == 2


async def test_a_row_locked_too_long_is_unavailable_and_the_same_commit_works_later(probed: Served) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.moved", {})
    async with holding(probed.lives.database, LOCK_RUN, held.run.id):
        answer = await probed.commit(held, action)
        assert (answer.status_code, code(answer)) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"
    assert (await probed.commit(held, action)).json()["state"] == "completed"


async def test_i22_a_commit_that_waits_behind_the_cancel_opens_no_attempt(probed: Served) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.moved", {})
    async with holding(probed.lives.database, LOCK_RUN, held.run.id) as holder:
        cancel = await holder.stops(probed.lives.cancel(held.run.id))
        commit = asyncio.ensure_future(probed.commit(held, action))
        await holder.blocked(2)
    await cancel
    assert code(await commit) == "fence_lost"
    assert await probed.attempts() == 0 and await probed.count("app.ledger_entries") == 0


def test_a_contract_without_its_code_is_refused() -> None:
    root = module_folder(CONTRACT, TOOLS.replace('"probe.lies"', '"probe.other"'))
    catalogs = Catalogs([root], installed=False)
    with pytest.raises(ContractRefused, match=r"no code in tools/ for probe\.lies"):
        catalogs.load()


async def test_a_connection_cut_before_commit_is_unavailable_and_the_same_commit_works_later(
    probed: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database restarts while the gateway is about to COMMIT: nothing is known, nothing is claimed."""
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.moved", {})
    point = "gateway.business.before_commit"
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path))
    arm(tmp_path, point, Action.BLOCK)
    commit = asyncio.ensure_future(probed.commit(held, action))
    await wait_hit(tmp_path, point)
    await probed.lives.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND usename = 'fencepost_gateway'"
    )
    (tmp_path / f"{point}.release").touch()
    assert code(await commit) == "unavailable"
    assert await probed.attempts() == 0 and await probed.count("app.ledger_entries") == 0
    assert (await probed.commit(held, action)).json()["state"] == "completed"
    assert await probed.count("app.ledger_entries") == 1
