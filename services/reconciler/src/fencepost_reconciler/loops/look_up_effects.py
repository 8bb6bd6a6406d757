"""Asks the gateway about effects whose outcome isn't known and that are due to be looked at.

This decides what is due; the gateway alone speaks with the world, and starts nothing by it. What can't be
looked up goes to a person there. Without a gateway to ask, the effects wait and are shown as they are.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import httpx
from fencepost_contracts.tools import FENCE_HEADER, ActionRequest, TaskAnswer
from fencepost_domain.effect import effect_key
from fencepost_domain.ports import Clock
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.http import http_client
from fencepost_runtime.logging import get_logger
from fencepost_store import sweeps
from fencepost_store.transaction import Store
from pydantic import ValidationError

EVERY: Final = timedelta(seconds=1)
BATCH: Final = 20  # asked at once; each takes as long as the other side lets it
AGAIN_AFTER: Final = timedelta(seconds=5)  # one that could not be asked
LONGEST_ANSWER: Final = 60.0  # seconds

log = get_logger(__name__)


class Asker:
    """The gateway's look-up, as a service of the mesh and under no run's lease."""

    def __init__(self, url: str, secret: str) -> None:
        self._url, self._secret = url, secret

    async def ask(self, due: Sequence[sweeps.DueEffect]) -> list[bool]:
        """All at once. False where there was no answer; that effect is due again later."""
        headers = {"Authorization": f"Bearer {self._secret}"}
        async with http_client(self._url, timeout_seconds=LONGEST_ANSWER, headers=headers) as http:
            return list(await asyncio.gather(*(_ask(http, one.run_id, one.index) for one in due)))

    async def ask_tasks(self, tasks: Sequence[UUID]) -> list[bool | None]:
        """Which of them are over. None where there was no answer: asked after again at its next time."""
        headers = {"Authorization": f"Bearer {self._secret}"}
        async with http_client(self._url, timeout_seconds=LONGEST_ANSWER, headers=headers) as http:
            return list(await asyncio.gather(*(_ask_task(http, task_id) for task_id in tasks)))


async def _ask(http: httpx.AsyncClient, run_id: UUID, index: int) -> bool:
    body = ActionRequest(index=index, advance=True).model_dump(mode="json")
    headers = {FENCE_HEADER: f"{run_id}/reconciler/0"}
    try:
        response = await http.post("/internal/actions/lookup", json=body, headers=headers)
    except httpx.HTTPError as error:
        log.warning("look_up.no_answer", run_id=str(run_id), index=index, why=type(error).__name__)
        return False
    if response.status_code != 200:
        log.warning("look_up.refused", run_id=str(run_id), index=index, status=response.status_code)
    return response.status_code == 200


async def _ask_task(http: httpx.AsyncClient, task_id: UUID) -> bool | None:
    try:
        response = await http.get(f"/internal/tasks/{task_id}")
        return TaskAnswer.model_validate_json(response.content).is_over
    except (httpx.HTTPError, ValidationError) as error:
        log.warning("task.no_answer", task_id=str(task_id), why=type(error).__name__)
        return None


class LookUpEffects:
    def __init__(self, store: Store, asker: Asker | None, clock: Clock) -> None:
        self._store, self._asker, self._clock = store, asker, clock
        self._not_before: dict[str, float] = {}

    async def run_once(self) -> dict[str, int]:
        if self._asker is None:
            return {}
        now = self._clock.monotonic()
        self._not_before = {key: at for key, at in self._not_before.items() if at > now}
        async with self._store.transaction() as tx:
            due = await sweeps.find_due_effects(tx, BATCH, tuple(self._not_before))
        if not due:
            return {}
        await ahit("reconciler.look_up.before_ask")
        answers = await self._asker.ask(due)
        await ahit("reconciler.look_up.after_answer")
        later = self._clock.monotonic() + AGAIN_AFTER.total_seconds()
        for one, answered in zip(due, answers, strict=True):
            if not answered:
                self._not_before[effect_key(one.run_id, one.index)] = later
        counts = Counter("looked_up" if answered else "not_answered" for answered in answers)
        if len(due) == BATCH:
            counts["more"] = 1
        return dict(counts)
