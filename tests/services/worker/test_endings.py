"""Every ending says, in the run's language, what was done or that nothing was, and why."""

from __future__ import annotations

from uuid import UUID

import pytest
from fencepost_domain.vocabulary import Reason, RunStatus, Stop
from fencepost_store.bindings import EndingFacts
from fencepost_store.interrupts import expire, lock_interrupt
from fencepost_store.runs import lock_run
from fencepost_worker.ending import broken, drained, proposed
from fencepost_worker.flow.finish import standing_of, without_repeats
from fencepost_worker.flow.state import FRESH

from tests.services.worker.bench import Bench
from tests.services.worker.walks import walks
from tests.support.scripted_gateway import life_catalog
from tests.support.scripted_model import text_answer, tool_answer

REMIND = {"title": "report", "at": "2026-12-01T09:00:00+08:00"}
NOBODY = UUID(int=0)


async def expire_question(bench: Bench, run_id: UUID, interrupt_id: UUID) -> None:
    """As the reconciler's sweep does when the time to answer is over."""
    await bench.runs.run("UPDATE agent.interrupts SET expires_at = clock_timestamp()")
    async with bench.reconciler() as store, store.transaction() as tx:
        locked = await lock_run(tx, run_id)
        interrupt, _ = await lock_interrupt(tx, interrupt_id)
        assert await expire(tx, locked.run, locked.now, interrupt) is not None


@pytest.mark.parametrize(("locale", "words"), [("en", "Nothing was done."), ("zh-CN", "没有做任何改动")])
@pytest.mark.parametrize("kind", ["approval", "input"])
async def test_a_question_nobody_answers_ends_the_run_as_expired(
    bench: Bench, kind: str, locale: str, words: str
) -> None:
    asked = tool_answer("ask", {"question": "When?", "slot": "time"})
    bench.model.answer(asked if kind == "input" else tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me", locale=locale)
        interrupt = await bench.asked(run_id)
        assert interrupt["kind"] == kind
        await expire_question(bench, run_id, interrupt["id"])
        assert await bench.ended(run_id) == "expired"
    assert await bench.finalization(run_id) == ("expired", "approval_expired")
    [message] = await bench.final_messages(run_id)
    assert words in message
    assert bench.gateway.committed == []


async def test_an_approval_that_expires_at_the_gateway_is_said_as_such(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    bench.gateway.commit_script.append("approval_expired")
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "expired"


@walks("module_agent -> hand_over", "hand_over -> end")
async def test_a_second_hand_over_is_not_offered_and_refused(bench: Bench) -> None:
    await bench.publish(life_catalog(module="companion", tools=()))
    bench.model.answer(
        tool_answer("hand_over", {"module": "life"}),
        tool_answer("hand_over", {"module": "companion"}),
        text_answer("I can't do that."),
    )
    async with bench.working(worker_modules=("life", "companion")):
        run_id = await bench.runs.queued("hm", module="companion")
        assert await bench.ended(run_id) == "succeeded"
    assert (await bench.events(run_id)).count("run.rerouted") == 1
    assert (await bench.events(run_id)).count("tool.refused") == 1


@walks("module_agent -> ask", "ask ! required_task_failed", "ask -> finalize")
@pytest.mark.parametrize("choice", ["c9", ""])
async def test_an_answer_that_was_not_offered_ends_the_run(bench: Bench, choice: str) -> None:
    asked = {"question": "Which?", "slot": "time", "candidates": [{"id": "c1", "label": "one", "value": "1"}]}
    bench.model.answer(tool_answer("ask", asked))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"choice": choice})
        assert await bench.ended(run_id) == "failed"
    [message] = await bench.final_messages(run_id)
    assert "not one of the choices" in message


def effect(state: str, kind: str = "local") -> dict[str, object]:
    return {"effect_key": "k", "index": 0, "tool": "life.x", "class": kind, "state": state}


def facts(*effects: dict[str, object]) -> EndingFacts:
    done = tuple(e for e in effects if e["state"] == "completed")
    return EndingFacts(done, tuple(e for e in effects if e not in done), {})


async def test_an_answer_without_an_action_is_not_called_carried_out(bench: Bench) -> None:
    bench.model.answer(text_answer("I can't book flights."))
    async with bench.working():
        run_id = await bench.runs.queued("book me a flight")
        assert await bench.ended(run_id) == "succeeded"
    [(said,)] = await bench.runs.fetch(
        "SELECT explanation FROM agent.finalizations WHERE run_id = %s", run_id
    )
    assert said == "It was answered."


def test_an_unsettled_effect_keeps_a_run_from_succeeding_whatever_was_proposed() -> None:
    proposal = {
        "status": "succeeded",
        "reason": "acceptance_met",
        "code": None,
        "text": "Done.",
        "explanation": "ok",
        "left_undone": [],
    }
    finalization, message = proposed(proposal, facts(effect("unknown")), "en", NOBODY)
    assert (finalization.status, finalization.code) == (RunStatus.BLOCKED, "effect_unsettled")
    assert finalization.unconfirmed_effects
    assert message.text.startswith("The outcome of one step is not known yet")


def test_a_broken_run_says_what_was_done_before_it_broke() -> None:
    finalization, message = broken(
        Reason.MODEL_FAILED, "timeout", "", facts(effect("completed")), "en", NOBODY
    )
    assert finalization.status is RunStatus.PARTIALLY_SUCCEEDED
    assert "Done before that: life.x." in message.text
    finalization, message = broken(
        Reason.MODEL_FAILED, "timeout", "", facts(effect("completed", "none")), "zh", NOBODY
    )
    assert finalization.status is RunStatus.FAILED
    assert "没有做任何改动" in message.text


def test_a_stopped_run_names_what_is_not_confirmed() -> None:
    finalization, message = drained(Stop.DEADLINE, facts(effect("started")), "en", NOBODY)
    assert (finalization.status, finalization.reason) == (RunStatus.EXPIRED, Reason.DEADLINE_EXCEEDED)
    assert "Outcome not confirmed: life.x. Check before you try again." in message.text


def test_i25_a_gate_never_turns_an_earlier_failure_into_a_success() -> None:
    state = {**FRESH, "failure": {"reason": "model_failed", "code": "x"}, "reply": {"text": "All done!"}}
    standing = standing_of(state)  # type: ignore[arg-type]
    assert standing.failure is Reason.MODEL_FAILED
    assert without_repeats("a\n\na\n\nb") == "a\n\nb"
