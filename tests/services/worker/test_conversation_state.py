"""What the model is told of the conversation's state, and which tools it is offered by it."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from fencepost_contracts.loader import make_catalog
from fencepost_domain.state import Change, Operation
from fencepost_store.engine import make_engine
from fencepost_store.state import lock_state, write_state
from fencepost_store.transaction import Store
from fencepost_worker.models.state_summary import MOST_TOKENS, summary, tokens

from tests.services.worker.bench import Bench
from tests.support.scripted_gateway import LIFE_TOOLS
from tests.support.scripted_model import DONE, Chunks, call, finish, text_answer
from tests.support.worker_runs import TENANT

WHO = 'Ann "x"\n'
WORDS = {
    "state_rules": [
        {
            "when": "state.step == 'books'",
            "tools": ["life.add_ledger_entry"],
            "otherwise": "open the books first",
        }
    ],
    "dynamic_prompts": [
        {"when": "state.step == 'books'", "template": "The books are open for {who}."},
        {"when": "state.n > 3", "template": "This can't be judged and isn't said."},
        {"when": "state.step == 'books'", "template": "Neither is what names {nobody}."},
    ],
    "state_summary": ["who"],
}


async def conversation_with(bench: Bench, *changes: Change) -> UUID:
    """A conversation in which something was said before, and these changes were made."""
    conversation = bench.runs.ids.uuid7()
    bench.model.answer(text_answer("hello"))
    async with bench.working():
        first = await bench.runs.queued("hi", conversation_id=conversation)
        assert await bench.ended(first) == "succeeded"
    assert "State of this conversation" not in system_of(bench)
    store = Store(make_engine(bench.database.dsn("gateway"), size=1), bench.runs.ids)
    async with store.transaction(TENANT) as tx:
        head = await lock_state(tx, conversation, TENANT)
        await write_state(tx, head, changes, source="test", run_id=None, trace_id=None)
    await store.close()
    return conversation


async def ask(bench: Bench, conversation: UUID, *answers: Chunks) -> UUID:
    bench.model.answer(*answers)
    async with bench.working():
        run_id = await bench.runs.queued("and now?", conversation_id=conversation)
        await bench.ended(run_id)
    return run_id


def system_of(bench: Bench) -> str:
    return str(bench.model.requests[-1]["messages"][0]["content"])


def offered(bench: Bench) -> set[str]:
    return {tool["function"]["name"] for tool in bench.model.requests[-1]["tools"]}


def step(name: str) -> Change:
    return Change("step", Operation.SET, name)


async def test_the_prompt_ends_with_the_state_and_what_it_calls_for(bench: Bench) -> None:
    await bench.publish(make_catalog("life", "2", LIFE_TOOLS, WORDS))
    conversation = await conversation_with(bench, step("books"), Change("who", Operation.SET, WHO))
    await ask(bench, conversation, text_answer("ok"))
    lines = system_of(bench).splitlines()
    quoted = json.dumps(WHO)
    assert lines[-2].endswith(f'instructions): who={quoted}; step="books".')
    assert lines[-1] == f"The books are open for {quoted}."
    assert "life__add_ledger_entry" in offered(bench)


async def test_a_tool_that_no_rule_switches_on_is_not_offered_and_not_called(bench: Bench) -> None:
    await bench.publish(make_catalog("life", "2", LIFE_TOOLS, WORDS))
    conversation = await conversation_with(bench, step("draft"))
    entry = {"amount": "12.00", "currency": "CNY"}
    tried = [call("life__add_ledger_entry", json.dumps(entry), index=0, id="c"), finish("tool_calls"), DONE]
    await ask(bench, conversation, tried, text_answer("then not"))
    assert "life__add_ledger_entry" not in offered(bench)
    assert bench.gateway.prepared == []
    refusal = bench.model.requests[-1]["messages"][-1]["content"]
    assert "state_binding" in refusal and "open the books first" in refusal


async def test_a_rule_is_judged_in_a_conversation_without_state(bench: Bench) -> None:
    await bench.publish(make_catalog("life", "2", LIFE_TOOLS, WORDS))
    await ask(bench, bench.runs.ids.uuid7(), text_answer("ok"))
    assert "life__add_ledger_entry" not in offered(bench)


@pytest.mark.parametrize("long", ["word " * 400, "记" * 400, "0123456789" * 60, "{}[]!?" * 90, "x" * 900])
def test_the_summary_stays_within_its_tokens(long: str) -> None:
    values = {"who": "Ann", **{f"key_{n}": long for n in range(30)}}
    line = summary(values, ("who",))
    assert tokens(line) <= MOST_TOKENS and 'who="Ann"' in line and "more." in line
    assert summary({}) == ""
    assert summary({"b": 1, "a": [1, None]}).endswith("a=[1, null]; b=1.")


@pytest.mark.parametrize(
    ("text", "least"),
    [("hello world", 2), ("记账三十五块五", 7), ("2026-03-05T09:00:00+08:00", 14), ("a" * 30, 10), ("!?", 2)],
)
def test_tokens_are_counted_on_the_high_side(text: str, least: int) -> None:
    assert tokens(text) >= least
