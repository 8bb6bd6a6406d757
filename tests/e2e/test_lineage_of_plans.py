"""Runs of several steps made from another: a simulation goes the same way, a fork asks nothing it knows."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.e2e.conftest import Caller
from tests.e2e.test_lineage import difference, ended, made, sql, world

ROWS = 70  # two branches a source


def sheet(name: str) -> bytes:
    lines = ["名称,时间,地点"]
    lines += [f"{name}{n + 1},2026-05-{n % 28 + 1:02d} 14:30,{n % 40 + 1}号楼" for n in range(ROWS)]
    return "\n".join(lines).encode()


async def workbook_made(caller: Caller) -> dict[str, Any]:
    """A workbook of two lists, on the offline model: planned, composed in four branches, checked."""
    ids = [
        (await caller.client.upload(f"{n}.csv", sheet(n), "text/csv", idempotency_key=str(uuid4())))["id"]
        for n in ("讲座", "活动")
    ]
    run = await caller.client.create_run(
        "基于附件全部内容生成Excel表格，包含名称、时间、地点",
        idempotency_key=str(uuid4()),
        zone="Asia/Shanghai",
        locale="zh-CN",
        attachments=ids,
    )
    done = await caller.client.wait(run["id"], 60)
    assert done["status"] == "succeeded", done["finalization"]
    return done


async def asked_roles(caller: Caller, run: dict[str, Any]) -> list[str]:
    rows = await sql(
        caller, "SELECT role FROM agent.model_calls WHERE run_id = %s ORDER BY started_at", run["id"]
    )
    return [role for (role,) in rows]


async def test_a_plan_is_simulated_and_forked_on_what_is_known(caller: Caller) -> None:
    run = await workbook_made(caller)
    before = await world(caller)

    simulated = await ended(caller, await made(caller, run, "simulations"))
    found = await difference(caller, simulated)
    assert found["same"], found["changes"]
    assert simulated["status"] == "succeeded", simulated["finalization"]
    assert simulated["plan"] == run["plan"]
    assert await asked_roles(caller, simulated) == []
    assert await world(caller) == before

    (read, _) = await sql(
        caller,
        "SELECT seq FROM agent.run_events WHERE run_id = %s AND type = 'action.committed' ORDER BY seq",
        run["id"],
    )
    fork = await ended(caller, await made(caller, run, "fork", at_seq=read[0]))
    assert fork["status"] == "waiting", "the same file was made in this lineage: a person is asked"
    fork = await caller.resolve(fork, decision="approve")
    assert fork["status"] == "succeeded", fork["finalization"]
    assert fork["plan"] == run["plan"]
    assert await asked_roles(caller, fork) == ["composer"] * 4 + ["assessor"], "what came before is inherited"
