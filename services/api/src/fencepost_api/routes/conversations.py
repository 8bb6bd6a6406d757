"""Conversations, their messages and their state; a session is a conversation."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fencepost_contracts.http_state import StateEventView, StateView
from fencepost_contracts.http_views import ConversationView, MessageView, Page
from fencepost_domain.state import KEY
from fencepost_store import state, views
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.deps import ApiDep, CallerDep, bad_query, check_queries, id_of, limit_of, one_query
from fencepost_api.queries import cursor_id, instant, number

router = APIRouter(tags=["conversations"])


@router.get("/v1/conversations", response_model=Page[ConversationView])
async def list_conversations(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """The caller's, newest first; operators may name another `?user=`."""
    check_queries(request, "user", "limit", "cursor")
    limit, user = limit_of(request), one_query(request, "user")
    if not caller.oversees and user not in (None, caller.user_id):
        return render.answer({"items": [], "next_cursor": None})
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views.conversations(tx, user or caller.user_id, cursor_id(request), limit + 1)
    return render.answer(render.page([render.conversation(row) for row in rows], limit))


@router.get("/v1/conversations/{conversation_id}", response_model=ConversationView)
async def get_conversation(conversation_id: str, api: ApiDep, caller: CallerDep) -> Response:
    wanted = id_of(conversation_id, "conversation")
    async with api.store.transaction(caller.tenant_id) as tx:
        row = await views.conversation(tx, wanted, None if caller.oversees else caller.user_id)
    return render.answer(render.conversation(row))


@router.get("/v1/conversations/{conversation_id}/messages", response_model=Page[MessageView])
async def messages(conversation_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """In order, after `?after=seq` (or `?cursor=`, the same)."""
    check_queries(request, "after", "cursor", "limit")
    wanted, limit = id_of(conversation_id, "conversation"), limit_of(request)
    after = number(request, "cursor", number(request, "after", 0))
    async with api.store.transaction(caller.tenant_id) as tx:
        await views.conversation(tx, wanted, None if caller.oversees else caller.user_id)
        rows = await views.messages(tx, wanted, after, limit + 1)
    return render.answer(render.page([render.message(row) for row in rows], limit, cursor="seq"))


@router.get("/v1/conversations/{conversation_id}/state", response_model=StateView)
async def present_or_past_state(
    conversation_id: str, request: Request, api: ApiDep, caller: CallerDep
) -> Response:
    """The state now, or as it was at `?at=` (RFC 3339 with its zone)."""
    check_queries(request, "at")
    wanted, at = id_of(conversation_id, "conversation"), instant(request, "at")
    async with api.store.transaction(caller.tenant_id) as tx:
        await views.conversation(tx, wanted, None if caller.oversees else caller.user_id)
        found = await (state.state_at(tx, wanted, at) if at else state.present_state(tx, wanted))
    shown = {"conversation_id": wanted, "at": render.utc(at or found.at), "seq": found.seq}
    return render.answer({**shown, "values": dict(found.values), "erased": found.erased})


@router.get("/v1/conversations/{conversation_id}/state/events", response_model=Page[StateEventView])
async def state_events(conversation_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Every change in order, after `?after=seq` (or `?cursor=`), of one key with `?key=`."""
    check_queries(request, "after", "cursor", "limit", "key")
    wanted, limit, key = id_of(conversation_id, "conversation"), limit_of(request), one_query(request, "key")
    if key is not None and not KEY.fullmatch(key):
        raise bad_query("key", "a key of the state: small letters, digits and _")
    after = number(request, "cursor", number(request, "after", 0))
    async with api.store.transaction(caller.tenant_id) as tx:
        await views.conversation(tx, wanted, None if caller.oversees else caller.user_id)
        rows = await state.state_events(tx, wanted, after, limit + 1, key)
    return render.answer(render.page([render.state_event(row) for row in rows], limit, cursor="seq"))
