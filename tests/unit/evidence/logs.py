"""Logs made in memory: chained as the database chains them, and bundled as the api does."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import rfc8785
from fencepost_contracts.evidence.bundle import BundleWriter, Signer
from fencepost_domain.chain import GENESIS, ChainedEvent, event_hash, payload_hash
from fencepost_domain.vocabulary import EVENT_VERSIONS, Ev

AT: Final = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)
RUN: Final = UUID("0190b0c4-7d00-7a00-8000-000000000001")
HASH: Final = "ab" * 32
STORY: Final[Sequence[tuple[str, Mapping[str, Any]]]] = (
    (Ev.RUN_REQUESTED, {"module": "life", "mode": "live", "text": "明早九点 \u2028 \"quoted\""}),
    (Ev.RUN_CLAIMED, {"owner": "w:1", "attempt": 1}),
    (Ev.RUN_BOUND, {"graph": HASH, "manifest": HASH, "catalog": HASH}),
    (Ev.ACTION_PREPARED, {"index": 0, "n": 1, "tool": "life.create", "arguments": {"a": ",\"payload\":"}}),
    (Ev.ACTION_COMMITTED, {"index": 0, "n": 1, "tool": "life.create", "result": {"id": "r1"}}),
    (Ev.MESSAGE_COMPLETED, {"message_id": str(RUN), "text": "Done."}),
    (Ev.RUN_FINALIZED, {"status": "succeeded", "reason": "acceptance_met", "code": None, "decided_by": "t"}),
)  # fmt: skip


def chained(
    story: Sequence[tuple[str, Mapping[str, Any]]] = STORY, run_id: UUID = RUN
) -> list[dict[str, Any]]:
    """The story as stored rows."""
    rows: list[dict[str, Any]] = []
    head = GENESIS
    for seq, (kind, body) in enumerate(story, start=1):
        payload, salt = rfc8785.dumps(dict(body)), hashlib.sha256(f"salt {seq}".encode()).digest()[:16]
        event = ChainedEvent(
            run_id,
            seq,
            UUID(int=seq),
            str(kind),
            EVENT_VERSIONS.get(Ev(kind), 1),
            "user:u1" if seq == 1 else "worker:槽",
            AT + timedelta(microseconds=seq * 1001),
            UUID(int=7) if seq == 2 else None,
            None,
            payload_hash(salt, payload),
            head,
            b"",
        )
        row = {name: getattr(event, name) for name in event.__slots__} | {"salt": salt, "payload": payload}
        head = row["hash"] = event_hash(event)
        rows.append(row)
    return rows


def bundled(
    rows: Sequence[Mapping[str, Any]], *, signer: Signer | None = None, artifacts: int = 1, **header: Any
) -> bytes:
    """The rows as a bundle. header: members beside those every bundle has."""
    writer = BundleWriter(rows[0]["run_id"], signer)
    head = {"seq": rows[-1]["seq"], "hash": rows[-1]["hash"].hex()}
    bound = {"graph": HASH, "manifest": HASH, "catalog": HASH}
    parts = [writer.header({"head": head, "bound": bound, **header})]
    parts += [writer.event(row) for row in rows]
    content = {"media_type": "text/plain", "size": 5, "status": "verified", "sha256": sha("hello")}
    parts += [
        writer.artifact({"id": UUID(int=90 + n), "name": f"a{n}.txt", **content}) for n in range(artifacts)
    ]
    return b"".join([*parts, writer.trailer()])


def sha(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
