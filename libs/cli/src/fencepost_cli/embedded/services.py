"""Which services the embedded mode runs, and what each is told: its database role, its own secrets."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fencepost_cli.embedded.child import Spec
from fencepost_cli.embedded.identity import AUDIENCE, Identity

POOL_SIZE: Final = 4  # a Postgres backend is some 5 MB; four services share one laptop
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    kind: (sys.executable, "-P", "-m", f"fencepost_{module}")
    for kind, module in (
        ("api", "api.main"),
        ("gateway", "tool_gateway.main"),
        ("reconciler", "reconciler.main"),
        ("worker", "worker.start"),
    )
}
# Ours to decide, whatever the shell has: a stray value would point a service at another mesh.
_NOT_INHERITED: Final = (
    "DATABASE_URL",
    "DATABASE_DIRECT_URL",
    "_KEYS_FILE",
    "_SECRET_FILE",
    "_TOKEN",
    "_PORT",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the specs of the services depend on."""

    data_dir: Path
    identity: Identity
    database: Mapping[str, str] = field(repr=False)  # kind -> DSN of its role
    api_port: int
    gateway_port: int
    kafka_bootstrap: str | None = None
    failpoints: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    commands: Mapping[str, Sequence[str]] = field(default_factory=lambda: COMMANDS)

    def spec(self, kind: str, name: str | None = None, env: Mapping[str, str] | None = None) -> Spec:
        """`kind` is api, gateway, reconciler or worker; `name` tells several of one kind apart."""
        told = {**self._common(kind), **getattr(self, f"_{kind}")(), **self.env, **(env or {})}
        ports = {"api": self.api_port, "gateway": self.gateway_port}
        variable = f"FENCEPOST_{kind.upper()}_{'' if kind in ports else 'HEALTH_'}PORT"
        first = name in (None, kind)
        return Spec(
            name or kind,
            tuple(self.commands[kind]),
            told,
            port_variable=variable,
            port=ports.get(kind, 0) if first else 0,
            slot_variable="FENCEPOST_WORKER_SLOT" if kind == "worker" else "",
        )

    def _common(self, kind: str) -> dict[str, str]:
        told = {name: value for name, value in os.environ.items() if _inherited(name)}
        told |= {
            "FENCEPOST_DATA_DIR": str(self.data_dir),
            "FENCEPOST_DATABASE_URL": self.database[kind],
            "FENCEPOST_DATABASE_DIRECT_URL": self.database[kind],  # no pooler between: LISTEN works
            "FENCEPOST_DATABASE_POOL_SIZE": str(POOL_SIZE),
            "FENCEPOST_WAKE": "kafka" if self.kafka_bootstrap else "postgres",
            "MALLOC_ARENA_MAX": "2",  # glibc's arena per thread costs each service 10 MB for nothing
            "PYTHONUNBUFFERED": "1",
        }
        if self.kafka_bootstrap:
            told["FENCEPOST_KAFKA_BOOTSTRAP"] = self.kafka_bootstrap
        if self.failpoints:
            told["FENCEPOST_FAILPOINT_DIR"] = str(self.failpoints)
        return told

    def _api(self) -> dict[str, str]:
        return {
            "FENCEPOST_JWT_KEY_FILE": str(self.identity.public_keys),
            "FENCEPOST_JWT_AUDIENCE": AUDIENCE,
            "FENCEPOST_TICKET_KEYS_FILE": str(self.identity.ticket_keys),
            "FENCEPOST_EXPORT_KEY_FILE": str(self.identity.export_key),
        }

    def _gateway(self) -> dict[str, str]:
        return {
            "FENCEPOST_TOKEN_KEYS_FILE": str(self.identity.token_keys),
            "FENCEPOST_SERVICE_SECRET_FILE": str(self.identity.service_secret),
            "FENCEPOST_CALLBACK_URL": f"http://127.0.0.1:{self.gateway_port}",
        }

    def _worker(self) -> dict[str, str]:
        return {
            "FENCEPOST_GATEWAY_URL": f"http://127.0.0.1:{self.gateway_port}",
            "FENCEPOST_SERVICE_SECRET_FILE": str(self.identity.service_secret),
        }

    def _reconciler(self) -> dict[str, str]:
        return {**self._worker(), "FENCEPOST_ANCHOR_KEY_FILE": str(self.identity.anchor_key)}


def _inherited(name: str) -> bool:
    return not (name.startswith("FENCEPOST_") and name.endswith(_NOT_INHERITED))
