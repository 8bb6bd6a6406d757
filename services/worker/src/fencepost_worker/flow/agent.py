"""supervisor, module_agent, reject_tool, ask, hand_over: from the user's words to what is to be done.

The model decides meaning, code decides power: the mode is decided here from what the model chose.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from fencepost_domain.budget import BudgetExhausted
from fencepost_domain.errors import Invalid
from fencepost_domain.vocabulary import InterruptKind, Reason

from fencepost_worker.flow.ordered import order_refused, ordered_answer
from fencepost_worker.flow.state import Patch, State, fail, reset
from fencepost_worker.flow.state_words import NOTHING_KNOWN, Known, known_state
from fencepost_worker.flow.step import Facts, Question, Step
from fencepost_worker.models.control import ASK, CONTROL, HAND_OVER, RESPOND, control_specs
from fencepost_worker.models.guard import Refusal, check_calls
from fencepost_worker.models.pairing import paired
from fencepost_worker.models.port import Answer, Answered, Call, Message, ModelContext, ModelFailed, ToolSpec
from fencepost_worker.models.prompt import named_prompt, system_prompt

POLICY_CODES: Final = frozenset({"tool_not_allowed", "identity_argument", "tool_changed"})


async def supervisor(state: State, step: Step) -> Patch:
    """Calls no model: checks the input and starts from a clean state."""
    facts = step.facts
    fresh = reset(module=facts.module, message_id=str(step.new_id()), route="module_agent")
    if not facts.text.strip():
        return {**fresh, **fail(Reason.REQUIRED_TASK_FAILED, "input_empty")}
    return fresh


async def module_agent(state: State, step: Step) -> Patch:
    """One model call with the exact catalog and the control tools; what came back decides the route."""
    return await asked_agent(state, step, tool_specs)


class Offer(Protocol):
    """Which tools the agent is told of."""

    def __call__(self, facts: Facts, *, acted: bool, off: Container[str] = ()) -> tuple[ToolSpec, ...]: ...


async def asked_agent(state: State, step: Step, offer: Offer, task: Mapping[str, Any] | None = None) -> Patch:
    """What the module's model makes of the request, as a patch with the next node."""
    facts = step.facts
    known = await known_state(facts, state, step)
    tools = offer(facts, acted=bool(state["actions"]), off=known.off or ())
    if facts.ordered is not None:
        refused = order_refused(state)
        return refused or decide_reply(state, ordered_answer(facts.ordered), tools, facts, known)
    context = replace(model_context(facts, state, task), built=named_prompt(facts.manifest))
    prompt = Message("system", system_prompt(context, known.added, facts.manifest))
    messages = [prompt, *await step.history(), Message("user", facts.text)]
    messages += _asked_and_answered(state["answers"]) + _exchanges(state["exchanges"])
    try:
        answer = await step.ask_model(context, paired(messages), tools, state["message_id"])
    except BudgetExhausted as error:
        return fail(Reason.BUDGET_EXHAUSTED, error.limit)
    except ModelFailed as error:
        if error.retryable:
            raise
        return fail(Reason.MODEL_FAILED, error.code, error.detail)
    return decide_reply(state, answer, tools, facts, known)


def decide_reply(
    state: State, answer: Answer, tools: Sequence[ToolSpec], facts: Facts, known: Known = NOTHING_KNOWN
) -> Patch:
    """What an answer means for the run. Nothing is done yet, and nothing of a refused answer is kept."""
    calls = _renamed(answer.calls, state["re_asks"], len(state["answers"]))
    refusals = known.refusals(calls)
    closed = {refusal["call_id"] for refusal in refusals}
    checked = check_calls([call for call in calls if call.id not in closed], tools)
    refusals += [r.to_json() | {"call_id": r.call_id} for r in checked]
    refusals += _limits(calls, state, facts)
    if not refusals and not calls and not answer.text.strip():
        refusals = [_refusal("", "empty_answer", "the answer was empty: answer, ask, or call a tool")]
    if refusals:
        return _refused(state, answer.text, calls, refusals)
    said = _respond(calls, answer.text)
    patch: Patch = {"exchanges": [], "refused": [], "reply": said, "left_undone": said["left_undone"]}
    by_name = {call.name: call for call in calls}
    if HAND_OVER in by_name:
        return {**patch, "route": "hand_over", "hand_over_to": by_name[HAND_OVER].arguments["module"]}
    if ASK in by_name:
        return {
            **patch,
            "route": "ask",
            "asked": dict(by_name[ASK].arguments),
            "questions": state["questions"] + 1,
        }
    acting = [call for call in calls if call.name not in CONTROL]
    if acting:
        return {**patch, "route": "arguments_gate", "calls": [_call_json(call) for call in acting]}
    return {**patch, "route": "response_gate", "mode": "direct"}


