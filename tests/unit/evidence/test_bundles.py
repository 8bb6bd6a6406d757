"""I20: a bundle verifies offline as exported, and whatever is done to it is found and named."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fencepost_contracts.evidence.bundle_check import BundleCheck, BundleReport
from fencepost_domain.chain import event_hash, payload_hash
from fencepost_domain.vocabulary import Ev
from fencepost_runtime.signing import load_signer, load_verifier, new_export_key, public_text
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.evidence.logs import STORY, bundled, chained

ROWS = chained()
WHOLE = bundled(ROWS)
LINES = WHOLE.splitlines(keepends=True)
EVENT_LINES = range(1, len(ROWS) + 1)  # the header is line 0


def checked(data: bytes, **more: Any) -> BundleReport:
    return BundleCheck(io.BytesIO(data), **more).run()


def named(report: BundleReport) -> set[str]:
    return {fault.name for fault in report.faults}


def test_an_export_verifies_as_it_is() -> None:
    report = checked(WHOLE)
    assert (report.verdict, report.faults, report.valid_events) == ("verified", [], len(ROWS))
    assert (report.valid_bytes, report.bytes) == (len(WHOLE), len(WHOLE))
    assert len(report.artifacts) == 1


def test_i20_a_bundle_torn_at_any_byte_yields_its_longest_valid_prefix() -> None:
    ends = [sum(len(line) for line in LINES[: n + 1]) for n in range(len(LINES))]
    for cut in range(len(WHOLE)):
        report = checked(WHOLE[:cut])
        # A line that lacks no more than its newline is whole: it is hashed by what it says.
        complete = sum(end - 1 <= cut for end in ends)
        if complete == len(LINES):
            assert report.verdict == "verified"
            continue
        assert report.verdict == "degraded", cut
        assert named(report) & {"torn", "unreadable"}, cut
        assert report.valid_events == min(max(complete - 1, 0), len(ROWS)), cut
        assert report.valid_bytes <= cut
        again = checked(WHOLE[: report.valid_bytes])
        assert again.valid_events == report.valid_events, "the prefix is valid by itself"


@settings(max_examples=400, deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_i20_no_flipped_byte_goes_unseen(at: int, by: int) -> None:
    data = bytearray(WHOLE)
    data[at] ^= by
    report = checked(bytes(data))
    if report.verdict == "verified":  # only the newline after the last line says nothing
        assert at == len(WHOLE) - 1
    line = WHOLE[:at].count(b"\n")
    assert report.valid_events <= max(len(ROWS), line)
    if line in EVENT_LINES:
        assert report.valid_events < line, "nothing from the altered event on is believed"


def _changed(**members: Any) -> Callable[[list[bytes]], None]:
    def change(lines: list[bytes]) -> None:
        value = json.loads(lines[3])
        payload = value.pop("payload")
        value |= members
        told = json.dumps({**value, "payload": payload}, separators=(",", ":"), ensure_ascii=False)
        lines[3] = told.encode() + b"\n"

    return change


def _drop(lines: list[bytes]) -> None:
    del lines[4]


def _swap(lines: list[bytes]) -> None:
    lines[3], lines[4] = lines[4], lines[3]


def _double(lines: list[bytes]) -> None:
    lines.insert(4, lines[3])


def _payload(lines: list[bytes]) -> None:
    lines[4] = lines[4].replace(b"life.create", b"life.delete")


def _no_payload(lines: list[bytes]) -> None:
    value = json.loads(lines[4])
    lines[4] = json.dumps({**value, "payload": None, "salt": None, "erased": True}).encode() + b"\n"


def _no_last_event(lines: list[bytes]) -> None:
    del lines[len(ROWS)]


def _after(lines: list[bytes]) -> None:
    lines.append(lines[3])


def _header(lines: list[bytes]) -> None:
    value = json.loads(lines[0])
    value["bound"]["graph"] = "00" * 32
    lines[0] = json.dumps(value).encode() + b"\n"


def _artifact(lines: list[bytes]) -> None:
    lines[-2] = lines[-2].replace(b"a0.txt", b"a1.txt")


def _no_artifact(lines: list[bytes]) -> None:
    del lines[-2]


def _twice_named(lines: list[bytes]) -> None:
    lines[3] = lines[3].replace(b'"salt"', b'"actor":"user:mallory","salt"')


@pytest.mark.parametrize(
    ("tamper", "name", "valid"),
    [
        (_changed(actor="user:mallory"), "changed", 2),
        (_changed(type="run.cancelled"), "changed", 2),
        (_changed(at="2020-01-01T00:00:00Z"), "changed", 2),
        (_changed(schema_version=9), "changed", 2),
        (_changed(hash="00" * 32), "changed", 2),
        (_changed(prev_hash="00" * 32), "reordered", 2),
        (_drop, "missing", 3),
        (_swap, "reordered", 2),
        (_double, "added", 3),
        (_payload, "payload_altered", 3),
        (_no_payload, "payload_missing", 3),
        (_no_last_event, "missing", len(ROWS) - 1),
        (_after, "added", len(ROWS)),
        (_header, "bound", len(ROWS)),
        (_artifact, "file", len(ROWS)),
        (_no_artifact, "trailer", len(ROWS)),
        (_twice_named, "changed", 2),
    ],
)
def test_i20_planted_tampering_is_found_and_named(
    tamper: Callable[[list[bytes]], None], name: str, valid: int
) -> None:
    lines = list(LINES)
    tamper(lines)
    report = checked(b"".join(lines))
    assert report.verdict == "degraded"
    assert name in named(report), report.faults
    assert report.valid_events == valid


def test_i20_an_event_forged_with_a_hash_of_its_own_breaks_the_next_one() -> None:
    """Whoever changes an event and hashes it anew must hash all after it: the next still names the old."""
    rows = [dict(row) for row in ROWS]
    forged = rows[3]
    forged["payload"] = forged["payload"].replace(b"life.create", b"life.delete")
    forged["payload_hash"] = payload_hash(forged["salt"], forged["payload"])
    forged["hash"] = event_hash(_as_event(forged))
    report = checked(bundled(rows))
    assert "reordered" in named(report)
    assert report.faults[0].seq == 5


def test_i20_a_history_written_anew_contradicts_an_anchor_and_a_signature(tmp_path: Path) -> None:
    """Chains prove nothing against someone who writes all of it again; what left before does."""
    anew = chained(
        [(kind, {**body, "tool": "life.delete"} if "tool" in body else body) for kind, body in STORY]
    )
    assert checked(bundled(anew)).verdict == "verified"

    anchors = {5: ROWS[4]["hash"]}
    assert checked(WHOLE, anchors=anchors).anchors == 1
    report = checked(bundled(anew), anchors=anchors)
    assert [(f.name, f.seq) for f in report.faults] == [("anchor", 5)]
    short = checked(bundled(ROWS[:3]), anchors=anchors)
    assert "anchor" in named(short), "cutting the history short is no way out"

    private, other = new_export_key("k1"), new_export_key("k1")
    (tmp_path / "private").write_text(private)
    (tmp_path / "public").write_text(public_text(private))
    (tmp_path / "other").write_text(other)
    known, stranger = load_verifier(tmp_path / "public"), load_signer(tmp_path / "other")
    signed = bundled(ROWS, signer=load_signer(tmp_path / "private"))
    assert checked(signed, signed=known).signature == "verified"
    assert checked(signed).signature == "not_checked"
    for data, said in (
        (bundled(anew, signer=stranger), "wrong"),
        (signed.replace(b'"key_id":"k1"', b'"key_id":"k2"'), "unknown_key"),
        (WHOLE, "absent"),
    ):
        report = checked(data, signed=known)
        assert (report.verdict, report.signature, named(report)) == ("degraded", said, {"signature"})


def test_i20_what_was_erased_is_told_apart_from_what_is_missing() -> None:
    told = (Ev.ERASED, {"by": "operator", "seqs": [2, 4], "reason": "asked"})
    rows = chained([*STORY, told])
    for row in rows:
        if row["seq"] in (2, 4):
            row["payload"] = row["salt"] = None
    report = checked(bundled(rows))
    assert (report.verdict, report.erased, report.valid_events) == ("verified", 2, 8)

    rows[4]["payload"] = rows[4]["salt"] = None  # nobody said that this one was erased
    report = checked(bundled(rows))
    assert [(f.name, f.seq) for f in report.faults] == [("payload_missing", 5)]
    assert report.valid_events == 4

    everything = chained([*STORY, (Ev.ERASED, {"by": "operator", "seqs": [], "reason": "asked"})])
    for row in everything[:-1]:
        row["payload"] = row["salt"] = None
    assert checked(bundled(everything)).verdict == "verified"


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_no_file_makes_the_verifier_fail(data: bytes) -> None:
    report = checked(data)
    assert report.verdict == "degraded"
    assert report.valid_events == 0
    assert checked(LINES[0] + data).valid_events == 0


def test_lines_of_other_shapes_are_named_and_stop_the_prefix() -> None:
    for line in (
        b"[]\n",
        b"{}\n",
        b'{"kind":"poem"}\n',
        b'{"kind":"event","seq":true}\n',
        b'{"kind":5}\n',
        b"\n",
    ):
        report = checked(b"".join([*LINES[:3], line, *LINES[3:]]))
        assert report.verdict == "degraded"
        assert report.valid_events == 2


def _as_event(row: dict[str, Any]) -> Any:
    from fencepost_domain.chain import ChainedEvent

    return ChainedEvent(**{name: row[name] for name in ChainedEvent.__slots__})
