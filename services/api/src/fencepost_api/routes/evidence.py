"""A run's log as evidence: the export that proves itself, and diagnostic replay up to any seq."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Request
from fencepost_contracts.evidence.bundle import MEDIA_TYPE, BundleWriter
from fencepost_contracts.evidence.log import LogEvent
from fencepost_contracts.evidence.upcast import NewerEvent
from fencepost_contracts.evidence.views import READS, VIEWS
from fencepost_contracts.http_views import ReplayView
from fencepost_domain.errors import Conflict
from fencepost_store.evidence import Page, bundle_lines, head_of, log_pages
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
        pages = await log_pages(tx, wanted, upto, only=only, reads=READS[view])
    try:
        body = await asyncio.to_thread(_folded, wanted, view, upto, head["event_seq"], pages)
    except NewerEvent as error:
        raise Conflict("event_too_new", str(error)) from error
    return Response(body, 200, {"Cache-Control": "no-store"}, "application/json")


def _folded(run_id: UUID, view: str, at_seq: int, head_seq: int, pages: list[Page]) -> bytes:
    """In a thread: a hundred thousand events must not hold up everybody else's streams."""
    reads, erased = READS[view], False

    def events() -> Iterator[LogEvent]:
        nonlocal erased
        for page in pages:
            for event in page:
                erased = erased or (event.payload is None and (reads is None or event.type in reads))
                yield event

    result = VIEWS[view](events())
    found: dict[str, Any] = {
        "run_id": run_id,
        "view": view,
        "at_seq": at_seq,
        "head_seq": head_seq,
        "degraded": erased,
        "result": result,
    }
    return bytes(render.answer(found).body)


def _owner(caller: Caller) -> str | None:
    return None if caller.oversees else caller.user_id
