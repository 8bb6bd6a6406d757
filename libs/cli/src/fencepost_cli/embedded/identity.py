"""Keys and secrets of the embedded mode: made once, kept 0600 in the data folder.

The api gets the public key alone; what signs tokens stays with the command line.
"""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fencepost_runtime.keys import new_key_ring_text
from fencepost_runtime.system import SystemClock

from fencepost_cli.embedded.files import new_password, private_text

AUDIENCE: Final = "fencepost"
LOCAL_USER: Final = "local"
LOCAL_TENANT: Final = "01970000-0000-7000-8000-000000000001"  # one person's machine is one tenant
LOCAL_ROLES: Final = ("user", "approver", "operator", "admin")
ALL_ROLES: Final = (*LOCAL_ROLES, "platform", "notifier")
TOKEN_SECONDS: Final = 30 * 24 * 3600  # made anew by each `up`
DATABASE_ROLES: Final = ("fencepost_api", "fencepost_worker", "fencepost_gateway", "fencepost_reconciler")


@dataclass(frozen=True, slots=True)
class Identity:
    """Where the secrets of one data folder lie."""

    folder: Path

    @property
    def public_keys(self) -> Path:
        return self.folder / "jwt-public.json"

    @property
    def token_keys(self) -> Path:
        return self.folder / "action-token-keys.json"

    @property
    def ticket_keys(self) -> Path:
        return self.folder / "ticket-keys.json"

    @property
    def service_secret(self) -> Path:
        return self.folder / "service-secret"

    @property
    def anchor_key(self) -> Path:
        return self.folder / "anchor-keys.json"

    @property
    def export_key(self) -> Path:
        return self.folder / "export-key.json"

    @property
    def export_public_key(self) -> Path:
        return self.folder / "export-key.public.json"

    def database_passwords(self) -> dict[str, str]:
        return {role: private_text(self.folder / f"db-{role}", new_password) for role in DATABASE_ROLES}

    def make(self) -> None:
        """Make what isn't there yet."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (self.token_keys, self.ticket_keys, self.anchor_key):
            private_text(path, new_key_ring_text)
        private_text(self.service_secret, new_password)
        private = _signing_key_text(self.folder)
        private_text(self.public_keys, lambda: _public_text(private))
        self._make_export_key()
        self.database_passwords()

    def _make_export_key(self) -> None:
        """What signs exports, and its public half for whoever verifies them."""
        from fencepost_runtime.signing import new_export_key, public_text

        private = private_text(self.export_key, lambda: new_export_key("local-" + secrets.token_hex(4)))
        private_text(self.export_public_key, lambda: public_text(private))

    def mint_token(
        self,
        user: str = LOCAL_USER,
        tenant: str = LOCAL_TENANT,
        roles: tuple[str, ...] = LOCAL_ROLES,
        seconds: int = TOKEN_SECONDS,
    ) -> str:
        """A bearer token that this data folder's api accepts."""
        from joserfc import jwt  # 50 ms that only who signs should pay
        from joserfc.jwk import ECKey

        key = ECKey.import_key(json.loads(_signing_key_text(self.folder)))
        now = int(SystemClock().now().timestamp())
        claims = {
            "sub": user,
            "tenant": tenant,
            "roles": list(roles),
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + seconds,
            "jti": secrets.token_hex(8),
        }
        return jwt.encode({"alg": "ES256", "kid": key.kid}, claims, key)


def _signing_key_text(folder: Path) -> str:
    return private_text(folder / "jwt-private.json", _new_signing_key)


def _new_signing_key() -> str:
    from joserfc.jwk import ECKey

    key = ECKey.generate_key("P-256", {"use": "sig", "alg": "ES256"}, auto_kid=True)
    return json.dumps(key.as_dict(private=True))


def _public_text(private: str) -> str:
    from joserfc.jwk import ECKey

    return json.dumps({"keys": [ECKey.import_key(json.loads(private)).as_dict(private=False)]})
