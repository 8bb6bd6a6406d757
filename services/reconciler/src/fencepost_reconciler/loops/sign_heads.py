"""Signs changed chain heads, so that a history written anew contradicts what was signed before (I20)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Final

from fencepost_runtime.keys import load_key_ring
from fencepost_store.anchors import AnchorKey, anchor, heads_to_anchor
from fencepost_store.sweeps import FIRST
from fencepost_store.transaction import Store

EVERY: Final = timedelta(seconds=5)
BATCH: Final = 1_000  # runs looked at a round: a million are walked over in some 80 minutes, new ones last


class SignHeads:
    def __init__(self, store: Store, key: AnchorKey, batch: int = BATCH) -> None:
        self._store = store
        self._key = key
        self._batch = batch
        self._after = FIRST

    async def run_once(self) -> dict[str, int]:
        """`anchored` among the next runs; after the last one the walk starts again."""
        async with self._store.transaction() as tx:
            walk = await heads_to_anchor(tx, self._after, self._batch)
            anchored = await anchor(tx, walk.heads, self._key) if walk.heads else 0
        self._after = walk.upto or FIRST
        return {"anchored": anchored}


def anchor_key(file: Path | None) -> AnchorKey:
    """The active key of the ring; none without a file. Raises KeyFileError."""
    if file is None:
        return AnchorKey()
    ring = load_key_ring(file)
    return AnchorKey(ring.active, ring.signing_key)
