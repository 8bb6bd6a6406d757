"""What a tenant and a tool's contract demand of approvals; what can't be read demands the most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from fencepost_domain.policy import APPROVER_ROLES, SCOPED, Rule
from fencepost_domain.run import PERSON_WAITS
from fencepost_domain.vocabulary import Risk

from fencepost_contracts.tools import Tool

EVERY_RISK: Final = frozenset(str(risk) for risk in Risk)
MOST_PERSONS: Final = 9  # of a quorum; more never come together
STRICTEST: Final = frozenset({"admin"})


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """four_eyes: risks that another person than requester and author must decide.

    roles: risk -> roles of which an approver needs one. quorum: risk -> how many persons. expires_in: how
    long an approval is waited for, and the longest life of what it approves.
    """

    four_eyes: frozenset[str] = frozenset()
    expires_in: timedelta = PERSON_WAITS
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    quorum: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Mapping[str, Any] | None) -> ApprovalPolicy:
        """From a tenant's settings body (`approval: {four_eyes, roles, quorum, expires_in_seconds}`).

        A value of another shape than the api writes means someone else wrote it: every risk needs four eyes,
        an admin, or two persons.
        """
        approval = (settings or {}).get("approval") or {}
        if not isinstance(approval, Mapping):
            return cls(EVERY_RISK)
        named = approval.get("four_eyes") or ()
        seconds = approval.get("expires_in_seconds") or PERSON_WAITS.total_seconds()
        readable = isinstance(named, list | tuple) and EVERY_RISK.issuperset(map(str, named))
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0:
            seconds = PERSON_WAITS.total_seconds()
        return cls(
            frozenset(map(str, named)) if readable else EVERY_RISK,
            timedelta(seconds=seconds),
            _roles(approval.get("roles") or {}),
            _quorum(approval.get("quorum") or {}),
        )

    def rule(self, risk: Risk | str, tool: Tool | None = None) -> Rule:
        """Both demands together. tool: as the action's catalog has it; None where that is not known."""
        named, asked = str(risk), tool.approvers if tool is not None else None
        sets = [self.roles[named]] if named in self.roles else []
        if asked is not None and asked.roles:
            sets.append(frozenset(asked.roles))
        return Rule(
            four_eyes=named in self.four_eyes or (asked is not None and asked.four_eyes),
            roles=tuple(sets),
            quorum=max(self.quorum.get(named, 1), asked.quorum if asked is not None else 1),
        )


def is_approver_role(name: object) -> bool:
    """approver, operator, admin, or an approver of a scope: approver.finance."""
    return isinstance(name, str) and (name in APPROVER_ROLES or name.startswith(SCOPED))


def _roles(given: object) -> dict[str, frozenset[str]]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(EVERY_RISK, STRICTEST)
    found = {}
    for risk, named in given.items():
        readable = isinstance(named, list | tuple) and named and all(map(is_approver_role, named))
        found[str(risk)] = frozenset(named) if readable else STRICTEST
    return found


def _quorum(given: object) -> dict[str, int]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(EVERY_RISK, 2)
    return {
        str(risk): count if type(count) is int and 1 <= count <= MOST_PERSONS else 2
        for risk, count in given.items()
    }
