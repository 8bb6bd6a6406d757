"""Remembered approvals: does a grant still stand, and does it cover this action? (design 02 §4)"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.errors import Conflict
from fencepost_domain.policy import Rule, Voter, may_decide
from fencepost_domain.vocabulary import EffectClass, Risk

LONGEST: Final = timedelta(days=30)
CONTRACT_CHANGED: Final = "contract_changed"
ROLE_CHANGED: Final = "role_changed"
REVOKED: Final = "revoked"


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant's row. user_id: for whose runs. condition: CEL over `args`, None for any arguments.

    uses: actions it approved; a later preparation of the same action is no further use.
    """

    id: UUID
    user_id: str
    granted_by: str
    granted_roles: frozenset[str]
    tool: str
    catalog_fp: str
    condition: str | None
    max_uses: int | None
    uses: int
    expires_at: datetime
    ended_reason: str | None


@dataclass(frozen=True, slots=True)
class Today:
    """What a grant is judged by: the granter's roles, the module's newest catalog, the database's instant."""

    roles: frozenset[str]
    catalog_fp: str | None
    now: datetime


def may_be_granted(risk: Risk, effect_class: EffectClass, *, grantable: bool) -> bool:
    """The contract says it may, and it is neither of high risk nor of what can't be looked up."""
    return grantable and risk is not Risk.HIGH and effect_class is not EffectClass.EXTERNAL_OPAQUE


def lapse_of(grant: Grant, today: Today) -> str | None:
    """Why a grant is void for good, None while it isn't: another contract, or a role its granter lost."""
    if grant.catalog_fp != today.catalog_fp:
        return CONTRACT_CHANGED
    if grant.granted_roles - today.roles:
        return ROLE_CHANGED
    return None


def check_grant(
    grant: Grant, today: Today, *, tool: str, catalog_fp: str, requester: str, author: str, rule: Rule
) -> None:
    """Raise Conflict approval_revoked unless the grant approves this now.

    Arguments and uses are the caller's: the one is judged outside the lock, the other counted under it.
    """
    if grant.ended_reason is not None:
        raise Conflict("approval_revoked", f"the remembered approval ended: {grant.ended_reason}")
    if grant.expires_at <= today.now:
        raise Conflict("approval_revoked", f"it was remembered until {grant.expires_at.isoformat()}")
    lapsed = lapse_of(grant, today)
    if lapsed is not None:
        raise Conflict("approval_revoked", f"the remembered approval is void: {lapsed}")
    if (grant.user_id, grant.tool, grant.catalog_fp) != (requester, tool, catalog_fp):
        raise Conflict("approval_revoked", "the remembered approval is for something else")
    granter = Voter(grant.granted_by, today.roles)
    if rule.quorum > 1 or not may_decide(granter, requester=requester, author=author, rule=rule):
        raise Conflict("approval_revoked", "who remembered the approval may not decide this alone any more")


def status_of(grant: Grant, today: Today) -> str:
    """active, used_up, expired, or ended, in the words of the api."""
    if grant.ended_reason is not None or lapse_of(grant, today) is not None:
        return "ended"
    if grant.expires_at <= today.now:
        return "expired"
    return "used_up" if grant.max_uses is not None and grant.uses >= grant.max_uses else "active"
