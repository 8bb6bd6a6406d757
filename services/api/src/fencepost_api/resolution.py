"""A decision as sent, checked against what was asked, as it is stored.

Stored for approvals: `{decision, decisions: [{index, decision, arguments?, note?}], note?, remember?}`, one
entry an action whatever was sent, `decision` being `mixed` when they differ. For questions: exactly one of
`{choice}`, `{value}`, `{text}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

import jsonschema_rs
from fencepost_contracts.http import ActionDecision, ResolutionRequest
from fencepost_contracts.schema import Schema
from fencepost_domain.errors import Invalid
from fencepost_domain.interrupt import Interrupt
from fencepost_domain.vocabulary import InterruptKind
from fencepost_store.views import Standing

from fencepost_api.strict_json import escape

_APPROVAL: Final = ("decision", "decisions", "arguments", "note", "remember")
_ANSWER: Final = ("choice", "value", "text")


@dataclass(frozen=True, slots=True)
class Edit:
    """Arguments that the decider gave instead, and where in the request they stand."""

    arguments: Mapping[str, Any]
    pointer: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """`stored`: as kept. `sameness`: what makes two decisions the same; a note doesn't.

    decisions: action index -> (approve | reject, note), without edited ones: what was approved there are
    other arguments than the prepared ones, and the gateway approves those when they are prepared.
    """

    stored: Mapping[str, Any]
    sameness: Any
    indexes: tuple[int, ...] = ()
    edited: Mapping[int, Edit] = field(default_factory=dict)
    decisions: Mapping[int, tuple[str, str | None]] = field(default_factory=dict)


def read_resolution(interrupt: Interrupt, standing: Standing, request: ResolutionRequest) -> Resolution:
    """Raises Invalid with a pointer."""
    given = request.model_fields_set
    if interrupt.kind is InterruptKind.APPROVAL:
        _none_of(given, _ANSWER, "an approval takes `decision` or `decisions`")
        return _approval(interrupt, request)
    _none_of(given, ("decision", "decisions", "arguments", "remember"), "this asks for an answer")
    return _answer(standing, request)


def _none_of(given: set[str], names: Sequence[str], detail: str) -> None:
    for name in names:
        if name in given:
            raise Invalid(f"/{name}", detail, "not_expected")


def _approval(interrupt: Interrupt, request: ResolutionRequest) -> Resolution:
    items = _items(interrupt.indexes or (0,), request)
    places = [item.index for item in request.decisions or ()]
    edited = {
        item.index: Edit(
            item.arguments,
            f"/decisions/{places.index(item.index)}/arguments" if places else "/arguments",
        )
        for item in items
        if item.arguments is not None
    }
    kinds = {item.decision for item in items}
    whole = kinds.pop() if len(kinds) == 1 else "mixed"
    stored: dict[str, Any] = {
        "decision": whole,
        "decisions": [item.model_dump(exclude_none=True) for item in items],
    }
    if request.note:
        stored["note"] = request.note
    sameness: Any = [[item.index, item.decision, item.arguments] for item in items]
    if request.remember is not None:
        sameness = {"decisions": sameness, "remember": request.remember.model_dump(mode="json")}
    return Resolution(
        stored,
        sameness=sameness,
        indexes=tuple(item.index for item in items),
        edited=edited,
        decisions={
            item.index: (item.decision, item.note or request.note)
            for item in items
            if item.index not in edited
        },
    )


def _items(indexes: tuple[int, ...], request: ResolutionRequest) -> list[ActionDecision]:
    """One entry an action, by index."""
    if request.decisions is None:
        return _for_all(indexes, request)
    if request.decision is not None or request.arguments is not None:
        raise Invalid("/decisions", "send `decision` or `decisions`, not both", "not_expected")
    seen: dict[int, ActionDecision] = {}
    for place, item in enumerate(request.decisions):
        if item.index not in indexes or item.index in seen:
            raise Invalid(
                f"/decisions/{place}/index", f"expected each of {list(indexes)} once", "index_not_asked"
            )
        if item.arguments is not None and item.decision == "reject":
            raise Invalid(f"/decisions/{place}/arguments", "a rejected action isn't edited", "not_expected")
        seen[item.index] = item
    missing = [index for index in indexes if index not in seen]
    if missing:
        raise Invalid("/decisions", f"a decision is missing for {missing}", "decision_missing")
    return [seen[index] for index in indexes]


def _for_all(indexes: tuple[int, ...], request: ResolutionRequest) -> list[ActionDecision]:
    if request.decision is None:
        raise Invalid("/decision", "send approve or reject", "missing")
    if request.arguments is not None and (len(indexes) != 1 or request.decision == "reject"):
        raise Invalid("/arguments", "only one approved action can be edited this way", "not_expected")
    return [
        ActionDecision(index=index, decision=request.decision, arguments=request.arguments)
        for index in indexes
    ]


def without_same_edits(resolution: Resolution, arguments: Mapping[int, Any]) -> Resolution:
    """An edit that changes nothing is a plain approval. arguments: by index, as they were asked for."""
    same = {i for i, edit in resolution.edited.items() if i in arguments and edit.arguments == arguments[i]}
    if not same:
        return resolution
    entries = [
        {name: value for name, value in one.items() if name != "arguments" or one["index"] not in same}
        for one in resolution.stored["decisions"]
    ]
    note = resolution.stored.get("note")
    plain = {
        one["index"]: (one["decision"], one.get("note") or note) for one in entries if one["index"] in same
    }
    return replace(
        resolution,
        stored={**resolution.stored, "decisions": entries},
        sameness=[[one["index"], one["decision"], one.get("arguments")] for one in entries],
        edited={index: edit for index, edit in resolution.edited.items() if index not in same},
        decisions={**resolution.decisions, **plain},
    )


def check_edits(edits: Mapping[int, Edit], schemas: Mapping[int, Schema]) -> None:
    """Raises Invalid for edited arguments that don't fit their tool: told while the editor still listens."""
    for index, edit in edits.items():
        schema = schemas.get(index)
        faults = schema.faults(dict(edit.arguments)) if schema is not None else []
        if faults:
            raise Invalid(edit.pointer + faults[0].pointer, faults[0].detail, "schema")


