"""Who calls: a signed token's claims, and nothing the request says about itself.

Keys come from a local JWK set file (embedded mode) or from an issuer's JWKS. The algorithm must be on the
allow-list and belong to the key's type; `exp` is required, because a token without one never ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

from fencepost_domain.policy import is_approver
from fencepost_domain.ports import Clock
from fencepost_runtime.keys import KeyFileError
from fencepost_runtime.settings import ApiSettings
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from fencepost_api.problems import Refusal

ALGORITHMS: Final = ("ES256", "ES384", "EdDSA", "Ed25519", "RS256", "RS384", "RS512", "PS256")
ROLES: Final = frozenset({"user", "approver", "operator", "admin", "platform", "notifier"})
SCOPED_ROLE: Final = re.compile(r"approver\.[a-z0-9_-]{1,40}")  # an approver of a scope: approver.finance
MOST_ROLES: Final = 32
SKEW_SECONDS: Final = 30  # hosts' clocks differ; a token is short-lived anyway
LONGEST_TOKEN: Final = 8_192
LONGEST_USER: Final = 255


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated person or program. `until`: Unix seconds when the token ends."""

    user_id: str
    tenant_id: UUID
    roles: frozenset[str]
    until: float

    def has(self, *roles: str) -> bool:
        return not self.roles.isdisjoint(roles)

    @property
    def oversees(self) -> bool:
        """May see and steer every run of the tenant."""
        return self.has("operator", "admin")

    @property
    def decides(self) -> bool:
        """May see every approval of the tenant, without the conversation."""
        return is_approver(self.roles)

    @property
    def notifies(self) -> bool:
        """A service that carries questions to others: it sees approvals and decides none of them."""
        return self.has("notifier") and not self.decides

    def need(self, *roles: str) -> None:
        """Raise Refusal forbidden without any of the roles."""
        if not self.has(*roles):
            raise Refusal("forbidden", f"This needs one of the roles: {', '.join(roles)}.")


class KeySource(Protocol):
    """Where public keys come from."""

    async def keys(self, kid: str | None) -> KeySet:
        """The keys to try; `kid` may be one not seen before. Raises Unavailable."""
        ...


class FileKeys:
    """A JWK set, or one JWK, read once."""

    def __init__(self, path: Path) -> None:
        try:
            document = json.loads(path.read_text())
            entries = document.get("keys", [document])
            if any(entry.get("kty") == "oct" for entry in entries):
                raise KeyFileError(f"{path}: shared secrets can't sign tokens here; use public keys")
            self._keys = KeySet.import_key_set({"keys": entries})
        except OSError as error:
            raise KeyFileError(f"{path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, JoseError) as error:
            if isinstance(error, KeyFileError):
                raise
            raise KeyFileError(f"{path}: not a JWK set") from None

    async def keys(self, kid: str | None) -> KeySet:
        return self._keys


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Which claim says what; issuers differ."""

    user: str = "sub"
    tenant: str = "tenant"
    roles: str = "roles"


class Verifier:
    """Turns a bearer token into a Caller."""

    def __init__(
        self,
        source: KeySource,
        clock: Clock,
        *,
        audience: str,
        issuer: str | None = None,
        names: ClaimNames | None = None,
    ) -> None:
        self.source, self.clock = source, clock
        self.names = names or ClaimNames()
        required: dict[str, Any] = {
            "exp": {"essential": True},
            "aud": {"essential": True, "value": audience},
        }
        if issuer:
            required["iss"] = {"essential": True, "value": issuer}
        self._registry = jwt.JWTClaimsRegistry(self._now, SKEW_SECONDS, **required)

    def _now(self) -> int:
        return int(self.clock.now().timestamp())

    async def verify(self, token: str) -> Caller:
        """Raises Refusal unauthenticated for anything but a good token; Unavailable without keys."""
        if len(token) > LONGEST_TOKEN or not token.isascii():
            raise refused()
        keys = await self.source.keys(_kid(token))
        try:
            claims = jwt.decode(token, keys, algorithms=ALGORITHMS).claims
            self._registry.validate(claims)
        except (JoseError, InvalidKeyIdError, ValueError, TypeError):
            raise refused() from None
        return self._caller(claims)

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        user = _claim(claims, self.names.user)
        tenant = _claim(claims, self.names.tenant)
        roles = _claim(claims, self.names.roles)
        if not isinstance(user, str) or not 0 < len(user) <= LONGEST_USER or not user.isprintable():
            raise refused()
        try:
            tenant_id = UUID(tenant)
        except (ValueError, TypeError, AttributeError):
            raise refused() from None
        named = roles.split() if isinstance(roles, str) else roles
        if not isinstance(named, list):
            raise refused()
        held = known_roles(named)
        return Caller(user, tenant_id, held, float(claims["exp"]))


def known_roles(named: Iterable[object]) -> frozenset[str]:
    """The roles that mean something here; an issuer's others are left out."""
    held = (role for role in named if isinstance(role, str))
    kept = sorted(role for role in held if role in ROLES or SCOPED_ROLE.fullmatch(role))
    return frozenset(kept[:MOST_ROLES])


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """`realm_access.roles` reads through objects; a claim with a dot in its own name goes first."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _kid(token: str) -> str | None:
    """The key id the token names, unverified: only to know whether keys must be fetched anew."""
    try:
        from joserfc.util import urlsafe_b64decode

        header = json.loads(urlsafe_b64decode(token.partition(".")[0].encode()))
        kid = header.get("kid")
    except (ValueError, AttributeError, TypeError):
        return None
    return kid if isinstance(kid, str) and len(kid) <= 256 else None


def refused() -> Refusal:
    """One answer for all bad tokens: which check failed is nobody's business."""
    return Refusal(
        "unauthenticated",
        "Send `Authorization: Bearer <token>` with a token that is valid now.",
        headers={"WWW-Authenticate": 'Bearer realm="fencepost", error="invalid_token"'},
    )


def make_verifier(settings: ApiSettings, clock: Clock) -> Verifier:
    """By settings: a key file, or an issuer."""
    names = ClaimNames(settings.jwt_claim_user, settings.jwt_claim_tenant, settings.jwt_claim_roles)
    source: KeySource
    if settings.jwt_key_file:
        source = FileKeys(settings.jwt_key_file)
    else:
        from fencepost_api.jwks import IssuerKeys

        source = IssuerKeys(clock, issuer=settings.jwt_issuer, jwks_url=settings.jwt_jwks_url)
    return Verifier(source, clock, audience=settings.jwt_audience, issuer=settings.jwt_issuer, names=names)
