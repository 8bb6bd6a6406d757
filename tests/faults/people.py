"""One tenant's person, who asks several things at once and repeats whatever got no answer, under its key.

Each way of asking is a method that lives one run to its end and notes what the world must hold afterwards.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from fencepost.aio import AsyncClient
from fencepost.client import TERMINAL, is_settled
from fencepost.errors import ApiError, Unreachable
from fencepost.requests import derive, run_verb
from fencepost.views import View

from tests.faults.mesh import PATIENCE, Mesh

ZONE: Final = "America/New_York"
REMIND: Final = "remind me tomorrow at 9 to {title}"


@dataclass
class Person:
    """`reminders`, `entries`, `endings`: what must be there once all runs have ended."""

    mesh: Mesh
    client: AsyncClient
    tenant: str
    mark: str = ""  # said with everything, where a provider's log must tell runs apart
    patience: float = PATIENCE  # seconds for whatever is waited for
    reminders: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    endings: dict[str, tuple[str, str]] = field(default_factory=dict)
    fires: int = 0
    is_ready: asyncio.Event = field(default_factory=asyncio.Event)  # the load may begin

    # ── lives of runs ───────────────────────────────────────────────────────────────────────────────

    async def direct(self) -> None:
        await self.ends(await self.ask("hello!"), "succeeded")

    async def reminder(self, title: str = "call Bob", *, decision: str = "approve", **rest: Any) -> None:
        run = await self.asked(await self.ask(REMIND.format(title=title), **rest))
        await self.decide(run, decision=decision)
        if decision == "approve":
            self.reminders.append(title)
            await self.ends(run, "succeeded")
        else:
            await self.ends(run, "cancelled", "approval_rejected")

    async def entry(self) -> None:
        run = await self.asked(await self.ask("paid $1,234.50 for the hotel"))
        await self.decide(run, decision="approve")
        self.entries.append("1234.50")
        await self.ends(run, "succeeded")

    async def rejected(self) -> None:
        await self.reminder("sell the house", decision="reject")

    async def question(self) -> None:
        """No zone is known: asked for, then the same run goes on."""
        run = await self.asked(await self.ask(REMIND.format(title="feed the cat"), zone=None), "input")
        await self.decide(run, text="Asia/Shanghai")
        run = await self.asked(run)
        await self.decide(run, decision="approve")
        self.reminders.append("feed the cat")
        await self.ends(run, "succeeded")

    async def cancelled(self) -> None:
        run = await self.asked(await self.ask(REMIND.format(title="buy a boat")))
        await self.cancel(run)
        await self.ends(run, "cancelled")

    async def paused(self) -> None:
        run = await self.asked(await self.ask(REMIND.format(title="take a walk")))
        await self.verb(run, "pause")
        await self.decide(run, decision="approve")
        await self.verb(run, "resume")
        self.reminders.append("take a walk")
        await self.ends(run, "succeeded")

    async def handed_over(self) -> None:
        await self.reminder("water the plants", module="companion")

    async def fired(self, seconds: int = 12) -> None:
        run = await self.asked(await self.ask(f"remind me in {seconds} seconds to stretch"))
        await self.decide(run, decision="approve")
        self.reminders.append("stretch")
        self.fires += 1
        await self.ends(run, "succeeded")

    async def everything(self) -> None:
        """The load: nine runs at once, each in its own conversation."""
        async with asyncio.TaskGroup() as group:
            for live in (
                self.direct,
                self.reminder,
                self.entry,
                self.rejected,
                self.question,
                self.cancelled,
                self.paused,
                self.handed_over,
                self.fired,
            ):
                group.create_task(live())

    # ── steps ───────────────────────────────────────────────────────────────────────────────────────

    async def ask(self, text: str, zone: str | None = ZONE, **rest: Any) -> View:
        key, said = str(uuid4()), f"{text} {self.mark}".strip()
        return await self._patiently(
            lambda: self.client.create_run(said, idempotency_key=key, zone=zone, **rest)
        )

    async def upload(self, content: bytes) -> View:
        key = str(uuid4())
        return await self._patiently(
            lambda: self.client.upload("a.txt", content, "text/plain", idempotency_key=key)
        )

    async def content(self, artifact: View) -> bytes:
        return await self._patiently(lambda: self.client.content(artifact["id"]))

    async def look(self, run: View) -> View:
        return await self._patiently(lambda: self.client.get_run(run["id"]))

    async def asked(self, run: View, kind: str = "approval") -> View:
        """The run when it waits for its person with an open question of this kind."""

        def waits(view: View) -> bool:
            return bool(view["waiting_on"] == kind and view["interrupt"])

        return await self._until(run, lambda view: waits(view) or view["status"] in TERMINAL, waits)

    async def decide(self, run: View, **resolution: Any) -> None:
        key = str(uuid4())
        interrupt = run["interrupt"]["id"]
        await self._patiently(lambda: self.client.resolve(interrupt, resolution, idempotency_key=key))

    async def cancel(self, run: View) -> None:
        await self.verb(run, "cancel")

    async def verb(self, run: View, verb: str) -> None:
        """cancel, pause, resume: asked again, each is the same. `run_finished`: the first ask ended it."""
        key = str(uuid4())
        try:
            await self._patiently(lambda: self.client.get(run_verb(run["id"], verb, key)))
        except ApiError as error:
            if error.code != "run_finished":
                raise

    async def derive(self, run: View, verb: str) -> View:
        """retry, fork or simulations: asked again under its key, it is made once."""
        key = str(uuid4())
        made: View = await self._patiently(lambda: self.client.get(derive(run["id"], verb, {}, key)))
        return made

    async def ends(self, run: View, status: str, reason: str | None = None) -> View:
        ended = await self._until(run, lambda view: view["status"] in TERMINAL, lambda _: True)
        said = (ended["status"], ended["finalization"]["reason"])
        assert said == (status, reason or said[1]), (
            f"run {run['id']} ended as {said}: {ended['finalization']}"
        )
        self.endings[run["id"]] = said
        return ended

    async def patiently(self, ask: Callable[[], Awaitable[View]]) -> View:
        """For scenes of their own."""
        return await self._patiently(ask)

    async def _patiently(self, ask: Callable[[], Awaitable[View]]) -> View:
        return await patiently(ask, self.patience)

    async def _until(self, run: View, enough: Callable[[View], bool], right: Callable[[View], bool]) -> View:
        end = time.monotonic() + self.patience
        while not enough(view := await self.look(run)):
            stuck = is_settled(view) and view["status"] not in ("waiting", "paused")
            assert not stuck and time.monotonic() < end, f"run {run['id']} is still {dict(view)}"
            await asyncio.sleep(0.1)
        assert right(view), f"run {run['id']} is {view['status']}, {view['finalization']}"
        return view

    # ── the reckoning ───────────────────────────────────────────────────────────────────────────────

    async def reckon(self) -> None:
        """One effect for each approved action, none for others; each run ended once and is told once."""
        rows = await self.mesh.sql("SELECT title FROM app.reminders WHERE tenant_id = %s", self.tenant)
        assert sorted(title for (title,) in rows) == sorted(self.reminders)
        rows = await self.mesh.sql("SELECT amount FROM app.ledger_entries WHERE tenant_id = %s", self.tenant)
        assert sorted(f"{amount:.2f}" for (amount,) in rows) == sorted(self.entries)
        [(attempts,)] = await self.mesh.sql(
            "SELECT count(*) FROM agent.effect_attempts WHERE tenant_id = %s", self.tenant
        )
        assert attempts == len(self.reminders) + len(self.entries)
        live = await self.mesh.sql(
            "SELECT id, status, waiting_on FROM agent.runs WHERE tenant_id = %s AND finished_at IS NULL",
            self.tenant,
        )
        assert live == []

    async def fired_messages(self) -> int:
        [(count,)] = await self.mesh.sql(
            "SELECT count(*) FROM agent.messages WHERE tenant_id = %s AND author = 'reminder'", self.tenant
        )
        return int(count)


async def patiently(ask: Callable[[], Awaitable[View]], seconds: float = PATIENCE) -> View:
    """Ask again while nobody answers or the service says that it can't now: as a careful client would."""
    end = time.monotonic() + seconds
    while True:
        try:
            return await ask()
        except (Unreachable, ApiError) as error:
            # 401: the host's clock jumped, and a good token looks expired or not yet valid.
            passing = isinstance(error, Unreachable) or error.status >= 500 or error.status in (401, 429)
            if not (passing or getattr(error, "code", "") == "request_in_progress") or time.monotonic() > end:
                raise
        await asyncio.sleep(0.2)
