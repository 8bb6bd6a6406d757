"""What the public HTTP API answers about asking and deciding: questions, votes, grants, links."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fencepost_domain.vocabulary import InterruptKind, InterruptStatus, Risk

from fencepost_contracts.http import Wire


class Candidate(Wire):
    id: str
    label: str
    value: Any = None


class VoteView(Wire):
    """What one person said to an approval. by_link: on the page of a one-time link."""

    by: str
    decision: Literal["approve", "reject", "mixed"]
    at: datetime
    by_link: bool


class DiffRow(Wire):
    """One difference. `more`: further rows are left out, `count` of them."""

    path: str
    kind: Literal["added", "removed", "changed", "more"]
    before: Any = None
    after: Any = None
    count: int | None = None


class ActionDiff(Wire):
    """What would be different after one action; `edited`: what its editor changed in the arguments."""

    index: int
    rows: tuple[DiffRow, ...]
    edited: tuple[DiffRow, ...] = ()


class DecisionRule(Wire):
    """Who has to approve, by today's policy, and whether the caller may. Where one is asked for alone."""

    four_eyes: bool
    roles: tuple[tuple[str, ...], ...]
    needed: int
    given: int
    grantable: bool
    may_decide: bool
    why_not: str | None


class InterruptView(Wire):
    """What a person is asked. Without the conversation, so that an approver may see it.

    diff: what would change, an entry an action. votes: who decided so far. rule: null in lists.
    """

    id: UUID
    run_id: UUID
    kind: InterruptKind
    status: InterruptStatus
    question: str
    candidates: tuple[Candidate, ...]
    input_schema: dict[str, Any] | None
    indexes: tuple[int, ...]
    preview: Any
    change: Any
    risk: Risk | None
    requested_by: str
    opened_at: datetime
    expires_at: datetime
    resolution: dict[str, Any] | None
    resolved_by: str | None
    resolved_at: datetime | None
    votes: tuple[VoteView, ...]
    diff: tuple[ActionDiff, ...]
    rule: DecisionRule | None


class LinkView(Wire):
    """A link that decides once. It is shown only here: what is stored is a hash."""

    id: UUID
    url: str
    approver: str
    expires_at: datetime


class GrantUse(Wire):
    run_id: UUID
    index: int
    n: int
    tool: str
    arguments_hash: str
    used_at: datetime


class GrantView(Wire):
    """A remembered approval. ended_reason: revoked, contract_changed, role_changed. recent: null in lists."""

    id: UUID
    status: Literal["active", "used_up", "expired", "ended"]
    user_id: str
    granted_by: str
    interrupt_id: UUID
    run_id: UUID
    module: str
    tool: str
    catalog: str
    risk: Risk
    condition: str | None
    max_uses: int | None
    uses: int
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    ended_reason: str | None
    recent: tuple[GrantUse, ...] | None
