"""An approval decided by one person or by several: a vote each, stored; what they come to resolves it.

Run and interrupt are locked; every vote so far is read under that lock, so that the last one of a quorum is
the last once, and one person's second click is no second vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_contracts.http import Remember
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict, Invalid
from fencepost_domain.interrupt import Interrupt, decide_resolution
from fencepost_domain.policy import check_may_decide, tally
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Ev, InterruptStatus
from fencepost_store import interrupts, votes
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.transaction import Tx
from fencepost_store.views import Standing
from fencepost_store.votes import Vote

from fencepost_api.resolution import Resolution, check_edits, without_same_edits
from fencepost_api.usecases.asked import Asked, read_asked
from fencepost_api.usecases.once import fingerprint
from fencepost_api.usecases.remember import check_remember, make_grant


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides, with the rights of today. link_id: by a one-time link, not by the api itself."""

    user_id: str
    roles: frozenset[str]
    link_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Ballot:
    """One decision as it came in. digest: of what makes two decisions the same."""

    resolution: Resolution
    digest: str
    key: str
    remember: Remember | None = None


async def decide_approval(
    tx: Tx,
    who: Decider,
    locked: Locked,
    interrupt: Interrupt,
    now: datetime,
    standing: Standing,
    ballot: Ballot,
) -> bool:
    """Vote, and resolve when that settles it. False: the same was said before, what is stored stands.

    Raises Forbidden, Invalid, Conflict already_resolved | already_voted | idempotency_key_reused, Gone.
    """
    asked, otherwise = await read_asked(tx, interrupt.id, standing.risk)
    ballot = _counted(ballot, asked)
    for index in ballot.resolution.indexes or (0,):
        one = asked.get(index)
        check_may_decide(
            caller=who.user_id,
            caller_roles=who.roles,
            requester=standing.requester,
            author=standing.authors.get(index, standing.requester),
            rule=one.rule if one is not None else otherwise,
        )
    said = await votes.of(tx, interrupt.id)
    mine = next((vote for vote in said if vote.voter == who.user_id), None)
    _check_key(mine, interrupt, standing, who, ballot)
    if mine is not None and _stands(mine, interrupt, ballot):
        return False
    if not decide_resolution(interrupt, locked.run.status, ballot.digest, now).fresh:
        return False
    needed = {index: one.rule.quorum for index, one in asked.items()}
    _check_edits(ballot.resolution, asked, max(needed.values(), default=otherwise.quorum))
    needed = needed or dict.fromkeys(interrupt.indexes or (0,), otherwise.quorum)
    if mine is None:
        said.append(await _vote(tx, who, locked.run, interrupt, asked, ballot, now))
    found = tally(interrupt.indexes or (0,), [vote.words() for vote in said], needed)
    if found is None:
        if mine is None:
            await _tell(tx, locked.run, interrupt, said, max(needed.values()), who)
        return mine is None
    await _resolve(tx, locked.run, interrupt, now, said, max(needed.values()), who)
    return True


def _counted(ballot: Ballot, asked: Mapping[int, Asked]) -> Ballot:
    resolution = without_same_edits(ballot.resolution, {i: one.arguments for i, one in asked.items()})
    if resolution is ballot.resolution:
        return ballot
    return replace(ballot, resolution=resolution, digest=fingerprint(resolution.sameness))


def _stands(mine: Vote, interrupt: Interrupt, ballot: Ballot) -> bool:
    """The same vote, and it was settled by it or another. Raises Conflict for another vote meanwhile."""
    if interrupt.status is not InterruptStatus.OPEN:
        return mine.resolution_hash == ballot.digest
    if mine.resolution_hash != ballot.digest:
        raise Conflict("already_voted", "you decided otherwise before", {"resolution": dict(mine.resolution)})
    return False  # counted again: what it takes may be less by now


