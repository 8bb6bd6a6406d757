"""The secret of a one-time link: 32 random bytes beside the ids it speaks of, bound by a hash (case AP-5).

What is stored is SHA-256 over purpose, secret and everything the link is bound to, length-delimited: a secret
of one approval fits no other, and a row that was changed fits none. No key signs it, so no key can be lost.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from fencepost_contracts.canonical import length_delimited
from fencepost_store.links import Link

PURPOSE: Final = "fencepost.approval_link.v1"
SECRET_BYTES: Final = 32
_IDS: Final = 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LENGTH: Final = 4 * (2 * _IDS + SECRET_BYTES) // 3 + 1  # characters of base64 without padding


class BadToken(ValueError):
    """The text is no link of ours; which part is wrong is nobody's business."""


@dataclass(frozen=True, slots=True)
class Token:
    """run_id: by which the tenant is found. link_id: the row."""

    run_id: UUID
    link_id: UUID
    secret: bytes

    def text(self) -> str:
        return (
            base64.urlsafe_b64encode(self.run_id.bytes + self.link_id.bytes + self.secret)
            .rstrip(b"=")
            .decode()
        )


def new_token(run_id: UUID, link_id: UUID) -> Token:
    return Token(run_id, link_id, secrets.token_bytes(SECRET_BYTES))


def read_token(text: str) -> Token:
    """Strictly: another spelling of the same bytes is another link. Raises BadToken."""
    try:
        if len(text) > 2 * LENGTH:
            raise BadToken
        raw = text.encode("ascii")
        value = base64.b64decode(raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True)
        token = Token(UUID(bytes=value[:_IDS]), UUID(bytes=value[_IDS : 2 * _IDS]), value[2 * _IDS :])
    except ValueError:
        raise BadToken from None
    if len(token.secret) != SECRET_BYTES or token.text() != text:
        raise BadToken
    return token


def hash_of(
    token: Token, tenant_id: UUID, interrupt_id: UUID, n: int, approver: str, expires_at: datetime
) -> bytes:
    """What is stored of a link."""
    until = (expires_at - _EPOCH) // timedelta(microseconds=1)
    form = length_delimited(
        PURPOSE,
        token.secret,
        tenant_id.bytes,
        token.run_id.bytes,
        token.link_id.bytes,
        interrupt_id.bytes,
        str(n),
        approver,
        str(until),
    )
    return hashlib.sha256(form).digest()


def fits(token: Token, tenant_id: UUID, link: Link) -> bool:
    """Is this the link's secret, and the row what it was made of? Bytes are compared, in constant time."""
    known = hash_of(token, tenant_id, link.interrupt_id, link.n, link.approver, link.expires_at)
    return hmac.compare_digest(known, link.token_hash) and link.run_id == token.run_id
