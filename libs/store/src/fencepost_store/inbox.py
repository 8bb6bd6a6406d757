"""What comes from a broker: facts taken once, and records that nobody can read.

Hints need no inbox, since the claim decides what they are worth. A message that carries a fact (a task
ended, something happened outside) is received in the transaction of its effect:

    async with store.transaction(tenant) as tx:
        if await receive_once(tx, consumer="tasks", event_id=event.id):
            ...  # the effect
    # and only now the offset is committed
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from uuid import UUID

from fencepost_store.transaction import Tx

NO_PLACE: Final = -1  # of a record that came by NOTIFY, which has no partition


async def receive_once(tx: Tx, *, consumer: str, event_id: UUID) -> bool:
    """Whether this is the first time. A twin in another transaction waits for this one's end."""
    return await tx.row("receive_once", consumer=consumer, event_id=event_id) is not None


async def keep_poison(
    tx: Tx, *, topic: str, partition: int | None, offset: int | None, reason: str, value: bytes | None
) -> bool:
    """Keep an unreadable record for a person; False when this one is kept already.

    Without a partition and offset, the same bytes on the same topic count as the same record.
    """
    content = value or b""
    if partition is None or offset is None:
        partition, offset = NO_PLACE, int.from_bytes(sha256(content).digest()[:7])
    params = {"topic": topic, "part": partition, "pos": offset, "reason": reason, "bytes": content}
    return (await tx.execute("keep_poison", params)).rowcount > 0
