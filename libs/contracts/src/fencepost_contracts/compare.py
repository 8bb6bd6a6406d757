"""Two catalogs of one module, old and new: what changed, and is it breaking?

Breaking is what takes away something that runs, callers or approvers relied on: a tool or argument that is
gone or needs more, a result that says less, another effect class, and also a weaker approval. What can't be
shown to be compatible is breaking. Runs in flight go on with the catalog they began with either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fencepost_contracts.canonical import pointer
from fencepost_contracts.tools import Catalog, Tool

# A larger value lets more through, and the other way round.
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_WORDS: Final = frozenset({"title", "description", "examples", "deprecated", "$comment", "default"})
_HANDLED: Final = frozenset({"type", "properties", "required", "additionalProperties", "enum", "items",
                             *_UPPER, *_LOWER, *_WORDS})  # fmt: skip
_RISKS: Final = ("low", "medium", "high")
_FIRM: Final = (
    "effect_class", "lookup", "key_memory_seconds", "settle_within_seconds", "roles", "state_bindings"
)  # fmt: skip
_ALIKE: Final = ("version", "description", "requires_plan", "repeatable", "intermediate")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. place: tool, and pointer into it. detail: in words."""

    breaking: bool
    place: str
    detail: str


def compare(old: Catalog, new: Catalog) -> list[Change]:
    """All changes, in order of the tools' names; none when both say the same."""
    changes: list[Change] = []
    before = {tool.name: tool for tool in old.tools}
    after = {tool.name: tool for tool in new.tools}
    for name in sorted({*before, *after}):
        if name not in after:
            changes.append(Change(True, name, "the tool is gone"))
        elif name not in before:
            changes.append(Change(False, name, "a new tool"))
        else:
            changes.extend(_tools(before[name], after[name]))
    return changes


def _tools(old: Tool, new: Tool) -> Iterator[Change]:
    name = old.name
    for at, detail, breaking in _schema(old.input_schema, new.input_schema, takes=True):
        yield Change(breaking, f"{name}/input_schema{at}", detail)
    for at, detail, breaking in _schema(old.output_schema, new.output_schema, takes=False):
        yield Change(breaking, f"{name}/output_schema{at}", detail)
    yield from _policy(old, new)
    for word in _ALIKE:
        if getattr(old, word) != getattr(new, word):
            yield Change(False, f"{name}/{word}", _said(getattr(old, word), getattr(new, word)))


def _policy(old: Tool, new: Tool) -> Iterator[Change]:
    name = old.name
    if old.risk != new.risk:
        higher = _RISKS.index(new.risk) > _RISKS.index(old.risk)
        detail = "what was committed at once may wait for a person" if higher else "people are asked less"
        yield Change(True, f"{name}/risk", f"{old.risk} -> {new.risk}: {detail}")
    if old.approval != new.approval:
        detail = "a person is asked now" if new.approval else "nobody is asked any more"
        yield Change(True, f"{name}/approval", detail)
    for word in _FIRM:
        if getattr(old, word) != getattr(new, word):
            yield Change(True, f"{name}/{word}", _said(getattr(old, word), getattr(new, word)))
    if old.timeout_seconds != new.timeout_seconds:
        shorter = new.timeout_seconds < old.timeout_seconds
        yield Change(shorter, f"{name}/timeout_seconds", _said(old.timeout_seconds, new.timeout_seconds))
    for key in sorted({*old.budgets, *new.budgets}):
        before, after = old.budgets.get(key), new.budgets.get(key)
        if before != after:
            less = after is not None and (before is None or after < before)
            yield Change(less, f"{name}/budgets{pointer(key)}", _said(before, after))
    yield from _sources(old, new)


def _sources(old: Tool, new: Tool) -> Iterator[Change]:
    before = old.source.model_dump(mode="json", exclude={"pin", "accepted_at"}) if old.source else {}
    after = new.source.model_dump(mode="json", exclude={"pin", "accepted_at"}) if new.source else {}
    for word in sorted({*before, *after}):
        if before.get(word) != after.get(word):
            yield Change(True, f"{old.name}/source/{word}", "another source, address or way to call it")


def _schema(old: Any, new: Any, *, takes: bool, at: str = "") -> Iterator[tuple[str, str, bool]]:
    """(pointer, detail, breaking) of each difference. takes: what the tool is given, else what it gives.

    For what is given, breaking is to allow less; for what it gives, to allow more.
    """
    if old == new:
        return
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield at, "another schema", True
        return
    yield from _types(old, new, takes, at)
    yield from _properties(old, new, takes, at)
    yield from _limits(old, new, takes, at)
    if "items" in old or "items" in new:
        yield from _schema(old.get("items", {}), new.get("items", {}), takes=takes, at=f"{at}/items")
    for word in sorted({*old, *new} - _HANDLED):
        if old.get(word) != new.get(word):
            dropped = word not in new and word in ("format", "pattern", "const", "multipleOf")
            yield f"{at}/{word}", _said(old.get(word), new.get(word)), not (takes and dropped)


def _types(old: dict[str, Any], new: dict[str, Any], takes: bool, at: str) -> Iterator[tuple[str, str, bool]]:
    for word, read in (("type", _kinds), ("enum", _values)):
        before, after = read(old.get(word)), read(new.get(word))
        if before == after:
            continue
        gone = before is None or (after is not None and bool(before - after))
        more = after is None or (before is not None and bool(after - before))
        yield f"{at}/{word}", _said(old.get(word), new.get(word)), gone if takes else more


def _kinds(value: Any) -> set[str] | None:
    if value is None:
        return None
    kinds = {value} if isinstance(value, str) else set(value)
    return kinds | {"integer"} if "number" in kinds else kinds


def _values(value: Any) -> set[str] | None:
    return None if value is None else {repr(item) for item in value}


def _properties(
    old: dict[str, Any], new: dict[str, Any], takes: bool, at: str
) -> Iterator[tuple[str, str, bool]]:
    before: Mapping[str, Any] = old.get("properties", {})
    after: Mapping[str, Any] = new.get("properties", {})
    needed, needs = set(old.get("required", ())), set(new.get("required", ()))
    for name in sorted({*before, *after}):
        place = at + pointer("properties", name)
        if name not in after:
            yield place, "gone", True
        elif name not in before:
            yield place, "new, and required" if name in needs else "new", takes and name in needs
        else:
            yield from _schema(before[name], after[name], takes=takes, at=place)
    for name in sorted((needs ^ needed) & (set(before) & set(after))):
        detail = "required now" if name in needs else "no longer required"
        yield at + pointer("required", name), detail, (name in needs) is takes
    if old.get("additionalProperties", True) != new.get("additionalProperties", True):
        opened = new.get("additionalProperties", True) is not False
        yield f"{at}/additionalProperties", "open" if opened else "closed", opened is not takes


def _limits(
    old: dict[str, Any], new: dict[str, Any], takes: bool, at: str
) -> Iterator[tuple[str, str, bool]]:
    for word in (*_UPPER, *_LOWER):
        before, after = old.get(word), new.get(word)
        if before == after:
            continue
        if before is None or after is None:
            tighter = before is None
        else:
            tighter = after < before if word in _UPPER else after > before
        yield f"{at}/{word}", _said(before, after), tighter if takes else not tighter


def _said(before: Any, after: Any) -> str:
    texts = ["none" if value is None else str(value) for value in (before, after)]
    return " -> ".join(text if len(text) <= 120 else text[:117] + "..." for text in texts)
