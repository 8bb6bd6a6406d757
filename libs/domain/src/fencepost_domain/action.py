"""Decisions about an action: may this preparation be committed now, and may a new one replace it (02 §4).

Pure functions of the locked rows and the database's `now`. What they refuse carries the code that the
worker acts on; none of them reads a clock or a database.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.errors import Conflict, Forbidden
from fencepost_domain.policy import Rule, check_may_decide
from fencepost_domain.vocabulary import ActionStatus, EffectClass, InterruptStatus, Risk


@dataclass(frozen=True, slots=True)
class Action:
    """A prepared call's row. arguments: RFC 8785 text; arguments_hash: SHA-256 of exactly that text."""

    run_id: UUID
    index: int
    n: int
    tenant_id: UUID
    tool: str
    tool_version: str
    catalog_fp: str
    arguments: str
    arguments_hash: str
    author: str
    risk: Risk
    effect_class: EffectClass
    approval: bool
    status: ActionStatus
    preview: Mapping[str, Any]
    change: Mapping[str, Any]
    precondition: Mapping[str, Any]
    token_id: UUID
    token_key_id: str
    token_mac: bytes
    token_expires_at: datetime
    token_spent_at: datetime | None
    interrupt_id: UUID | None
    decided_by: str | None
    prepared_at: datetime | None = None  # the database's; None while it is not written yet
    grant_id: UUID | None = None  # the remembered approval that approved it


@dataclass(frozen=True, slots=True)
class Approval:
    """The interrupt that decides actions. indexes: which; resolution: as the api stored it."""

    id: UUID
    status: InterruptStatus
    indexes: tuple[int, ...]
    opened_at: datetime
    expires_at: datetime
    resolution: Mapping[str, Any] | None
    resolved_by: str | None
    resolved_at: datetime | None = None

    def decision_on(self, index: int) -> Mapping[str, Any] | None:
        """The person's decision on one action: `{decision, arguments?, note?}`; None when there is none."""
        if (
            self.status is not InterruptStatus.RESOLVED
            or self.resolution is None
            or index not in self.indexes
        ):
            return None
        several = self.resolution.get("decisions")
        if several is None:
            return self.resolution
        return next((one for one in several if one.get("index") == index), None)


def check_commit(
    action: Action,
    approval: Approval | None,
    *,
    edited_hash: str | None,
    now: datetime,
    repeats: bool = False,
) -> None:
    """May an attempt of this action be opened at `now`, read above all locks?

    Whether those who approved may still do so is `check_still_stands`; an approval by a grant is judged with
    the grant. approval: the interrupt locked, None when the action names none. edited_hash: hash of the
    arguments that the decision carries, None when it carries none. repeats: an attempt was opened before, so
    the token is spent; everything else counts as for the first. Raises Conflict withdrawn, rejected,
    approval_expired, token_spent, token_expired or not_approved.
    """
    if action.status is ActionStatus.WITHDRAWN:
        raise Conflict("withdrawn", "another preparation took this one's place")
    if action.status is ActionStatus.REJECTED:
        raise Conflict("rejected", "a person said no")
    if action.status is ActionStatus.EXPIRED:
        raise Conflict("approval_expired", "nobody decided in time")
    is_spent = action.token_spent_at is not None and not repeats
    if is_spent or action.status in (ActionStatus.COMMITTED, ActionStatus.FAILED):
        raise Conflict("token_spent", "this preparation was used before")
    if action.approval and action.grant_id is None:
        _check_approved(action, approval, edited_hash, now)
    if action.approval and action.status is not ActionStatus.APPROVED:
        raise Conflict("not_approved", "a person has to approve this first")
    if action.token_expires_at <= now and (action.approval or not repeats):
        raise Conflict("token_expired", "this preparation is too old; prepare it again")


def _check_approved(
    action: Action,
    approval: Approval | None,
    edited_hash: str | None,
    now: datetime,
) -> None:
    decision = approval.decision_on(action.index) if approval else None
    if approval is not None and decision is None and approval.expires_at <= now:
        raise Conflict("approval_expired", "nobody decided in time")
    if approval is None or decision is None or action.status is not ActionStatus.APPROVED:
        raise Conflict("not_approved", "a person has to approve this first")
    if decision.get("decision") != "approve":
        raise Conflict("rejected", "a person said no")
    if edited_hash is not None and edited_hash != action.arguments_hash:
        raise Conflict("not_approved", "other arguments than these were approved")
    # What was prepared after the question was asked can't be what the person saw.
    if edited_hash is None and (action.prepared_at is None or action.prepared_at > approval.opened_at):
        raise Conflict("not_approved", "the approval was given before this was prepared")
    if approval.expires_at <= now:
        raise Conflict("approval_expired", f"the approval held until {approval.expires_at.isoformat()}")


def check_since_recovery(action: Action, approval: Approval | None, recovered_at: datetime | None) -> None:
    """What was decided before a restore may have been taken back in what was lost, so it is asked again.

    recovered_at: None for a run that no restore touched. Raises Conflict token_expired.
    """
    if recovered_at is None or not action.approval:
        return
    decided_at = approval.resolved_at if approval is not None else action.prepared_at
    if decided_at is None or decided_at < recovered_at:
        raise Conflict("token_expired", "it was approved before the database was restored")


def check_replace(current: Action, *, effect_opened: bool) -> None:
    """May a later preparation withdraw `current`?

    Raises Conflict reconcile once an attempt was opened, rejected when a person said no to this action.
    """
    if current.status is ActionStatus.REJECTED:
        raise Conflict("rejected", "a person said no; the same action isn't proposed again")
    if effect_opened or current.status in (ActionStatus.COMMITTED, ActionStatus.FAILED):
        raise Conflict(
            "reconcile", "an attempt of this action was opened; its outcome has to be settled first"
        )


def edit_approves(
    approval: Approval,
    *,
    index: int,
    edited_hash: str | None,
    arguments_hash: str,
    editor_roles: Collection[str],
    requester: str,
    rule: Rule,
    now: datetime,
) -> bool:
    """Does the editor's own decision approve these edited arguments at once?

    The editor becomes their author, so where another than the author, or more than one, must decide it
    doesn't, and the action is asked for again. Raises Conflict not_approved when the decision is no approval
    of these arguments.
    """
    decision = approval.decision_on(index)
    if decision is None or decision.get("decision") != "approve" or edited_hash is None:
        raise Conflict("not_approved", "this approval edited no arguments of this action")
    if edited_hash != arguments_hash:
        raise Conflict("not_approved", "other arguments than these were approved")
    if approval.expires_at <= now:
        raise Conflict("approval_expired", f"the approval held until {approval.expires_at.isoformat()}")
    editor = approval.resolved_by or ""
    try:
        check_may_decide(
            caller=editor, caller_roles=editor_roles, requester=requester, author=editor, rule=rule
        )
    except Forbidden:
        return False
    return rule.quorum == 1
