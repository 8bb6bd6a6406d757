"""From a declaration under its pin to a tool of the catalog, with the contract's word on top of the source's.

What the contract doesn't say of such a tool is the most careful: high risk, external_opaque, so a person
decides each time. A pin proves a text, not behaviour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from fencepost_domain.effect import needs_approval
from fencepost_domain.vocabulary import EffectClass

from fencepost_contracts import canonical
from fencepost_contracts.contract import ToolContract
from fencepost_contracts.foreign import Unusable, arguments_schema, result_schema
from fencepost_contracts.http_tools import EFFECT_KEY, HttpCall, HttpLookup
from fencepost_contracts.names import TOOL_NAME, skeleton
from fencepost_contracts.sources import Declared, From, Source, ToolSource
from fencepost_contracts.tools import Tool

LONGEST_DESCRIPTION: Final = 2000
ANY_RESULT: Final[Mapping[str, Any]] = {"type": "object"}
TEXT_RESULT: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}


@dataclass(frozen=True, slots=True)
class Pin:
    """A declaration that an operator accepted. declared: as it was seen; accepted_at: RFC 3339."""

    tool: str
    declared: Declared
    accepted_at: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """A tool of a contract that a source provides: its name here, and what the contract says of it."""

    name: str
    source: Source
    taken: From
    contract: ToolContract | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What a module's sources provide. operations: of its OpenAPI documents, by (source, operation)."""

    sources: Mapping[str, Source] = field(default_factory=dict)
    listed: tuple[Foreign, ...] = ()
    operations: Mapping[tuple[str, str], Declared] = field(default_factory=dict)
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def foreign(self, module: str, declared: Iterable[Declared]) -> Iterator[tuple[Foreign, Declared]]:
        """Which of these declarations are tools of this module, under which names.

        A listed one is what the contract names it; of a source with `tools: all` the others are named after
        themselves, unless that name is no tool name or could be taken for another's.
        """
        known = {(one.source.name, one.taken.target): one for one in self.listed}
        shapes = {skeleton(one.name) for one in self.listed}
        for one in declared:
            listed = known.get((one.source, one.target))
            if listed is not None:
                yield listed, one
                continue
            source = self.sources.get(one.source)
            name = f"{module}.{snake(one.target)}"
            if source is None or source.tools != "all" or not TOOL_NAME.fullmatch(name):
                continue
            if skeleton(name) in shapes:
                continue
            shapes.add(skeleton(name))
            word = {"operation" if source.kind == "openapi" else "tool": one.target}
            yield Foreign(name, source, From(source=source.name, **word)), one


def snake(name: str) -> str:
    """`createTicket`, `create-ticket` and `Create ticket` are create_ticket."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def published(foreign: Foreign, pin: Pin, offer: Offer) -> Tool:
    """The tool as it stands in a catalog. Raises Unusable where its schemas can't be used."""
    declared, said = pin.declared, foreign.contract
    description = said.description if said is not None and said.description else declared.description
    body: dict[str, Any] = {} if said is None else said.model_dump(mode="json", exclude=_NOT_PUBLISHED)
    body.setdefault("risk", "high")
    body.setdefault("effect_class", str(EffectClass.EXTERNAL_OPAQUE))
    body.setdefault("timeout_seconds", 10)
    asked = said is not None and said.approval == "required"
    tool = {
        **body,
        "name": foreign.name,
        "version": body.get("version", "1"),
        "description": (description or foreign.taken.target)[:LONGEST_DESCRIPTION],
        "input_schema": arguments_schema(declared.input_schema),
        "output_schema": _output(foreign, declared),
        "approval": True,
        "source": tool_source(foreign, pin, offer).model_dump(mode="json"),
        "http": _http(foreign, declared, offer),
        "lookup": foreign.taken.lookup is not None,
    }
    made = Tool.model_validate(tool)
    return made.model_copy(update={"approval": needs_approval(made.risk, made.effect_class, approval=asked)})


def _output(foreign: Foreign, declared: Declared) -> dict[str, Any]:
    if foreign.taken.task is not None:
        return dict(ANY_RESULT)  # the declared one is of the start's answer
    if declared.output_schema is None:
        return dict(TEXT_RESULT if declared.kind == "mcp" else ANY_RESULT)
    return result_schema(declared.output_schema)


def tool_source(foreign: Foreign, pin: Pin, offer: Offer) -> ToolSource:
    source, task, declared = foreign.source, foreign.taken.task, pin.declared
    return ToolSource(
        name=source.name,
        kind=declared.kind,
        target=declared.target,
        pin=declared.fingerprint(),
        accepted_at=pin.accepted_at,
        endpoint=declared.endpoint,
        credential=source.credential,
        task=task,
        status=_request(offer, source, task.status if task else None),
        cancel=_request(offer, source, task.cancel if task else None),
        errors_are_refusals=foreign.taken.errors == "refused",
    )


def _request(offer: Offer, source: Source, operation: str | None) -> HttpCall | None:
    """Another operation of the same document, signed the same way. Raises Unusable."""
    if operation is None:
        return None
    declared = offer.operations.get((source.name, operation))
    if declared is None or declared.http is None:
        raise Unusable(f"{source.name} has no operation {operation} any more")
    return declared.http.model_copy(update={"credential": source.credential})


def _http(foreign: Foreign, declared: Declared, offer: Offer) -> HttpCall | None:
    """The declared request with what the contract says of it: key, credential, look-up."""
    if declared.http is None:
        return None
    taken, rules = foreign.taken, foreign.taken.lookup
    lookup = None
    asked = _request(offer, foreign.source, rules.operation if rules else None)
    if rules is not None and asked is not None:
        lookup = HttpLookup(
            method=asked.method,
            url=_keyed(asked, rules.key_argument),
            found=rules.found,
            absent=rules.absent,
            result=rules.result,
            external_id=rules.external_id,
        )
    said = {"key_header": taken.key_header, "external_id": taken.external_id, "lookup": lookup}
    return declared.http.model_copy(update={"credential": foreign.source.credential, **said})


def _keyed(asked: HttpCall, argument: str) -> str:
    """The look-up's address with the effect's key in the place of one argument. Raises Unusable."""
    place, key = "{" + argument + "}", "{" + EFFECT_KEY + "}"
    if place in asked.url:
        return asked.url.replace(place, key)
    if asked.method not in ("GET", "DELETE"):
        raise Unusable(f"a look-up by {argument} is not sent")
    return f"{asked.url}{'&' if '?' in asked.url else '?'}{quote(argument, safe='')}={key}"


def difference(before: Declared | None, after: Declared) -> list[str]:
    """What changed, a line each, in words a person can decide on; all of it where nothing was accepted."""
    if before is None:
        return [
            f"new: {after.target} of {after.source} at {canonical.dumps(after.endpoint).decode()}",
            f"  description: {_line(after.description)}",
            f"  arguments: {_line(after.input_schema)}",
        ]
    lines = []
    for word in ("description", "endpoint", "http", "input_schema", "output_schema"):
        old, new = (one.model_dump(mode="json")[word] for one in (before, after))
        if old != new:
            lines += [f"{word}:", f"  - {_line(old)}", f"  + {_line(new)}"]
    return lines


def _line(value: Any) -> str:
    return value if isinstance(value, str) else canonical.dumps(value).decode()


_NOT_PUBLISHED: Final = {
    "approval", "from_", "description", "input_schema", "output_schema", "name", "http", "lookup",
    "takes_time",
}  # fmt: skip
