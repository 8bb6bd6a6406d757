"""Tokens: signed by a key we trust, for us, with an end; everything else is one plain 401."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fencepost_api.auth import FileKeys, Verifier
from fencepost_api.jwks import COOL_DOWN_SECONDS, KEEP_SECONDS, IssuerKeys
from fencepost_api.problems import Refusal
from fencepost_api.tickets import Tickets
from fencepost_domain.errors import Unavailable
from fencepost_runtime.keys import KeyFileError, KeyRing
from fencepost_runtime.system import SystemClock
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from tests.support.api import Served, Signer, a_key, caller
from tests.support.lives import TENANT

NOW = int(time.time())


class HeldClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 4, 10, tzinfo=UTC)
        self.ticks = 1_000.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.ticks


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return Signer(tmp_path)


@pytest.fixture
def verifier(signer: Signer) -> Verifier:
    return Verifier(FileKeys(signer.path), SystemClock(), audience="fencepost")


ADMIN = {"sub": "a", "tenant": str(TENANT), "roles": ["admin"], "aud": "fencepost", "exp": NOW + 60}


def part(value: Any) -> str:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def hs256_with_the_public_key(signer: Signer) -> str:
    """The classic confusion: the public key's text as a shared secret."""
    signed = f"{part({'alg': 'HS256', 'kid': signer.key.kid})}.{part(ADMIN)}"
    secret = signer.key.as_pem(private=False)
    return f"{signed}.{part(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def unsigned(signer: Signer) -> str:
    return f"{part({'alg': 'none'})}.{part(ADMIN)}."


def of_another_key(signer: Signer) -> str:
    other = ECKey.generate_key("P-256", {"kid": signer.key.kid or "x"})
    claims = {"sub": "a", "tenant": str(TENANT), "roles": ["user"], "aud": "fencepost", "exp": NOW + 60}
    return jwt.encode({"alg": "ES256", "kid": signer.key.kid}, claims, other)


def tampered(signer: Signer) -> str:
    head, _, rest = signer.token().partition(".")
    body, _, mac = rest.partition(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    claims["roles"] = ["admin"]
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"{head}.{forged}.{mac}"


BAD: dict[str, Callable[[Signer], str]] = {
    "expired": lambda s: s.token(exp=NOW - 120),
    "without exp": lambda s: s.token(exp=None),
    "exp as text": lambda s: s.token(exp="never"),
    "not yet valid": lambda s: s.token(nbf=NOW + 3_600),
    "for another audience": lambda s: s.token(aud="elsewhere"),
    "without audience": lambda s: s.token(aud=None),
    "without user": lambda s: s.token(sub=None),
    "with an empty user": lambda s: s.token(sub=""),
    "with a user that is a list": lambda s: s.token(sub=["a"]),
    "with a NUL in the user": lambda s: s.token(sub="a\x00b"),
    "with a newline in the user": lambda s: s.token(sub="a\nb"),
    "with a user of 300 characters": lambda s: s.token(sub="a" * 300),
    "without tenant": lambda s: s.token(tenant=None),
    "with a tenant that is no UUID": lambda s: s.token(tenant="acme"),
    "without roles": lambda s: s.token(roles=None),
    "with roles that are an object": lambda s: s.token(roles={"admin": True}),
    "HS256 with the public key": hs256_with_the_public_key,
    "unsigned": unsigned,
    "of another key": of_another_key,
    "tampered with": tampered,
    "cut short": lambda s: s.token()[:-10],
    "two parts": lambda s: s.token().rpartition(".")[0],
    "five parts": lambda s: s.token() + ".a.b",
    "empty": lambda s: "",
    "not ASCII": lambda s: s.token() + "é",
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
async def test_a_bad_token_is_refused(
    verifier: Verifier, signer: Signer, make: Callable[[Signer], str]
) -> None:
    with pytest.raises(Refusal) as refused:
        await verifier.verify(make(signer))
    assert refused.value.code == "unauthenticated"


async def test_a_good_token_names_its_caller(verifier: Verifier, signer: Signer) -> None:
    found = await verifier.verify(signer.token("ann", roles=("user", "operator", "king")))
    assert (found.user_id, found.tenant_id, found.roles) == ("ann", TENANT, {"user", "operator"})
    assert (await verifier.verify(signer.token(roles="user admin"))).roles == {"user", "admin"}
    assert (await verifier.verify(signer.token(aud=["other", "fencepost"]))).user_id


async def test_claims_may_lie_elsewhere(signer: Signer) -> None:
    from fencepost_api.auth import ClaimNames

    names = ClaimNames("preferred_username", "https://acme.test/tenant", "realm_access.roles")
    mapped = Verifier(FileKeys(signer.path), SystemClock(), audience="fencepost", names=names)
    claims: dict[str, Any] = {"preferred_username": "ann", "https://acme.test/tenant": str(TENANT)}
    claims["realm_access"] = {"roles": ["admin"]}
    found = await mapped.verify(signer.token(roles=None, tenant=None, **claims))
    assert (found.user_id, found.tenant_id, found.roles) == ("ann", TENANT, {"admin"})


async def test_an_issuer_is_checked_when_one_is_set(signer: Signer) -> None:
    strict = Verifier(FileKeys(signer.path), SystemClock(), audience="fencepost", issuer="https://id.test")
    assert (await strict.verify(signer.token(iss="https://id.test"))).user_id
    for token in (signer.token(), signer.token(iss="https://evil.test")):
        with pytest.raises(Refusal):
            await strict.verify(token)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"keys": []}', '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', "x"]
)
def test_a_key_file_that_cannot_be_used_names_itself(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(KeyFileError, match=r"keys\.json"):
        FileKeys(path)


async def test_over_http_every_bad_token_is_the_same_401(served: Served) -> None:
    answers = [
        await served.as_(token=make(served.signer)).get("/v1/runs", headers=a_key())
        for name, make in BAD.items()
        if name not in ("not ASCII", "empty")
    ]
    bodies = [{k: v for k, v in answer.json().items() if k != "request_id"} for answer in answers]
    assert {answer.status_code for answer in answers} == {401}
    assert all(body == bodies[0] for body in bodies)
    assert all("Bearer" in answer.headers["www-authenticate"] for answer in answers)


# ── keys of an issuer ───────────────────────────────────────────────────────────────────────────────


class Issuer:
    """An OIDC issuer behind a transport: counts what it is asked."""

    def __init__(self) -> None:
        self.keys = [RSAKey.generate_key(2048, {"kid": "k1"})]
        self.asked: list[str] = []
        self.up = True

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if not self.up:
            return httpx.Response(503)
        if request.url.path.endswith("openid-configuration"):
            return httpx.Response(200, json={"jwks_uri": "https://id.test/keys"})
        return httpx.Response(200, json={"keys": [key.as_dict(private=False) for key in self.keys]})


async def test_an_issuers_keys_are_kept_and_asked_for_again_for_a_new_one() -> None:
    issuer, clock = Issuer(), HeldClock()
    client = httpx.AsyncClient(transport=httpx.MockTransport(issuer))
    source = IssuerKeys(clock, issuer="https://id.test", jwks_url=None, client=client)

    await source.keys("k1")
    await source.keys("k1")
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]

    issuer.keys.append(RSAKey.generate_key(2048, {"kid": "k2"}))
    for _ in range(50):  # a stranger's made-up ids within the cool-down
        assert "k2" not in {key.kid for key in await source.keys("made-up")}
    assert len(issuer.asked) == 2
    clock.ticks += COOL_DOWN_SECONDS
    assert "k2" in {key.kid for key in await source.keys("k2")}

    issuer.up = False
    clock.ticks += KEEP_SECONDS + 1
    assert "k2" in {key.kid for key in await source.keys("k2")}  # the last ones go on serving


