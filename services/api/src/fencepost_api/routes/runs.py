"""POST /v1/runs and what steers or shows a run."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Request
from fencepost_contracts.http import LONGEST_WAIT_SECONDS, RunRequest, StopRequest
from fencepost_contracts.http_views import EventView, Page, RunView
from fencepost_domain.vocabulary import WAITS_ON_A_PERSON, RunStatus
from fencepost_runtime.telemetry import trace_parent
from fencepost_store import views
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.deps import (
    ApiDep,
    CallerDep,
    StreamCallerDep,
    check_queries,
    id_of,
    idempotency_key,
    limit_of,
    one_query,
    read_body,
    read_json,
    shape,
)
from fencepost_api.openapi import described
from fencepost_api.queries import number, run_filter
from fencepost_api.sse import wire
from fencepost_api.sse.run_stream import RunStream, open_stream
from fencepost_api.usecases.create_run import create_run
from fencepost_api.usecases.pause_run import pause_run, resume_run
from fencepost_api.usecases.stop_run import stop_run

router = APIRouter(tags=["runs"])
_WAIT: Final = re.compile(r"(?:^|[,;]\s*)wait\s*=\s*\"?([0-9]{1,4})\"?", re.ASCII)
_TRACEPARENT: Final = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


@router.post(
    "/v1/runs", status_code=201, response_model=RunView, openapi_extra=described(RunRequest, key=True)
)
async def create(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Start a run. `Prefer: wait=N` waits for its end or a question."""
    check_queries(request)
    key = idempotency_key(request) or ""
    raw = await read_json(request)
    body = shape(RunRequest, raw)
    created = await create_run(api, caller, body, raw, key, _trace(request))
    run_id: UUID = created.row["id"]
    headers = {"Location": f"/v1/runs/{run_id}"}
    if created.replayed:
        headers["Idempotent-Replayed"] = "true"
    if "text/event-stream" in request.headers.get("accept", ""):
        return wire.respond(RunStream(api, caller, run_id, 0).lines(), api.limits, 201, headers)
    row, waited = created.row, _wait_seconds(request)
    if waited:
        headers["Preference-Applied"] = f"wait={waited}"
        row = await _wait(api, caller, run_id, waited)
    return render.answer(render.run(row), 201, headers)


def _trace(request: Request) -> str | None:
    """Of our own span where spans are made, else the caller's: the worker goes on with it."""
    given = request.headers.get("traceparent", "")
    return trace_parent() or (given if _TRACEPARENT.fullmatch(given) else None)


def _wait_seconds(request: Request) -> int:
    """`Prefer: wait=N`, 60 at most; what can't be read is no preference (RFC 7240)."""
    found = _WAIT.search(request.headers.get("prefer", ""))
    return min(int(found[1]), LONGEST_WAIT_SECONDS) if found else 0


async def _wait(api: Api, caller: Caller, run_id: UUID, seconds: int) -> render.Row:
    """The run once it ended or waits on a person, or as it is after `seconds`."""
    ends = api.clock.monotonic() + seconds
    follower = api.runs.follow(run_id, caller.tenant_id, 0)
    try:
        while True:
            follower.woken.clear()
            async with api.store.transaction(caller.tenant_id) as tx:
                access = await views.run_access(tx, run_id)
                left = ends - api.clock.monotonic()
                on_a_person = access.status == RunStatus.WAITING and access.waiting_on in WAITS_ON_A_PERSON
                if access.done or on_a_person or left <= 0 or api.runs.closing:
                    return await views.run(tx, run_id)
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await follower.woken.wait()
    finally:
        api.runs.leave(follower)


@router.get("/v1/runs", response_model=Page[RunView])
async def list_runs(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Newest first. Filters: `status module user conversation_id created_after metadata.KEY`."""
    wanted, limit = run_filter(request, caller), limit_of(request)
    if wanted is None:
        return render.answer({"items": [], "next_cursor": None})
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views.runs(tx, wanted, limit + 1)
    return render.answer(render.page([render.run(row) for row in rows], limit))


@router.get("/v1/runs/{run_id}", response_model=RunView)
async def get_run(run_id: str, api: ApiDep, caller: CallerDep) -> Response:
    """One run whole: what it did, what it waits for, how it ended."""
    async with api.store.transaction(caller.tenant_id) as tx:
        row = await views.run(tx, id_of(run_id, "run"), _owner(caller))
    return render.answer(render.run(row))


def _owner(caller: Caller) -> str | None:
    """Whose runs a caller may see: their own; operators and admins, all of the tenant."""
    return None if caller.oversees else caller.user_id


@router.get("/v1/runs/{run_id}/events", response_model=Page[EventView])
async def events(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """The log with its hashes, in order, after `?after=seq` (or `?cursor=`, the same)."""
    check_queries(request, "after", "cursor", "limit")
    wanted, limit = id_of(run_id, "run"), limit_of(request)
    after = number(request, "cursor", number(request, "after", 0))
    async with api.store.transaction(caller.tenant_id) as tx:
        await views.run_access(tx, wanted, _owner(caller))
        rows = await views.events(tx, wanted, after, limit + 1)
    return render.answer(render.page([render.event(row) for row in rows], limit, cursor="seq"))


@router.get("/v1/runs/{run_id}/stream", openapi_extra=described(stream=True))
async def stream(run_id: str, request: Request, api: ApiDep, caller: StreamCallerDep) -> Response:
    """Server-sent events of one run. `Last-Event-ID` resumes on any replica; 204 after the last word."""
    check_queries(request, "ticket", "after")
    given = request.headers.get("last-event-id") or one_query(request, "after")
    opened = await open_stream(api, caller, id_of(run_id, "run"), _owner(caller), given)
    if opened is None:
        return Response(status_code=204)
    return wire.respond(opened.lines(), api.limits)


@router.post("/v1/runs/{run_id}/cancel", status_code=202, response_model=RunView,
             openapi_extra=described(StopRequest, optional=True))  # fmt: skip
async def cancel(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Ask for the end: at once when nobody works on it, else after what is in progress was drained."""
    body = await _stop_body(request)
    return render.answer(render.run(await stop_run(api, caller, id_of(run_id, "run"), note=body.note)), 202)


@router.post("/v1/runs/{run_id}/pause", status_code=202, response_model=RunView,
             openapi_extra=described(StopRequest, optional=True))  # fmt: skip
async def pause(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """A break: at once, or at the next safe boundary of a running run."""
    await _stop_body(request)
    return render.answer(render.run(await pause_run(api, caller, id_of(run_id, "run"))), 202)


@router.post("/v1/runs/{run_id}/resume", status_code=202, response_model=RunView,
             openapi_extra=described(StopRequest, optional=True))  # fmt: skip
async def resume(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Go on after a pause."""
    await _stop_body(request)
    return render.answer(render.run(await resume_run(api, caller, id_of(run_id, "run"))), 202)


async def _stop_body(request: Request) -> StopRequest:
    """`{note?}`, or nothing at all. A key is checked for its form; the request is idempotent by itself."""
    check_queries(request)
    idempotency_key(request, required=False)
    body = await read_body(request)
    return shape(StopRequest, await read_json(request)) if body.strip() else StopRequest()
