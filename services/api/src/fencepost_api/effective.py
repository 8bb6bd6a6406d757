"""Settings in effect: the shipped defaults, the tenant's over them, the person's over both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Final
from zoneinfo import available_timezones

from fencepost_domain.budget import DEFAULTS
from fencepost_domain.errors import Invalid

DEFAULT_EXPIRES_IN_SECONDS: Final = 7 * 24 * 3600
PERSONAL: Final = ("zone", "locale", "currency")  # a person's own; the rest is the tenant's


@dataclass(frozen=True, slots=True)
class Effective:
    """None: known nowhere, so it is asked for or guessed from the words."""

    zone: str | None = None
    locale: str | None = None
    currency: str | None = None
    four_eyes: tuple[str, ...] = ()
    roles: Mapping[str, Any] = field(default_factory=dict)
    quorum: Mapping[str, Any] = field(default_factory=dict)
    expires_in_seconds: int = DEFAULT_EXPIRES_IN_SECONDS
    budgets: Mapping[str, Any] = field(default_factory=lambda: DEFAULTS)

    def view(self) -> dict[str, Any]:
        approval = {
            "four_eyes": list(self.four_eyes),
            "roles": dict(self.roles),
            "quorum": dict(self.quorum),
            "expires_in_seconds": self.expires_in_seconds,
        }
        own = {name: getattr(self, name) for name in PERSONAL}
        return {**own, "approval": approval, "budgets": dict(self.budgets)}


def effective(tenant: Mapping[str, Any], person: Mapping[str, Any]) -> Effective:
    approval = tenant.get("approval") or {}
    return Effective(
        **{name: person.get(name) or tenant.get(name) for name in PERSONAL},
        four_eyes=tuple(approval.get("four_eyes") or ()),
        roles=approval.get("roles") or {},
        quorum=approval.get("quorum") or {},
        expires_in_seconds=approval.get("expires_in_seconds") or DEFAULT_EXPIRES_IN_SECONDS,
        budgets={**DEFAULTS, **(tenant.get("budgets") or {})},
    )


def lowered(allowed: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of a run: the tenant's, lowered where the request asks. Raises Invalid on a higher one."""
    limits = dict(allowed)
    for name, value in asked.items():
        most = allowed.get(name)
        if most is not None and Decimal(str(value)) > Decimal(str(most)):
            raise Invalid(f"/budget/{name}", f"at most {most} is allowed here", "budget_too_high")
        limits[name] = value
    return limits


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def check_zone(zone: str | None, pointer: str) -> None:
    """Raise Invalid unless it is a zone of the IANA database."""
    if zone is not None and zone not in _zones():
        raise Invalid(pointer, "no such time zone; use an IANA name such as Asia/Shanghai", "unknown_zone")


def merge_patch(body: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7396: null removes, objects merge, the rest replaces."""
    merged = dict(body)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            inner = merged.get(key)
            merged[key] = merge_patch(inner if isinstance(inner, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged
