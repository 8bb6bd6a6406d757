"""`remember`: an approval that counts for later actions too, checked while who gives it still listens."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from fencepost_contracts.cel import CelRefused
from fencepost_contracts.granted import granted_condition
from fencepost_contracts.http import Remember
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Invalid
from fencepost_domain.grant import LONGEST
from fencepost_domain.interrupt import Interrupt
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Ev
from fencepost_store import grants
from fencepost_store.record import record
from fencepost_store.transaction import Tx

from fencepost_api.resolution import Resolution
from fencepost_api.usecases.asked import Asked


def check_remember(remember: Remember, asked: list[Asked], resolution: Resolution, now: datetime) -> Asked:
    """The action whose approval may be remembered. Raises Invalid with a pointer.

    A condition has to hold for the arguments approved now: one that doesn't was not meant.
    """
    if len(asked) != 1 or resolution.edited or resolution.stored["decision"] != "approve":
        raise Invalid("/remember", "one action, approved as it is, can be remembered", "not_expected")
    [one] = asked
    if not one.grantable:
        detail = f"an approval of {one.row['tool']} is not remembered: its contract or the policy says so"
        raise Invalid("/remember", detail, "not_grantable")
    if not now < remember.expires_at <= now + LONGEST:
        detail = f"in the future, and {LONGEST.days} days from now at most"
        raise Invalid("/remember/expires_at", detail, "out_of_range")
    if remember.condition is not None:
        _check_condition(remember.condition, one)
    return one


def _check_condition(source: str, one: Asked) -> None:
    try:
        verdict = granted_condition(source).judge(one.arguments)
    except CelRefused as error:
        raise Invalid("/remember/condition", str(error), "condition_refused") from None
    if not verdict.holds:
        why = f": {verdict.reason}" if verdict.reason else ""
        detail = f"it doesn't hold for what you approve now{why}"
        raise Invalid("/remember/condition", detail, "condition_does_not_hold")


async def make_grant(
    tx: Tx, run: Run, interrupt: Interrupt, one: Asked, remember: Remember, who: str, roles: frozenset[str]
) -> UUID:
    """Write the grant and its event, in the decision's transaction."""
    grant_id = tx.ids.uuid7()
    await grants.make(
        tx,
        one.row,
        grant_id=grant_id,
        user_id=run.user_id,
        by=who,
        roles=roles,
        interrupt_id=interrupt.id,
        run_id=run.id,
        condition=remember.condition,
        max_uses=remember.max_uses,
        expires_at=remember.expires_at,
    )
    told = {
        "grant_id": str(grant_id),
        "interrupt_id": str(interrupt.id),
        "index": one.row["index"],
        "tool": one.row["tool"],
        "expires_at": remember.expires_at.isoformat(),
        "max_uses": remember.max_uses,
    }
    event = NewEvent(tx.ids.uuid7(), Ev.GRANT_MADE, told, f"user:{who}")
    await record(tx, run, Decision(None, events=(event,)))
    return grant_id