async def test_without_any_keys_yet_the_api_says_unavailable() -> None:
    issuer, clock = Issuer(), HeldClock()
    issuer.up = False
    client = httpx.AsyncClient(transport=httpx.MockTransport(issuer))
    source = IssuerKeys(clock, issuer=None, jwks_url="https://id.test/keys", client=client)
    with pytest.raises(Unavailable):
        await source.keys("k1")


# ── tickets ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_ticket_is_for_one_path_and_ten_minutes() -> None:
    clock = HeldClock()
    tickets = Tickets(KeyRing("k1", {"k1": b"a" * 32}), clock)
    ann = caller("ann", "user", "approver")
    until = clock.at.timestamp() + 3_600
    ann = type(ann)(ann.user_id, ann.tenant_id, ann.roles, until)
    ticket, ends = tickets.issue(ann, "/v1/feed")
    assert ends == clock.at + timedelta(minutes=10)
    found = tickets.check(ticket, "/v1/feed")
    assert (found.user_id, found.roles) == ("ann", ann.roles)
    for path in ("/v1/feed/", "/v1/runs", ""):
        with pytest.raises(Refusal):
            tickets.check(ticket, path)
    clock.at += timedelta(minutes=10)
    with pytest.raises(Refusal):
        tickets.check(ticket, "/v1/feed")


def test_a_ticket_never_outlives_the_token_it_was_got_with() -> None:
    clock = HeldClock()
    tickets = Tickets(KeyRing("k1", {"k1": b"a" * 32}), clock)
    ann = caller("ann")
    ann = type(ann)(ann.user_id, ann.tenant_id, ann.roles, clock.at.timestamp() + 60)
    assert tickets.issue(ann, "/v1/feed")[1] == clock.at + timedelta(seconds=60)


def test_a_rotated_ticket_key_still_checks_and_a_retired_one_does_not() -> None:
    clock = HeldClock()
    ann = caller("ann")
    old, new = b"a" * 32, b"b" * 32
    ticket, _ = Tickets(KeyRing("k1", {"k1": old}), clock).issue(ann, "/v1/feed")
    assert Tickets(KeyRing("k2", {"k1": old, "k2": new}), clock).check(ticket, "/v1/feed")
    for ring in (KeyRing("k2", {"k2": new}), KeyRing("k1", {"k1": new})):
        with pytest.raises(Refusal):
            Tickets(ring, clock).check(ticket, "/v1/feed")
