"""What runs a tool: inside, in the gateway's own transaction, or outside, on somebody else's server.

Inside (`Executor`) are Python functions of a module's `tools/` package, classes `none` and `local`. Outside
(`Outside`) is everything that leaves the house. What an Outside sends is the stored request, byte for byte;
it holds no credential, those are put in at the send by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from fencepost.authoring import Plan
from fencepost_contracts.tools import RefusalCode, Tool
from fencepost_domain.effect import Heard, Seen
from fencepost_domain.run import Run
from fencepost_store.transaction import Store, Tx

from fencepost_tool_gateway.files import Shelf

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the published tool, its checked arguments, the run they belong to.

    now: the database's instant. asked_at: when the run was made. currency: the run's default.
    """

    tool: Tool
    arguments: Arguments
    run: Run
    currency: str
    index: int
    asked_at: datetime
    now: datetime


class Executor(Protocol):
    """Every tool as prepare and commit see it; `call` only runs what is inside."""

    def why_not(self, tool: Tool) -> tuple[RefusalCode, str] | None:
        """Why this tool can't be run here; None when it can."""
        ...

    def outside_of(self, tool: Tool) -> Outside | None:
        """Who sends it, where it leaves the house; None when it runs inside."""
        ...

    async def plan(self, tx: Tx, call: Call) -> Plan:
        """Preview and change, in a read-only snapshot. Raises ToolRefused."""
        ...

    async def precondition(self, tx: Tx, call: Call) -> Mapping[str, Any]:
        """What the plan relied on, as it is now."""
        ...

    async def call(self, tx: Tx, call: Call) -> Any:
        """The effect. Raises ToolRefused, PreconditionChanged, TimeoutError, or whatever the tool raises."""
        ...

    @property
    def shelf(self) -> Shelf:
        """Where the files of tools are kept."""
        ...

    def makes(self, tool: Tool) -> bool:
        """It runs inside, and its result is made outside any transaction (`make` in place of `commit`)."""
        ...

    async def make(self, store: Store, call: Call) -> Any:
        """The result, or a fencepost.files.Result with files. Raises as `call` does."""
        ...


@dataclass(frozen=True, slots=True)
class Sending:
    """One attempt. key: the provider's, the same on every attempt of the effect. request: what was stored.

    seconds: how long the whole exchange may still take, by this process's own monotonic clock; the caller
    ends it after that, and what was heard then is unknown.
    """

    tool: Tool
    key: str
    request: bytes
    attempt: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Told:
    """How a send ended, as far as this process can know.

    heard: see fencepost_domain.effect. result: plain JSON, not checked yet. external_id: the other side's
    name for what it did. retry_after: seconds it asked for. code, detail: why not, in our words.
    """

    heard: Heard
    result: Any = None
    external_id: str | None = None
    code: str = ""
    detail: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look-up found. Only `found` and `absent` are answers; whatever is in doubt is `unsure`."""

    seen: Seen
    result: Any = None
    external_id: str | None = None
    detail: str = ""


class Outside(Protocol):
    """Sends requests of one kind. It never raises for what the other side does: it tells."""

    def runs(self, tool: Tool) -> bool:
        """Is this tool of its kind (the catalog has its block)?"""
        ...

    async def plan(self, call: Call) -> Plan:
        """The preview, where the module has no code of its own for it. Raises ToolRefused."""
        ...

    def request(self, call: Call, key: str) -> bytes:
        """The exact request, made once per effect and stored before it is sent. Nothing secret, no I/O."""
        ...

    async def send(self, sending: Sending) -> Told:
        """Do it. A time-out, a lost connection, an answer nobody can read: `unknown`, never `rejected`."""
        ...

    async def lookup(self, sending: Sending) -> Looked:
        """Ask whether an attempt under this key happened. Changes nothing."""
        ...

    async def close(self) -> None: ...
