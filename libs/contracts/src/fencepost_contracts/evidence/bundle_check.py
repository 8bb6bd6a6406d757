"""Verifying a bundle offline: no database, no network, one pass, constant memory.

What is found is named (`Fault.name`), the first of it ends the longest valid prefix, and the bytes from there
on are a corruption artifact for whoever wants to look: they are never read as facts. The check goes on behind
a fault, so that one missing event doesn't hide a changed one.

Against someone who can write the file anew, a chain proves nothing by itself: that takes the signature, or an
anchor that left the database before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final
from uuid import UUID

import orjson
from fencepost_domain.chain import GENESIS, event_hash, payload_hash
from fencepost_domain.vocabulary import Ev

from fencepost_contracts.evidence.bundle import FORMAT, signed_form
from fencepost_contracts.evidence.bundle_lines import BadLine, EventLine, event_of, parse, raw_lines

MOST_FAULTS: Final = 200
VerifySignature = Callable[[str, bytes, bytes], bool | None]  # key id, message, signature; None: unknown key
Anchors = Mapping[int, bytes]  # of this run: seq -> the hash that was signed


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong. seq: of the event it is about; 0 where it is about none."""

    name: str
    seq: int
    offset: int
    detail: str


@dataclass(slots=True)
class BundleReport:
    """verdict: `verified` or `degraded`; `valid_*` describe the longest valid prefix.

    signature: absent, not_checked (no key was given), verified, unknown_key, or wrong.
    """

    run_id: UUID | None = None
    header: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    faults_more: int = 0
    valid_events: int = 0
    valid_bytes: int = 0
    valid_hash: bytes = GENESIS
    erased: int = 0
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    anchors: int = 0
    bytes: int = 0
    signature: str = "absent"

    @property
    def verdict(self) -> str:
        return "degraded" if self.faults else "verified"


