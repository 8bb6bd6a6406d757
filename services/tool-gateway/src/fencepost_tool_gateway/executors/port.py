"""What runs a tool. One implementation today: Python functions of a module's `tools/` package.

HTTP operations and MCP servers come as further executors; they bring the external effect classes, whose
tables and state machine are in place. Until then a call of such a class is refused at prepare with
`effect_class_not_available`, and its contract still loads, so that it can be written and checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from fencepost.authoring import Plan
from fencepost_contracts.tools import Tool
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectClass
from fencepost_store.transaction import Tx

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
    @property
    def classes(self) -> frozenset[EffectClass]:
        """Effect classes it can run."""
        ...

    def has(self, tool: str) -> bool:
        """Is there an implementation of this name?"""
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
