"""Several people at once, who go on asking whatever breaks, and remember what they were told."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

import psycopg
from fencepost.aio import AsyncClient
from fencepost.client import TERMINAL
from fencepost.errors import ApiError, Unreachable
from fencepost.views import View
from fencepost_cli.embedded.supervisor import Embedded

from tests.faults.mesh import Mesh, new_tenant
from tests.faults.people import Person

PEOPLE: Final = 8
FIRES_IN: Final = 40  # seconds; sooner, and an outage makes the time past before it is approved
LIVES: Final = (
    "direct", "reminder", "reminder", "entry", "entry", "rejected", "question", "cancelled", "paused",
    "handed_over", "fired",
)  # fmt: skip
PATIENCE: Final = 180.0  # seconds without an answer: outages here last 10, and may follow each other


class EndedOtherwise(Exception):
    """The run ended before its person was asked: by used up attempts, say."""


@dataclass
class Told:
    """What people were told: runs acknowledged, approved, and how each ended. Errors are ours to mend."""

    runs: list[str] = field(default_factory=list)
    approved: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)  # rejected or cancelled by the person
    ended: dict[str, str] = field(default_factory=dict)
    otherwise: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass
class Walker(Person):
    """A person who takes every ending as it comes; the reckoning judges."""

    told: Told = field(default_factory=Told)

    async def ask(self, text: str, zone: str | None = "America/New_York", **rest: object) -> View:
        run = await super().ask(text, zone, **rest)
        self.told.runs.append(run["id"])
        return run

    async def asked(self, run: View, kind: str = "approval") -> View:
        view = await self._until(
            run,
            lambda seen: (seen["waiting_on"] == kind and seen["interrupt"]) or seen["status"] in TERMINAL,
            lambda _: True,
        )
        if view["status"] in TERMINAL:
            self.told.ended[run["id"]] = view["status"]
            raise EndedOtherwise(_said(view))
        return view

    async def fired(self, seconds: int = FIRES_IN) -> None:
        await super().fired(seconds)

    async def decide(self, run: View, **resolution: object) -> None:
        await super().decide(run, **resolution)
        if resolution.get("decision") == "approve":
            self.told.approved.add(run["id"])
        elif resolution.get("decision") == "reject":
            self.told.refused.add(run["id"])

    async def cancel(self, run: View) -> None:
        await super().cancel(run)
        self.told.refused.add(run["id"])

    async def ends(self, run: View, status: str, reason: str | None = None) -> View:
        view = await self._until(run, lambda seen: seen["status"] in TERMINAL, lambda _: True)
        self.told.ended[run["id"]] = view["status"]
        if view["status"] != status:
            raise EndedOtherwise(_said(view))
        return view


def _said(view: View) -> str:
    final = view["finalization"]
    return f"{view['id']} {view['status']}: {final['reason']}, {final['code']}"


class Load:
    """Eight people, one life after another each, until told to stop; then the lives begun are ended."""

    def __init__(self, mesh: Embedded, seed: int) -> None:
        self._mesh = mesh
        self._random = Random(seed + 1)
        self._number = itertools.count(1)
        self.told = Told()
        self.tenants = [new_tenant() for _ in range(PEOPLE)]

    async def run(self, stop: asyncio.Event) -> None:
        await asyncio.gather(*(self._live(tenant, stop) for tenant in self.tenants))

    async def _live(self, tenant: str, stop: asyncio.Event) -> None:
        token = self._mesh.identity.mint_token("u1", tenant, ("user", "approver"))
        async with (
            AsyncClient(self._mesh.url, token) as client,
            await psycopg.AsyncConnection.connect(self._mesh.dsn(), autocommit=True) as admin,
        ):
            mesh = Mesh(self._mesh, self._mesh.data_dir, admin)
            while not stop.is_set():
                mark = f"({next(self._number)})"
                person = Walker(mesh, client, tenant, mark=mark, patience=PATIENCE, told=self.told)
                await self._once(getattr(person, self._random.choice(LIVES)))
                await asyncio.sleep(self._random.uniform(0.05, 0.4))

    async def _once(self, life: Callable[[], Awaitable[None]]) -> None:
        try:
            await life()
        except EndedOtherwise as ended:
            self.told.otherwise.append(str(ended))
        except (ApiError, Unreachable, AssertionError) as error:
            self.told.errors.append(f"{life.__name__}: {type(error).__name__}: {error}"[:400])
