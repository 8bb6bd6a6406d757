"""Pins: declarations of tools that others provide, as they were seen, and an operator's word on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from fencepost_store.transaction import Tx

Wanted = Literal["accepted", "revoked"]
SEEN: Final = "seen"


@dataclass(frozen=True, slots=True)
class StoredPin:
    """declaration: the canonical text that the fingerprint is of. decided_at: None while nobody decided."""

    module: str
    tool: str
    fingerprint: str
    source: str
    declaration: str
    status: str = "accepted"
    seen_at: datetime | None = None
    last_seen_at: datetime | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None


async def see_declaration(
    tx: Tx, *, module: str, tool: str, fingerprint: str, source: str, declaration: str
) -> tuple[str, bool]:
    """Write down what was seen; (its status, whether it was seen for the first time)."""
    row = await tx.row(
        "see_declaration",
        module=module,
        tool=tool,
        fingerprint=fingerprint,
        source=source,
        declaration=declaration,
    )
    assert row is not None  # an upsert gives its row
    return row["status"], bool(row["is_new"])


async def pins_decided(tx: Tx) -> list[StoredPin]:
    """Accepted and revoked ones. A run in flight goes on under a replaced pin, not under a revoked one."""
    return [StoredPin(**row) for row in await tx.rows("pins_decided")]


async def list_pins(tx: Tx, module: str | None = None) -> Sequence[StoredPin]:
    return [StoredPin(**row) for row in await tx.rows("list_pins", module=module)]


async def decide_pin(tx: Tx, *, module: str, tool: str, fingerprint: str, wanted: Wanted, who: str) -> bool:
    """False: no such declaration was seen. Again the same changes nothing."""
    row = await tx.row(
        "decide_pin", module=module, tool=tool, fingerprint=fingerprint, wanted=wanted, who=who
    )
    return bool(row and row["found"])
