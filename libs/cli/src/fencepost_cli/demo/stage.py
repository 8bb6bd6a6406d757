"""What the demo stands on: a mesh on its own data, a tenant of its own, and failpoints armed by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fencepost.aio import AsyncClient
from fencepost.client import is_settled
from fencepost.views import View
from fencepost_domain.ports import Ids
from fencepost_runtime.failpoints import arm, release

from fencepost_cli.console import say
from fencepost_cli.embedded.supervisor import Embedded

PATIENCE_SECONDS: Final = 30.0  # a take-over takes 6; more than this is a failure


class DemoFailed(Exception):
    """The demo saw something it must not see; the message says what."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise DemoFailed unless it holds. The demo is a test, not a show."""
    if not holds:
        raise DemoFailed(otherwise)


@dataclass
class Stage:
    """The mesh, a client of a fresh tenant, and what the demo has counted."""

    mesh: Embedded
    client: AsyncClient
    failpoints: Path
    ids: Ids
    crashes: int = 0
    runs: list[str] = field(default_factory=list)

    def key(self) -> str:
        return str(self.ids.uuid7())

    async def ask(self, text: str, *, zone: str) -> View:
        """Say a sentence; return the run when it asks for approval, showing what it asks."""
        say(f"\n> {text}")
        made = await self.client.create_run(text, idempotency_key=self.key(), zone=zone)
        self.runs.append(made["id"])
        run = await self.client.wait(made["id"], PATIENCE_SECONDS)
        expect(
            run["status"] == "waiting" and run["waiting_on"] == "approval", f"no approval was asked: {run}"
        )
        for preview in run["interrupt"].get("preview") or []:
            say(f"  asks: {preview['preview']['text']}")
        return run

    async def decide(self, run: View, decision: str) -> None:
        """Decide, repeating under the same key when the api dies before it answers."""
        await self.client.resolve(run["interrupt"]["id"], {"decision": decision}, idempotency_key=self.key())

    async def ended(self, run: View) -> View:
        """The run when it has ended. Raises DemoFailed when it asks again or never ends."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            state = await self.client.get_run(run["id"])
            if state.get("finalization"):
                break
            expect(time.monotonic() < until, f"run {run['id']} is still {state['status']}")
            expect(not (is_settled(state) and state["status"] == "paused"), "the run is paused")
            await asyncio.sleep(0.1)
        say(f"  {state['status']}: {(state.get('output') or {}).get('text', '')}")
        return state

    async def crash(self, name: str, why: str) -> None:
        """SIGKILL a service and start it again."""
        say(f"  SIGKILL {name}: {why}")
        self.crashes += 1
        await self.mesh.kill(name)
        await self.mesh.start(name)

    def kill_at(self, failpoint: str, why: str) -> None:
        """Arm a failpoint whose process kills itself there; the supervisor starts it again."""
        say(f"  SIGKILL armed at {failpoint}: {why}")
        self.crashes += 1
        arm(self.failpoints, failpoint, "kill")

    def block_at(self, failpoint: str) -> None:
        arm(self.failpoints, failpoint, "block")

    def let_go(self, failpoint: str) -> None:
        release(self.failpoints, failpoint)

    def was_hit(self, failpoint: str) -> bool:
        return any(self.failpoints.glob(f"{failpoint}.hit.*"))

    async def until(self, holds: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        """Ask again until it holds. Raises DemoFailed."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not await holds():
            expect(time.monotonic() < until, otherwise)
            await asyncio.sleep(0.1)

    async def hit(self, failpoint: str) -> None:
        """Wait until a process has reached the failpoint."""

        async def reached() -> bool:
            return self.was_hit(failpoint)

        await self.until(reached, f"nothing reached {failpoint}")

    async def list(self, path: str, **params: Any) -> list[View]:
        from fencepost.requests import plain_list

        return (await self.client.page(plain_list(path, **params))).items
