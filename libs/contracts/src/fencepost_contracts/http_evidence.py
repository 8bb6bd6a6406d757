"""Requests and answers of retry, fork, simulation and replay (design 05)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StrictInt, StringConstraints

from fencepost_contracts.http import Count, ModuleName, RunInput, Wire

MOST_SIMULATED = 200
Named = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/@-]{1,200}$")]
Prompt = Annotated[str, StringConstraints(min_length=1, max_length=32_768)]


class RetryRequest(Wire):
    """POST /v1/runs/{id}/retry: the same wish again, as a new run; an empty body is fine."""


class ForkRequest(Wire):
    """POST /v1/runs/{id}/fork. at_seq: one of `fork_points`; what was done up to it is inherited.

    definition: another graph, by fingerprint or version. input: other words from here on.
    """

    at_seq: Count
    definition: Named | None = None
    input: RunInput | None = None


class Substitutes(Wire):
    """What is to be another. model, prompt: the model is asked for real. graph, contract: by version."""

    model: Named | None = None
    prompt: Prompt | None = None
    graph: Named | None = None
    contract: Named | None = None


class SimulationRequest(Wire):
    """POST /v1/runs/{id}/simulations; an empty body simulates the run as it was."""

    substitutes: Substitutes = Substitutes()


class SimulationsRequest(Wire):
    """POST /v1/simulations: the last finished real runs of a module under the same substitutes."""

    module: ModuleName
    last: Annotated[StrictInt, Field(ge=1, le=MOST_SIMULATED)] = 20
    substitutes: Substitutes = Substitutes()


class DifferenceView(Wire):
    """How a run's path differs from that of the run it was made from. `first`: the step where they part."""

    run_id: UUID
    origin_run_id: UUID
    kind: str
    same: bool
    first: int | None
    # not tuple[int, int]: FastAPI writes that as a list under `items`, which OpenAPI 3.1 doesn't know
    steps: Annotated[tuple[int, ...], Field(min_length=2, max_length=2)]
    changes: tuple[Any, ...]


class SimulatedRun(Wire):
    """outcome: `running`, `same`, `different`, `diverged`, or `stopped`."""

    run_id: UUID
    origin_run_id: UUID
    outcome: str
    first: int | None = None
    changes: tuple[Any, ...] = ()


class SimulationView(Wire):
    """The report: how many would have taken the same path, and where the others part."""

    id: UUID
    module: str
    substitutes: dict[str, Any]
    created_at: datetime
    finished: bool
    counts: dict[str, int]
    runs: tuple[SimulatedRun, ...]
