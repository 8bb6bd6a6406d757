"""Tickets for streams: an EventSource sends no Authorization header, so a short-lived token goes in the URL.

A ticket names its user, tenant, roles and one exact path, is signed over a length-delimited form with
purpose and key id, and lives ten minutes. It may be used again within that time, because EventSource
reconnects with the same URL. Logs never show the query.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_domain.ports import Clock
from fencepost_runtime.keys import KeyRing

from fencepost_api.auth import Caller, known_roles, refused

LIFE: Final = timedelta(minutes=10)
PURPOSE: Final = b"fencepost.ticket.v1"
LONGEST: Final = 4_096


class Tickets:
    def __init__(self, ring: KeyRing, clock: Clock) -> None:
        self.ring, self.clock = ring, clock

    def issue(self, caller: Caller, path: str) -> tuple[str, datetime]:
        """A ticket for `path` and when it ends: ten minutes from now, or with the caller's token."""
        ends = min(int((self.clock.now() + LIFE).timestamp()), int(caller.until))
        body = json.dumps(
            [caller.user_id, str(caller.tenant_id), sorted(caller.roles), path, ends], ensure_ascii=True
        ).encode()
        mac = self._mac(self.ring.active, self.ring.signing_key, body)
        ticket = ".".join((_text(self.ring.active.encode()), _text(body), _text(mac)))
        return ticket, datetime.fromtimestamp(ends, UTC)

    def check(self, ticket: str, path: str) -> Caller:
        """The caller it was issued to. Raises Refusal unauthenticated; bytes are compared, never text."""
        try:
            if len(ticket) > LONGEST:
                raise ValueError("too long")
            key_id, body, mac = (_bytes(part) for part in ticket.split("."))
            key = self.ring.keys[key_id.decode("ascii")]
            if not hmac.compare_digest(self._mac(key_id.decode("ascii"), key, body), mac):
                raise ValueError("signature")
            user, tenant, roles, wanted, ends = json.loads(body)
        except (ValueError, KeyError, TypeError):
            raise refused() from None
        return self._caller(user, tenant, roles, ends, same=wanted == path)

    def _caller(self, user: str, tenant: str, roles: list[str], ends: Any, *, same: bool) -> Caller:
        if not same or ends <= self.clock.now().timestamp():
            raise refused()
        return Caller(user, UUID(tenant), known_roles(roles), float(ends))

    @staticmethod
    def _mac(key_id: str, key: bytes, body: bytes) -> bytes:
        parts = (PURPOSE, key_id.encode(), body)
        form = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.new(key, form, hashlib.sha256).digest()


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _bytes(value: str) -> bytes:
    """Strictly: another spelling of the same bytes is another ticket."""
    raw = value.encode("ascii")
    decoded = base64.b64decode(raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True)
    if _text(decoded) != value:
        raise ValueError("not canonical")
    return decoded
