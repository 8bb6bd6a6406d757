"""What is left when the dust has settled: by the database, the provider's log, and what people were told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from fencepost_store.integrity import check_invariants
from psycopg.rows import dict_row

from tests.chaos.load import Told
from tests.faults.provider import how_often, unpaired

EFFECTS: Final = """
SELECT r.id::text AS run_id, r.status, count(b.key) AS rows
  FROM agent.runs r
  LEFT JOIN (SELECT origin_effect_key AS key FROM app.reminders
             UNION ALL SELECT origin_effect_key FROM app.ledger_entries) AS b
    ON starts_with(b.key, r.id::text || ':')
 GROUP BY r.id
"""
FIRINGS: Final = """
SELECT m.id::text AS reminder_id, m.next_at IS NULL OR m.next_at > clock_timestamp() AS is_over, count(f.occurrence) AS fired
  FROM app.reminders m
  LEFT JOIN agent.firings f ON f.reminder_id = m.id AND f.status = 'fired'
 WHERE m.title = 'stretch'
 GROUP BY m.id
"""  # noqa: E501
# A stall: nothing happens to a run that the machine has, for how long at most. The states by the events.
STALLS: Final = """
SELECT max(extract(epoch FROM e.next_at - e.at))::float8 AS longest
  FROM (SELECT run_id, type, at, lead(at) OVER (PARTITION BY run_id ORDER BY seq) AS next_at FROM agent.run_events) AS e
 WHERE e.type NOT IN ('run.parked', 'run.paused', 'run.pause_asked', 'run.finalized')
   AND NOT EXISTS (SELECT FROM agent.run_events p WHERE p.run_id = e.run_id AND p.type = 'run.pause_asked' AND p.at <= e.at
                      AND NOT EXISTS (SELECT FROM agent.run_events q WHERE q.run_id = e.run_id AND q.type = 'run.resumed'
                                         AND q.at >= p.at AND q.at <= e.at))
   AND e.type NOT LIKE 'interrupt.%'
"""  # noqa: E501
COUNTS: Final = """
SELECT (SELECT count(*) FROM agent.runs) AS runs,
       (SELECT count(*) FROM agent.runs WHERE finished_at IS NULL) AS live,
       (SELECT count(*) FROM agent.runs WHERE status = 'failed') AS failed,
       (SELECT count(*) FROM agent.run_events WHERE type = 'run.lease_expired') AS taken_over,
       (SELECT count(DISTINCT run_id) FROM agent.interrupts WHERE kind = 'reconcile') AS reconciled,
       (SELECT count(*) FROM agent.outbox WHERE parked_at IS NOT NULL) AS parked,
       (SELECT count(*) FROM agent.model_calls) AS calls,
       (SELECT count(*) FROM agent.model_calls WHERE state <> 'settled') AS unsettled
"""


# An outage may last until attempts are used up, or until the time of a reminder is over: both are said.
FAIR: Final = ("attempts_exhausted", "time_passed")


@dataclass
class Reckoning:
    """`faults` are what must not be: the run fails when there is one."""

    table: dict[str, object] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def must_be_none(self, name: str, found: Sequence[object]) -> None:
        self.table[name] = len(found)
        self.faults += [f"{name}: {one}" for one in found[:20]]


async def reckon(
    dsn: str, told: Told, requests: list[dict[str, Any]], facts: Mapping[str, object]
) -> Reckoning:
    """facts: what the stage counted, shown as it is."""
    found = Reckoning()
    async with await psycopg.AsyncConnection.connect(dsn, row_factory=dict_row) as connection:

        async def rows(statement: str) -> list[dict[str, Any]]:
            cursor = await connection.execute(statement)  # type: ignore[arg-type]
            return await cursor.fetchall()

        [counts] = await rows(COUNTS)
        effects = {row["run_id"]: row for row in await rows(EFFECTS)}
        firings = await rows(FIRINGS)
        [stall] = await rows(STALLS)
    violations = await check_invariants(dsn)
    found.table["runs"] = counts["runs"]
    found.table["endings"] = ", ".join(
        f"{n} {word}" for word, n in sorted(Counter(told.ended.values()).items())
    )
    found.table.update(facts)
    found.table["take-overs of runs"] = counts["taken_over"]
    judge_effects(found, told, effects, firings)
    found.must_be_none("live at the end", [] if not counts["live"] else [f"{counts['live']} runs"])
    found.must_be_none("chain breaks", [str(v) for v in violations if v.invariant == "I20"])
    found.must_be_none("other violations", [str(v) for v in violations if v.invariant != "I20"])
    _provider(found, requests, counts)
    found.table["runs that needed a person to reconcile"] = counts["reconciled"]
    found.table["runs that failed (attempts used up, time over)"] = counts["failed"]
    missing = [run for run in told.runs if run not in effects]
    found.must_be_none("acknowledged writes lost", missing)
    found.table["data-loss window"] = "0 s" if not missing else "see above"
    folds = {
        v.subject.split()[1]
        for v in violations
        if v.check.startswith(("i06_status", "i06_events", "i04_rev"))
    }
    found.table["replay completeness"] = (
        f"{counts['runs'] - len(folds)} of {counts['runs']} logs fold to their run"
    )
    found.table["longest stall"] = f"{stall['longest'] or 0:.1f} s"
    found.must_be_none("hints parked", [] if not counts["parked"] else [f"{counts['parked']} rows"])
    found.must_be_none("errors people saw", told.errors)
    found.faults += [
        f"ended otherwise: {one}" for one in told.otherwise if not any(fair in one for fair in FAIR)
    ]
    return found


def judge_effects(
    found: Reckoning,
    told: Told,
    effects: Mapping[str, Mapping[str, Any]],
    firings: Sequence[Mapping[str, Any]],
) -> None:
    """One effect for each approved run that succeeded, none without an approval, one firing a reminder."""
    doubled = [run for run, row in effects.items() if row["rows"] > 1]
    doubled += [f"reminder {row['reminder_id']} fired" for row in firings if row["fired"] > 1]
    found.must_be_none("duplicates", doubled)
    lost = [run for run in told.approved if run in effects and _is_lost(effects[run])]
    lost += [f"reminder {row['reminder_id']} never fired" for row in firings if not row["fired"]]
    found.must_be_none("lost", lost)
    unwanted = [run for run, row in effects.items() if row["rows"] and run not in told.approved]
    found.must_be_none("effects without an approval", unwanted)


def _is_lost(row: Mapping[str, Any]) -> bool:
    return row["status"] == "succeeded" and not row["rows"]


def _provider(found: Reckoning, requests: list[dict[str, Any]], counts: Mapping[str, Any]) -> None:
    """I18 and I15 by the provider's own log."""
    found.must_be_none("illegal tool pairs", [fault for body in requests for fault in unpaired(body)])
    repeated = sum(times - 1 for times in how_often(requests).values())
    asked_again = (
        [] if repeated <= counts["unsettled"] else [f"{repeated} repeats, {counts['unsettled']} unsettled"]
    )
    found.must_be_none("answers paid for twice", asked_again)
    found.table["model calls"] = f"{counts['calls']} in the ledger, {len(requests)} sent, {repeated} repeated"
