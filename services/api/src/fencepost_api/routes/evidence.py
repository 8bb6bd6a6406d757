"""A run's log as evidence: the export that proves itself, and diagnostic replay up to any seq."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from queue import SimpleQueue
from typing import Any, Final

from fastapi import APIRouter, Request
from fencepost_contracts.evidence.bundle import MEDIA_TYPE, BundleWriter
from fencepost_contracts.evidence.log import LogEvent
from fencepost_contracts.evidence.upcast import NewerEvent
from fencepost_contracts.evidence.views import READS, VIEWS, json_of, types_of
from fencepost_contracts.http_views import ReplayView
from fencepost_domain.errors import Conflict, Unavailable
from fencepost_runtime.logging import get_logger
from fencepost_store.event_log import Page, log_pages, log_summary
from fencepost_store.evidence import bundle_lines, head_of
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.deps import ApiDep, CallerDep, check_queries, id_of
from fencepost_api.queries import number, one_of

log = get_logger(__name__)
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
    return Whole(_until_stopped(api, lines), 200, headers, MEDIA_TYPE)


class Whole(StreamingResponse):
    """A body that arrives whole, or whose connection is cut: nobody takes a part of it for all."""

    async def stream_response(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        except Unavailable as error:
            # Its start is sent, so there is no status to tell it by: without an end the server closes the
            # connection, and every client's reader raises.
            log.warning("export.cut", why=str(error))


async def _until_stopped(api: Api, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Raises Unavailable when the process is to end."""
    async for part in lines:
        if api.stop.is_set():
            raise Unavailable("this process ends: ask for the export again")
        yield part


@router.get("/v1/runs/{run_id}/replay", response_model=ReplayView)
async def replay(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """What the log said up to `?at_seq=`, as a `?view=`; nothing is called, nothing is run again."""
    check_queries(request, "at_seq", "view")
    view = one_of(request, "view", VIEWS) or "summary"
    wanted, at_seq = id_of(run_id, "run"), number(request, "at_seq", _WHOLE)
    try:
        async with api.store.transaction(caller.tenant_id) as tx:
            head = await head_of(tx, wanted, _owner(caller))
            upto = min(at_seq, head["event_seq"])
            told = {"run_id": wanted, "view": view, "at_seq": upto, "head_seq": head["event_seq"]}
            if view == "summary":
                result = await log_summary(tx, wanted, upto)
                return _shown({**told, "degraded": result["erased"] > 0, "result": result})
        return await _folded(api, caller, told)
    except NewerEvent as error:
        raise Conflict("event_too_new", str(error)) from error


async def _folded(api: Api, caller: Caller, told: dict[str, Any]) -> Response:
    """In a thread, while the next page is fetched: a long log must not hold up everybody else's streams."""
    only, reads = types_of(told["view"]), READS[told["view"]]
    given: SimpleQueue[Page | None] = SimpleQueue()
    folding = asyncio.ensure_future(asyncio.to_thread(_fold, told, iter(given.get, None)))
    try:
        async with api.store.transaction(caller.tenant_id) as tx:
            async for page in log_pages(tx, told["run_id"], told["at_seq"], only=only, reads=reads):
                given.put(page)
                if folding.done():
                    break  # it can't read this log; what it raised comes below
    finally:
        given.put(None)
        await asyncio.wait([folding])  # not in the transaction, which would be idle meanwhile
    return folding.result()


def _fold(told: dict[str, Any], pages: Iterable[Page]) -> Response:
    view: str = told["view"]
    reads, erased = READS[view], False

    def events() -> Iterator[LogEvent]:
        nonlocal erased
        for page in pages:
            for event in page:
                erased = erased or (event.payload is None and (reads is None or event.type in reads))
                yield event

    result = VIEWS[view](events())
    return _shown({**told, "degraded": erased, "result": result})


def _shown(found: dict[str, Any]) -> Response:
    return Response(json_of(found), 200, {"Cache-Control": "no-store"}, "application/json")


def _owner(caller: Caller) -> str | None:
    return None if caller.oversees else caller.user_id
