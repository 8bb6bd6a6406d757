"""Secrets by reference: what a setting or a contract holds is where a value is, never the value.

    env:NAME               a variable of the process
    file:/path             a mounted file, read anew when it changes
    vault:path#field       a field of a Vault KV v2 secret

Every value that a source gives out is masked from then on wherever text leaves the process (I28).
"""

from __future__ import annotations

from typing import Protocol

from fencepost_domain.errors import FencepostError


class SecretMissing(FencepostError):
    """There is no value behind a reference now. Its text is the reference, never a value."""

    code = "secret_missing"

    def __init__(self, reference: str, why: str) -> None:
        self.reference = reference
        super().__init__(f"the secret {reference} is not there: {why}")


class SecretsUnavailable(FencepostError):
    """The place where secrets are kept doesn't answer, or doesn't let us in; trying again may help."""

    code = "secrets_unavailable"
    retryable = True


class SecretSource(Protocol):
    """One kind of place. It registers what it gives out."""

    async def read(self, rest: str) -> str:
        """The value behind a reference without its scheme, as it is now.

        Raises SecretMissing, SecretsUnavailable.
        """
        ...

    async def check(self) -> None:
        """Raises SecretsUnavailable or SecretMissing while this place can't be read from at all."""
        ...

    async def close(self) -> None: ...
