"""Remembered approvals at work: which may cover a call, and the one that does (design 02 §4).

Conditions are judged in the planning snapshot, outside every lock: neither they nor the arguments change.
Uses, revocation and expiry are judged again under the grant's lock, when the approval is stored.
"""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

from fencepost_contracts.granted import GrantCondition, granted_condition
from fencepost_contracts.policies import ApprovalPolicy
from fencepost_domain.errors import Conflict
from fencepost_domain.grant import Grant, check_grant, lapse_of, may_be_granted
from fencepost_domain.run import Run
from fencepost_store import grants
from fencepost_store.actions import Surroundings
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.authorize import Accepted
from fencepost_tool_gateway.planned import Planned


@lru_cache(maxsize=256)
def _compiled(source: str) -> GrantCondition:
    return granted_condition(source)


async def covering(tx: Tx, run: Run, one: Accepted) -> tuple[UUID, ...]:
    """Grants whose condition holds for these arguments; none where an approval can't be remembered."""
    tool = one.tool
    if not tool.approval or not may_be_granted(tool.risk, tool.effect_class, grantable=tool.grantable):
        return ()
    if one.call.edited_by is not None:
        return ()
    found = await grants.candidates(tx, run.user_id, tool.name)
    return tuple(
        row["id"]
        for row in found
        if row["condition"] is None or _compiled(row["condition"]).judge(one.call.arguments).holds
    )


async def take_grant(
    tx: Tx, run: Run, around: Surroundings, policy: ApprovalPolicy, one: Planned
) -> Grant | None:
    """The first grant that approves this now, one use of it taken; those found void are ended for good."""
    tool, index = one.accepted.tool, one.accepted.call.index
    rule = policy.rule(tool.risk, tool)
    for grant_id in one.grants if around.ordered is None else ():  # what undoes is asked for each time
        grant = await grants.lock(tx, grant_id)
        today, used = await grants.today(tx, grant_id, run.id, index)
        lapsed = lapse_of(grant, today)
        if grant.ended_reason is None and lapsed is not None:
            await grants.end(tx, grant_id, by="gateway", reason=lapsed)
            continue
        try:
            check_grant(
                grant,
                today,
                tool=tool.name,
                catalog_fp=around.catalog_fp or "",
                requester=run.user_id,
                author=run.user_id,
                rule=rule,
            )
        except Conflict:
            continue  # it doesn't approve this: a person is asked, as if there were no grant
        if used or await grants.count_use(tx, grant_id):
            return grant
    return None
