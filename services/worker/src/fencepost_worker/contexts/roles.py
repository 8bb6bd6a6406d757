"""What each role is told: what it needs and nothing else. Pure: the same inputs are the same messages.

manifest: the run's own, which names the words of each prompt; None is today's.

| role | sees | never sees |
|---|---|---|
| planner | contract, tools' names and purposes, sources by name and size | contents of sources, results |
| composer | contract, its step, one tool's schema, one batch | other batches, other tools, history |
| assessor | contract, plan, evidence, gate results | sources, tools' schemas |
| repairer | violations, the arguments, one tool's schema | the request, sources, history |
| responder | the request, results | sources, tools |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_contracts.graphs import Manifest
from fencepost_domain.gates import GateResult, Violation

from fencepost_worker.contexts.answers import ASSESS, COMPOSE, PLAN, REPAIR, answer_of
from fencepost_worker.contexts.built import Part, RoleContext, role_context
from fencepost_worker.contexts.fencing import as_data, fenced, plain_name, rules
from fencepost_worker.models.control import RESPOND, control_specs
from fencepost_worker.models.port import Message, ModelContext, ToolSpec
from fencepost_worker.prompts import bound, now_of

LONGEST_PURPOSE: Final = 240  # characters of a tool's description in the planner's list


def planner(
    *,
    about: ModelContext,
    contract: Mapping[str, Any],
    tools: Sequence[ToolSpec],
    sources: Sequence[Mapping[str, Any]],
    nonce: str,
    before: Sequence[Mapping[str, Any]] = (),
    manifest: Manifest | None = None,
) -> RoleContext:
    """sources: {artifact_id, name, kind, units, problems}; only these members are shown. before: what an
    earlier plan came to, and what was wrong with the last answer.
    """
    prompt = bound(manifest, "planner")
    listed = as_data([{"name": tool.name, "purpose": tool.description[:LONGEST_PURPOSE]} for tool in tools])
    fixed = as_data(contract)
    inventory = fenced(nonce, "sources", [_card(source) for source in sources])
    system = prompt.render(
        locale=about.locale, now=now_of(about.reference, about.zone), contract=fixed, tools=listed,
        fencing=rules(nonce),
    )  # fmt: skip
    messages = [Message("system", system), Message("user", about.text), Message("user", inventory)]
    if before:
        messages.append(Message("user", fenced(nonce, "before", before)))
    parts = [
        Part("request", "text", about.text),
        Part("contract", str(contract.get("version", "")), fixed),
        Part("tools", "catalog", listed),
        *(Part("source", str(source["artifact_id"]), as_data(_card(source))) for source in sources),
        *(Part("before", str(place), as_data(one)) for place, one in enumerate(before)),
    ]
    return role_context("planner", prompt, messages, [answer_of(PLAN)], parts)


def composer(
    *,
    about: ModelContext,
    contract: Mapping[str, Any],
    step: Mapping[str, Any],
    tool: ToolSpec,
    batch: Sequence[Mapping[str, Any]],
    violations: Sequence[Violation] = (),
    nonce: str,
    manifest: Manifest | None = None,
) -> RoleContext:
    """batch: units {artifact_id, locator, text, ...} in source order. violations: of the version before."""
    prompt = bound(manifest, "composer")
    fixed, shown_step = as_data(contract), as_data(step)
    system = prompt.render(
        tool=tool.name, language=_language(contract, about.locale), contract=fixed, step=shown_step,
        fencing=rules(nonce),
    )  # fmt: skip
    schema = f"Schema of `{tool.name}`: {as_data(tool.schema)}"
    units = fenced(nonce, "batch", batch)
    messages = [Message("system", system), Message("user", about.text), Message("user", schema)]
    messages += [Message("user", units), *_told_violations(violations, nonce)]
    parts = [
        Part("request", "text", about.text),
        Part("contract", str(contract.get("version", "")), fixed),
        Part("step", str(step.get("id", "")), shown_step),
        Part("tool", tool.name, schema),
        *(
            Part("unit", f"{one.get('artifact_id', '')}#{one.get('locator', '')}", as_data(one))
            for one in batch
        ),
        *_violation_parts(violations),
    ]
    return role_context("composer", prompt, messages, [answer_of(COMPOSE)], parts)


def assessor(
    *,
    about: ModelContext,
    contract: Mapping[str, Any],
    plan: Mapping[str, Any],
    evidence: Sequence[Mapping[str, Any]],
    gates: Sequence[GateResult] = (),
    nonce: str,
    manifest: Manifest | None = None,
) -> RoleContext:
    """evidence: {id, kind, ...}: results as tools returned them, not what a model says of them."""
    prompt = bound(manifest, "assessor")
    fixed = as_data(contract)
    judged = [gate.to_json() for gate in gates]
    messages = [
        Message("system", prompt.render(contract=fixed, fencing=rules(nonce))),
        Message("user", fenced(nonce, "plan", [plan])),
        Message("user", fenced(nonce, "evidence", evidence)),
        Message("user", f"Gates: {as_data(judged)}"),
    ]
    parts = [
        Part("contract", str(contract.get("version", "")), fixed),
        Part("plan", "plan", as_data(plan)),
        *(Part("evidence", str(one.get("id", "")), as_data(one)) for one in evidence),
        *(Part("gate", gate.gate, as_data(gate.to_json())) for gate in gates),
    ]
    return role_context("assessor", prompt, messages, [answer_of(ASSESS)], parts)


def repairer(
    *,
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    violations: Sequence[Violation],
    language: str,
    nonce: str,
    manifest: Manifest | None = None,
) -> RoleContext:
    """One repair: of these arguments, for these violations. It doesn't see whose request it is."""
    prompt = bound(manifest, "repairer")
    schema = f"Schema of `{tool.name}`: {as_data(tool.schema)}"
    messages = [
        Message("system", prompt.render(tool=tool.name, language=language, fencing=rules(nonce))),
        Message("user", schema),
        Message("user", fenced(nonce, "arguments", [arguments])),
        *_told_violations(violations, nonce),
    ]
    parts = [
        Part("tool", tool.name, schema),
        Part("arguments", tool.name, as_data(arguments)),
        *_violation_parts(violations),
    ]
    return role_context("repairer", prompt, messages, [answer_of(REPAIR)], parts)


