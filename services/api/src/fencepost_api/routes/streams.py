"""The caller's feed, and tickets for who can't send a header."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fencepost_contracts.http import TicketRequest
from fencepost_contracts.http_views import TicketView
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.deps import ApiDep, CallerDep, StreamCallerDep, check_queries, read_json, shape
from fencepost_api.openapi import described
from fencepost_api.queries import uuid_query
from fencepost_api.sse import wire
from fencepost_api.sse.feed_stream import FeedStream

router = APIRouter(tags=["streams"])


@router.get("/v1/feed", openapi_extra=described(stream=True))
async def feed(request: Request, api: ApiDep, caller: StreamCallerDep) -> Response:
    """Server-sent events of the caller: runs, questions, messages, reminders; resumable for 24 hours."""
    check_queries(request, "ticket", "conversation_id")
    conversation = uuid_query(request, "conversation_id")
    stream = FeedStream(api, caller, request.headers.get("last-event-id"), conversation)
    return wire.respond(stream.lines(), api.limits)


@router.post(
    "/v1/tickets", status_code=201, response_model=TicketView, openapi_extra=described(TicketRequest)
)
async def tickets(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """A ticket for one path, to be sent as `?ticket=`: ten minutes, this user, reusable."""
    check_queries(request)
    body = shape(TicketRequest, await read_json(request))
    ticket, ends = api.tickets.issue(caller, body.path)
    return render.answer({"ticket": ticket, "expires_at": ends}, 201)
