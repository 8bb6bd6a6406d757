"""How a run of several steps stands when it asks to end: its contract's proofs beside its first failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fencepost_domain.acceptance import Proof, judge_acceptance
from fencepost_domain.task_contract import Requirement, TaskContract
from fencepost_domain.termination import Standing

from fencepost_worker.flow import gate_table
from fencepost_worker.flow.finish import proposed, standing_of
from fencepost_worker.flow.gating import delivered_id, made
from fencepost_worker.flow.state import DONE, FAILED, REJECTED, Patch, State
from fencepost_worker.flow.step import Step


async def finalize(state: State, step: Step) -> Patch:
    """The proposal of an ending: a pure function of the state. Only the worker's record makes it true."""
    return proposed(state, step, standing(state))


def standing(state: State) -> Standing:
    """As in 1.0.0, and: what the contract asks for is proven or not; a step done at another try didn't
    fail."""
    if not state["contract"]:
        return standing_of(state)
    agentic = state["mode"] == "agentic"
    kept = [a for a in state["actions"] if not (agentic and a["status"] == FAILED)]
    stood = standing_of({**state, "actions": kept})
    contract = TaskContract.from_json(state["contract"])
    proofs, bad = proofs_of(state)
    delivered = {
        delivered_id(a): gate_table.KIND_OF[a["tool"]]
        for a in made(state)
        if a["tool"] in gate_table.KIND_OF and delivered_id(a) not in bad
    }
    done = [a for a in kept if a["status"] == DONE and a["effect_class"] != "none"]
    said_no = agentic and any(a["status"] == REJECTED for a in kept) and not done
    return replace(
        stood,
        acceptance=judge_acceptance(contract, proofs, delivered) if contract.hard_requirements else None,
        delivered=len(delivered),
        completed=sum(delivered_id(a) not in bad for a in done),
        rejected=stood.rejected or said_no,
    )


def proofs_of(state: State) -> tuple[list[Proof], frozenset[str]]:
    """What the gates' reports prove, in order of time; and the things that their gate refused."""
    found: list[Proof] = []
    passed: dict[str, bool] = {}
    for name, report in state["reports"].items():
        told: dict[str, Any] = report.get("proves") or {}
        subject = str(report.get("of", ""))
        if subject:
            passed[subject] = bool(report["passed"])
        found += [Proof(each, subject, bool(ok), report["gate"], name) for each, ok in told.items()]
    drafts = [a for a in made(state) if a["tool"] == gate_table.DRAFT]
    judged = [one for one in state["reports"].values() if one["gate"] == gate_table.EMAIL_GATE]
    for draft in drafts if judged else ():
        named = (Requirement.DRAFT_EXISTS, Requirement.LANGUAGE_MATCHES)
        by = judged[-1]["gate"]
        found += [Proof(str(n), delivered_id(draft), bool(judged[-1]["passed"]), by) for n in named]
    return found, frozenset(subject for subject, ok in passed.items() if not ok)
