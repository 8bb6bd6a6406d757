"""Ed25519 keys of exports, as JWK files: who has the public one can check a bundle anywhere.

The private file is `{"kty":"OKP","crv":"Ed25519","kid":…,"x":…,"d":…}`; a public one has no `d`, and may be a
set `{"keys":[…]}`. Neither is ever in the database.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from fencepost_runtime.keys import KeyFileError


@dataclass(frozen=True, slots=True)
class ExportSigner:
    """Signs bundles (fencepost_contracts.evidence.bundle.Signer)."""

    key_id: str
    _key: Ed25519PrivateKey = field(repr=False)

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


@dataclass(frozen=True, slots=True)
class ExportVerifier:
    """Public keys by their id."""

    keys: Mapping[str, Ed25519PublicKey]

    def __call__(self, key_id: str, message: bytes, signature: bytes) -> bool | None:
        """None when the key is not known here."""
        key = self.keys.get(key_id)
        if key is None:
            return None
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def load_signer(path: Path) -> ExportSigner:
    """Raises KeyFileError, which names the file and never its content."""
    document = _read(path)
    try:
        return ExportSigner(str(document["kid"]), Ed25519PrivateKey.from_private_bytes(_bytes(document["d"])))
    except (KeyError, ValueError, TypeError, AttributeError):
        raise KeyFileError(f"{path}: not a private Ed25519 JWK with a `kid`") from None


def load_verifier(path: Path) -> ExportVerifier:
    """From a JWK or a set; a private key's public half counts too. Raises KeyFileError."""
    document = _read(path)
    try:
        entries = document.get("keys", [document])
        return ExportVerifier(
            {str(one["kid"]): Ed25519PublicKey.from_public_bytes(_bytes(one["x"])) for one in entries}
        )
    except (KeyError, ValueError, TypeError, AttributeError):
        raise KeyFileError(f"{path}: not an Ed25519 JWK, or a set of them, with a `kid`") from None


def new_export_key(kid: str) -> str:
    """The text of a fresh private key's file."""
    key = Ed25519PrivateKey.generate()
    public = {"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": _text(key.public_key().public_bytes_raw())}
    return json.dumps({**public, "d": _text(key.private_bytes_raw())})


def public_text(private: str) -> str:
    """The public half of a private key's text."""
    return json.dumps({name: value for name, value in json.loads(private).items() if name != "d"})


def _read(path: Path) -> Any:
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror}") from error
    except ValueError:
        raise KeyFileError(f"{path}: not a key file") from None
    if not isinstance(document, dict):
        raise KeyFileError(f"{path}: not a key file")
    return document


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
