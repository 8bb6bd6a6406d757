"""How an effect is undone: by which tool of the same contract, and what its arguments are made of.

Undoing is an effect of its own, with its own class, risk and approval. Its arguments are pointers into what
is known of the first one, so nobody, and no model, writes them by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from fencepost_contracts.canonical import pointer
from fencepost_contracts.sources import at_pointer

KNOWN: Final = ("arguments", "result", "external_id", "effect_key")  # what a pointer may begin with
Place = Annotated[StrictStr, Field(pattern=r"^/.+", max_length=200)]


class Compensate(BaseModel):
    """The `compensate:` block of a tool.

    tool: of the same contract. arguments: name -> JSON pointer into `{arguments, result, external_id,
    effect_key}` of the effect that is undone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: StrictStr
    arguments: dict[StrictStr, Place] = Field(default_factory=dict)


class Earlier(BaseModel):
    """What another run of the same lineage did already, with the same tool and arguments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    effect_key: str
    run_id: UUID
    at: datetime


class Undoes(BaseModel):
    """What a compensating action takes back, by whose order and why: shown to who approves it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    effect_key: str
    tool: str
    by: str
    reason: str


class NothingToUndoBy(ValueError):
    """An argument of the compensating call isn't known of this effect."""

    def __init__(self, argument: str, place: str) -> None:
        self.argument, self.place = argument, place
        super().__init__(f"its argument {argument} is taken from {place}, and there is nothing")


def arguments_for(block: Compensate, known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the compensating call. known: the members of KNOWN. Raises NothingToUndoBy."""
    made: dict[str, Any] = {}
    for name, place in block.arguments.items():
        value = at_pointer(dict(known), place)
        if value is None:
            raise NothingToUndoBy(name, place)
        made[name] = value
    return made


def compensate_faults(
    block: Compensate | None, own_name: str, schemas: Mapping[str, Mapping[str, Any] | None], reads: set[str]
) -> Iterator[tuple[str, str]]:
    """(JSON pointer inside the tool, what is wrong).

    schemas: of every tool of the contract by name, None where a source brings it. reads: tools that change
    nothing, which undo nothing.
    """
    if block is None:
        return
    at = "/compensate/tool"
    if own_name in reads:
        yield "/compensate", "this class changes nothing: there is nothing to undo"
    if block.tool == own_name or block.tool not in schemas:
        yield at, f"{block.tool} is no other tool of this contract"
        return
    if block.tool in reads:
        yield at, f"{block.tool} changes nothing, so it undoes nothing"
    for name, place in block.arguments.items():
        if place.split("/")[1] not in KNOWN:
            yield f"/compensate/arguments{pointer(name)}", f"begin with one of /{', /'.join(KNOWN)}"
    schema = schemas[block.tool]
    if schema is None:
        return
    for name in sorted(set(block.arguments) - set(schema.get("properties", {}))):
        yield f"/compensate/arguments{pointer(name)}", f"{block.tool} has no argument of this name"
    for name in sorted(set(schema.get("required", ())) - set(block.arguments)):
        yield "/compensate/arguments", f"{block.tool} needs {name}"
