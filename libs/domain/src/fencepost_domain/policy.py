"""Who may decide: the approver's rights, from the persisted run and the caller's claims."""

from __future__ import annotations

from collections.abc import Collection

from fencepost_domain.errors import Forbidden
from fencepost_domain.vocabulary import Risk

APPROVER_ROLES = frozenset({"approver", "operator", "admin"})


def check_may_decide(
    *,
    caller: str,
    caller_roles: Collection[str],
    requester: str,
    author: str,
    risk: Risk,
    four_eyes: Collection[str],
) -> None:
    """Raise Forbidden unless `caller` may approve.

    requester: whose run it is. author: whose arguments they are (the editor, once edited).
    four_eyes: risks for which the tenant demands another person than requester and author.
    """
    if str(risk) in four_eyes:
        if caller in (requester, author):
            raise Forbidden("another person than the one who asked must decide this")
        if not APPROVER_ROLES & set(caller_roles):
            raise Forbidden("this needs the role approver")
    elif caller != requester and not APPROVER_ROLES & set(caller_roles):
        raise Forbidden("only the person who asked, or an approver, may decide this")
