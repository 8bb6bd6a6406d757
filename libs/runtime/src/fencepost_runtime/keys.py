"""Secret keys read from files: one active, older ones still accepted, so that keys can be changed.

The file is JSON: `{"active": "k2", "keys": {"k1": "<base64>", "k2": "<base64>"}}`.
"""

import base64
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

KEY_BYTES: Final = 32  # HMAC-SHA-256 gains nothing from more
SHORTEST_KEY_BYTES: Final = 16


class KeyFileError(ValueError):
    """The key file can't be used; the message names the file, never its content."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    active: str
    keys: Mapping[str, bytes] = field(repr=False)

    @property
    def signing_key(self) -> bytes:
        return self.keys[self.active]


def load_key_ring(path: Path) -> KeyRing:
    """Raises KeyFileError when the file is missing, malformed, or holds a key under 16 bytes."""
    try:
        document = json.loads(path.read_text())
        keys = {name: base64.b64decode(text, validate=True) for name, text in document["keys"].items()}
        ring = KeyRing(document["active"], keys)
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise KeyFileError(f"{path}: not a key file") from None  # the cause would quote the content
    if ring.active not in keys:
        raise KeyFileError(f"{path}: the active key is not among the keys")
    if any(len(key) < SHORTEST_KEY_BYTES for key in keys.values()):
        raise KeyFileError(f"{path}: a key is under {SHORTEST_KEY_BYTES} bytes")
    return ring


def load_secret(path: Path) -> str:
    """One secret in a file, as services use to know each other. Raises KeyFileError."""
    try:
        secret = path.read_text().strip()
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror}") from error
    if len(secret) < SHORTEST_KEY_BYTES:
        raise KeyFileError(f"{path}: the secret is under {SHORTEST_KEY_BYTES} characters")
    return secret


def new_key_ring_text() -> str:
    """The content of a fresh key file with one key."""
    key = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
    return json.dumps({"active": "k1", "keys": {"k1": key}})