class BundleCheck:
    """One pass over a bundle. `events` yields the valid prefix while it reads; then `report` is whole."""

    def __init__(
        self, source: BinaryIO, *, anchors: Anchors | None = None, signed: VerifySignature | None = None
    ) -> None:
        self.report = BundleReport()
        self._source, self._anchors, self._signed = source, dict(anchors or {}), signed
        self._sha256 = hashlib.sha256()
        self._seq, self._prev = 0, GENESIS
        self._gaps: dict[int, Fault] = {}
        self._without: list[tuple[int, int, bytes]] = []  # (seq, offset, the hash before): payload not there
        self._erased_seqs: set[int] = set()
        self._erased_before = 0
        self._bound: dict[str, Any] | None = None
        self._trailer: dict[str, Any] | None = None

    def run(self) -> BundleReport:
        """Check everything."""
        for _ in self.events():
            pass
        return self.report

    def events(self) -> Iterator[EventLine]:
        """The events of the valid prefix, as far as one pass can tell; a payload that turns out to be missing
        rather than erased shortens the report's prefix afterwards."""
        report = self.report
        for offset, data in raw_lines(self._source):
            report.bytes = offset + len(data)
            found = self._line(offset, data)
            if not report.faults:
                report.valid_bytes = offset + len(data)
                if found is not None:
                    report.valid_events, report.valid_hash = found.event.seq, found.event.hash
                    yield found
        self._finish()

    # ── line by line ────────────────────────────────────────────────────────────────────────────────

    def _line(self, offset: int, data: bytes) -> EventLine | None:
        try:
            value = parse(data)
            if self._trailer is not None:
                self._fault("added", 0, offset, "a line after the trailer")
                return None
            if value["kind"] == "trailer":
                self._trailer = value
                self._check_trailer(offset, value)
                return None
            self._sha256.update(data)
            if self.report.run_id is None:
                self._header(offset, value)
                return None
            if value["kind"] == "event":
                return self._event(offset, event_of(self.report.run_id, value, data), data)
            self._other(offset, value)
        except BadLine as error:
            self._sha256.update(data)
            self._fault(error.fault, self._seq + 1, offset, str(error))
        return None

    def _header(self, offset: int, value: dict[str, Any]) -> None:
        if value["kind"] != "header" or value.get("format") != FORMAT:
            raise BadLine("unreadable", f"it doesn't begin with a header of {FORMAT}")
        try:
            self.report.run_id = UUID(value["run_id"])
        except (KeyError, ValueError, TypeError, AttributeError):
            raise BadLine("unreadable", "the header names no run") from None
        self.report.header = value

    def _other(self, offset: int, value: dict[str, Any]) -> None:
        if value["kind"] == "artifact":
            self.report.artifacts.append(value)
        else:
            self._fault("added", 0, offset, f"a second {value['kind']}" if value["kind"] == "header" else
                        f"no line of a bundle is a {value['kind'][:40]}")  # fmt: skip

    def _event(self, offset: int, found: EventLine, data: bytes) -> EventLine:
        event = found.event
        before = self._prev
        self._place(offset, found)
        if event_hash(event) != event.hash:
            self._fault("changed", event.seq, offset, f"{event.type} does not hash to its hash")
        elif found.as_exported().rstrip(b"\n") != data.rstrip(b"\n"):
            self._fault("changed", event.seq, offset, "it is not written as an export writes it")
        if found.payload is None or found.salt is None:
            self._without.append((event.seq, offset, before))
            self.report.erased += 1
        elif payload_hash(found.salt, found.payload) != event.payload_hash:
            self._fault("payload_altered", event.seq, offset, "its payload is not the one that was hashed")
        elif event.type in (Ev.ERASED, Ev.RUN_BOUND):
            self._remember(event.type, event.seq, orjson.loads(found.payload))
        if event.seq in self._anchors:
            self.report.anchors += 1
            if self._anchors.pop(event.seq) != event.hash:
                self._fault("anchor", event.seq, offset, "it is not the event that was anchored")
        return found

    def _place(self, offset: int, found: EventLine) -> None:
        """Is it the one that comes next? A gap that is filled later was a change of order, not a loss."""
        event = found.event
        if event.seq in self._gaps and event.seq <= self._seq:
            gap = self._gaps.pop(event.seq)
            if gap in self.report.faults:
                at = self.report.faults.index(gap)
                self.report.faults[at] = Fault("reordered", gap.seq, gap.offset, "it stands further down")
            return
        if event.seq > self._seq + 1:
            gap = Fault("missing", self._seq + 1, offset, f"seq {event.seq} follows {self._seq}")
            self._keep(gap)
            if event.seq - self._seq <= MOST_FAULTS:
                self._gaps.update(dict.fromkeys(range(self._seq + 1, event.seq), gap))
        elif event.seq <= self._seq:
            self._fault("added", event.seq, offset, f"a second event of seq {event.seq}")
            return
        elif event.prev_hash != self._prev:
            self._fault("reordered", event.seq, offset, "it does not follow the event before it")
        self._seq, self._prev = event.seq, event.hash

    def _remember(self, kind: str, seq: int, payload: dict[str, Any]) -> None:
        if kind == Ev.RUN_BOUND:
            self._bound = payload
        elif payload.get("seqs"):
            self._erased_seqs.update(payload["seqs"])
        else:
            self._erased_before = max(self._erased_before, seq)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────

    def _check_trailer(self, offset: int, value: dict[str, Any]) -> None:
        report = self.report
        told = (value.get("events"), value.get("artifacts"), value.get("last_hash"))
        if value.get("sha256") != self._sha256.hexdigest():
            self._fault("file", 0, offset, "the lines are not those the trailer was written for")
        if told[2] != self._prev.hex() or told[0] != self._seq or told[1] != len(report.artifacts):
            detail = f"the trailer says {told[0]} events and {told[1]} artifacts: "
            self._fault(
                "trailer", 0, offset, f"{detail}{self._seq} and {len(report.artifacts)} found, or another end"
            )
        head = report.header.get("head") or {}
        if head.get("seq") != self._seq or head.get("hash") != self._prev.hex():
            name = "missing" if isinstance(head.get("seq"), int) and head["seq"] > self._seq else "head"
            self._fault(name, self._seq + 1, offset, f"the header says that it ends at seq {head.get('seq')}")
        self._check_signature(offset, value)

    def _check_signature(self, offset: int, value: dict[str, Any]) -> None:
        signature, key_id = value.get("signature"), value.get("key_id")
        if signature is None:
            if self._signed is not None:
                self._fault("signature", 0, offset, "it is not signed, and a key was given to check by")
            return
        if self._signed is None:
            self.report.signature = "not_checked"
            return
        try:
            assert self.report.run_id is not None
            form = signed_form(
                self.report.run_id, value["events"], value["artifacts"],
                bytes.fromhex(value["last_hash"]), self._sha256.digest(),
            )  # fmt: skip
            good = self._signed(str(key_id), form, bytes.fromhex(signature))
        except (AssertionError, KeyError, ValueError, TypeError, AttributeError, OverflowError):
            good = False
        self.report.signature = {True: "verified", False: "wrong", None: "unknown_key"}[good]
        if not good:
            detail = (
                f"signed by {key_id}, which is not known here" if good is None else "the signature is wrong"
            )
            self._fault("signature", 0, offset, detail)

    def _finish(self) -> None:
        report = self.report
        if self._trailer is None:
            self._fault("torn", self._seq + 1, report.bytes, "it ends before its trailer")
        bound = _said(report.header.get("bound") or {})
        if self._bound is not None and bound and bound != _said(self._bound):
            self._fault("bound", 0, 0, "the header names other versions than the log says it was bound to")
        for seq, hashed in sorted(self._anchors.items()):
            if seq <= self._seq or not report.faults:
                self._fault(
                    "anchor",
                    seq,
                    report.bytes,
                    f"seq {seq} was anchored as {hashed.hex()[:16]}…, and is missing",
                )
        self._check_erased()

    def _check_erased(self) -> None:
        for seq, offset, before in self._without:
            if seq < self._erased_before or seq in self._erased_seqs:
                continue
            self._fault(
                "payload_missing", seq, offset, "its payload is not there, and nothing says it was erased"
            )
            if offset < self.report.valid_bytes:
                self.report.valid_events, self.report.valid_bytes = seq - 1, offset
                self.report.valid_hash = before
        self.report.erased = sum(
            s < self._erased_before or s in self._erased_seqs for s, _, _ in self._without
        )

    def _fault(self, name: str, seq: int, offset: int, detail: str) -> None:
        self._keep(Fault(name, seq, offset, detail))

    def _keep(self, fault: Fault) -> None:
        if len(self.report.faults) < MOST_FAULTS:
            self.report.faults.append(fault)
        else:
            self.report.faults_more += 1


def _said(bound: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in bound.items() if value is not None}