def _limits(calls: Sequence[Call], state: State, facts: Facts) -> list[dict[str, Any]]:
    names = [call.name for call in calls]
    if names.count(ASK) > 1 or names.count(HAND_OVER) > 1 or (HAND_OVER in names and len(names) > 1):
        return [
            _refusal(
                calls[0].id, "arguments_invalid", "one question, or one hand-over, and nothing beside it"
            )
        ]
    if ASK in names and state["questions"] >= facts.definition.limits.questions:
        return [
            _refusal(calls[0].id, "arguments_invalid", "enough was asked: act on what is known, or answer")
        ]
    return []


def _refused(state: State, text: str, calls: Sequence[Call], refusals: list[dict[str, Any]]) -> Patch:
    """Keep the refused answer with its answers, so that the next request shows them, paired."""
    return {"route": "reject_tool", "refused": refusals, "exchanges": exchange(state, text, calls, refusals)}


def exchange(
    state: State, text: str, calls: Sequence[Call], refusals: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The exchanges so far with one more: an answer whose calls were refused, each with its reasons."""
    reasons: dict[str, list[Mapping[str, Any]]] = {}
    for refusal in refusals:
        reasons.setdefault(str(refusal.get("call_id", "")), []).append(
            {key: value for key, value in refusal.items() if key != "call_id"}
        )
    told = reasons.get("", [])
    return [
        *state["exchanges"],
        {
            "text": text,
            "calls": [_call_json(call) for call in calls],
            "reasons": {call.id: reasons.get(call.id, []) for call in calls},
            "told": [dict(reason) for reason in told],
        },
    ]


async def reject_tool(state: State, step: Step) -> Patch:
    """Log what was refused and ask again, a bounded number of times; then the run fails closed."""
    refusals = state["refused"]
    await step.note_refusals(refusals)
    if state["re_asks"] < step.facts.definition.limits.re_asks:
        return {"route": "module_agent", "re_asks": state["re_asks"] + 1, "refused": []}
    codes = {refusal["code"] for refusal in refusals}
    policy = sorted(codes & POLICY_CODES)
    if policy:
        return fail(Reason.POLICY_DENIED, policy[0])
    detail = "; ".join(f"{r['tool']}{r['pointer']}: {r['detail']}" for r in refusals[:3])
    return fail(Reason.MODEL_FAILED, sorted(codes)[0], detail)


async def ask(state: State, step: Step) -> Patch:
    """Ask the person; the answer goes to the next reading of the same request."""
    asked = state["asked"]
    answer = step.pause(
        Question(
            InterruptKind.INPUT,
            0,
            state["questions"],
            asked["question"],
            candidates=tuple(asked.get("candidates", ())),
            input_schema=asked.get("input_schema"),
        )
    )
    if answer["status"] != "resolved":
        return {"route": "finalize", "question_expired": True}
    try:
        said = read_answer(asked, answer["resolution"])
    except Invalid as error:
        return fail(Reason.REQUIRED_TASK_FAILED, "answer_invalid", str(error))
    return {"route": "module_agent", "answers": [*state["answers"], said], "asked": {}, "re_asks": 0}


def read_answer(asked: Mapping[str, Any], resolution: Mapping[str, Any]) -> dict[str, Any]:
    """A resolution `{choice}`, `{value}` or `{text}` as what was said. Raises Invalid (unknown choice)."""
    said: dict[str, Any] = {
        "slot": asked["slot"],
        "question": asked["question"],
        "intent_index": asked.get("intent_index", 0),
        "value": None,
        "text": None,
    }
    choice = resolution.get("choice")
    if choice is not None:
        for candidate in asked.get("candidates", ()):
            if choice in (candidate["id"], candidate["value"], candidate["label"]):
                return {**said, "value": candidate["value"], "text": candidate["label"]}
        raise Invalid("/choice", "this was not among the choices")
    if resolution.get("value") is not None:
        value = resolution["value"]
        return {**said, "value": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}
    return {**said, "text": str(resolution.get("text") or "")}


async def hand_over(state: State, step: Step) -> Patch:
    """Give the run to another module: once, and before any action."""
    target = state["hand_over_to"]
    facts = step.facts
    if facts.rerouted or state["actions"] or target not in facts.modules or target == facts.module:
        return fail(Reason.REQUIRED_TASK_FAILED, "hand_over_refused", f"to {target}")
    return {"route": "end", "ending": {"reroute": target}}


def tool_specs(facts: Facts, *, acted: bool, off: Container[str] = ()) -> tuple[ToolSpec, ...]:
    """The exact catalog of the bound fingerprint without what the state switches off, and control tools."""
    tools = (
        [tool for tool in facts.catalog.tools if tool.name not in off] if facts.catalog is not None else []
    )
    specs = tuple(ToolSpec(tool.name, tool.description, tool.input_schema) for tool in tools)
    others = tuple(name for name in facts.modules if name != facts.module)
    return (*specs, *control_specs(modules=others, may_hand_over=not (facts.rerouted or acted)))


def model_context(facts: Facts, state: State, task: Mapping[str, Any] | None = None) -> ModelContext:
    """What the words mean. A zone or currency that was asked for counts from then on."""
    said = {answer["slot"]: answer["value"] for answer in state["answers"] if answer["value"]}
    return ModelContext(
        text=facts.text,
        reference=facts.reference,
        zone=facts.zone or said.get("zone"),
        locale=facts.locale,
        currency=facts.currency,
        module=facts.module,
        modules=facts.modules,
        may_hand_over=not (facts.rerouted or state["actions"]),
        answers=tuple(
            Answered(a["slot"], a["question"], a["value"], a["text"], a["intent_index"])
            for a in state["answers"]
        ),
        task=task,
    )


def _renamed(calls: Sequence[Call], re_asks: int, answers: int) -> list[Call]:
    """Ids of our own: a provider may use the same ones in every answer, and pairing goes by id."""
    return [
        Call(f"call_{answers}_{re_asks}_{place}", call.name, call.arguments)
        for place, call in enumerate(calls)
    ]


def _respond(calls: Sequence[Call], text: str) -> dict[str, Any]:
    said = [call.arguments for call in calls if call.name == RESPOND]
    texts = [str(one.get("text", "")) for one in said] or [text]
    return {
        "text": "\n\n".join(part for part in texts if part.strip()),
        "left_undone": [item for one in said for item in one.get("left_undone", ())],
    }


def _refusal(call_id: str, code: str, detail: str) -> dict[str, Any]:
    return Refusal(call_id, code, "", "", detail).to_json() | {"call_id": call_id}


def _call_json(call: Call) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}


def _asked_and_answered(answers: Sequence[Mapping[str, Any]]) -> list[Message]:
    turns: list[Message] = []
    for answer in answers:
        said = answer["text"] or answer["value"] or ""
        if answer["value"] and answer["value"] != said:
            said = f"{said} ({answer['value']})"
        turns += [Message("assistant", answer["question"]), Message("user", said)]
    return turns


def _exchanges(exchanges: Sequence[Mapping[str, Any]]) -> list[Message]:
    turns: list[Message] = []
    for one in exchanges:
        calls = tuple(Call(c["id"], c["name"], c["arguments"]) for c in one["calls"])
        turns.append(Message("assistant", one["text"], calls))
        for call in calls:
            refused = one["reasons"].get(call.id)
            body = {"status": "refused", "reasons": refused} if refused else {"status": "not_executed"}
            turns.append(Message("tool", json.dumps(body, ensure_ascii=False), call_id=call.id))
        if one["told"]:
            turns.append(Message("user", json.dumps({"refused": one["told"]}, ensure_ascii=False)))
    return turns
