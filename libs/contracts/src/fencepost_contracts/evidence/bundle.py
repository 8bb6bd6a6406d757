"""The export of a run: JSONL that proves itself without a database (design 05, 02 §8).

    {"kind":"header", "format":"fencepost.bundle.v1", "run_id":…, "bound":{…}, "head":{"seq":…,"hash":…}, …}
    {"kind":"event", "seq":1, …, "payload_hash":…, "prev_hash":…, "hash":…, "erased":false,
     "salt":…, "payload":{…}}
    {"kind":"artifact", "id":…, "name":…, "sha256":…, "size":…}
    {"kind":"trailer", "events":…, "artifacts":…, "last_hash":…, "sha256":…, "key_id":…, "signature":…}

A payload stands as its RFC 8785 bytes, last in its line, so that SHA-256(salt ‖ payload) is checked on the
bytes as they are. The trailer's `sha256` is over every byte before its line; the Ed25519 signature, if there
is one, is over a length-delimited form of the trailer. Times are RFC 3339, bytes are lower hex.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from uuid import UUID

import orjson

FORMAT: Final = "fencepost.bundle.v1"
MEDIA_TYPE: Final = "application/x-ndjson"
LONGEST_LINE: Final = 32 * 2**20  # bytes; a payload is far smaller, and one line must not fill a reader
_OPTIONS: Final = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
_SIZED: Final = 4
Row = Mapping[Any, Any]


class Signer(Protocol):
    """A private key outside the database. key_id: by which a reader finds the public one."""

    @property
    def key_id(self) -> str: ...

    def sign(self, message: bytes) -> bytes: ...


def line(value: Mapping[str, Any]) -> bytes:
    """A line with its newline."""
    return orjson.dumps(value, option=_OPTIONS) + b"\n"


def event_line(row: Row) -> bytes:
    """A stored event's line. row: the envelope's columns, and payload and salt, both None when erased."""
    payload, salt = row["payload"], row["salt"]
    envelope = orjson.dumps(
        {
            "kind": "event",
            "seq": row["seq"],
            "id": row["id"],
            "type": row["type"],
            "schema_version": row["schema_version"],
            "actor": row["actor"],
            "at": row["at"],
            "causation_id": row["causation_id"],
            "correlation_id": row["correlation_id"],
            "payload_hash": row["payload_hash"].hex(),
            "prev_hash": row["prev_hash"].hex(),
            "hash": row["hash"].hex(),
            "erased": payload is None,
            "salt": None if salt is None else salt.hex(),
        },
        option=_OPTIONS,
    )
    return envelope[:-1] + b',"payload":' + (b"null" if payload is None else bytes(payload)) + b"}\n"


def signed_form(run_id: UUID, events: int, artifacts: int, last_hash: bytes, sha256: bytes) -> bytes:
    """What a signature covers: with `sha256` every byte before the trailer, and the trailer itself."""
    parts = (
        FORMAT.encode(),
        run_id.bytes,
        events.to_bytes(8, "big"),
        artifacts.to_bytes(8, "big"),
        last_hash,
        sha256,
    )
    return b"".join(len(part).to_bytes(_SIZED, "big") + part for part in parts)


@dataclass
class BundleWriter:
    """Makes the lines of one bundle, in order; holds a hash and two counters, whatever the bundle's size."""

    run_id: UUID
    signer: Signer | None = None

    def __post_init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self._events = self._artifacts = 0
        self._last_hash = bytes(32)

    def _kept(self, data: bytes) -> bytes:
        self._sha256.update(data)
        return data

    def header(self, members: Mapping[str, Any]) -> bytes:
        """members: module, mode, status, tenant_id, bound, head, lineage, anchor, exported_at, ..."""
        return self._kept(
            line({"kind": "header", "format": FORMAT, "run_id": self.run_id, "chain": "v1", **members})
        )

    def event(self, row: Row) -> bytes:
        self._events += 1
        self._last_hash = bytes(row["hash"])
        return self._kept(event_line(row))

    def artifact(self, row: Row) -> bytes:
        self._artifacts += 1
        told = {name: row[name] for name in ("id", "name", "media_type", "size", "status")}
        return self._kept(line({"kind": "artifact", **told, "sha256": bytes(row["sha256"]).hex()}))

    def trailer(self) -> bytes:
        digest = self._sha256.digest()
        told: dict[str, Any] = {
            "kind": "trailer",
            "events": self._events,
            "artifacts": self._artifacts,
            "last_hash": self._last_hash.hex(),
            "sha256": digest.hex(),
        }
        if self.signer is not None:
            form = signed_form(self.run_id, self._events, self._artifacts, self._last_hash, digest)
            told |= {"key_id": self.signer.key_id, "signature": self.signer.sign(form).hex()}
        return line(told)
