"""A one-time link for an approval that goes out by mail or chat (design 02 §4).

Whoever holds a link decides in its approver's name, so nobody makes one for another but a service that may
decide nothing itself (role notifier). The approver's rights are those of today, here and when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from fencepost_contracts.http import LinkRequest
from fencepost_domain.errors import Conflict, Forbidden, Gone, Invalid
from fencepost_domain.policy import check_may_decide
from fencepost_domain.vocabulary import InterruptKind, InterruptStatus
from fencepost_runtime.failpoints import ahit
from fencepost_store import actions, interrupts, links, settings_store, views
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.links import hash_of, new_token
from fencepost_api.usecases.asked import read_asked
from fencepost_api.usecases.resolve_interrupt import visible


@dataclass(frozen=True, slots=True)
class Made:
    """token: shown once, kept nowhere."""

    link_id: UUID
    token: str
    approver: str
    expires_at: datetime


async def make_link(api: Api, caller: Caller, interrupt_id: UUID, request: LinkRequest) -> Made:
    """Raises NotFound, Forbidden, Invalid, Gone, Conflict not_an_approval."""
    approver = request.approver or caller.user_id
    if approver != caller.user_id and not caller.notifies:
        raise Forbidden(
            "a link for another is made by a service with the role notifier, which decides nothing"
        )
    lives = timedelta(seconds=request.expires_in_seconds)
    made = await api.store.run(caller.tenant_id, lambda tx: _make(tx, caller, interrupt_id, approver, lives))
    await ahit("api.make_link.before_response")
    return made


async def _make(tx: Tx, caller: Caller, interrupt_id: UUID, approver: str, lives: timedelta) -> Made:
    row = await views.interrupt(tx, interrupt_id, visible(caller))
    if row["kind"] != InterruptKind.APPROVAL:
        raise Conflict(
            "not_an_approval", "a link decides an approval; questions are answered by who was asked"
        )
    await lock_run(tx, row["run_id"])
    interrupt, now = await interrupts.lock_interrupt(tx, interrupt_id)
    if interrupt.status is not InterruptStatus.OPEN or interrupt.expires_at <= now:
        raise Gone("interrupt_expired", "it isn't open any more")
    if approver == caller.user_id:
        await settings_store.see_principal(tx, caller.user_id, caller.roles)
    await _check_approver(tx, interrupt_id, row["risk"], row["user_id"], approver)
    token = new_token(interrupt.run_id, tx.ids.uuid7())
    expires_at = min(now + lives, interrupt.expires_at)
    await links.make(
        tx,
        link_id=token.link_id,
        interrupt_id=interrupt_id,
        run_id=interrupt.run_id,
        n=row["n"],
        approver=approver,
        created_by=caller.user_id,
        token_hash=hash_of(token, caller.tenant_id, interrupt_id, row["n"], approver, expires_at),
        expires_at=expires_at,
    )
    await ahit("api.make_link.before_commit")
    return Made(token.link_id, token.text(), approver, expires_at)


async def _check_approver(
    tx: Tx, interrupt_id: UUID, risk: str | None, requester: str, approver: str
) -> None:
    """Raises Invalid: a link that could decide nothing isn't sent out."""
    roles = await actions.roles_of(tx, approver)
    asked, otherwise = await read_asked(tx, interrupt_id, risk)
    try:
        for rule, author in [(one.rule, one.row["author"]) for one in asked.values()] or [
            (otherwise, requester)
        ]:
            check_may_decide(
                caller=approver, caller_roles=roles, requester=requester, author=author, rule=rule
            )
    except Forbidden as error:
        raise Invalid("/approver", str(error), "may_not_decide") from None