def _answer(standing: Standing, request: ResolutionRequest) -> Resolution:
    given = [name for name in _ANSWER if name in request.model_fields_set]
    if len(given) != 1:
        raise Invalid("", "send exactly one of choice, value and text", "one_of")
    name = given[0]
    value = getattr(request, name)
    if name == "choice" and value not in {str(c.get("id")) for c in standing.candidates}:
        raise Invalid("/choice", "it is none of the candidates", "unknown_choice")
    if name == "value":
        _check_value(standing.input_schema, value)
    if name == "text" and value is None:
        raise Invalid("/text", "it is empty", "missing")
    if name == "text" and not standing.candidates and not _takes_words(standing.input_schema, value):
        raise Invalid("/text", "this question takes a `value` that fits its input_schema", "not_expected")
    return Resolution({name: value}, sameness={name: value})


def _check_value(schema: Mapping[str, Any] | None, value: Any) -> None:
    if schema is None:
        raise Invalid("/value", "this question takes a choice or a text", "not_expected")
    validator = jsonschema_rs.validator_for(dict(schema), validate_formats=True, retriever=_refuse)
    for error in validator.iter_errors(value):
        pointer = "".join(f"/{escape(step)}" for step in error.instance_path)
        raise Invalid(f"/value{pointer}", "it doesn't fit the schema of this question", "schema")


def _takes_words(schema: Mapping[str, Any] | None, text: str) -> bool:
    """Whether words may stand for the value: "at three" for a time, never "some" for a number."""
    if schema is None or schema.get("type") == "string":
        return True
    return bool(jsonschema_rs.validator_for(dict(schema), retriever=_refuse).is_valid(text))


def _refuse(uri: str) -> NoReturn:
    """A schema never fetches: what a module asks for stands in its own schema."""
    raise ValueError(f"not fetched: {uri}")
