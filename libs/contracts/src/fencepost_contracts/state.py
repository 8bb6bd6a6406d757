"""What a contract says about the conversation's state, compiled: which tools are on, prompts, and writes.

Conditions and values are CEL. A condition that can't be judged is "no": the tool stays off, the prompt isn't
added. State rules switch tools on: a tool that a rule names is off, and not offered to the model, unless one
of its rules holds. `only_when` leaves a tool offered and refuses its call with the way out, so that the model
learns what comes first. `state_writes` says what a result does to the state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Final

from fencepost_domain.errors import Conflict
from fencepost_domain.state import KEY, Change, Operation
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from fencepost_contracts.cel import CelRefused, Condition, Expression, NoValue

IN_CONDITIONS: Final = ("state",)
IN_WRITES: Final = ("state", "arguments", "result")
MAX_PLACEHOLDER: Final = 200  # characters of a state's value inside a prompt
_PLACE: Final = re.compile(r"\{([a-z][a-z0-9_]{0,63})\}")
_BRACES: Final = re.compile(r"[{}]")

Words = Annotated[StrictStr, Field(min_length=1, max_length=500)]
Source = Annotated[StrictStr, Field(min_length=1, max_length=2048)]


class Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OnlyWhen(Said):
    """A tool may be called only while `condition` holds; `otherwise` is the way out, told to the model."""

    condition: Source
    otherwise: Words


class StateRule(Said):
    """`tools` are on while `when` holds; otherwise: what would switch them on."""

    when: Source
    tools: Annotated[tuple[StrictStr, ...], Field(min_length=1, max_length=64)]
    otherwise: Words = "the conversation's state doesn't allow it now"


class DynamicPrompt(Said):
    """`template` goes into the system prompt while `when` holds; `{key}` stands for a value of the state."""

    when: Source
    template: Annotated[StrictStr, Field(min_length=1, max_length=2000)]


class StateWrite(Said):
    """What a result writes: `value` (and of `put` the `member`) is CEL over arguments, result and state."""

    key: Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    operation: Operation = Operation.SET
    value: Source | None = None
    member: Source | None = None
    when: Source | None = None


def write_faults(writes: tuple[StateWrite, ...]) -> Iterator[tuple[str, str]]:
    """What is wrong with a tool's writes, by pointer from `state_writes`."""
    for number, write in enumerate(writes):
        at = f"/state_writes/{number}"
        needs_value = write.operation is not Operation.DELETE
        if needs_value and write.value is None:
            yield f"{at}/value", f"{write.operation} needs a value: a CEL expression"
        if not needs_value and write.value is not None:
            yield f"{at}/value", "delete takes no value"
        if (write.operation is Operation.PUT) != (write.member is not None):
            yield f"{at}/member", "a member is named for `put`, and for nothing else"
        for name in ("value", "member"):
            source = getattr(write, name)
            if source is not None:
                yield from ((f"{at}/{name}", detail) for detail in _no_expression(source))
        if write.when is not None:
            yield from ((f"{at}/when", detail) for detail in _no_condition(write.when, IN_WRITES))


def only_when_faults(only_when: OnlyWhen | None) -> Iterator[tuple[str, str]]:
    if only_when is not None:
        for detail in _no_condition(only_when.condition, IN_CONDITIONS):
            yield "/only_when/condition", detail


def rule_faults(
    rules: tuple[StateRule, ...],
    prompts: tuple[DynamicPrompt, ...],
    summary: tuple[str, ...],
    tools: set[str],
) -> Iterator[tuple[str, str]]:
    """What is wrong with a contract's rules, prompts and summary, by pointer."""
    for number, rule in enumerate(rules):
        for detail in _no_condition(rule.when, IN_CONDITIONS):
            yield f"/state_rules/{number}/when", detail
        for place, name in enumerate(rule.tools):
            if name not in tools:
                yield f"/state_rules/{number}/tools/{place}", f"{name[:128]} is no tool of this contract"
    for number, prompt in enumerate(prompts):
        for detail in _no_condition(prompt.when, IN_CONDITIONS):
            yield f"/dynamic_prompts/{number}/when", detail
        if _BRACES.search(_PLACE.sub("", prompt.template)):
            yield f"/dynamic_prompts/{number}/template", "a brace is only for a placeholder such as {step}"
    for number, key in enumerate(summary):
        if not KEY.fullmatch(key):
            yield f"/state_summary/{number}", "a key of the state: small letters, digits and _"


def _no_condition(source: str, names: tuple[str, ...]) -> Iterator[str]:
    try:
        Condition(source, *names)
    except CelRefused as error:
        yield str(error)


def _no_expression(source: str) -> Iterator[str]:
    try:
        Expression(source, *IN_WRITES)
    except CelRefused as error:
        yield str(error)


