"""The token of a prepared action: an HMAC over everything a decision was taken on.

Only its id leaves this service. The MAC stands in the action's row and is computed again from that row at
commit, so a row that was changed in the database is refused. Fields are length-delimited, with purpose and
key id (case AP-5); the newest key signs, older ones still verify until they are retired.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from fencepost_contracts.canonical import digest, length_delimited
from fencepost_domain.action import Action
from fencepost_domain.errors import Conflict, Tampered
from fencepost_runtime.keys import KeyRing

PURPOSE: Final = "fencepost.action.v1"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def sign(ring: KeyRing, action: Action, user_id: str) -> Action:
    """The action with the active key's id and its MAC."""
    named = replace(action, token_key_id=ring.active)
    return replace(named, token_mac=_mac(ring.signing_key, named, user_id))


def verify(ring: KeyRing, action: Action, user_id: str) -> None:
    """Check a row against its MAC, and its arguments against their hash.

    Raises Tampered when they differ, Conflict token_expired when the key was retired.
    """
    key = ring.keys.get(action.token_key_id)
    if key is None:
        raise Conflict("token_expired", "the key of this preparation was retired; prepare it again")
    thing = f"action {action.index} of run {action.run_id}"
    if not hmac.compare_digest(_mac(key, action, user_id), action.token_mac):
        raise Tampered(thing, str(action.token_id))
    if hashlib.sha256(action.arguments.encode()).hexdigest() != action.arguments_hash:
        raise Tampered(thing, action.arguments_hash)


def _mac(key: bytes, action: Action, user_id: str) -> bytes:
    return hmac.digest(key, message(action, user_id), hashlib.sha256)


def message(action: Action, user_id: str) -> bytes:
    """What is signed. Adding a field is a new PURPOSE: tokens of the old form then need the old code."""
    expiry = (action.token_expires_at - _EPOCH) // timedelta(microseconds=1)
    return length_delimited(
        PURPOSE,
        action.token_key_id,
        action.token_id.bytes,
        action.run_id.bytes,
        str(action.index),
        str(action.n),
        action.tool,
        action.tool_version,
        action.tenant_id.bytes,
        user_id,
        action.author,
        action.catalog_fp,
        action.arguments_hash,
        str(action.risk),
        str(action.effect_class),
        "asks" if action.approval else "free",
        digest(action.preview),
        digest(action.change),
        digest(action.precondition),
        str(expiry),
    )
