"""Endings of many runs in one statement, for runs whose facts their worker knows (design 09).

The second exception to `record`, beside the claim: it writes what `record` and `finalize` write for one run,
from the same Decision, under the same fence. What it can't vouch for it leaves alone (`differs`); the
caller then ends that run by itself, on its locked row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import UUID

from fencepost_domain.decision import Decision, Finalization, FinalMessage
from fencepost_domain.fence import Fence
from fencepost_domain.ports import Ids
from fencepost_domain.run import RESUMABLE
from fencepost_domain.vocabulary import RunStatus

from fencepost_store import finalize
from fencepost_store.checkpoints import Busy, GroupConnection, NewCheckpoint, checkpoint_params
from fencepost_store.raw import raw
from fencepost_store.record import event_params
from fencepost_store.storable import as_json, storable

EndAnswer = Literal["written", "busy", "lost", "differs"]
NO_SUCH_RULE: Final = "this decision can't be recorded in a group"


@dataclass(frozen=True, slots=True)
class RunEnding:
    """One run's ending: its decision, and checkpoints that waited for it to travel with.

    usage: as the finalization says; the statement compares it with the ledger. Raises ValueError for a
    decision that names unconfirmed effects or changes more than an ending does.
    """

    fence: Fence
    decision: Decision
    held: Sequence[NewCheckpoint] = field(default=())

    def __post_init__(self) -> None:
        finalization, message = self.decision.finalization, self.decision.message
        if finalization is None or message is None or self.decision.outbox or self.decision.events:
            raise ValueError(NO_SUCH_RULE)
        if finalization.unconfirmed_effects or finalization.node or not self.decision.release:
            raise ValueError(NO_SUCH_RULE)

    @property
    def finalization(self) -> Finalization:
        assert self.decision.finalization is not None  # checked when it was made
        return self.decision.finalization

    @property
    def message(self) -> FinalMessage:
        assert self.decision.message is not None
        return self.decision.message

    @property
    def status(self) -> RunStatus:
        return self.finalization.status


async def end_group(
    connection: GroupConnection, group: Sequence[RunEnding], ids: Ids
) -> tuple[dict[UUID, EndAnswer], bool]:
    """What became of each run, and whether one left an outbox row. Raises DataRefused, Unavailable."""
    try:
        rows = await connection.rows(raw("end_group"), end_params(group, ids))
    except Busy:
        return {one.fence.run_id: "busy" for one in group}, False
    return {row[0]: row[1] for row in rows}, any(row[2] for row in rows)


def end_params(group: Sequence[RunEnding], ids: Ids) -> Mapping[str, Any]:
    """The group as the parallel arrays of `end_group`, runs in id order."""
    ordered = sorted(group, key=lambda one: one.fence.run_id)
    ends = [(one, one.finalization) for one in ordered]
    return {
        "run_ids": [one.fence.run_id for one in ordered],
        "owners": [one.fence.owner for one in ordered],
        "revisions": [one.fence.revision for one in ordered],
        "statuses": [str(end.status) for _, end in ends],
        "reasons": [str(end.reason) for _, end in ends],
        "codes": [end.code for _, end in ends],
        "explanations": [storable(end.explanation) for _, end in ends],
        "deciders": [end.decided_by for _, end in ends],
        "evidences": [as_json(end.evidence) for _, end in ends],
        "undones": [as_json(end.left_undone) for _, end in ends],
        "usages": [as_json(end.usage) for _, end in ends],
        "calls": [end.usage.get("model_calls", 0) for _, end in ends],
        "ins": [end.usage.get("input_tokens", 0) for _, end in ends],
        "outs": [end.usage.get("output_tokens", 0) for _, end in ends],
        "message_ids": [one.message.id for one in ordered],
        "texts": [storable(one.message.text) for one in ordered],
        "artifacts": [as_json(list(one.message.artifacts)) for one in ordered],
        "outbox_ids": [ids.uuid7() for _ in ordered],
        "event_type": RESUMABLE,
        **_events(ordered, ids),
        **checkpoint_params([(one.fence.run_id, kept) for one in ordered for kept in one.held]),
    }


def _events(ordered: Sequence[RunEnding], ids: Ids) -> dict[str, list[Any]]:
    runs: list[UUID] = []
    places: list[int] = []
    rows: dict[str, list[Any]] = {}
    for one in ordered:
        events = finalize.events_of(one.decision, ids)
        runs += [one.fence.run_id] * len(events)
        places += range(1, len(events) + 1)
        for name, values in event_params(events).items():
            rows.setdefault(name, []).extend(values)
    return {
        "e_runs": runs,
        "e_places": places,
        "e_ids": rows["event_ids"],
        "e_types": rows["event_types"],
        "e_versions": rows["event_versions"],
        "e_actors": rows["event_actors"],
        "e_payloads": rows["event_payloads"],
    }