class StateWords:
    """A catalog's words about state, compiled once; they judge any state of any conversation."""

    def __init__(
        self,
        rules: tuple[StateRule, ...],
        prompts: tuple[DynamicPrompt, ...],
        only_when: Mapping[str, OnlyWhen],
        writes: Mapping[str, tuple[StateWrite, ...]],
        bindings: Mapping[str, Mapping[str, str]],
    ) -> None:
        """By tool's name: only_when, writes, and bindings (argument -> key). Raises CelRefused."""
        self._rules = [(rule, Condition(rule.when, *IN_CONDITIONS)) for rule in rules]
        self._prompts = [(one.template, Condition(one.when, *IN_CONDITIONS)) for one in prompts]
        self._only = {
            name: (one, Condition(one.condition, *IN_CONDITIONS)) for name, one in only_when.items()
        }
        self._writes = {name: [_Write(one) for one in several] for name, several in writes.items() if several}
        self._bindings = {name: dict(bound) for name, bound in bindings.items() if bound}

    @cached_property
    def asks(self) -> bool:
        """Some rule or prompt has to be judged before the model is asked."""
        return bool(self._rules or self._prompts)

    def reads(self, tool: str) -> bool:
        """A call of this tool is judged by the state."""
        ruled = any(tool in rule.tools for rule, _ in self._rules)
        return ruled or tool in self._only or tool in self._bindings

    def writes(self, tool: str) -> bool:
        return tool in self._writes

    def off(self, state: Mapping[str, Any]) -> dict[str, str]:
        """Tools that no rule switches on now, each with the way out. They aren't offered to the model."""
        closed: dict[str, str] = {}
        opened: set[str] = set()
        for rule, condition in self._rules:
            verdict = condition.judge(state=state)
            if verdict.holds:
                opened.update(rule.tools)
                continue
            for tool in rule.tools:
                closed.setdefault(tool, _with_reason(rule.otherwise, verdict.reason))
        return {tool: why for tool, why in closed.items() if tool not in opened}

    def refusals(
        self, tool: str, arguments: Mapping[str, Any], state: Mapping[str, Any]
    ) -> Iterator[tuple[str, str]]:
        """Why a call may not be made in this state: (pointer into its arguments, reason and way out)."""
        why = self.off(state).get(tool)
        if why is not None:
            yield "", why
            return
        if tool in self._only:
            only, condition = self._only[tool]
            verdict = condition.judge(state=state)
            if not verdict.holds:
                yield "", _with_reason(only.otherwise, verdict.reason)
        for argument, key in self._bindings.get(tool, {}).items():
            if argument in arguments:
                detail = _unbound(key, arguments[argument], state)
                if detail:
                    yield "/" + argument.replace("~", "~0").replace("/", "~1"), detail

    def prompts(self, state: Mapping[str, Any]) -> list[str]:
        """Templates whose condition holds and whose every placeholder has a value, filled."""
        texts = []
        for template, condition in self._prompts:
            keys = _PLACE.findall(template)
            if condition.judge(state=state).holds and all(key in state for key in keys):
                texts.append(_PLACE.sub(lambda place: _shown(state[place[1]]), template))
        return texts

    def changes(
        self, tool: str, arguments: Mapping[str, Any], result: Any, state: Mapping[str, Any]
    ) -> list[Change]:
        """What the result writes. Raises Conflict state_refused for a write that has no value."""
        told = result if isinstance(result, dict) else {}
        values = {"arguments": arguments, "result": told, "state": state}
        return [change for write in self._writes.get(tool, ()) for change in write.changes(values)]


class _Write:
    def __init__(self, said: StateWrite) -> None:
        self._said = said
        self._value = Expression(said.value, *IN_WRITES) if said.value is not None else None
        self._member = Expression(said.member, *IN_WRITES) if said.member is not None else None
        self._when = Condition(said.when, *IN_WRITES) if said.when is not None else None

    def changes(self, values: Mapping[str, Mapping[str, Any]]) -> Iterator[Change]:
        if self._when is not None and not self._when.judge(**values).holds:
            return
        key = self._said.key
        try:
            value = self._value.value(**values) if self._value is not None else None
            member = self._member.value(**values) if self._member is not None else None
        except NoValue as error:
            raise Conflict("state_refused", f"what is written to {key} has no value: {error}") from None
        if member is not None and not isinstance(member, str):
            raise Conflict("state_refused", f"the member of {key} is no text")
        yield Change(key, self._said.operation, value, member)


def _with_reason(words: str, reason: str) -> str:
    return f"{words} ({reason})" if reason else words


def _unbound(key: str, value: Any, state: Mapping[str, Any]) -> str | None:
    """Equal to the state's value, or one of them where that is a list's items or an object's names."""
    if key not in state:
        return f"the conversation has no {key} yet; ask for it, or do first what tells it"
    known = state[key]
    if known == value and type(known) is type(value):
        return None
    if isinstance(known, list):
        if value in known:
            return None
        return f"it has to be one of the conversation's {key}"
    if isinstance(known, dict):
        if isinstance(value, str) and value in known:
            return None
        return f"it has to be one of the conversation's {key}"
    return f"it has to be the conversation's {key}"


def _shown(value: Any) -> str:
    """A state's value inside a prompt: one line of JSON, quoted so that it stays a value, and short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_PLACEHOLDER else text[: MAX_PLACEHOLDER - 1] + "…"
