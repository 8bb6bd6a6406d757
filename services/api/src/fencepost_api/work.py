"""What a run planned and how its work was judged: a fold of its events, newest plan, oldest report first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fencepost_quality.gate_words import sentence


def work(events: Iterable[Mapping[str, Any]], locale: str) -> dict[str, Any]:
    """{plan, task_contract, quality_reports} of a run's view. events: {seq, type, said}, in order.

    Each violation is also `said` to the user, in the run's language.

    A step that moved before its plan was erased, or that its plan doesn't have, changes nothing.
    """
    plan: dict[str, Any] | None = None
    contract: Any = None
    reports: list[dict[str, Any]] = []
    for event in events:
        said = event["said"]
        match event["type"]:
            case "contract.compiled":
                contract = said
            case "plan.created":
                plan = dict(said)
            case "plan.advanced":
                plan = _advanced(plan, said)
            case _:
                reports.append({"seq": event["seq"], **said, "violations": _told(said, locale)})
    return {"plan": plan, "task_contract": contract, "quality_reports": reports}


def _told(report: Mapping[str, Any], locale: str) -> list[dict[str, Any]]:
    violations = report.get("violations") or ()
    return [{**one, "said": sentence(str(one.get("code")), locale)} for one in violations]


def _advanced(plan: dict[str, Any] | None, said: Mapping[str, Any]) -> dict[str, Any] | None:
    if plan is None:
        return None
    moved = {"status": said["status"], "detail": said["detail"]}
    steps = [{**step, **moved} if step["id"] == said["step"] else step for step in plan["steps"]]
    return {**plan, "steps": steps}
