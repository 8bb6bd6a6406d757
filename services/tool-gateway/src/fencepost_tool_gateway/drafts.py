"""A new preparation's row, signed; and stored rows as the worker is shown them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_contracts import canonical
from fencepost_contracts.policies import ApprovalPolicy
from fencepost_contracts.tools import Change, PreparedAction, Preview
from fencepost_domain.action import Action, Approval, edit_approves
from fencepost_domain.errors import Conflict
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import ActionStatus
from fencepost_store import actions as store
from fencepost_store.actions import Surroundings
from fencepost_store.transaction import Tx

from fencepost_tool_gateway import tokens
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.lineage import done_before, shown
from fencepost_tool_gateway.planned import Planned
from fencepost_tool_gateway.remembered import take_grant
from fencepost_tool_gateway.undoing import ordered_by, shown_undoing

FREE_LIVES: Final = timedelta(hours=1)  # of a token nobody has to approve
AFTER_APPROVAL: Final = timedelta(hours=1)  # a decision in the last second can still be carried out
UNSIGNED: Final = b""


async def new_action(gateway: Gateway, tx: Tx, run: Run, around: Surroundings, one: Planned) -> Action:
    call, tool, plan = one.accepted.call, one.accepted.tool, one.plan
    if plan is None:  # it was stored when the plan was skipped, and preparations are never deleted
        raise Conflict("prepare_differs", "the preparation that was stored is gone")
    policy = ApprovalPolicy.of(around.settings)
    approved, editor = False, None
    if call.edited_by is not None:
        approval, approved = await _edited(tx, run, around, policy, one, call.edited_by)
        editor = approval.resolved_by
    earlier = await done_before(tx, run, around, tool, one.accepted.hash)
    asks = tool.approval or bool(earlier)
    grant = await take_grant(tx, run, around, policy, one) if call.edited_by is None and not earlier else None
    preview = await shown_undoing(tx, run, around, call.index, _values(plan.preview))
    action = Action(
        run_id=run.id,
        index=call.index,
        n=call.n,
        tenant_id=run.tenant_id,
        tool=tool.name,
        tool_version=tool.version,
        catalog_fp=around.catalog_fp or "",
        arguments=one.accepted.text,
        arguments_hash=one.accepted.hash,
        author=editor or ordered_by(around) or run.user_id,
        risk=tool.risk,
        effect_class=tool.effect_class,
        approval=asks,
        status=ActionStatus.APPROVED if approved or grant else ActionStatus.PREPARED,
        preview=shown(preview, earlier, run.locale),
        change=_values(plan.change.model_copy(update={"attachments": one.attached})),
        precondition=one.precondition,
        token_id=tx.ids.uuid7(),
        token_key_id="",
        token_mac=UNSIGNED,
        token_expires_at=around.now + (policy.expires_in + AFTER_APPROVAL if asks else FREE_LIVES),
        token_spent_at=None,
        interrupt_id=call.edited_by if approved else None,
        decided_by=editor if approved else grant.granted_by if grant else None,
        grant_id=grant.id if grant else None,
    )
    return tokens.sign(gateway.keys, action, run.user_id)


async def _edited(
    tx: Tx, run: Run, around: Surroundings, policy: ApprovalPolicy, one: Planned, interrupt_id: UUID
) -> tuple[Approval, bool]:
    """The approval that edited the arguments, and whether it approves them at once."""
    approval = await store.lock_approval(tx, run.id, interrupt_id)
    if approval is None:
        raise Conflict("not_approved", "this run has no such approval")
    decided = edit_approves(
        approval,
        index=one.accepted.call.index,
        edited_hash=edited_hash(approval, one.accepted.call.index),
        arguments_hash=one.accepted.hash,
        editor_roles=await store.roles_of(tx, approval.resolved_by or ""),
        requester=run.user_id,
        rule=policy.rule(one.accepted.tool.risk, one.accepted.tool),
        now=around.now,
    )
    return approval, decided


def edited_hash(approval: Approval | None, index: int) -> str | None:
    """Hash of the arguments that a decision carries, None when it takes them as they were."""
    decision = approval.decision_on(index) if approval else None
    edited = decision.get("arguments") if decision else None
    return canonical.digest(edited) if edited is not None else None


def _values(model: Preview | Change) -> dict[str, Any]:
    plain: dict[str, Any] = canonical.plain(model.model_dump(mode="json"))
    for later in ("attachments", "undoes"):  # what has none is stored as it always was
        if not plain.get(later, True):
            del plain[later]
    return plain


def told_of(action: Action) -> dict[str, Any]:
    """Payload of action.prepared: what replay needs to find a frozen result by (tool, arguments hash)."""
    return {
        "index": action.index,
        "n": action.n,
        "tool": action.tool,
        "arguments": json.loads(action.arguments),
        "arguments_hash": action.arguments_hash,
        "risk": str(action.risk),
        "effect_class": str(action.effect_class),
        "approval": action.approval,
        "status": str(action.status),
        "token_id": str(action.token_id),
        **({"grant_id": str(action.grant_id), "decided_by": action.decided_by} if action.grant_id else {}),
    }


def to_wire(action: Action) -> PreparedAction:
    """expires_at: until when a person may decide; where nobody has to, until when it may be committed."""
    margin = AFTER_APPROVAL if action.approval else timedelta(0)
    return PreparedAction(
        index=action.index,
        n=action.n,
        tool=action.tool,
        tool_version=action.tool_version,
        arguments=json.loads(action.arguments),
        arguments_hash=action.arguments_hash,
        risk=action.risk,
        effect_class=action.effect_class,
        approval=action.approval,
        status=str(action.status),
        preview=Preview.model_validate(action.preview),
        change=Change.model_validate(action.change),
        token_id=action.token_id,
        expires_at=action.token_expires_at - margin,
    )


def to_dry(one: Planned) -> PreparedAction:
    call, tool = one.accepted.call, one.accepted.tool
    assert one.plan is not None  # a dry prepare plans every call
    return PreparedAction(
        index=call.index,
        n=call.n,
        tool=tool.name,
        tool_version=tool.version,
        arguments=json.loads(one.accepted.text),
        arguments_hash=one.accepted.hash,
        risk=tool.risk,
        effect_class=tool.effect_class,
        approval=tool.approval,
        status=str(ActionStatus.PREPARED),
        preview=one.plan.preview,
        change=one.plan.change,
        token_id=None,
        expires_at=None,
    )
