"""The token by which who runs a task may say that it ended: an HMAC of the effect's key.

It says nothing else and is good for nothing else: it makes us ask after the task at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from fencepost_contracts.canonical import length_delimited
from fencepost_runtime.keys import KeyRing

PATH: Final = "/callbacks"
PURPOSE: Final = "fencepost.task-event.v1"
LONGEST: Final = 200  # characters; a longer one is none of ours


def token(ring: KeyRing, effect_key: str) -> str:
    """`<key id>.<MAC>`; the same for the same key, so that a repeated start carries the same."""
    return f"{ring.active}.{_mac(ring.signing_key, ring.active, effect_key)}"


def is_valid(ring: KeyRing, effect_key: str, given: str) -> bool:
    """Compared as bytes, in constant time; older keys verify until they are retired (case AP-5)."""
    if len(given) > LONGEST:
        return False
    key_id, _, mac = given.rpartition(".")
    key = ring.keys.get(key_id)
    if key is None:
        return False
    expected = _mac(key, key_id, effect_key)
    return hmac.compare_digest(expected.encode(), mac.encode("utf-8", "replace"))


def _mac(key: bytes, key_id: str, effect_key: str) -> str:
    digest = hmac.digest(key, length_delimited(PURPOSE, key_id, effect_key), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
