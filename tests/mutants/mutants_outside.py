"""Mutants of what leaves the house: when `absent` counts, and whom an outcome may be recorded for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

from fencepost_domain.errors import FenceLost
from fencepost_domain.vocabulary import RunStatus
from fencepost_store.transaction import Tx
from fencepost_tool_gateway import advance, settle

from tests.mutants.mutate import Mutant, functions
from tests.services.tool_gateway import test_outside as outside
from tests.support.gateway import Served, serving
from tests.support.lives import Lives
from tests.support.parcels import Provider, parcels_module, providing_parcels, secrets_folder


@asynccontextmanager
async def parcels(lives: Lives) -> AsyncIterator[tuple[Served, Provider]]:
    async with providing_parcels() as provider:
        with TemporaryDirectory() as folder:
            secrets = secrets_folder(Path(folder) / "secrets")
            modules = [parcels_module(provider.url, timeout=4.0)]
            async with serving(lives, dirs=modules, secrets=secrets) as served:
                yield served, provider


async def absent_counts_only_after_the_attempts_end(lives: Lives) -> None:
    """I10: its look-up says 404 while the attempt is still open to land."""
    async with parcels(lives) as (served, provider):
        held, action, _ = await outside.begun(served, "queryable")
        await provider.switch(mode="accept_then_drop", visible_after=60)
        assert (await served.commit(held, action)).status_code == 202
        await lives.sql("UPDATE agent.effects SET next_look_at = NULL")
        assert (await outside.look(served, held))["state"] == "unknown"


async def absent_counts_only_when_it_is_settled(lives: Lives) -> None:
    """I10: an eventually consistent look-up says 404 for a while after the end."""
    async with parcels(lives) as (served, provider):
        held, action, key = await outside.begun(served, "queryable")
        await provider.switch(mode="accept_then_drop", visible_after=60)
        assert (await served.commit(held, action)).status_code == 202
        await outside.over(served, key, by="0 second ago")
        assert (await outside.look(served, held))["state"] == "unknown"


async def a_late_reply_is_recorded(lives: Lives) -> None:
    """WF-4, as the gateway's own suite has it: cancelled while it is being sent."""
    async with parcels(lives) as (served, provider):
        await outside.test_wf4_a_late_reply_is_evidence_and_starts_nothing(served, provider)


def _as_if_over(next_step: Any) -> Any:
    def step(effect: Any, now: Any) -> Any:
        return next_step(replace(effect, ends_at=effect.first_started_at, next_look_at=None), now)

    return step


def _at_once(absent: Any) -> Any:
    async def believed(tx: Tx, locked: Any, known: Any, effect: Any) -> Any:
        return await absent(tx, locked, known, replace(effect, now=effect.ends_at + timedelta(days=1)))

    return believed


def _only_for_its_owner(lock_run: Any) -> Any:
    async def locked(tx: Tx, run_id: UUID) -> Any:
        found = await lock_run(tx, run_id)
        if found.run.status is not RunStatus.RUNNING:
            raise FenceLost(run_id)
        return found

    return locked


OUTSIDE: Final = [
    Mutant(
        "`absent` accepted before the attempt's end",
        functions((advance, "next_step", _as_if_over), (advance, "_absent", _at_once)),
        absent_counts_only_after_the_attempts_end,
    ),
    Mutant(
        "`absent` accepted before settle_within",
        functions((advance, "_absent", _at_once)),
        absent_counts_only_when_it_is_settled,
    ),
    Mutant(
        "settlement fenced by the run: of what leaves the house",
        functions((settle, "lock_run", _only_for_its_owner)),
        a_late_reply_is_recorded,
    ),
]
