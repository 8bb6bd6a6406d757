"""Does what was approved still stand today? Asked again at every commit, on locked rows (design 02 §4).

The rights of today: of who asked for the run, of everyone who approved, of who remembered an approval; the
policy of today; and the bytes that go out with the action. What does not stand is refused with its reason,
and a new preparation asks anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from fencepost.authoring import ToolRefused
from fencepost_contracts import canonical
from fencepost_contracts.policies import ApprovalPolicy
from fencepost_contracts.tools import Attached, Tool
from fencepost_domain.action import Action
from fencepost_domain.errors import Conflict
from fencepost_domain.grant import check_grant
from fencepost_domain.policy import Rule, check_still_stands
from fencepost_domain.run import Run
from fencepost_store import actions as store
from fencepost_store import grants, votes
from fencepost_store.actions import Surroundings
from fencepost_store.transaction import Tx


async def check_today(tx: Tx, run: Run, around: Surroundings, action: Action, tool: Tool) -> None:
    """Raises Conflict permission_revoked, approval_revoked, not_approved or attachment_changed."""
    await check_permission(tx, run, tool)
    if action.approval:
        await _check_approval(tx, run, ApprovalPolicy.of(around.settings).rule(action.risk, tool), action)
    await _check_attachments(tx, run, action)


async def check_permission(tx: Tx, run: Run, tool: Tool) -> None:
    """Who asked may still use the tool. Somebody never seen since keeps the roles the run was made with."""
    if not tool.roles:
        return
    if not set(tool.roles) & set(await store.roles_today(tx, run.user_id, run.roles)):
        needed = " or ".join(tool.roles)
        raise Conflict("permission_revoked", f"{tool.name} needs the role {needed}, which was taken away")


async def _check_approval(tx: Tx, run: Run, rule: Rule, action: Action) -> None:
    if action.grant_id is not None:
        await grants.check_use(tx, action)
        grant = await grants.look_at(tx, action.grant_id)
        today, _ = await grants.today(tx, grant.id, run.id, action.index)
        check_grant(
            grant,
            today,
            tool=action.tool,
            catalog_fp=action.catalog_fp,
            requester=run.user_id,
            author=action.author,
            rule=rule,
        )
    elif action.interrupt_id is not None:
        voters = await votes.voters_today(tx, action.interrupt_id, action.index)
        check_still_stands(voters, requester=run.user_id, author=action.author, rule=rule)


async def attached(tx: Tx, run: Run, tool: Tool, arguments: Mapping[str, Any]) -> tuple[Attached, ...]:
    """The artifacts that the arguments name, as they are now. Raises ToolRefused with the argument."""
    wanted = {name: _ids(name, arguments.get(name)) for name in tool.attachments}
    every = [one for ids in wanted.values() for one in ids]
    found = await store.artifacts_named(tx, run.user_id, every)
    for name, ids in wanted.items():
        if any(one not in found for one in ids):
            raise ToolRefused("there is no such artifact to be sent along", pointer=canonical.pointer(name))
    return tuple(Attached.model_validate(dict(found[one])) for one in every)


def _ids(name: str, value: Any) -> Sequence[UUID]:
    given = value if isinstance(value, list) else [value] if value is not None else []
    try:
        return [UUID(one) for one in given]
    except (ValueError, TypeError, AttributeError):
        raise ToolRefused("it is named by its artifact's id", pointer=canonical.pointer(name)) from None


async def _check_attachments(tx: Tx, run: Run, action: Action) -> None:
    shown = [Attached.model_validate(one) for one in action.change.get("attachments", ())]
    found = await store.artifacts_named(tx, run.user_id, [one.id for one in shown])
    for one in shown:
        now = found.get(one.id)
        if now is None or now["sha256"] != one.sha256:
            raise Conflict("attachment_changed", f"{one.name} is not what it was when this was approved")
