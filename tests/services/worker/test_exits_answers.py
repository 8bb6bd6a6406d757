"""The answer's gate on the compiled graph: passes, is revised, is exhausted, after a failure."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from tests.services.worker.stage import Stage
from tests.services.worker.walks import walks
from tests.support.scripted_model import text_answer, tool_answer

DONE = ("succeeded", "acceptance_met", None)


@walks("single_action: observe -> response_gate", "response-quality-1.0.0 is asked after a failure")
async def test_an_answer_after_a_failed_action_makes_no_success(stage: Stage) -> None:
    stage.acting("single_action")
    stage.bench.gateway.commit_script.append("tool_failed")
    assert await stage.ends() == ("failed", "required_task_failed", "tool_failed")


SAID = "Your report was sent to the whole team this morning."
ALIKE = f"{SAID}\n\nYour report was sent to the entire team this morning."


def talks(stage: Stage, *answers: Any) -> None:
    stage.bench.model.script = deque(answers)


@walks("module_agent -> response_gate", "direct: response_gate -> revise_response",
       "revise_response -> response_gate", "response-quality-1.0.0 asks for a rewrite",
       "response-quality-1.0.0 is mended", "direct: response_gate -> finalize")  # fmt: skip
async def test_an_answer_that_repeats_itself_is_revised(stage: Stage) -> None:
    talks(stage, text_answer(ALIKE), tool_answer("respond", {"text": SAID}))
    run_id = await stage.begins("was it sent?")
    assert await stage.ending(run_id) == DONE
    assert await stage.said(run_id) == SAID


@walks("response-quality-1.0.0 is exhausted", "response_gate ! quality_failed")
async def test_an_answer_that_goes_on_repeating_itself_fails_closed(stage: Stage) -> None:
    talks(stage, text_answer(ALIKE), tool_answer("respond", {"text": ALIKE}))
    assert await stage.ends("was it sent?") == ("failed", "quality_failed", "response_quality_failed")
    assert len(stage.bench.model.requests) == 2


@pytest.mark.parametrize(
    ("calls", "ending"),
    [
        pytest.param(
            9, ("failed", "model_failed", "responder_invalid"),
            marks=walks("revise_response -> finalize", "revise_response ! model_failed"),
        ),
        pytest.param(
            1, ("failed", "budget_exhausted", "model_calls"),
            marks=walks("revise_response ! budget_exhausted"),
        ),
    ],
)  # fmt: skip
async def test_an_answer_that_cannot_be_revised_is_not_given(stage: Stage, calls: int, ending: Any) -> None:
    talks(stage, text_answer(ALIKE), text_answer("no"), text_answer("no"))
    run_id = await stage.begins("was it sent?", budget={"model_calls": calls})
    assert await stage.ending(run_id) == ending
    assert SAID not in await stage.said(run_id)
