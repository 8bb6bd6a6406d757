"""Each gate on the compiled graph, with the documents it judges in earnest: passes, asks for a rewrite, is
mended, is exhausted and fails closed, is asked after something failed."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from hashlib import sha256
from typing import Any

from fencepost_documents.office.inspection import inspect_file
from fencepost_documents.office.outline import Outline
from fencepost_documents.office.pptx_writer import write_presentation

from tests.services.worker.stage import WORK, Stage, call_of, plan_of, step
from tests.services.worker.walks import walks
from tests.unit.documents.office.outlines import AT, ITEMS, SOURCE, arguments, records

READ = "work.extract_document"
DECK = "work.create_presentation"
DRAFT = "work.draft_email"
ASKED = "基于附件生成中文PPT，包含全部名称、时间、地点"
DONE = ("succeeded", "acceptance_met", None)
REFUSED = ("failed", "quality_failed", "artifact_quality_failed")
PLAN = plan_of(step("read", READ), step("make", DECK, "read"))
GOOD_MAIL = {
    "language": "en",
    "subject": "The quarterly report by Friday",
    "greeting": "Hello,",
    "body": ["I am writing to you about the following matter: the quarterly report by Friday."],
    "call_to_action": "Please reply to this message and let me know.",
    "courtesy": "Thank you very much for your help.",
    "closing": "Kind regards,",
    "to": [{"address": "bob@example.com"}],
}
MAIL = "draft an email to bob@example.com asking for the quarterly report by Friday"


OTHER = {**arguments(), "title": "另一份汇总"}


def lacking() -> dict[str, Any]:
    """The good deck without the last record's row."""
    made = deepcopy(arguments())
    made["slides"][2]["table"]["rows"].pop()
    return made


async def made(outline: dict[str, Any] | None = None, **lies: Any) -> dict[str, Any]:
    """The tool's result for an outline, the good one unless said; lies: of its report."""
    drawn = outline or arguments()
    data, report = write_presentation(Outline.model_validate(drawn), AT)
    seen = await inspect_file(data, "活动汇总.pptx")
    return {
        "text": "活动汇总.pptx",
        "artifact_id": f"file of {drawn['title']}",
        "name": "活动汇总.pptx",
        "media_type": "x",
        "sha256": sha256(data).hexdigest(),
        "quality_report": {**report.model_dump(mode="json"), **lies},
        "inspection": seen.model_dump(mode="json"),
    }


def reading() -> dict[str, Any]:
    found = records()
    return {
        "text": "read",
        "documents": [
            {"artifact_id": SOURCE, "name": "活动清单.xlsx", "kind": "xlsx", "units": len(ITEMS),
             "records": len(ITEMS), "problems": [], "refused": None}
        ],
        "fields": list(found.fields),
        "records": [one.model_dump(mode="json") for one in found.records],
        "coverage": found.coverage.model_dump(mode="json") | {"left_out": []},
        "units": [],
        "cut": False,
    }  # fmt: skip


async def decked(stage: Stage, composed: list[Any], results: list[Any], **more: Any) -> Any:
    """A deck of the attachment: what the composer answers for it, what its tool gives back."""
    stage.bench.gateway.catalog = WORK
    stage.bench.gateway.results.update({READ: reading(), DECK: deque(results)})
    roles = stage.plays(
        module=[(DECK, {"objective": "a deck"})],
        planner=[PLAN],
        composer=[call_of(documents=[SOURCE]), *(call_of(**one) for one in composed)],
        **more,
    )
    facts = {"attachments": [SOURCE]}
    run_id = await stage.begins(ASKED, module="work", locale="zh-CN", facts=facts)
    return await stage.ending(run_id), roles, run_id


def tools_prepared(stage: Stage) -> list[str]:
    return [one["calls"][0]["tool"] for one in stage.bench.gateway.prepared]


@walks("presentation-arguments-v1 passes", "artifact-quality-v1 passes", "response-quality-1.0.0 passes",
       "agentic: artifact_gate -> response_gate", "agentic: response_gate -> finalize")  # fmt: skip
async def test_a_deck_of_all_records_passes_its_gates(stage: Stage) -> None:
    ending, roles, _ = await decked(stage, [arguments()], [await made()])
    assert ending == DONE
    assert roles.asked == {"module": 1, "planner": 1, "composer": 2, "assessor": 1}


