"""What a tenant demands of approvals, read from its settings; what can't be read demands the most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from fencepost_domain.run import PERSON_WAITS
from fencepost_domain.vocabulary import Risk

EVERY_RISK: Final = frozenset(str(risk) for risk in Risk)


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """four_eyes: risks that another person than requester and author must decide.

    expires_in: how long an approval is waited for, and the longest life of what it approves.
    """

    four_eyes: frozenset[str] = frozenset()
    expires_in: timedelta = PERSON_WAITS

    @classmethod
    def of(cls, settings: Mapping[str, Any] | None) -> ApprovalPolicy:
        """From a tenant's settings body (`approval: {four_eyes, expires_in_seconds}`).

        A value of another shape than the api writes means someone else wrote it: every risk needs four eyes.
        """
        approval = (settings or {}).get("approval") or {}
        if not isinstance(approval, Mapping):
            return cls(EVERY_RISK)
        named = approval.get("four_eyes") or ()
        seconds = approval.get("expires_in_seconds") or PERSON_WAITS.total_seconds()
        readable = isinstance(named, list | tuple) and EVERY_RISK.issuperset(map(str, named))
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0:
            seconds = PERSON_WAITS.total_seconds()
        return cls(frozenset(map(str, named)) if readable else EVERY_RISK, timedelta(seconds=seconds))
