"""Graph definitions and model manifests: immutable versions, named by the hash of their content.

A run is bound to both at its first claim and goes on with them for ever (I16). A definition declares nodes,
the edges a node may take and the limits; the worker's code for a node must fit the declaration, so a change
of behaviour is a new `version`, and with it a new fingerprint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from fencepost_contracts import canonical

END: Final = "end"
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Port = Literal["model", "gateway", "person", "history", "state", "log"]


RoleName = Literal["module", "planner", "composer", "assessor", "repairer", "responder", "compactor"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FanOut(Frozen):
    """How the branches of a node join, in source order. A plan may ask for `quorum` or `first`, if its
    contract doesn't ask for everything; `into`: where they meet. most: branches of one fan-out."""

    into: Name
    most: int = 8


class Node(Frozen):
    """What a node may do and where it may lead. `edges` may name `end`.

    From `core` 2.0.0 on a node declares its whole contract, and the engine holds it to that. inputs, outputs:
    keys of the state; None is a node that declares none of this (graphs published before). timeout_seconds:
    of one execution. retry: `run` defers the run with its backoff, `none` ends it. idempotency: `pure`
    computes the same patch again, `keyed` does everything through ports that know its key. errors: reasons it
    may end the run for. events: types it may append.
    """

    edges: Annotated[tuple[str, ...], Field(min_length=1)]
    ports: tuple[Port, ...] = ()
    side_effects: bool = False
    inputs: tuple[Name, ...] | None = None
    outputs: tuple[Name, ...] | None = None
    timeout_seconds: float | None = None
    retry: Literal["run", "none"] | None = None
    idempotency: Literal["pure", "keyed"] | None = None
    errors: tuple[str, ...] | None = None
    events: tuple[str, ...] | None = None
    fan_out: FanOut | None = None


class Limits(Frozen):
    """Defaults of a run; a run's own budget may only lower them."""

    actions: int = 10
    model_calls: int = 64
    re_asks: int = 2  # answers of the model that were refused, in a row
    questions: int = 3
    prepares: int = 3  # of one action: an edit, a changed precondition, an expired token
    recursion: int = 60  # the last fence; every loop has a limit of its own
    plan_steps: int | None = None  # the rest is for graphs that plan: None is not offered
    plans: int | None = None  # the first and its revisions
    batch_records: int | None = None  # source records of one branch
    recoveries: int | None = None  # of external tools: preparations anew, edits, reconciled attempts


class Definition(Frozen):
    """A graph as published, ours or an author's: what a run is bound to."""

    name: str
    version: str
    limits: Limits = Limits()

    def fingerprint(self) -> str:
        """SHA-256 of the canonical content, lower hex."""
        return canonical.digest(self._said())

    def body(self) -> str:
        """The canonical text that hashes to the fingerprint."""
        return canonical.dumps(self._said()).decode()

    def _said(self) -> dict[str, Any]:
        """Without what it doesn't say: what a later release may declare must not rename what is published."""
        return self.model_dump(mode="json", exclude_none=True)


class GraphDefinition(Definition):
    """A graph of ours. entry: the first node."""

    entry: Name
    nodes: Mapping[Name, Node]


class BroughtGraph(Definition):
    """An author's LangGraph graph: its structure, not its code. name: its module's.

    Another behaviour is another `version`, as for ours; another structure under one version is refused.
    nodes: with a subgraph's written `outer:inner`. edges: (from, to, is conditional). channels: (name, kind)
    of its state; inputs, outputs: names. No JSON Schema: LangChain's change with its releases, and a run must
    not lose its graph by an upgrade.
    """

    kind: Literal["brought"] = "brought"
    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str, bool], ...]
    channels: tuple[tuple[str, str], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class RoleModel(Frozen):
    """Which model serves a role. provider `offline` needs no endpoint; `endpoint` never holds credentials.

    history_tokens: how much of a request the conversation may take, before its older part is shortened.
    """

    provider: Literal["offline", "openai_compatible"]
    model: str
    endpoint: str | None = None
    calls: int = 64
    output_tokens: int = 2048
    history_tokens: int | None = None


class Manifest(Frozen):
    """The models a run may call, by role, without secrets; and the words each role is asked with.

    prompts: role -> `planner-v1@` and the hash of its words. None: of a release that didn't name them.
    """

    version: str
    roles: Mapping[RoleName, RoleModel]
    prompts: Mapping[RoleName, str] | None = None

    def of(self, role: str) -> RoleModel:
        """The role's own model, else the module's: a manifest names what differs."""
        return self.roles.get(role) or self.roles["module"]  # type: ignore[call-overload]

    def fingerprint(self) -> str:
        return canonical.digest(self._said())

    def body(self) -> str:
        return canonical.dumps(self._said()).decode()

    def _said(self) -> dict[str, Any]:
        """As it was before the younger members, where they say nothing: a fingerprint is for ever."""
        said = self.model_dump(mode="json")
        if self.prompts is None:
            said.pop("prompts")
        for role in said["roles"].values():
            if role["history_tokens"] is None:
                role.pop("history_tokens")
        return said


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
