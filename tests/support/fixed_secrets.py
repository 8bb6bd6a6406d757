"""Secrets of a test's own."""

from __future__ import annotations

from fencepost_tool_gateway.secrets import SecretMissing


class FixedSecrets:
    """Implements gateway.secrets.Secrets."""

    def __init__(self, **values: str) -> None:
        self.values = values

    async def get(self, name: str) -> str:
        if name not in self.values:
            raise SecretMissing(name)
        return self.values[name]
