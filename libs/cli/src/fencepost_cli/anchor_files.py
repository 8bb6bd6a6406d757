"""What the evidence commands do on a database, as its owner: anchors out and compared, a run erased."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from fencepost_contracts.evidence.anchors import BadAnchors, anchor_line, read_anchors
from fencepost_domain.errors import Conflict, NotFound
from fencepost_runtime.system import SystemIds
from fencepost_store import evidence
from fencepost_store.anchors import AnchorFault, AnchorReport, compare_anchors, every_anchor
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store, Tx

from fencepost_cli.bundles import wrongly_signed
from fencepost_cli.console import Exit, fail

ACTOR = "operator:cli"


@asynccontextmanager
async def _store(dsn: str) -> AsyncIterator[Store]:
    store = Store(make_engine(dsn, size=1, application="fencepost-cli"), SystemIds())
    try:
        yield store
    finally:
        await store.close()


async def write_all(dsn: str, file: BinaryIO) -> int:
    """Every anchor as a line; returns how many."""
    count = 0
    async with _store(dsn) as store, store.transaction() as tx:
        async for row in every_anchor(tx):
            file.write(anchor_line(row))
            count += 1
    return count


async def compare(dsn: str, file: Path, keys: Mapping[str, bytes] | None) -> AnchorReport:
    """Anchors of a file with the database's history. Exits with 2 on a file that can't be read."""
    try:
        with file.open("rb") as source:
            async with _store(dsn) as store, store.transaction() as tx:
                report = await compare_anchors(tx, read_anchors(source))
        if keys is not None:
            with file.open("rb") as source:
                for one in read_anchors(source):
                    if wrong := wrongly_signed(one, keys):
                        report.faults.append(AnchorFault(one.run_id, one.seq, "signature", wrong))
    except OSError as error:
        raise fail(f"{file}: {error.strerror}", Exit.USAGE) from None
    except BadAnchors as error:
        raise fail(f"{file}: {error}", Exit.USAGE) from None
    return report


async def erase_run(dsn: str, run_id: str, reason: str) -> evidence.Erased:
    """Remove what a finished run said. Exits with 1 for one that isn't there or hasn't ended."""
    wanted = UUID(run_id)

    async def work(tx: Tx) -> evidence.Erased:
        await evidence.erase_run(tx, wanted, by=ACTOR, reason=reason)
        return await evidence.erased_parts(tx, wanted)

    async with _store(dsn) as store:
        try:
            return await store.run(None, work)
        except (Conflict, NotFound) as error:
            raise fail(str(error)) from None
