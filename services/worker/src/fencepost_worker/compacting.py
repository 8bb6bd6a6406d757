"""A history over its role's share is shortened once, for this run and those behind it (I30, design 04).

Three events of the run's log: `compaction.started` before a model is asked, `.candidate` with what it said
and what a check found wrong with it, `.committed` only without a fault. All ids are made of what they speak
of, so a run that died between any two goes on with the same ones and the model's stored answer. What is read
afterwards is what was committed, by the one function that reads it; with a fault, without an answer or
without budget nothing is committed, and the oldest turns are left out as if there were no compaction.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, Protocol
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fencepost_contracts.graphs import Manifest
from fencepost_domain.budget import BudgetExhausted
from fencepost_domain.errors import Conflict
from fencepost_domain.vocabulary import Ev
from fencepost_quality.compaction import CallMade, Shortened, Source, Turn, faults_of
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import compactions
from fencepost_store.compactions import Compacted, NewCompaction, hash_of
from fencepost_store.storable import loggable
from fencepost_store.transaction import Store

from fencepost_worker.contexts.answers import COMPACT
from fencepost_worker.contexts.compactor import compactor
from fencepost_worker.contexts.fencing import nonce_of
from fencepost_worker.engine.port import Ports, id_of, model_key
from fencepost_worker.history import Past, Row, as_messages, cost, read_past
from fencepost_worker.holding import Held
from fencepost_worker.models.guard import check_calls
from fencepost_worker.models.meter import tokens_of
from fencepost_worker.models.port import Answer, ModelContext, ModelFailed
from fencepost_worker.prompts import bound

ROLE: Final = "compactor"
KEPT: Final = 2  # the newest turns stay whole, up to one part in so many of the share
CARRIED: Final = 4  # a summary of at most one part in so many is taken into the next one
MOST_SHARES: Final = 4  # of turns in one call; what is older was left out before, and stays out
LEAST: Final = 8  # less than one part in so many isn't worth a call
LONGEST_CALL: Final = 2_000  # characters of a call's arguments and result
# How an effect came out, as the check reads it; every other state is one that may still change.
_STATES: Final[Mapping[str, str]] = {"completed": "completed", "failed": "failed", "absent": "absent"}
_NEVER: Final = frozenset({"rejected", "expired", "withdrawn"})

log = get_logger(__name__)


class Compacts(Ports, Protocol):
    """A run's ports, and whose they are."""

    held: Held
    store: Store
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be shortened: `turns` whole, and `past.compacted` where it is carried on."""

    id: UUID
    turns: tuple[Row, ...]
    source: Source
    from_seq: int
    seqs: tuple[int, ...]
    hash: str
    tokens: int
    share: int

    @property
    def upto_seq(self) -> int:
        return int(self.turns[-1]["seq"])


async def compacted(ports: Compacts, past: Past, share: int) -> Past:
    """The past with its older part shortened, where it is over `share` tokens and could be; else as it was.

    Raises FenceLost, PauseAsked.
    """
    if past.tokens <= share:
        return past
    job = await _job(ports, past, share)
    if job is None:
        return past
    await ports.note(f"{job.id}:started", Ev.COMPACTION_STARTED, _started(job))
    await ahit("worker.compaction.after_started")
    made, faults = await _asked(ports, past, job)
    hashed = hash_of(made.summary, made.open_tasks, made.done)
    event = f"{job.id}:candidate:{hashed}:{':'.join(faults)}"
    await ports.note(event, Ev.COMPACTION_CANDIDATE, _candidate(job, made, hashed, faults))
    await ahit("worker.compaction.after_candidate")
    if faults:
        log.warning("compaction.refused", faults=[fault.partition(":")[0] for fault in faults])
        return past
    committed = id_of(f"{job.id}:committed")
    new = NewCompaction(
        job.id, job.from_seq, job.upto_seq, job.hash, hashed, id_of(event), committed, tokens_of(made.text)
    )
    with suppress(Conflict):  # event_exists: it was committed before this step was interrupted
        async with ports.store.transaction() as tx:
            await compactions.commit(tx, ports.held.fence, new)
            await ahit("worker.compaction.before_commit")
    await ahit("worker.compaction.after_commit")
    return await read_past(ports.store, ports.held.claim.run)


async def _job(ports: Compacts, past: Past, share: int) -> Job | None:
    """None where nothing is to be gained."""
    older = _older(past, share)
    if not older or _cost_of(past, older) < share // LEAST:
        return None
    earlier = past.compacted
    if earlier is not None and tokens_of(_shortened(earlier).text) > share // CARRIED:
        earlier = None
    from_seq = earlier.from_seq if earlier else int(older[0]["seq"])
    run = ports.held.claim.run
    async with ports.store.transaction() as tx:
        hashed, seqs = await compactions.sources(tx, run, from_seq, int(older[-1]["seq"]))
        run_ids = list(dict.fromkeys(turn["run_id"] for turn in older if turn["run_id"] is not None))
        undone = await compactions.left_undone(tx, run_ids)
    before = _shortened(earlier) if earlier else None
    source = Source(_turns(older, past.actions, run.zone), before, tuple(undone))
    number = id_of(f"{run.id}:compaction:{hashed}")
    return Job(number, older, source, from_seq, tuple(seqs), hashed, past.tokens, share)


def _shortened(earlier: Compacted) -> Shortened:
    return Shortened(earlier.summary, earlier.open_tasks, earlier.done)


def _older(past: Past, share: int) -> tuple[Row, ...]:
    """All turns but the newest that fit in a part of the share, cut where a user begins to speak."""
    left = share // KEPT
    cut = len(past.turns)
    for place in reversed(range(len(past.turns))):
        left -= _cost_of(past, past.turns[place : place + 1])
        if left < 0 and cut < len(past.turns):
            break
        if past.turns[place]["author"] == "user":
            cut = place
    older = list(past.turns[:cut])
    while len(older) > 1 and _cost_of(past, older) > share * MOST_SHARES:
        older.pop(0)
    return tuple(older)


def _cost_of(past: Past, turns: Sequence[Row]) -> int:
    return sum(map(cost, as_messages(turns, past.actions)))


def _turns(older: Sequence[Row], actions: Sequence[Row], zone: str | None) -> tuple[Turn, ...]:
    by_run: dict[UUID, list[CallMade]] = {}
    for action in actions:
        by_run.setdefault(action["run_id"], []).append(_call(action))
    return tuple(
        Turn(
            "user" if turn["author"] == "user" else "assistant",
            turn["text"],
            _day(turn["created_at"], zone),
            tuple(by_run.pop(turn["run_id"], ())) if turn["author"] == "user" else (),
        )
        for turn in older
    )


def _call(action: Row) -> CallMade:
    state = action["effect_state"]
    told = {"arguments": json.loads(action["arguments"]), "result": action["result"]}
    text = json.dumps(told, ensure_ascii=False, default=str)[:LONGEST_CALL]
    if state is None:
        return CallMade(
            action["tool"], action["status"] if action["status"] in _NEVER else "not_executed", text
        )
    return CallMade(action["tool"], _STATES.get(state, "unknown"), text)


def _day(at: datetime, zone: str | None) -> date:
    try:
        return at.astimezone(ZoneInfo(zone) if zone else UTC).date()
    except (ZoneInfoNotFoundError, ValueError):
        return at.astimezone(UTC).date()


async def _asked(ports: Compacts, past: Past, job: Job) -> tuple[Shortened, tuple[str, ...]]:
    """What the model made of it and what is wrong with that; no answer is a fault as well."""
    run = ports.held.claim.run
    task = task_of(job.source, job.turns)
    given = compactor(
        turns=task["turns"],
        open_tasks=task["open_tasks"],
        earlier=task["earlier"],
        locale=run.locale,
        nonce=nonce_of(run.id, f"compactor:{job.hash}"),
        prompt=bound(ports.manifest, ROLE),
    )
    about = ModelContext(
        "", ports.held.claim.created_at, run.zone, run.locale, ports.held.claim.currency, run.module,
        task=task, built=given.built,
    )  # fmt: skip
    key = model_key(run.id, f"history-{job.hash[:16]}", ROLE)
    try:
        answer = await ports.ask_model(key, about, given.messages, given.tools, "", ROLE)
    except ModelFailed as error:
        return Shortened(""), (f"no_answer: {error.code}",)
    except BudgetExhausted as error:
        return Shortened(""), (f"no_answer: budget {error.limit}",)
    made = _read(answer)
    if made is None or check_calls(answer.calls, given.tools):
        return Shortened(""), ("no_answer: not one valid call of compact",)
    faults = await asyncio.to_thread(faults_of, made, job.source)  # seconds, for a long source
    if tokens_of(made.text) > min(job.share // KEPT, _cost_of(past, job.turns) + past.summary_tokens):
        faults = (*faults, "too_long: it takes more than its part of the share")
    return made, faults[:40]


def _read(answer: Answer) -> Shortened | None:
    if [call.name for call in answer.calls] != [COMPACT]:
        return None
    said = loggable(dict(answer.calls[0].arguments))  # what can't be stored can't be compared either
    return Shortened(
        str(said.get("summary", "")),
        tuple(map(str, said.get("open_tasks") or ())),
        tuple(map(str, said.get("done") or ())),
    )


def task_of(source: Source, turns: Sequence[Row]) -> dict[str, Any]:
    """The same facts as data: what the offline model reads, and what the messages are made of."""
    earlier = source.earlier
    return {
        "turns": [
            {
                "seq": row["seq"],
                "author": turn.author,
                "on": turn.on.isoformat(),
                "text": turn.text,
                "calls": [{"tool": c.tool, "state": c.state, "text": c.text} for c in turn.calls],
            }
            for row, turn in zip(turns, source.turns, strict=True)
        ],
        "open_tasks": list(source.open_tasks),
        "earlier": {
            "summary": earlier.summary,
            "open_tasks": list(earlier.open_tasks),
            "done": list(earlier.done),
        }
        if earlier
        else None,
    }


def _started(job: Job) -> dict[str, Any]:
    return {
        "compaction_id": str(job.id),
        "role": "module",
        "tokens": job.tokens,
        "limit": job.share,
        "source_seqs": list(job.seqs),
        "source_hash": job.hash,
    }


def _candidate(job: Job, made: Shortened, hashed: str, faults: Sequence[str]) -> dict[str, Any]:
    return {
        "compaction_id": str(job.id),
        "source_seqs": list(job.seqs),
        "source_hash": job.hash,
        "summary_hash": hashed,
        "summary": made.summary,
        "open_tasks": list(made.open_tasks),
        "done": list(made.done),
        "faults": list(faults),
    }
