"""A run's log as evidence: the export that proves itself, and diagnostic replay up to any seq."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Request
from fencepost_contracts.evidence.bundle import MEDIA_TYPE, BundleWriter
from fencepost_contracts.evidence.log import LogEvent
from fencepost_contracts.evidence.upcast import NewerEvent
from fencepost_contracts.evidence.views import READS, VIEWS
from fencepost_contracts.http_views import ReplayView
from fencepost_domain.errors import Conflict
from fencepost_store.evidence import bundle_lines, head_of, log_of
from starlette.responses import Response, StreamingResponse

from fencepost_api import render
from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.deps import ApiDep, CallerDep, check_queries, id_of
from fencepost_api.queries import number, one_of

router = APIRouter(tags=["evidence"])
_WHOLE: Final = 2**53


@router.get(
    "/v1/runs/{run_id}/export",
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
    response_class=StreamingResponse,
)
async def export(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """The log as JSONL: header, events with payloads, artifacts by hash, trailer; verifiable offline."""
    check_queries(request)
    wanted = id_of(run_id, "run")
    async with api.store.transaction(caller.tenant_id) as tx:
        head = await head_of(tx, wanted, _owner(caller))
    lines = bundle_lines(api.store, caller.tenant_id, head, BundleWriter(wanted, api.signer))
    headers = {
        "Content-Disposition": f'attachment; filename="fencepost-{wanted}.jsonl"',
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
    }
    return StreamingResponse(_until_stopped(api, lines), 200, headers, MEDIA_TYPE)


async def _until_stopped(api: Api, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A process that is to end cuts the bundle: the reader sees that its trailer is missing."""
    async for part in lines:
        if api.stop.is_set():
            return
        yield part


@router.get("/v1/runs/{run_id}/replay", response_model=ReplayView)
async def replay(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """What the log said up to `?at_seq=`, as a `?view=`; nothing is called, nothing is run again."""
    check_queries(request, "at_seq", "view")
    view = one_of(request, "view", VIEWS) or "summary"
    wanted, at_seq = id_of(run_id, "run"), number(request, "at_seq", _WHOLE)
    async with api.store.transaction(caller.tenant_id) as tx:
        head = await head_of(tx, wanted, _owner(caller))
        upto = min(at_seq, head["event_seq"])
        only = READS[view] if view != "summary" else None
        try:
            events = await log_of(tx, wanted, upto, only=only, reads=READS[view])
        except NewerEvent as error:
            raise Conflict("event_too_new", str(error)) from error
    body = await asyncio.to_thread(_folded, wanted, view, upto, head["event_seq"], events)
    return Response(body, 200, {"Cache-Control": "no-store"}, "application/json")


def _folded(run_id: UUID, view: str, at_seq: int, head_seq: int, events: list[LogEvent]) -> bytes:
    """In a thread: a hundred thousand events must not hold up everybody else's streams."""
    reads = READS[view]
    erased = any(e.payload is None and (reads is None or e.type in reads) for e in events)
    found: dict[str, Any] = {
        "run_id": run_id,
        "view": view,
        "at_seq": at_seq,
        "head_seq": head_seq,
        "degraded": erased,
        "result": VIEWS[view](events),
    }
    return bytes(render.answer(found).body)


def _owner(caller: Caller) -> str | None:
    return None if caller.oversees else caller.user_id
