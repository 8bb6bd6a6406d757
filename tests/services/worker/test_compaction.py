"""A long history is shortened once, in three events; what isn't committed is read by nobody (I30)."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fencepost_runtime.failpoints import Action, arm
from fencepost_store.engine import make_engine
from fencepost_store.evidence import erase_run
from fencepost_store.transaction import Store
from fencepost_worker.history import EARLIER

from tests.faults.scenes import COMPACTING
from tests.services.worker.bench import Bench
from tests.services.worker.test_agentic import payloads
from tests.services.worker.test_simulation import simulated
from tests.support.scripted_roles import ScriptedRoles, text_of
from tests.support.worker_process import worker_process
from tests.support.worker_runs import TENANT

SHARE = 800
MARK = "SUMMARY-OF-OLD"
THREE = ["compaction.started", "compaction.candidate", "compaction.committed"]
FAILED_AT = dict(zip(COMPACTING, (1, 2, 2, 3), strict=True))  # events that are written by then
FILLER = "the weather was nice and the walk along the river was long and quiet " * 12
SAID = [f"number {n}: I spent {n}00 CNY with Mr Zhou{n}, {FILLER}" for n in range(1, 4)]


def faithful(body: dict[str, Any]) -> dict[str, Any]:
    """A summary with every amount and name of what it was given, and a mark by which it is found again."""
    text = text_of(body)
    seen = [n for n in range(1, 9) if f"Zhou{n}" in text]
    told = [f"number {n}: {n}00 CNY with Mr Zhou{n}." for n in seen]
    return {"summary": f"{MARK.lower()}\n" + "\n".join(told), "open_tasks": [], "done": []}


def forging(body: dict[str, Any]) -> dict[str, Any]:
    made = faithful(body)
    return {**made, "summary": made["summary"].replace("100 CNY", "10,000 CNY")}


def scripted(bench: Bench, *compactor: Any) -> ScriptedRoles:
    roles = ScriptedRoles(module=[("respond", {"text": "noted"})], compactor=list(compactor) or [faithful])
    bench.model.script = roles  # type: ignore[assignment]
    return roles


async def lived(bench: Bench, said: list[str] = SAID, **more: Any) -> UUID:
    """A conversation in which each of these was said and answered, under a share that holds all of it."""
    conversation = bench.runs.ids.uuid7()
    async with bench.working():
        for text in said:
            run_id = await bench.runs.queued(text, conversation_id=conversation, **more)
            assert await bench.ended(run_id) == "succeeded"
    return conversation


async def asked(bench: Bench, conversation: UUID, text: str = "and now?", **more: Any) -> UUID:
    """One more run, under the small share."""
    async with bench.working(model_history_tokens=SHARE, **more.pop("working", {})):
        run_id = await bench.runs.queued(text, conversation_id=conversation, **more)
        assert await bench.ended(run_id) == "succeeded"
    return run_id


def module_requests(bench: Bench) -> list[str]:
    return [text_of(body) for body in bench.model.requests if len(body["tools"]) > 1]


async def compaction_events(bench: Bench, run_id: UUID) -> list[str]:
    return [kind for kind in await bench.events(run_id) if kind.startswith("compaction.")]


@pytest.mark.transcript
async def test_i30_a_long_history_is_shortened_once_and_read_by_the_runs_behind_it(bench: Bench) -> None:
    roles = scripted(bench)
    conversation = await lived(bench)
    assert roles.asked["compactor"] == 0, "it fits"
    first = await asked(bench, conversation)
    assert await compaction_events(bench, first) == THREE
    sent = module_requests(bench)[-1]
    assert EARLIER in sent and MARK.lower() in sent and "Zhou3" in sent
    assert FILLER.strip() in sent, "the newest turn is whole"
    second = await asked(bench, conversation)
    assert await compaction_events(bench, second) == []
    assert MARK.lower() in module_requests(bench)[-1]
    assert roles.asked["compactor"] == 1
    [started], [candidate] = [await payloads(bench, first, kind) for kind in THREE[:2]]
    assert candidate["faults"] == [] and started["limit"] == SHARE < started["tokens"]
    assert candidate["source_seqs"] == started["source_seqs"] == sorted(started["source_seqs"])
    assert await bench.count("SELECT count(*) FROM agent.model_calls WHERE role = 'compactor'") == 1
    assert await bench.violations() == []


@pytest.mark.transcript
async def test_i30_a_summary_that_alters_something_is_never_read(bench: Bench) -> None:
    roles = scripted(bench, forging)
    conversation = await lived(bench)
    run_id = await asked(bench, conversation)
    assert await compaction_events(bench, run_id) == THREE[:2]
    [candidate] = await payloads(bench, run_id, THREE[1])
    assert "amount_not_in_source: 10000 CNY" in candidate["faults"]
    assert "amount_lost: 100 CNY" in candidate["faults"]
    sent = module_requests(bench)[-1]
    assert MARK.lower() not in sent and "10,000" not in sent
    assert "Zhou3" in sent and "Zhou1" not in sent, "the oldest turns are left out instead"
    assert roles.asked["compactor"] == 1
    assert await bench.count("SELECT count(*) FROM agent.compactions") == 0
    assert await bench.violations() == []


async def test_i30_a_compactor_that_gives_no_answer_leaves_the_run_as_it_would_be_without(
    bench: Bench,
) -> None:
    scripted(bench, "I would rather talk.")
    run_id = await asked(bench, await lived(bench))
    [candidate] = await payloads(bench, run_id, THREE[1])
    assert candidate["faults"] == ["no_answer: not one valid call of compact"]
    assert "Zhou1" not in module_requests(bench)[-1]


@pytest.mark.faults
@pytest.mark.parametrize("point", COMPACTING)
async def test_i30_killed_between_the_events_the_run_goes_on_without_a_second_call(
    bench: Bench, tmp_path: Path, point: str
) -> None:
    roles = scripted(bench)
    conversation = await lived(bench)
    arm(tmp_path / "failpoints", point, Action.KILL)
    run_id = await bench.runs.queued("and now?", conversation_id=conversation)
    async with worker_process(
        bench.database,
        bench.gateway.url,
        tmp_path,
        model_url=bench.model.url,
        model_name="scripted",
        model_history_tokens=str(SHARE),
    ) as first:
        await first.process.wait()
    assert first.process.returncode == -signal.SIGKILL
    written = THREE[: FAILED_AT[point]]
    assert await compaction_events(bench, run_id) == written
    rows = await bench.count("SELECT count(*) FROM agent.compactions")
    assert rows == (1 if written == THREE else 0)
    assert all(MARK.lower() not in sent for sent in module_requests(bench)), "nobody read a candidate"
    await bench.expire_lease(run_id)
    async with bench.working(model_history_tokens=SHARE):
        assert await bench.ended(run_id, 30.0) == "succeeded"
    assert roles.asked["compactor"] == 1
    assert await compaction_events(bench, run_id) == THREE
    assert MARK.lower() in module_requests(bench)[-1]
    assert await bench.violations() == []


async def test_i30_nobody_else_reads_it_and_what_was_before_does_not_either(bench: Bench) -> None:
    roles = scripted(bench)
    conversation = await lived(bench)
    await asked(bench, conversation)
    other = await lived(bench, ["number 7: hello there, I am Mr Zhou7"], user_id="user-2")
    await asked(bench, other, user_id="user-2")
    assert MARK.lower() not in module_requests(bench)[-1]
    foreign = bench.runs.ids.uuid7()
    tenant = bench.runs.ids.uuid7()
    for text in ("hello", "again"):
        await asked(bench, foreign, text, tenant_id=tenant)
    assert MARK.lower() not in module_requests(bench)[-1]
    assert roles.asked["compactor"] == 1


@pytest.mark.parametrize("whose", ["a source", "the maker"])
async def test_i30_an_erasure_voids_it(bench: Bench, whose: str) -> None:
    """Of a turn it was made from: the hash no longer fits. Of the run that made it: its words are gone."""
    roles = scripted(bench)
    conversation = await lived(bench)
    maker = await asked(bench, conversation)
    [(source,)] = await bench.runs.fetch(
        "SELECT run_id FROM agent.messages WHERE conversation_id = %s ORDER BY seq LIMIT 1", conversation
    )
    owner = Store(make_engine(bench.database.admin, size=1), bench.runs.ids)
    async with owner.transaction(TENANT) as tx:
        await erase_run(tx, source if whose == "a source" else maker, by="dpo", reason="asked")
    await owner.close()
    before = len(bench.model.requests)
    later = await asked(bench, conversation)
    said = [text_of(body) for body in bench.model.requests[before:]]
    if whose == "a source":
        assert MARK.lower() not in said[-1], "what is left fits whole, and the old summary isn't read"
        assert all("Zhou1" not in text for text in said), "nothing of what was erased is sent again"
    else:
        assert await compaction_events(bench, later) == THREE, "made anew"
        assert roles.asked["compactor"] == 2
    assert await bench.violations() == []


async def test_a_simulation_reads_what_its_origin_read_and_makes_none(bench: Bench) -> None:
    roles = scripted(bench)
    conversation = await lived(bench)
    origin = await asked(bench, conversation)
    asked_then = len(bench.model.requests)
    async with bench.working(model_history_tokens=SHARE):
        status, difference = await simulated(bench, origin)
    assert status == "succeeded" and difference["same"], difference
    assert len(bench.model.requests) == asked_then and roles.asked["compactor"] == 1
    assert await bench.violations() == []


async def test_a_summary_is_carried_into_the_next_one(bench: Bench) -> None:
    roles = scripted(bench)
    conversation = await lived(bench, SAID[:3])
    await asked(bench, conversation, f"number 5: I spent 500 CNY with Mr Zhou5, {FILLER}")
    await asked(bench, conversation, f"number 6: I spent 600 CNY with Mr Zhou6, {FILLER}")
    last = await asked(bench, conversation)
    assert roles.asked["compactor"] >= 2
    sent = module_requests(bench)[-1]
    assert all(f"Zhou{n}" in sent for n in (1, 2, 3, 5, 6)), "no turn is lost by the second one"
    rows = await bench.runs.fetch("SELECT from_seq, upto_seq FROM agent.compactions ORDER BY upto_seq")
    assert rows[0][0] == rows[-1][0] and rows[0][1] < rows[-1][1]
    assert last and await bench.violations() == []


async def test_the_offline_model_shortens_by_itself(bench: Bench) -> None:
    scripted(bench)
    texts = [f"第{n}次：昨天花了{n}00元，跟周经理吃饭。" + "天气很好，走了很久。" * 24 for n in range(1, 4)]
    conversation = await lived(bench, texts, locale="zh-CN")
    run_id = await asked(bench, conversation, "你好", locale="zh-CN", working={"model_url": None})
    [candidate] = await payloads(bench, run_id, THREE[1])
    assert candidate["faults"] == []
    assert await compaction_events(bench, run_id) == THREE
    assert "100元" in candidate["summary"] and "周经理" in candidate["summary"]


async def test_a_committed_compaction_is_found_by_its_index(bench: Bench) -> None:
    """However many there are: one index, no scan of the log."""
    from fencepost_store.sql import source

    statement = source("newest_compaction")
    for name in ("conversation_id", "tenant_id", "run_id"):
        statement = statement.replace(f":{name}", f"'{TENANT}'")
    rows = await bench.runs.fetch(f"EXPLAIN (COSTS OFF) {statement}")
    plan = "\n".join(line for (line,) in rows)
    assert "compactions_newest_idx" in plan, plan
    assert "Seq Scan on run_events" not in plan and "Seq Scan on messages" not in plan, plan
