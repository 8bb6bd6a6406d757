"""A call that passed and what it would do, on its way to be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fencepost.authoring import Plan
from fencepost_contracts.tools import Attached

from fencepost_tool_gateway.authorize import Accepted


@dataclass(frozen=True, slots=True)
class Planned:
    """An accepted call with its plan; None when it is stored already: what it would do may be done by now.

    precondition: as canonical JSON values. grants: remembered approvals whose condition these arguments meet.
    """

    accepted: Accepted
    plan: Plan | None
    precondition: Mapping[str, Any]
    attached: tuple[Attached, ...] = ()
    grants: tuple[UUID, ...] = ()
