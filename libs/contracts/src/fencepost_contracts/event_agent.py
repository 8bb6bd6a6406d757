"""Payloads of what the agent plans and how its work is judged."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from fencepost_contracts.event_effects import Payload


class ContractCompiled(Payload):
    """The task contract as compiled from the user's words (fencepost_domain.task_contract)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    version: str
    hard_requirements: tuple[str, ...]


class PlanStepSaid(Payload):
    """A step of a plan. status: pending, working, done, failed or rejected."""

    id: str
    title: str
    tool: str | None
    needs: tuple[str, ...]
    status: str
    detail: str


class PlanCreated(Payload):
    """A plan or its revision, which stands in place of the one before."""

    objective: str
    task_intent: Any
    success_criteria: tuple[str, ...]
    revision: int
    steps: tuple[PlanStepSaid, ...]


class PlanAdvanced(Payload):
    """One step of the plan moved."""

    step: str
    status: str
    detail: str
    revision: int


class Branch(Payload):
    """A branch's finding: ok, failed or stopped. source: of its batch."""

    index: int
    source: str
    status: str


class BranchesJoined(Payload):
    """A fan-out came together, in source order. conflicts: conclusions its branches don't agree on."""

    step: str
    join: str
    branches: tuple[Branch, ...]
    conflicts: tuple[str, ...]


class ViolationSaid(Payload):
    code: str
    position: str
    detail: str
    fix: str


class GateJudged(Payload):
    """What a quality gate said of a subject (a tool, or `response`) after so many rewrites."""

    gate: str
    passed: bool
    subject: str
    rewrites: int
    violations: tuple[ViolationSaid, ...]
