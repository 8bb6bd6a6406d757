"""Who may decide, and how many of them it takes: from the persisted run, the roles of today, and the rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from fencepost_domain.errors import Conflict, Forbidden

APPROVER_ROLES: Final = frozenset({"approver", "operator", "admin"})
SCOPED: Final = "approver."  # approver.finance decides where a rule names it, and sees what approvers see


@dataclass(frozen=True, slots=True)
class Rule:
    """What an approval of one action asks for.

    four_eyes: another person than requester and author. roles: one of each set is needed. quorum: how many
    different persons; one of them who says no is enough for no.
    """

    four_eyes: bool = False
    roles: tuple[frozenset[str], ...] = ()
    quorum: int = 1


@dataclass(frozen=True, slots=True)
class Voter:
    """Who approved, with the roles that person has today."""

    user_id: str
    roles: frozenset[str]


def is_approver(roles: Collection[str]) -> bool:
    """May see what is asked of others: approvers, operators, and approvers of a scope."""
    return bool(APPROVER_ROLES & set(roles)) or any(role.startswith(SCOPED) for role in roles)


def check_may_decide(
    *, caller: str, caller_roles: Collection[str], requester: str, author: str, rule: Rule
) -> None:
    """Raise Forbidden unless `caller` may approve.

    requester: whose run it is. author: whose arguments they are (the editor, once edited).
    """
    held, named = set(caller_roles), frozenset[str]().union(*rule.roles)
    approves = bool(held & (APPROVER_ROLES | named))
    if rule.four_eyes and caller in (requester, author):
        raise Forbidden("another person than the one who asked must decide this")
    if rule.four_eyes and not approves:
        raise Forbidden("this needs the role approver")
    if caller != requester and not approves:
        raise Forbidden("only the person who asked, or an approver, may decide this")
    for wanted in rule.roles:
        if not wanted & held:
            raise Forbidden(f"this needs the role {' or '.join(sorted(wanted))}")


def may_decide(voter: Voter, *, requester: str, author: str, rule: Rule) -> bool:
    try:
        check_may_decide(
            caller=voter.user_id, caller_roles=voter.roles, requester=requester, author=author, rule=rule
        )
    except Forbidden:
        return False
    return True


def check_still_stands(voters: Iterable[Voter], *, requester: str, author: str, rule: Rule) -> None:
    """Raise Conflict approval_revoked unless enough of those who approved may approve today."""
    given = {voter.user_id: voter for voter in voters}
    standing = [v for v in given.values() if may_decide(v, requester=requester, author=author, rule=rule)]
    if len(standing) >= rule.quorum:
        return
    if len(given) < rule.quorum:
        raise Conflict("approval_revoked", f"{rule.quorum} persons have to approve this, {len(given)} did")
    gone = sorted(set(given) - {voter.user_id for voter in standing})
    raise Conflict("approval_revoked", f"{', '.join(gone)} may not approve this any more; ask again")


def tally(
    indexes: Collection[int], votes: Iterable[Mapping[int, str]], needed: Mapping[int, int]
) -> dict[int, str] | None:
    """What the votes come to, an action each: approve, reject; None while one is still open.

    votes: index -> approve | reject | edit. One no is no. An edit settles its action: its arguments are
    prepared anew, and asked for again where its editor may not decide alone.
    """
    said = list(votes)
    found: dict[int, str] = {}
    for index in indexes:
        words = [vote.get(index) for vote in said]
        if "reject" in words:
            found[index] = "reject"
        elif "edit" in words or words.count("approve") >= needed.get(index, 1):
            found[index] = "approve"
        else:
            return None
    return found
