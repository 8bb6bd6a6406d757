"""Words in place of what was asked for are no success: said plainly, in the user's language."""

from __future__ import annotations

import pytest

from tests.services.worker.bench import Bench
from tests.support.scripted_model import text_answer


@pytest.mark.parametrize(
    ("text", "locale", "said", "missing"),
    [
        ("make a deck about tea", "en", "I can't make slides here.", "the file exists"),
        ("做一个关于茶的中文PPT", "zh-CN", "我在这里做不了PPT。", "语言符合要求"),
    ],
)
async def test_an_answer_in_words_is_no_file(
    bench: Bench, text: str, locale: str, said: str, missing: str
) -> None:
    bench.model.answer(text_answer(said))
    async with bench.working():
        run_id = await bench.runs.queued(text, locale=locale)
        assert await bench.ended(run_id) == "failed"

    ((reason, code, evidence),) = await bench.runs.fetch(
        "SELECT reason, code, evidence FROM agent.finalizations WHERE run_id = %s", run_id
    )
    assert (reason, code) == ("required_task_failed", "requirement_unproven")
    assert "artifact_exists" in evidence["unproven"]
    [message] = await bench.final_messages(run_id)
    assert said in message and missing in message


async def test_a_question_about_a_document_is_answered_in_words(bench: Bench) -> None:
    bench.model.answer(text_answer("At nine."))
    async with bench.working():
        run_id = await bench.runs.queued("文档里说了什么时间开会", locale="zh-CN")
        assert await bench.ended(run_id) == "succeeded"