def responder(
    *,
    about: ModelContext,
    contract: Mapping[str, Any],
    results: Sequence[Mapping[str, Any]],
    violations: Sequence[Violation] = (),
    draft: str = "",
    nonce: str,
    manifest: Manifest | None = None,
) -> RoleContext:
    """results: what tools returned and gates decided, in order. draft, violations: the version to revise."""
    prompt = bound(manifest, "responder")
    fixed = as_data(contract)
    system = prompt.render(
        locale=about.locale, now=now_of(about.reference, about.zone), contract=fixed, fencing=rules(nonce)
    )
    messages = [Message("system", system), Message("user", about.text)]
    messages.append(Message("user", fenced(nonce, "results", results)))
    if draft:
        messages.append(Message("user", fenced(nonce, "draft", [{"text": draft}])))
    messages += _told_violations(violations, nonce)
    parts = [
        Part("request", "text", about.text),
        Part("contract", str(contract.get("version", "")), fixed),
        *(Part("result", str(one.get("id", place)), as_data(one)) for place, one in enumerate(results)),
        *([Part("draft", "draft", draft)] if draft else []),
        *_violation_parts(violations),
    ]
    respond = [spec for spec in control_specs(modules=(), may_hand_over=False) if spec.name == RESPOND]
    return role_context("responder", prompt, messages, respond, parts)


def _place(unit: Mapping[str, Any]) -> str:
    return f"{unit.get('artifact_id', '')}#{unit.get('locator', '')}"


def _language(contract: Mapping[str, Any], locale: str) -> str:
    return str(contract.get("language") or locale)


def _card(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source as the planner sees it: its name is somebody's text too, so it is cut and laid bare."""
    card = {name: source[name] for name in ("artifact_id", "kind", "units", "problems") if name in source}
    return {**card, "name": plain_name(str(source.get("name", "")))}


def _told_violations(violations: Sequence[Violation], nonce: str) -> list[Message]:
    """Details quote what was judged, so they are fenced as it is."""
    if not violations:
        return []
    return [Message("user", fenced(nonce, "violations", [one.to_json() for one in violations]))]


def _violation_parts(violations: Sequence[Violation]) -> list[Part]:
    return [Part("violation", f"{one.code}{one.position}", as_data(one.to_json())) for one in violations]
