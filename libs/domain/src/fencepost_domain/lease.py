"""Leases: how long an owner may trust itself, and which settings are refused.

Local trust is monotonic and counted from before the last good renewal was sent, so it ends before the
database's lease does; once over, nothing is started until a renewal succeeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from fencepost_domain.errors import Invalid

LEASE: Final = timedelta(seconds=5)  # take-over after a SIGKILL is at most this plus one sweep
BEAT: Final = timedelta(seconds=1.5)  # two beats may fail
BEATS_PER_LEASE: Final = 3


def check_lease(lease: timedelta, beat: timedelta) -> None:
    """Raise Invalid when the lease is under three beats: one late beat must not cost it (case PG-1)."""
    if lease < BEATS_PER_LEASE * beat:
        raise Invalid(
            "/lease_seconds",
            f"a lease of {lease.total_seconds():g} s is under three beats of {beat.total_seconds():g} s: "
            "one late beat would lose it; lengthen the lease or shorten the beat",
        )


def owner_of(slot: str, boot_id: str) -> str:
    """The lease owner: a slot, which cannot live twice, and the boot that holds it."""
    return f"{slot}:{boot_id}"


@dataclass(slots=True)
class Trust:
    """One run's local trust window, in seconds of the monotonic clock."""

    lease: timedelta
    renewed_from: float

    def renew(self, sent_at: float) -> None:
        self.renewed_from = max(self.renewed_from, sent_at)

    def holds(self, monotonic: float) -> bool:
        return monotonic - self.renewed_from < self.lease.total_seconds()
