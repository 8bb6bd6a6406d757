"""Retry, fork and simulation on a real mesh: three words, three meanings, and only live runs do anything."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fencepost.errors import ApiError
from fencepost.requests import Request, derive, get_simulation, run_difference, run_replay, simulate_last

from tests.e2e.conftest import Caller
from tests.support.eventually import eventually

WORLD = ("agent.effects", "agent.effect_attempts", "agent.actions", "agent.interrupts", "agent.messages",
         "app.reminders", "app.ledger_entries")  # fmt: skip


async def done(caller: Caller, text: str = "明天上午九点提醒我交周报") -> dict[str, Any]:
    run = await caller.ask(text)
    return await caller.resolve(run, decision="approve")


async def made(caller: Caller, run: dict[str, Any], verb: str, **body: Any) -> dict[str, Any]:
    answer = await caller.client.get(derive(run["id"], verb, body, str(uuid4())))
    return dict(answer)


async def ended(caller: Caller, run: dict[str, Any]) -> dict[str, Any]:
    return await caller.client.wait(run["id"], 30)


async def sql(caller: Caller, query: str, *params: Any) -> list[Any]:
    async with await psycopg.AsyncConnection.connect(caller.mesh.dsn()) as connection:
        return await (await connection.execute(query, params)).fetchall()


async def world(caller: Caller) -> dict[str, int]:
    """Rows of everything that could touch the world, of this tenant."""
    counts = {}
    for table in WORLD:
        [(counts[table],)] = await sql(
            caller, f"SELECT count(*) FROM {table} WHERE tenant_id = %s", caller.tenant
        )
    return counts


async def difference(caller: Caller, run: dict[str, Any]) -> dict[str, Any]:
    return dict(await caller.client.get(run_difference(run["id"])))


@pytest.mark.parametrize(
    ("text", "zone", "answers"),
    [
        ("明天上午九点提醒我交周报", "Asia/Shanghai", [{"decision": "approve"}]),
        ("明天上午九点提醒我交周报", "Asia/Shanghai", [{"decision": "reject"}]),
        ("remind me tomorrow at 9 to call Bob", None, [{"text": "Asia/Shanghai"}, {"decision": "approve"}]),
        ("记一笔午饭35元，再记一笔打车20元", "Asia/Shanghai",
         [{"decisions": [{"index": 0, "decision": "approve"}, {"index": 1, "decision": "reject"}]}]),
        ("hello!", "Asia/Shanghai", []),
    ],
)  # fmt: skip
async def test_a_simulation_on_frozen_results_goes_the_same_way_and_touches_nothing(
    caller: Caller, text: str, zone: str | None, answers: list[dict[str, Any]]
) -> None:
    run = await caller.ask(text, zone=zone)
    for answer in answers:
        run = await caller.resolve(run, **answer)
    before = await world(caller)

    simulated = await made(caller, run, "simulations")
    assert simulated["mode"] == "simulation"
    assert simulated["origin"] == {"kind": "simulation", "run_id": run["id"], "at_seq": None}
    now = await ended(caller, simulated)

    found = await difference(caller, now)
    assert found["same"], found["changes"]
    assert (now["status"], now["finalization"]["reason"]) == (run["status"], run["finalization"]["reason"])
    assert await world(caller) == before, "0 rows"
    assert await sql(caller, "SELECT 1 FROM agent.model_calls WHERE run_id = %s", simulated["id"]) == []
    assert [r["id"] for r in await caller.items("/v1/runs")] == [run["id"]], "lists are of real runs"


async def test_a_simulation_asks_a_substituted_model_for_real_and_acts_on_frozen_results(
    caller: Caller,
) -> None:
    run = await done(caller)
    before = await world(caller)
    now = await ended(caller, await made(caller, run, "simulations", substitutes={"model": "offline"}))
    assert (await difference(caller, now))["same"]
    assert now["usage"]["model_calls"] == 1
    assert await world(caller) == before


async def test_what_is_in_neither_the_log_nor_a_substitute_ends_a_simulation_as_diverged(
    caller: Caller,
) -> None:
    run = await done(caller)
    before = await world(caller)
    now = await ended(caller, await made(caller, run, "simulations", substitutes={"model": "not-served-1"}))
    assert (now["status"], now["finalization"]["code"]) == ("blocked", "diverged")
    found = await difference(caller, now)
    assert not found["same"]
    [told] = [s for c in found["changes"] for s in c["after"] if s["step"] == "diverged"]
    assert told["wanted"]["model"] == "not-served-1"
    assert await world(caller) == before


async def test_a_simulation_under_another_contract_says_where_the_paths_part(caller: Caller) -> None:
    """v2 of the contract has no reminders: what would it have done?"""
    run = await done(caller)
    [(body,)] = await sql(
        caller, "SELECT body FROM agent.catalogs WHERE fingerprint = %s", run["bound"]["catalog"]
    )
    other = await _published(caller, json.loads(body), f"v2-{uuid4().hex[:6]}")
    before = await world(caller)
    now = await ended(caller, await made(caller, run, "simulations", substitutes={"contract": other}))
    found = await difference(caller, now)
    assert not found["same"]
    assert now["bound"]["catalog"] != run["bound"]["catalog"]
    assert await world(caller) == before

    report = await _simulated_last(caller, {"contract": other})
    assert report["counts"] == {_outcome(now): 1}
    assert (await _simulated_last(caller, {}))["counts"] == {"same": 1}


async def test_a_simulation_under_another_graph_of_ours_runs_that_graph(caller: Caller) -> None:
    run = await done(caller)
    before = await world(caller)
    now = await ended(caller, await made(caller, run, "simulations", substitutes={"graph": "1.0.0"}))
    assert now["bound"]["graph"] != run["bound"]["graph"]
    assert now["usage"]["model_calls"] == 0
    found = await difference(caller, now)
    assert found["same"], found["changes"]
    again = await ended(caller, await made(caller, run, "simulations", substitutes={"graph": "core-2.0.0"}))
    assert again["bound"]["graph"] == run["bound"]["graph"]
    assert await world(caller) == before


async def test_an_agentic_run_is_simulated_and_another_graph_parts_from_it(caller: Caller) -> None:
    """A file made from a file: planned, composed, judged again on frozen results; no file is made."""
    plan = b"# Launch\n\n- Budget is 40,000 EUR\n- Start on 3 March\n- Risk: supplier delay\n"
    file = await caller.client.upload("plan.md", plan, "text/markdown", idempotency_key=str(uuid4()))
    run = await caller.ask("Make a presentation in English from the attached plan", attachments=[file["id"]])
    assert run["status"] == "succeeded", run["finalization"]
    before = await world(caller)
    files = await sql(caller, "SELECT count(*) FROM agent.artifacts WHERE tenant_id = %s", caller.tenant)
    now = await ended(caller, await made(caller, run, "simulations"))
    found = await difference(caller, now)
    assert found["same"], found["changes"]
    assert now["usage"]["model_calls"] == 0
    other = await ended(caller, await made(caller, run, "simulations", substitutes={"graph": "1.0.0"}))
    found = await difference(caller, other)
    assert (found["same"], found["first"]) == (False, 1), "without a planner it ends after the first answer"
    assert await world(caller) == before
    assert files == await sql(
        caller, "SELECT count(*) FROM agent.artifacts WHERE tenant_id = %s", caller.tenant
    )


async def test_what_would_v2_have_done_at_the_command_line(caller: Caller) -> None:
    run = await done(caller)
    await caller.resolve(await caller.ask("明天上午九点提醒我交周报"), decision="reject")
    told = caller.cli_json("simulate", "--module", "life", "--last", "5", "--graph", "1.0.0")
    assert (told["finished"], told["counts"]) == (True, {"same": 2})
    shown = caller.cli("simulate", "--module", "life", "--last", "1", "--model", "not-served-1")
    assert (shown.returncode, "1 diverged" in shown.stdout) == (1, True), shown.stdout
    unknown = caller.cli("simulate", run["id"], "--graph", "9.9")
    assert unknown.returncode == 2 and "core-2.0.0" in unknown.stderr
    [version] = await sql(
        caller, "SELECT version FROM agent.catalogs WHERE fingerprint = %s", run["bound"]["catalog"]
    )
    unknown = caller.cli("simulate", "--module", "life", "--contract", "9.9")
    assert unknown.returncode == 2 and version[0] in unknown.stderr
    assert caller.cli("simulate", run["id"], "--module", "life").returncode == 2


async def test_a_graph_that_nobody_serves_is_refused_before_anything_is_made(caller: Caller) -> None:
    run = await done(caller)
    name = f"core-0.{uuid4().int % 10**6}"
    await sql(
        caller,
        "INSERT INTO agent.definitions (fingerprint, module, version, body, published_at)"
        " VALUES (%s, '*', %s, '{}', '2000-01-01') RETURNING 1",
        uuid4().hex * 2, name,
    )  # fmt: skip
    for verb, body in (
        ("simulations", {"substitutes": {"graph": name}}),
        ("fork", {"at_seq": run["fork_points"][-1], "definition": name}),
    ):
        with pytest.raises(ApiError) as refused:
            await made(caller, run, verb, **body)
        assert (refused.value.status, refused.value.code) == (409, "version_not_served")


def _outcome(now: dict[str, Any]) -> str:
    return "diverged" if now["finalization"]["code"] == "diverged" else "different"


async def _published(caller: Caller, body: dict[str, Any], version: str) -> str:
    from fencepost_contracts import canonical

    body["version"] = version
    body["tools"] = [tool for tool in body["tools"] if "reminder" not in tool["name"]]
    text = canonical.dumps(body).decode()
    async with await psycopg.AsyncConnection.connect(caller.mesh.dsn()) as connection:
        # In force long ago, so that no run is bound to it by itself.
        await connection.execute(
            "INSERT INTO agent.catalogs (fingerprint, module, version, body, in_force_at)"
            " VALUES (%s, %s, %s, %s, '2000-01-01')",
            (canonical.digest(body), body["module"], version, text),
        )
    return version


async def _simulated_last(caller: Caller, substitutes: dict[str, str]) -> dict[str, Any]:
    first = await caller.client.get(simulate_last("life", 5, substitutes, str(uuid4())))

    async def finished() -> Any:
        report = await caller.client.get(get_simulation(first["id"]))
        return report if report["finished"] else None

    return dict(await eventually(finished, timeout=30))


async def test_a_retry_is_a_new_live_run_of_the_lineage_that_asks_again(caller: Caller) -> None:
    first = await caller.resolve(await caller.ask("明天上午九点提醒我交周报"), decision="reject")
    again = await ended(caller, await made(caller, first, "retry"))
    assert (again["status"], again["waiting_on"]) == ("waiting", "approval")
    assert again["origin"]["kind"] == "retry"
    assert await caller.items("/v1/reminders") == []
    now = await caller.resolve(again, decision="approve")
    assert now["status"] == "succeeded"
    assert len(await caller.items("/v1/reminders")) == 1
    rows = await sql(
        caller, "SELECT count(DISTINCT root_run_id), count(*) FROM agent.runs WHERE id IN (%s, %s)",
        first["id"], now["id"],
    )  # fmt: skip
    assert rows == [(1, 2)]
    budgets = await sql(
        caller, "SELECT root_run_id::text FROM agent.budgets WHERE tenant_id = %s", caller.tenant
    )
    assert budgets == [(first["id"],)], "one budget for the lineage"


async def test_a_run_at_work_is_not_retried(caller: Caller) -> None:
    run = await caller.ask("明天上午九点提醒我交周报")
    with pytest.raises(ApiError) as refused:
        await made(caller, run, "retry")
    assert (refused.value.status, refused.value.code) == (409, "run_not_finished")


async def test_the_same_key_is_the_same_retry(caller: Caller) -> None:
    run = await done(caller)
    request = derive(run["id"], "retry", {}, "once")
    assert (await caller.client.get(request))["id"] == (await caller.client.get(request))["id"]
    with pytest.raises(ApiError) as refused:
        await caller.client.get(derive(run["id"], "fork", {"at_seq": 3}, ""))
    assert refused.value.status == 400


async def test_a_fork_before_the_action_asks_for_it_again(caller: Caller) -> None:
    first = await caller.resolve(await caller.ask("明天上午九点提醒我交周报"), decision="reject")
    log = {e["seq"]: e["type"] for e in await events(caller, first)}
    assert [log[seq] for seq in first["fork_points"]] == ["run.bound", "model.called"]

    fork = await ended(caller, await made(caller, first, "fork", at_seq=first["fork_points"][-1]))
    assert (fork["status"], fork["waiting_on"]) == ("waiting", "approval")
    assert fork["usage"]["model_calls"] == 0, "what the model answered is inherited"
    now = await caller.resolve(fork, decision="approve")
    assert now["status"] == "succeeded"
    assert len(await caller.items("/v1/reminders")) == 1


async def test_a_fork_after_the_action_inherits_it_as_a_fact(caller: Caller) -> None:
    first = await done(caller)
    log = {e["seq"]: e["type"] for e in await events(caller, first)}
    last = first["fork_points"][-1]
    assert log[last] == "action.committed"

    now = await ended(caller, await made(caller, first, "fork", at_seq=last))

    assert now["status"] == "succeeded"
    assert now["output"]["text"] == first["output"]["text"]
    assert len(await caller.items("/v1/reminders")) == 1, "done once, told twice"
    kinds = [e["payload"]["kind"] for e in await events(caller, now) if e["type"] == "fact.inherited"]
    assert kinds == ["model", "action"]
    tools = await caller.client.get(run_replay(now["id"], "tools", None))
    assert [c["state"] for c in tools["result"]["calls"]] == ["inherited"]
    assert (await difference(caller, now))["kind"] == "fork"


async def test_a_fork_elsewhere_is_refused_with_the_points(caller: Caller) -> None:
    run = await done(caller)
    with pytest.raises(ApiError) as refused:
        await made(caller, run, "fork", at_seq=1)
    assert (refused.value.status, refused.value.code) == (409, "not_a_fork_point")
    assert refused.value.problem["fork_points"] == run["fork_points"]


async def test_other_words_from_a_point_on_are_read_anew(caller: Caller) -> None:
    first = await caller.resolve(await caller.ask("明天上午九点提醒我交周报"), decision="reject")
    fork = await ended(
        caller,
        await made(caller, first, "fork", at_seq=first["fork_points"][0], input={"text": "记一笔午饭35元"}),
    )
    assert fork["usage"]["model_calls"] == 1
    assert [a["tool"] for a in fork["actions"]] != [a["tool"] for a in first["actions"]]


async def test_evidence_at_the_command_line(caller: Caller, tmp_path: Any) -> None:
    run = await done(caller)
    bundle = tmp_path / "run.jsonl"
    key = str(caller.mesh.identity.export_public_key)

    assert caller.cli("export", run["id"], "-o", str(bundle)).returncode == 0
    nowhere = {"FENCEPOST_URL": "http://127.0.0.1:9", "FENCEPOST_DATABASE_URL": "postgresql://nowhere"}
    checked = caller.cli("verify", str(bundle), "--key", key, "--json", env=nowhere)
    told = json.loads(checked.stdout)
    assert (checked.returncode, told["verdict"], told["signature"]) == (0, "verified", "verified")
    shown = caller.cli("replay", str(bundle), "--view", "conversation", "--json", env=nowhere)
    offline = json.loads(shown.stdout)["result"]
    assert offline[0]["text"] == "明天上午九点提醒我交周报"
    assert offline == caller.cli_json("replay", run["id"], "--view", "conversation")["result"]
    assert "nothing of this yet" in caller.cli("replay", run["id"], "--at-seq", "1", "--view", "tools").stdout
    assert caller.cli_json("replay", run["id"], "--view", "usage")["result"]["calls"] == 1

    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(bundle.read_bytes()[:-700])
    checked = caller.cli("verify", str(torn), "--json", env=nowhere)
    told = json.loads(checked.stdout)
    assert (checked.returncode, told["degraded"]) == (1, True)
    rest = tmp_path / "torn.jsonl.corrupt"
    assert rest.read_bytes() == torn.read_bytes()[told["valid_bytes"] :]
    assert caller.cli("replay", str(torn), env=nowhere).returncode == 1
    assert caller.cli("verify", str(tmp_path / "nothing"), env=nowhere).returncode == 2

    database = {"FENCEPOST_DATABASE_URL": caller.mesh.dsn()}
    anchors = tmp_path / "anchors.jsonl"

    async def anchored() -> bool:
        caller.cli("export", "--anchors", "-o", str(anchors), env=database)
        return run["id"] in anchors.read_text()

    await eventually(anchored, timeout=30)
    keys = ["--anchors", str(anchors), "--anchor-keys", str(caller.mesh.identity.anchor_key)]
    checked = caller.cli("verify", *keys, "--json", env=database)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert caller.cli("verify", str(bundle), *keys, env=nowhere).returncode == 0
    line = json.loads(anchors.read_text().splitlines()[0])
    line["hash"] = "11" * 32
    (tmp_path / "forged").write_text(json.dumps(line) + "\n")
    checked = caller.cli("verify", "--anchors", str(tmp_path / "forged"), "--json", env=database)
    assert json.loads(checked.stdout)["anchors"]["faults"][0]["fault"] == "changed"

    told = caller.cli_json("simulate", run["id"])
    assert told["same"]
    assert caller.cli("fork", run["id"], "--at-seq", "1").returncode != 0
    assert caller.cli("retry", run["id"]).returncode == 4, "it waits on a person"
    assert caller.cli("erase", run["id"], "--reason", "asked", "--yes", env=database).returncode == 0
    assert caller.cli("export", run["id"], "-o", str(bundle)).returncode == 0
    assert "交周报" not in bundle.read_text()


async def events(caller: Caller, run: dict[str, Any]) -> list[Any]:
    page = await caller.client.page(Request("GET", f"/v1/runs/{run['id']}/events", params={"limit": 200}))
    return list(page.items)
