"""What a process can do without for a while: the artifact store, Vault. Readiness tells of them, and stays.

They are looked at beside the probes, which tell what was seen last. A probe that asked by itself would hang
with what it asks, and take a process that works away from those who don't need a file or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fencepost_runtime.health import Check, run_checks
from fencepost_runtime.logging import get_logger

if TYPE_CHECKING:
    from fencepost_runtime.artifacts.port import ArtifactStore
    from fencepost_runtime.secret_sources import Secrets

LOOK_EVERY: Final = timedelta(seconds=5)
log = get_logger(__name__)


class Beside:
    """verdicts: by name `ok`, or the kind of what was raised; empty until the first look ended.

    lasting: what a start already found, which no later look changes.
    """

    def __init__(
        self, checks: Mapping[str, Check] | None = None, lasting: Mapping[str, str] | None = None
    ) -> None:
        self._checks = dict(checks or {})
        self._lasting = dict(lasting or {})
        self.verdicts: dict[str, str] = {}

    async def look(self) -> None:
        """Ask each once, two seconds at most; a change is logged."""
        seen = await run_checks(self._checks)
        for name, verdict in seen.items():
            if verdict == self.verdicts.get(name, "ok"):
                continue
            if verdict == "ok":
                log.info("beside.back", name=name)
            else:
                log.warning("beside.away", name=name, kind=verdict)
        self.verdicts = seen

    def told(self, ready: bool, checks: Mapping[str, str]) -> dict[str, Any]:
        """The body of `/readyz`: `ok`, `degraded` (works, but not what needs these), `not ready`."""
        beside = self.verdicts | self._lasting
        away = any(verdict != "ok" for verdict in beside.values())
        status = "not ready" if not ready else "degraded" if away else "ok"
        return {"status": status, "checks": {**checks, **beside}}


def beside_of(
    artifacts: ArtifactStore | None, secrets: Secrets, lasting: Mapping[str, str] | None = None
) -> Beside:
    """Of what the settings name: `artifacts`, and `vault` where secrets are read there."""
    checks = dict(secrets.checks())
    if artifacts is not None:
        checks["artifacts"] = artifacts.check
    return Beside(checks, lasting)
