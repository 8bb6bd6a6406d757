"""A run's log as folds read it: a page at a time, in as few values as can be (design 02 §8)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.evidence.folds import summarised
from fencepost_contracts.evidence.log import LogEvent, event_of_value, payload_values
from fencepost_contracts.evidence.upcast import current_version
from fencepost_domain.vocabulary import Ev
from sqlalchemy import RowMapping

from fencepost_store.transaction import Tx

FOLD_PAGE: Final = 5_000  # events, at most
MOST_BYTES: Final = 8 * 2**20  # of a page, about: memory and statement_timeout aren't up to one long run
_FIRST: Final = 250
_CURRENT: Final = {str(kind): current_version(str(kind)) for kind in Ev}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class PageSize:
    """How many events to ask for next, by how long the last ones were. most: never more."""

    most: int
    now: int = field(init=False)

    def __post_init__(self) -> None:
        self.now = min(self.most, _FIRST)

    def took(self, events: int, size: int) -> None:
        """A page of so many events had so many bytes."""
        self.now = max(1, min(self.most, events * MOST_BYTES // max(size, 1)))

    def halve(self) -> None:
        """The page was too much for now."""
        self.now = max(1, self.now // 2)


async def log_of(
    tx: Tx,
    run_id: UUID,
    upto: int,
    *,
    only: Collection[str] | None = None,
    reads: Collection[str] | None = None,
) -> list[LogEvent]:
    """A run's events up to a seq, for folds. only: of these types; reads: payloads of these types alone.

    Raises upcast.NewerEvent for an event of a newer release.
    """
    pages = log_pages(tx, run_id, upto, only=only, reads=reads)
    return [event async for page in pages for event in page]


class Page:
    """Events as they are stored, read one by one when they are asked for: a long log is never whole in memory
    as values. Iterating raises upcast.NewerEvent.
    """

    def __init__(self, row: RowMapping) -> None:
        self._row = row

    def __iter__(self) -> Iterator[LogEvent]:
        row, current = self._row, _CURRENT
        names = ("seqs", "types", "versions", "ats", "actors")
        columns = zip(*(row[name] for name in names), payload_values(row["payloads"]), strict=True)
        for seq, kind, version, at, actor, payload in columns:
            instant = _EPOCH + timedelta(microseconds=at)
            if payload is None or version == current.get(kind):  # a call less, 100,000 times
                yield LogEvent(seq, kind, instant, actor, payload)
            else:
                yield event_of_value(seq, kind, version, instant, actor, payload)


async def log_pages(
    tx: Tx,
    run_id: UUID,
    upto: int,
    *,
    only: Collection[str] | None = None,
    reads: Collection[str] | None = None,
) -> AsyncIterator[Page]:
    """As log_of, for whoever folds a long log elsewhere: in a thread, while the next page is fetched."""
    after, size = 0, PageSize(FOLD_PAGE)
    while after < upto:
        limit = size.now
        row = await tx.row(
            "replay_events",
            run_id=run_id,
            after=after,
            upto=upto,
            limit=limit,
            only=list(only) if only is not None else None,
            reads=list(reads) if reads is not None else None,
        )
        if row is None or row["seqs"] is None:
            return
        yield Page(row)
        if len(row["seqs"]) < limit:
            return
        after = row["seqs"][-1]
        size.took(limit, len(row["payloads"]))


async def log_summary(tx: Tx, run_id: UUID, upto: int) -> Mapping[str, Any]:
    """`folds.summary` of the events up to a seq, counted in the database.

    Raises upcast.NewerEvent for an ending of a newer release.
    """
    counts = await tx.rows("replay_counts", run_id=run_id, upto=upto)
    ended = await log_of(tx, run_id, upto, only=(str(Ev.RUN_FINALIZED),))
    edges = [min(c["first_seq"] for c in counts), max(c["last_seq"] for c in counts)] if counts else []
    found = await tx.rows("replay_instants", run_id=run_id, seqs=edges)
    told: Mapping[str, Any] = summarised(
        {c["type"]: c["events"] for c in counts},
        first_at=found[0]["at"] if found else None,
        last_at=found[-1]["at"] if found else None,
        last=next(((c["last_seq"], c["type"]) for c in counts if c["last_seq"] == edges[-1]), None),
        ended=ended[-1] if ended else None,
        erased=sum(c["events"] for c in counts) - (counts[0]["payloads"] if counts else 0),
    )
    return told
