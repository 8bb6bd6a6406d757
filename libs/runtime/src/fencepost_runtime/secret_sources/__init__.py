"""Every source under one door: `Secrets.read("vault:payments/stripe#key")`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from fencepost_runtime.secret_sources.local import EnvironmentSecrets, FileSecrets
from fencepost_runtime.secret_sources.port import SecretMissing, SecretSource, SecretsUnavailable

if TYPE_CHECKING:
    from fencepost_domain.ports import Clock

    from fencepost_runtime.secret_sources.vault import Login
    from fencepost_runtime.settings import SecretSettings

__all__ = ["SecretMissing", "SecretSource", "Secrets", "SecretsUnavailable", "make_secrets"]

_LOCAL: Final = ("env", "file")


class Secrets:
    """References by scheme. Nothing is kept here: each source knows how long its values are good."""

    def __init__(self, sources: Mapping[str, SecretSource]) -> None:
        self._sources = dict(sources)

    async def read(self, reference: str) -> str:
        """Raises SecretMissing, also for a scheme that isn't set up; SecretsUnavailable."""
        scheme, colon, rest = reference.partition(":")
        source = self._sources.get(scheme) if colon else None
        if source is None:
            known = ", ".join(f"{name}:" for name in sorted(self._sources))
            raise SecretMissing(_shown(reference), f"a reference begins with one of {known}")
        return await source.read(rest)

    def checks(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """By name, what asks a source that is somewhere else whether it can be read from."""
        return {name: source.check for name, source in self._sources.items() if name not in _LOCAL}

    async def close(self) -> None:
        for source in self._sources.values():
            await source.close()


def _shown(reference: str) -> str:
    """Of a text that is no reference only its scheme: it may be a secret put where a reference belongs."""
    return f"{reference.partition(':')[0][:12]}:…" if ":" in reference else "(no reference)"


def make_secrets(settings: SecretSettings, clock: Clock) -> Secrets:
    """The sources that are set up; Vault where FENCEPOST_VAULT_ADDRESS is set."""
    sources: dict[str, SecretSource] = {"env": EnvironmentSecrets(), "file": FileSecrets()}
    if settings.vault_address:
        from fencepost_runtime.secret_sources.vault import VaultSecrets  # httpx: for who uses it

        sources["vault"] = VaultSecrets(
            settings.vault_address,
            settings.vault_mount,
            _login(settings, Secrets(dict(sources))),
            clock,
            namespace=settings.vault_namespace,
        )
    return Secrets(sources)


def _login(settings: SecretSettings, local: Secrets) -> Login:
    from fencepost_runtime.secret_sources.vault import Login

    if settings.vault_token:
        reference = settings.vault_token
        return Login(given=lambda: local.read(reference))

    async def approle() -> dict[str, str]:
        return {
            "role_id": settings.vault_role or "",
            "secret_id": await local.read(settings.vault_role_secret or ""),
        }

    async def kubernetes() -> dict[str, str]:
        return {"role": settings.vault_role or "", "jwt": await local.read(settings.vault_jwt)}

    if settings.vault_role_secret:
        return Login(path="auth/approle/login", body=approle)
    return Login(path="auth/kubernetes/login", body=kubernetes)
