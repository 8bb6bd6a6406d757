"""What happens behind a link: looking spends nothing, deciding spends it with the decision, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from fencepost_contracts.http import ResolutionRequest
from fencepost_domain.errors import Conflict, Forbidden, Gone, NotFound
from fencepost_runtime.failpoints import ahit
from fencepost_store import links, views
from fencepost_store.links import Link
from fencepost_store.transaction import Tx

from fencepost_api.context import Api
from fencepost_api.links import BadToken, Token, fits, read_token
from fencepost_api.render import Row
from fencepost_api.usecases.asked import read_asked, rule_view
from fencepost_api.usecases.decide_approval import Decider
from fencepost_api.usecases.resolve_interrupt import decide

EVERYTHING: Final = views.InterruptFilter()


def bad_link() -> Forbidden:
    """One answer for all that is no link of ours: which part was wrong is nobody's business."""
    return Forbidden("this link is not valid")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the page shows. rule: as of today. locale: of the run."""

    link: Link
    row: Row
    rule: Row
    replayed: bool = False


async def look_at_link(api: Api, text: str) -> Seen:
    """Raises Forbidden for what is no link, Gone for one whose time is over. Changes nothing."""
    token, tenant_id = await _tenant(api, text)
    async with api.store.transaction(tenant_id) as tx:
        link = await _link(tx, token, tenant_id)
        return await _seen(tx, link)


async def use_link(api: Api, text: str, request: ResolutionRequest) -> Seen:
    """Decide in the approver's name. A second time shows what is stored.

    Raises Forbidden, Gone, Invalid, and Conflict as a decision by the api does.
    """
    token, tenant_id = await _tenant(api, text)

    async def work(tx: Tx) -> Seen:
        link = await _link(tx, token, tenant_id)
        who = Decider(link.approver, link.roles_today, link.id)
        key = f"link:{link.id}"
        fresh = await decide(tx, who, link.run_id, link.interrupt_id, request, key)
        if fresh and not await links.spend(tx, link.id):
            raise Gone("link_spent", "this link was used before, or its time is over")
        await ahit("api.use_link.before_commit")
        return await _seen(tx, link, replayed=not fresh)

    try:
        seen = await api.store.run(tenant_id, work)
    except Conflict as error:
        if error.code != "idempotency_key_reused":
            raise
        raise Conflict("already_resolved", "you decided otherwise with this link before") from None
    api.runs.touch(seen.link.run_id)
    await ahit("api.use_link.before_response")
    return seen


async def _tenant(api: Api, text: str) -> tuple[Token, UUID]:
    try:
        token = read_token(text)
    except BadToken:
        raise bad_link() from None
    async with api.store.transaction() as tx:
        tenant_id = await links.tenant_of_run(tx, token.run_id)
    if tenant_id is None:
        raise bad_link()
    return token, tenant_id


async def _link(tx: Tx, token: Token, tenant_id: UUID) -> Link:
    link = await links.find(tx, token.link_id)
    if link is None or not fits(token, tenant_id, link):
        raise bad_link()
    if link.replaced_at is not None:
        raise Gone("link_replaced", "a newer link was made for you; use that one")
    if link.is_past:
        raise Gone("link_expired", "the time of this link is over")
    return link


async def _seen(tx: Tx, link: Link, *, replayed: bool = False) -> Seen:
    try:
        row = await views.interrupt(tx, link.interrupt_id, EVERYTHING)
    except NotFound:
        raise bad_link() from None
    asked, otherwise = await read_asked(tx, link.interrupt_id, row["risk"])
    given = len(row["votes"] or ())
    rule = rule_view(asked, otherwise, given, link.approver, link.roles_today, row["user_id"])
    return Seen(link, row, rule, replayed)