def _check_key(
    mine: Vote | None, interrupt: Interrupt, standing: Standing, who: Decider, ballot: Ballot
) -> None:
    kept = mine.resolution_hash if mine is not None else interrupt.resolution_hash
    key = mine.key if mine is not None else standing.key
    decided = mine is not None or standing.resolved_by == who.user_id
    if decided and key == ballot.key and kept != ballot.digest:
        raise Conflict("idempotency_key_reused", "this key was used for another decision")


def _check_edits(resolution: Resolution, asked: Mapping[int, Asked], quorum: int) -> None:
    """Raises Invalid. The gateway judges edits again; here the editor still listens."""
    if not resolution.edited:
        return
    if quorum > 1 and len(resolution.indexes) > 1:
        place = next(iter(resolution.edited.values())).pointer
        detail = "where several persons decide, one action at a time is edited: reject it, and ask again"
        raise Invalid(place, detail, "edit_not_alone")
    schemas = {index: asked[index].schema for index in resolution.edited if index in asked}
    check_edits(resolution.edited, {index: one for index, one in schemas.items() if one is not None})


async def _vote(
    tx: Tx,
    who: Decider,
    run: Run,
    interrupt: Interrupt,
    asked: Mapping[int, Asked],
    ballot: Ballot,
    now: datetime,
) -> Vote:
    resolution = ballot.resolution
    if ballot.remember is not None:
        one = check_remember(ballot.remember, list(asked.values()), resolution, now)
        grant_id = await make_grant(tx, run, interrupt, one, ballot.remember, who.user_id, who.roles)
        kept = {**ballot.remember.model_dump(mode="json", exclude_none=True), "grant_id": str(grant_id)}
        resolution = replace(resolution, stored={**resolution.stored, "remember": kept})
    return await votes.cast(
        tx,
        interrupt,
        voter=who.user_id,
        resolution=resolution.stored,
        resolution_hash=ballot.digest,
        key=ballot.key,
        roles=who.roles,
        link_id=who.link_id,
    )


async def _tell(
    tx: Tx, run: Run, interrupt: Interrupt, said: Sequence[Vote], needed: int, who: Decider
) -> None:
    """More are needed: the run waits on, and its log says who spoke."""
    told = {
        "interrupt_id": str(interrupt.id),
        "decision": said[-1].decision,
        "given": len(said),
        "needed": needed,
        "by_link": who.link_id is not None,
    }
    event = NewEvent(tx.ids.uuid7(), Ev.APPROVAL_VOTED, told, f"user:{who.user_id}")
    await record(tx, run, Decision(None, events=(event,)))


async def _resolve(
    tx: Tx, run: Run, interrupt: Interrupt, now: datetime, said: Sequence[Vote], needed: int, who: Decider
) -> None:
    stored, digest = _merged(said, needed)
    decisions = {
        one["index"]: (one["decision"], one.get("note") or stored.get("note"))
        for one in stored["decisions"]
        if one.get("arguments") is None
    }
    await interrupts.resolve(
        tx,
        run,
        now,
        interrupt,
        resolution=stored,
        resolution_hash=digest,
        key=said[-1].key,
        by=who.user_id,
        decisions=decisions,
    )


def _merged(said: Sequence[Vote], needed: int) -> tuple[dict[str, Any], str]:
    """What all votes come to: of each action a no, else an edit, else the last yes."""
    if len(said) == 1:
        return dict(said[0].resolution), said[0].resolution_hash
    decisions = []
    for index in said[-1].words():
        entries = [
            (vote.words()[index], one)
            for vote in said
            for one in vote.resolution["decisions"]
            if one["index"] == index
        ]
        ranked = [one for word in ("reject", "edit") for kind, one in entries if kind == word]
        decisions.append(ranked[0] if ranked else entries[-1][1])
    kinds = {one["decision"] for one in decisions}
    whole = kinds.pop() if len(kinds) == 1 else "mixed"
    sameness = [[one["index"], one["decision"], one.get("arguments")] for one in decisions]
    stored = {"decision": whole, "decisions": decisions, "votes": len(said), "needed": needed}
    return stored, fingerprint(sameness)