@walks("presentation-arguments-v1 asks for a rewrite", "presentation-arguments-v1 is mended",
       "agentic: arguments_gate -> repairer", "agentic: repairer -> arguments_gate")  # fmt: skip
async def test_a_lost_row_is_put_back_before_anything_is_made(stage: Stage) -> None:
    repaired = [{"arguments": arguments()}]
    ending, roles, _ = await decked(stage, [lacking()], [await made()], repairer=repaired)
    assert ending == DONE
    assert roles.asked["repairer"] == 1
    assert tools_prepared(stage) == [READ, DECK]


@walks("presentation-arguments-v1 is exhausted", "arguments_gate ! quality_failed")
async def test_a_row_that_stays_lost_fails_closed_before_anything_is_made(stage: Stage) -> None:
    ending, roles, _ = await decked(stage, [lacking()], [await made()], repairer=[{"arguments": lacking()}])
    assert ending == REFUSED
    assert roles.asked["repairer"] == 2
    assert tools_prepared(stage) == [READ]


@walks("artifact-quality-v1 asks for a rewrite", "artifact-quality-v1 is mended",
       "agentic: artifact_gate -> router")  # fmt: skip
async def test_a_file_that_lies_is_made_once_more_and_passes(stage: Stage) -> None:
    """The first file's report tells of pages it hasn't; the second is the one that is delivered and said."""
    results = [await made(pages=9), await made(OTHER)]
    ending, roles, run_id = await decked(stage, [arguments(), OTHER], results)
    assert ending == DONE
    assert tools_prepared(stage) == [READ, DECK, DECK]
    assert roles.asked["composer"] == 3 and roles.asked["planner"] == 1
    assert ("make", "pending") in await stage.moves(run_id)


@walks(
    "artifact-quality-v1 is exhausted", "agentic: artifact_gate -> finalize", "artifact_gate ! quality_failed"
)
async def test_i24_a_file_that_lies_twice_is_not_delivered(stage: Stage) -> None:
    results = [await made(pages=9), await made(OTHER, pages=9)]
    ending, _, run_id = await decked(stage, [arguments(), OTHER], results)
    assert ending == REFUSED
    assert tools_prepared(stage) == [READ, DECK, DECK]
    ((evidence,),) = await stage.bench.runs.fetch(
        "SELECT evidence FROM agent.finalizations WHERE run_id = %s", run_id
    )
    assert "artifact_readable" in str(evidence) or evidence.get("unproven")


async def test_a_refused_file_is_not_made_again_as_it_was(stage: Stage) -> None:
    ending, roles, run_id = await decked(stage, [arguments()], [await made(pages=9)])
    assert ending == REFUSED
    assert tools_prepared(stage) == [READ, DECK]
    assert roles.asked["planner"] == 1, "no other plan mends it"
    assert (await stage.moves(run_id))[-1] == ("make", "failed")


@walks("artifact-quality-v1 is asked after a failure", "response-quality-1.0.0 is asked after a failure",
       "presentation-arguments-v1 is asked after a failure")  # fmt: skip
async def test_a_step_done_at_another_try_is_judged_like_the_first(stage: Stage) -> None:
    stage.bench.gateway.commit_script.extend(["ok", "tool_failed", "ok"])
    go_on = {"verdict": "continue", "reasons": [{"text": "it failed"}]}
    done = {"verdict": "completed", "reasons": [{"text": "there"}]}
    ending, roles, _ = await decked(stage, [arguments(), arguments()], [await made()], assessor=[go_on, done])
    assert ending == DONE
    assert roles.asked["planner"] == 2
    assert tools_prepared(stage) == [READ, DECK, DECK]


@walks("single_action: observe -> artifact_gate", "single_action: artifact_gate -> response_gate")
async def test_a_file_ordered_by_a_person_is_looked_at(stage: Stage) -> None:
    assert await ordered(stage) == DONE


@walks("single_action: artifact_gate -> finalize")
async def test_a_file_ordered_by_a_person_is_not_delivered_when_it_lies(stage: Stage) -> None:
    assert await ordered(stage, pages=9) == REFUSED


