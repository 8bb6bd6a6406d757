"""Sees due work that nobody serves. It stays queued and is claimed as soon as its version is served again.

The state table has no way from `queued` to `waiting` (only an owner parks a run), and none is needed: a
claim names the versions a worker serves, so an unserved run costs nothing while it lies there. What is
needed is that somebody is told; the log line is the alarm, one a version and round.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_runtime.logging import get_logger
from fencepost_store import sweeps
from fencepost_store.transaction import Store

EVERY: Final = timedelta(seconds=30)

log = get_logger(__name__)


class WorkerVersions:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> dict[str, int]:
        """`unserved`: runs due for over a minute that no living worker may claim."""
        async with self._store.transaction() as tx:
            found = await sweeps.unserved(tx)
        for version in found:
            log.warning(
                "runs.unserved",
                module=version.module,
                graph_version=version.graph_version,
                runs=version.runs,
                due_since=version.due_since.isoformat(),
            )
        return {"unserved": sum(version.runs for version in found)}
