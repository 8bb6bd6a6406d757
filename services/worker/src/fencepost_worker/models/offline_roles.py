"""The offline model in the roles beside the module's: a plan by the contract, files by the records.

Deterministic, from the same facts as data that a model reads as words. It mends nothing and revises nothing:
what it composes is either right by the gates, or its run fails closed and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_worker.models.control import RESPOND
from fencepost_worker.models.offline_compaction import compact
from fencepost_worker.models.port import ModelRequest

EXTRACT: Final = "work.extract_document"
ASK_DOCUMENT: Final = "work.ask_document"
# What makes each kind of file; the words of a plan's step for it.
MAKERS: Final[Mapping[str, str]] = {
    "pptx": "work.create_presentation",
    "docx": "work.create_document",
    "xlsx": "work.create_workbook",
}
_TITLES: Final[Mapping[str, tuple[str, str]]] = {
    EXTRACT: ("读取附件", "Read the attachments"),
    "work.create_presentation": ("生成演示文稿", "Make the presentation"),
    "work.create_document": ("生成文档", "Make the document"),
    "work.create_workbook": ("生成工作簿", "Make the workbook"),
}


def role_answer(request: ModelRequest) -> tuple[str, Mapping[str, Any]] | None:
    """The one call of a role, by name and arguments; None for the module's agent."""
    task = request.context.task or {}
    is_chinese = request.context.locale.lower().startswith("zh")
    match request.role:
        case "planner":
            return "plan", _plan(task, request.context.text, is_chinese=is_chinese)
        case "composer":
            return "compose", _composed(task, request.context.text, is_chinese=is_chinese)
        case "assessor":
            return "assess", _assessed(task)
        case "repairer":
            return "repair", {"arguments": task.get("arguments", {})}
        case "responder":
            return RESPOND, {"text": task.get("text") or "-"}
        case "compactor":
            return "compact", compact(task)
        case _:
            return None


def wanted_tools(task: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    """The tools that make what the contract asks for; None of them where this module hasn't all."""
    kinds = task.get("contract", {}).get("file_kinds", ())
    makers = [MAKERS[kind] for kind in kinds if kind in MAKERS]
    return makers if all(maker in known for maker in makers) else []


def _plan(task: Mapping[str, Any], text: str, *, is_chinese: bool) -> dict[str, Any]:
    """Read what is attached, then make each file from it."""
    offered = [tool["name"] for tool in task["tools"]]
    makers = wanted_tools(task, offered) or [
        name for name in task["chosen"] if name in offered and name != EXTRACT
    ]
    reads = EXTRACT in offered and bool(task["attachments"])
    steps = [_step("read", EXTRACT, (), is_chinese=is_chinese)] if reads else []
    steps += [
        _step(f"make_{place}", maker, ("read",) if reads else (), is_chinese=is_chinese)
        for place, maker in enumerate(makers, 1)
    ]
    wanted = list(task["contract"].get("hard_requirements", ()))[:12]
    return {
        "objective": text.strip()[:500] or "-",
        "steps": steps or [_step("read", EXTRACT, (), is_chinese=is_chinese)],
        "success_criteria": wanted or ["every step is done"],
        "task_intent": {"tools": makers},
    }


def _step(name: str, tool: str, needs: Sequence[str], *, is_chinese: bool) -> dict[str, Any]:
    title = _TITLES.get(tool, (tool, tool))[0 if is_chinese else 1]
    return {"id": name, "title": title, "tool": tool, "needs": list(needs), "observable": tool}


def _composed(task: Mapping[str, Any], text: str, *, is_chinese: bool) -> dict[str, Any]:
    tool = task["step"]["tool"]
    if tool == EXTRACT:
        return {"arguments": {"documents": list(task["attachments"])}, "used_locators": []}
    if tool == ASK_DOCUMENT:
        arguments = {"documents": list(task["attachments"]), "question": text}
        return {"arguments": arguments, "used_locators": []}
    if tool in MAKERS.values():
        from fencepost_worker.models.offline_files import file_arguments  # what it needs loads slowly

        used = [str(record.get("source_locator", "")) for record in task["records"]]
        return {"arguments": file_arguments(tool, task, text, is_chinese=is_chinese), "used_locators": used}
    return {"arguments": {}, "used_locators": []}


def _assessed(task: Mapping[str, Any]) -> dict[str, Any]:
    """Done when every step is; a step that failed can't be mended by rules."""
    open_ones = [one for one in task["steps"] if one["status"] != "done"]
    if not open_ones:
        return {"verdict": "completed", "reasons": [{"text": "every step is done"}]}
    why = [{"text": f"{one['title']}: {one['status']} {one['detail']}"[:500]} for one in open_ones[:12]]
    return {"verdict": "blocked", "reasons": why}
