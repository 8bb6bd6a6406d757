"""Goes round all artifacts and compares their bytes with their hashes; removes bytes that nobody's row names,
and those that an erasure listed.

Bytes are read without a lock and a finding is written afterwards: what a reader found meanwhile is found
again. A lost artifact is told by an event of the run that made it, by a metric and in the log; what came
back, after a restore say, is noted too. A store that doesn't answer is no finding.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from datetime import timedelta
from typing import Final

from fencepost_domain.artifact import Lost
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.vocabulary import Ev
from fencepost_runtime.artifacts import ArtifactMissing, ArtifactStore, ids_of, key_of
from fencepost_runtime.artifacts.port import Stored
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store import artifacts
from fencepost_store.artifacts import ToCheck
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store, Tx

EVERY: Final = timedelta(seconds=5)  # a batch; `more` goes on at once
ROUND: Final = timedelta(hours=24)  # how often each artifact is looked at
SWEEP_EVERY: Final = 720  # rounds of this loop between two looks for bytes without a row: an hour
LEFT_AFTER: Final = timedelta(hours=24)  # an upload takes minutes: older bytes without a row are left over
BATCH: Final = 20
PAGE: Final = 500
log = get_logger(__name__)
_lost: Final = counter("fencepost.artifacts.lost", "Artifacts found missing or altered")


class ScanArtifacts:
    def __init__(self, store: Store, bytes_: ArtifactStore | None, every: timedelta = ROUND) -> None:
        """bytes_: None where no artifact store is set up; then there is nothing to look at."""
        self._store, self._bytes, self._every = store, bytes_, every
        self._rounds = 0

    async def run_once(self) -> dict[str, int]:
        """One batch of artifacts, and now and then the bytes without a row. Raises ArtifactsUnavailable."""
        if self._bytes is None:
            return {}
        async with self._store.transaction() as tx:
            due = await artifacts.artifacts_to_check(tx, self._every, BATCH)
        counts: Counter[str] = Counter()
        counts["erased"] += await self._erase(self._bytes)
        for one in due:
            counts[await self._look(self._bytes, one)] += 1
        if self._rounds % SWEEP_EVERY == 0:
            counts["removed"] += await self._sweep(self._bytes)
        self._rounds += 1
        if len(due) == BATCH:
            counts["more"] = 1
        return {word: count for word, count in counts.items() if count}

    async def _erase(self, store: ArtifactStore) -> int:
        """Remove what erasures listed. A crash in between leaves it listed; removing twice is removing."""
        async with self._store.transaction() as tx:
            listed = await artifacts.artifacts_to_remove(tx, BATCH)
        for tenant_id, artifact_id in listed:
            await store.delete(key_of(tenant_id, artifact_id))
            await ahit("reconciler.scan_artifacts.after_erase")
            async with self._store.transaction() as tx:
                await artifacts.note_removed(tx, artifact_id)
            log.info("artifact.erased", artifact_id=str(artifact_id))
        return len(listed)

    async def _look(self, store: ArtifactStore, one: ToCheck) -> str:
        try:
            data = await store.read(key_of(one.tenant_id, one.id))
            right = await asyncio.to_thread(lambda: hashlib.sha256(data).digest()) == one.sha256
            found = None if right else Lost.ALTERED
        except ArtifactMissing:
            found = Lost.MISSING

        async def work(tx: Tx) -> bool:
            news = await self._noted(tx, one, found)
            await ahit("reconciler.scan_artifacts.before_commit")
            return news

        news = await self._store.run(None, work)
        await ahit("reconciler.scan_artifacts.after_commit")
        if news and found is not None:
            _lost.add(1, {"reason": str(found)})
            log.error("artifact.lost", artifact_id=str(one.id), reason=str(found))
        elif news:
            log.info("artifact.found_again", artifact_id=str(one.id))
        return str(found) if found else "right"

    async def _noted(self, tx: Tx, one: ToCheck, found: Lost | None) -> bool:
        """The finding, and the event of the run that made it: its row is locked first."""
        run = (await lock_run(tx, one.run_id)).run if one.run_id is not None and found is not None else None
        news = await artifacts.note_check(tx, one.id, found)
        if news and run is not None:
            told = {"artifact_id": str(one.id), "reason": str(found)}
            event = NewEvent(tx.ids.uuid7(), Ev.ARTIFACT_LOST, told, "reconciler")
            await record(tx, run, Decision(None, events=(event,)))
        return news

    async def _sweep(self, store: ArtifactStore) -> int:
        """Remove bytes that no row names, once they are old enough that no upload can still be under way."""
        removed, page = 0, []
        async for one in store.stored():
            page.append(one)
            if len(page) == PAGE:
                removed += await self._remove(store, page)
                page = []
        return removed + (await self._remove(store, page) if page else 0)

    async def _remove(self, store: ArtifactStore, page: list[Stored]) -> int:
        by_id = {ids_of(one.key)[1]: one for one in page}
        async with self._store.transaction() as tx:
            nobodys, now = await artifacts.without_row(tx, list(by_id))
        old = [by_id[i] for i in nobodys if by_id[i].at < now - LEFT_AFTER]
        for one in old:
            await store.delete(one.key)
            log.warning("artifact.left_over_removed", key=one.key, bytes=one.size)
        return len(old)
