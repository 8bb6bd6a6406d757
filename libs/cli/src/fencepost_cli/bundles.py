"""Bundles on disk: verified, folded, and what can't be read put aside. No database, no network."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fencepost_contracts.evidence.anchors import Anchored, BadAnchors, read_anchors
from fencepost_contracts.evidence.bundle_check import BundleCheck, BundleReport, Fault, VerifySignature
from fencepost_contracts.evidence.log import until
from fencepost_contracts.evidence.upcast import NewerEvent
from fencepost_contracts.evidence.views import VIEWS, json_of
from fencepost_runtime.keys import KeyFileError, load_key_ring
from fencepost_runtime.signing import load_verifier

from fencepost_cli.console import Exit, fail

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """A verified file. corrupt: where its unreadable rest lies now, with its hash; None without one."""

    file: Path
    report: BundleReport
    corrupt: Mapping[str, Any] | None = None

    @property
    def exit_code(self) -> Exit:
        return Exit.DONE if self.report.verdict == "verified" else Exit.FAILED

    def told(self) -> dict[str, Any]:
        r = self.report
        return {
            "verdict": r.verdict,
            "degraded": r.verdict == "degraded",
            "run_id": r.run_id,
            "valid_events": r.valid_events,
            "valid_bytes": r.valid_bytes,
            "last_hash": r.valid_hash.hex(),
            "erased": r.erased,
            "artifacts": len(r.artifacts),
            "anchors": r.anchors,
            "signature": r.signature,
            "faults": [asdict(fault) for fault in r.faults],
            "faults_more": r.faults_more,
            "corruption": self.corrupt,
        }

    def lines(self) -> Iterator[str]:
        r = self.report
        yield f"run        {r.run_id or 'not named'}"
        yield f"verdict    {r.verdict}: {r.valid_events} events verify, up to hash {r.valid_hash.hex()[:16]}…"
        yield f"signature  {r.signature.replace('_', ' ')}"
        if r.anchors:
            yield f"anchors    {r.anchors} of this run compared"
        if r.erased:
            yield f"erased     {r.erased} payloads, as the log itself says"
        for fault in r.faults:
            where = f"seq {fault.seq}" if fault.seq else f"byte {fault.offset}"
            yield f"fault      {fault.name} at {where}: {fault.detail}"
        if r.faults_more:
            yield f"           and {r.faults_more} more"
        if self.corrupt:
            c = self.corrupt
            yield f"set aside  {c['bytes']} bytes from byte {c['offset']} on, in {c['file']}"
            yield f"           sha256 {c['sha256']}"


def check_bundle(
    file: Path,
    *,
    keep: Path | None,
    anchors: Path | None = None,
    anchor_keys: Mapping[str, bytes] | None = None,
    signed: VerifySignature | None = None,
    artifacts: Path | None = None,
) -> Checked:
    """Verify a file. keep: the folder for the corruption artifact, made only when there is one.

    Exits with 2 for a file that can't be read.
    """
    try:
        run = _run_of(file) if anchors else None
        wanted = _anchors_of(anchors, run, anchor_keys) if anchors else ({}, [])
        with file.open("rb") as source:
            report = BundleCheck(source, anchors=wanted[0], signed=signed).run()
        report.faults += wanted[1]
        if artifacts is not None:
            report.faults += list(_compare_artifacts(report, artifacts))
        rest = _set_aside(file, report, keep) if keep and report.valid_bytes < report.bytes else None
    except OSError as error:
        raise fail(f"{error.filename or file}: {error.strerror}", Exit.USAGE) from None
    return Checked(file, report, rest)


def _run_of(file: Path) -> Any:
    with file.open("rb") as source:
        check = BundleCheck(source)
        next(check.events(), None)
    return check.report.run_id


def _anchors_of(
    file: Path, run: Any, keys: Mapping[str, bytes] | None
) -> tuple[dict[int, bytes], list[Fault]]:
    """This run's anchors, seq -> hash, and what is wrong with signatures. Exits with 2 on a bad file."""
    found: dict[int, bytes] = {}
    faults: list[Fault] = []
    try:
        with file.open("rb") as source:
            for one in read_anchors(source):
                if one.run_id == run:
                    found[one.seq] = one.hash
                    if keys is not None and (wrong := wrongly_signed(one, keys)):
                        faults.append(Fault("anchor", one.seq, 0, wrong))
    except BadAnchors as error:
        raise fail(f"{file}: {error}", Exit.USAGE) from None
    return found, faults


