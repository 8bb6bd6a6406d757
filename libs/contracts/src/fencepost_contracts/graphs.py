"""Graph definitions and model manifests: immutable versions, named by the hash of their content.

A run is bound to both at its first claim and goes on with them for ever (I16). A definition declares nodes,
the edges a node may take and the limits; the worker's code for a node must fit the declaration, so a change
of behaviour is a new `version`, and with it a new fingerprint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from fencepost_contracts import canonical

END: Final = "end"
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Port = Literal["model", "gateway", "person", "history"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Node(Frozen):
    """What a node may do and where it may lead. `edges` may name `end`."""

    edges: Annotated[tuple[str, ...], Field(min_length=1)]
    ports: tuple[Port, ...] = ()
    side_effects: bool = False


class Limits(Frozen):
    """Defaults of a run; a run's own budget may only lower them."""

    actions: int = 10
    model_calls: int = 64
    re_asks: int = 2  # answers of the model that were refused, in a row
    questions: int = 3
    prepares: int = 3  # of one action: an edit, a changed precondition, an expired token
    recursion: int = 60  # the last fence; every loop has a limit of its own


class GraphDefinition(Frozen):
    """A graph as published. entry: the first node."""

    name: str
    version: str
    entry: Name
    nodes: Mapping[Name, Node]
    limits: Limits = Limits()

    def fingerprint(self) -> str:
        """SHA-256 of the canonical content, lower hex."""
        return canonical.digest(self.model_dump(mode="json"))

    def body(self) -> str:
        """The canonical text that hashes to the fingerprint."""
        return canonical.dumps(self.model_dump(mode="json")).decode()


class RoleModel(Frozen):
    """Which model serves a role. provider `offline` needs no endpoint; `endpoint` never holds credentials."""

    provider: Literal["offline", "openai_compatible"]
    model: str
    endpoint: str | None = None
    calls: int = 64
    output_tokens: int = 2048


class Manifest(Frozen):
    """The models a run may call, by role, without secrets."""

    version: str
    roles: Mapping[Literal["module", "planner", "composer", "assessor", "repairer", "responder"], RoleModel]

    def fingerprint(self) -> str:
        return canonical.digest(self.model_dump(mode="json"))

    def body(self) -> str:
        return canonical.dumps(self.model_dump(mode="json")).decode()


CORE: Final = GraphDefinition(
    name="core",
    version="1.0.0",
    entry="supervisor",
    nodes={
        "supervisor": Node(edges=("module_agent", "finalize")),
        "module_agent": Node(
            edges=("response_gate", "arguments_gate", "ask", "hand_over", "reject_tool", "finalize"),
            ports=("model", "history"),
        ),
        "reject_tool": Node(edges=("module_agent", "finalize")),
        "ask": Node(edges=("module_agent", "finalize"), ports=("person",)),
        "hand_over": Node(edges=(END, "finalize")),
        "arguments_gate": Node(edges=("prepare", "reject_tool", "finalize")),
        "prepare": Node(
            edges=("approval", "commit", "prepare", "reject_tool", "finalize"), ports=("gateway",)
        ),
        "approval": Node(edges=("commit", "prepare", "finalize"), ports=("person",)),
        "commit": Node(edges=("observe", "prepare", "finalize"), ports=("gateway",), side_effects=True),
        "observe": Node(edges=("response_gate", "finalize")),
        "response_gate": Node(edges=("finalize",)),
        "finalize": Node(edges=(END,)),
    },
)