async def ordered(stage: Stage, **lies: Any) -> Any:
    """One call as it was ordered: no model is asked, one look at what was made, no second try."""
    stage.bench.gateway.catalog = WORK
    alone = {**arguments(), "sources": []}
    for row in alone["slides"][2]["table"]["rows"]:
        del row["source_locator"]
    stage.bench.gateway.results[DECK] = await made(alone, **lies)
    facts = {"ordered": {"tool": DECK, "arguments": alone}}
    ending = await stage.ends("make it", module="work", locale="zh-CN", facts=facts)
    assert stage.bench.model.requests == []
    return ending


async def drafted(stage: Stage, draft: dict[str, Any], **more: Any) -> Any:
    stage.bench.gateway.catalog = WORK
    stage.bench.gateway.results[DRAFT] = {"text": "The draft is kept.", "artifact_id": "m", "name": "m.eml",
                                          "sent": False, "subject": "s", "recipients": []}  # fmt: skip
    roles = stage.plays(module=[(DRAFT, draft)], **more)
    return await stage.ends(MAIL, module="work"), roles


@walks("email-draft-policy-2.1.0 passes", "single_action: arguments_gate -> prepare")
async def test_a_good_draft_is_kept(stage: Stage) -> None:
    ending, roles = await drafted(stage, GOOD_MAIL)
    assert ending == DONE
    assert roles.asked == {"module": 1}


CURT = {**GOOD_MAIL, "greeting": "x", "body": ["report"], "courtesy": "", "call_to_action": ""}


@walks("email-draft-policy-2.1.0 asks for a rewrite", "email-draft-policy-2.1.0 is mended",
       "single_action: arguments_gate -> repairer", "single_action: repairer -> arguments_gate")  # fmt: skip
async def test_a_curt_draft_is_rewritten_once(stage: Stage) -> None:
    ending, roles = await drafted(stage, CURT, repairer=[{"arguments": GOOD_MAIL}])
    assert ending == DONE
    assert roles.asked == {"module": 1, "repairer": 1}


@walks("email-draft-policy-2.1.0 is exhausted", "single_action: arguments_gate -> finalize")
async def test_a_draft_that_stays_curt_is_not_kept(stage: Stage) -> None:
    ending, roles = await drafted(stage, CURT, repairer=[{"arguments": CURT}])
    assert ending == ("failed", "quality_failed", "email_quality_failed")
    assert roles.asked["repairer"] == 1
    assert stage.bench.gateway.prepared == []


@walks("single_action: arguments_gate -> reject_tool")
async def test_a_rewrite_that_does_not_fit_is_told_to_the_modules_agent(stage: Stage) -> None:
    stage.bench.gateway.catalog = WORK
    stage.plays(module=[(DRAFT, CURT), (DRAFT, GOOD_MAIL)], repairer=[{"arguments": {"subject": "only"}}])
    assert await stage.ends(MAIL, module="work") == DONE
    assert stage.roles.asked == {"module": 2, "repairer": 1}


@walks("single_action: repairer -> finalize", "repairer ! model_failed")
async def test_a_repairer_without_an_answer_ends_the_run(stage: Stage) -> None:
    ending, _ = await drafted(stage, CURT, repairer=["no"])
    assert ending == ("failed", "model_failed", "repairer_invalid")


@walks("agentic: repairer -> finalize", "repairer ! quality_failed")
async def test_arguments_that_never_fit_fail_closed(stage: Stage) -> None:
    stage.acting("agentic", composer=[call_of(nothing=1)], repairer=[{"arguments": {"still": "nothing"}}])
    assert await stage.ends() == ("failed", "quality_failed", "arguments_invalid")
    assert stage.roles.asked["repairer"] == 2
    assert stage.bench.gateway.prepared == []


@walks("repairer ! budget_exhausted")
async def test_a_repair_past_the_budget_is_not_asked_for(stage: Stage) -> None:
    stage.acting("agentic", composer=[call_of(nothing=1)], repairer=[{"arguments": {"title": "x"}}])
    assert await stage.ends(budget={"model_calls": 3}) == ("failed", "budget_exhausted", "model_calls")
    assert stage.roles.asked["repairer"] == 0