def wrongly_signed(one: Anchored, keys: Mapping[str, bytes]) -> str:
    """What is wrong with an anchor's signature; empty when it is right."""
    good = one.is_signed_by(keys)
    if good is None:
        return f"the anchor is signed by {one.key_id or 'nobody'}, whose key is not here"
    return "" if good else "the anchor's signature is wrong"


def _compare_artifacts(report: BundleReport, folder: Path) -> Iterator[Fault]:
    for told in report.artifacts:
        if told.get("status") == "erased":
            continue
        names = (str(told.get("id", "")), str(told.get("name", "")))
        file = next((folder / Path(n).name for n in names if n and (folder / Path(n).name).is_file()), None)
        if file is None:
            yield Fault("artifact", 0, 0, f"{names[1] or names[0]}: no file of this name or id")
            continue
        with file.open("rb") as source:
            if hashlib.file_digest(source, "sha256").hexdigest() != told.get("sha256"):
                yield Fault("artifact", 0, 0, f"{file.name}: not the content that was recorded")


def _set_aside(file: Path, report: BundleReport, folder: Path) -> dict[str, Any]:
    """Copy what can't be believed into a file of its own: looked at by people, never read as facts."""
    target = folder / f"{file.name}.corrupt"
    digest, count = hashlib.sha256(), 0
    with file.open("rb") as source, target.open("wb") as rest:
        source.seek(report.valid_bytes)
        while part := source.read(_CHUNK):
            digest.update(part)
            count += len(part)
            rest.write(part)
    return {"file": str(target), "offset": report.valid_bytes, "bytes": count, "sha256": digest.hexdigest()}


def fold_bundle(file: Path, view: str, at_seq: int | None) -> dict[str, Any]:
    """A view of a bundle's valid prefix, as the api would show it; `degraded` when more isn't valid."""
    if view not in VIEWS:
        raise fail(f"--view of a file is one of {', '.join(VIEWS)}", Exit.USAGE)
    try:
        with file.open("rb") as source:
            check = BundleCheck(source)
            events = [found.logged() for found in check.events()]
    except OSError as error:
        raise fail(f"{file}: {error.strerror}", Exit.USAGE) from None
    except NewerEvent as error:
        raise fail(f"{file}: {error}") from None
    report = check.report
    kept = [event for event in events if event.seq <= report.valid_events]
    head = report.valid_events
    found: dict[str, Any] = {
        "run_id": report.run_id,
        "view": view,
        "at_seq": head if at_seq is None else min(at_seq, head),
        "head_seq": head,
        "verdict": report.verdict,
        "degraded": report.verdict == "degraded" or report.erased > 0,
        "faults": [asdict(fault) for fault in report.faults],
        "result": VIEWS[view](until(kept, at_seq)),
    }
    shown: dict[str, Any] = json.loads(json_of(found))  # instants and ids as the api writes them
    return shown


def keys_of(file: Path | None) -> Mapping[str, bytes] | None:
    """The keys of a key ring file. Exits with 2 on a bad one."""
    try:
        return load_key_ring(file).keys if file else None
    except KeyFileError as error:
        raise fail(str(error), Exit.USAGE) from None


def signatures_of(file: Path | None) -> VerifySignature | None:
    """Public keys that exports are checked by. Exits with 2 on a bad file."""
    try:
        return load_verifier(file) if file else None
    except KeyFileError as error:
        raise fail(str(error), Exit.USAGE) from None
