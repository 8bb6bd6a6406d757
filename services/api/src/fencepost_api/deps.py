"""What routes ask for: the context, the caller, a parsed body, a page, an idempotency key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from fastapi import Depends, Request
from fencepost_contracts.http import CANONICAL_UUID, IDEMPOTENCY_KEY_PATTERN, MAX_PAGE
from fencepost_domain.errors import NotFound
from pydantic import BaseModel, ValidationError

from fencepost_api.auth import Caller, refused
from fencepost_api.context import Api
from fencepost_api.problems import Refusal
from fencepost_api.strict_json import escape, parse

Model = TypeVar("Model", bound=BaseModel)
_UUID: Final = re.compile(CANONICAL_UUID)
_KEY: Final = re.compile(IDEMPOTENCY_KEY_PATTERN)
_JSON: Final = re.compile(r"application/(json|[a-z0-9.+-]+\+json)", re.IGNORECASE)
_DETAILS: Final[Mapping[str, str]] = {  # by the kind of a fault, or by its whole message
    "missing": "it is required",
    "extra_forbidden": "no such field is known here",
    r"String should match pattern '\S'": "it can't be blank",
}


def api_of(request: Request) -> Api:
    api: Api = request.app.state.api
    return api


ApiDep = Annotated[Api, Depends(api_of)]


async def caller_of(request: Request, api: ApiDep) -> Caller:
    """The bearer of the Authorization header."""
    given = request.headers.getlist("authorization")
    if len(given) != 1:
        raise refused()
    scheme, _, token = given[0].partition(" ")
    if scheme.lower() != "bearer":
        raise refused()
    return await api.verifier.verify(token.strip())


async def stream_caller_of(request: Request, api: ApiDep) -> Caller:
    """The same, or the holder of a ticket for exactly this path."""
    ticket = request.query_params.get("ticket")
    if ticket is not None and "authorization" not in request.headers:
        return api.tickets.check(ticket, request.url.path)
    return await caller_of(request, api)


CallerDep = Annotated[Caller, Depends(caller_of)]
StreamCallerDep = Annotated[Caller, Depends(stream_caller_of)]


def id_of(text: str, thing: str) -> UUID:
    """An id from the path. What can't be an id names nothing: 404, as for another's."""
    if not _UUID.fullmatch(text):
        raise NotFound(thing, text)
    return UUID(text)


def check_type(request: Request) -> None:
    """Only JSON in UTF-8, not compressed. Raises Refusal unsupported_media_type."""
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", rest, re.IGNORECASE)
    plain = request.headers.get("content-encoding", "identity").lower() == "identity"
    if (
        not _JSON.fullmatch(kind.strip())
        or not plain
        or (charset and charset[1].lower() not in ("utf-8", "utf8"))
    ):
        raise Refusal("unsupported_media_type", "Send application/json in UTF-8, not compressed.")


async def read_body(request: Request) -> bytes:
    """The whole body. Raises Refusal request_timeout for one that trickles."""
    wait = api_of(request).limits.body_wait
    try:
        async with asyncio.timeout(wait.total_seconds()):
            return await request.body()
    except TimeoutError:
        detail = f"Send it within {wait.total_seconds():g} seconds."
        raise Refusal("request_timeout", detail, headers={"Connection": "close"}) from None


async def read_json(request: Request) -> Any:
    """The body as a checked value. Raises Refusal."""
    check_type(request)
    body = await read_body(request)
    if not body.strip():
        raise Refusal("empty_body", "Send a JSON object.")
    return parse(body)


def shape(model: type[Model], value: Any) -> Model:
    """`value` as `model`. Raises Refusal invalid_request with a pointer for each fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise Refusal(
            "invalid_request", "Some values are not valid.", [_told(dict(item)) for item in found[:20]]
        ) from None


def _told(item: dict[str, Any]) -> dict[str, str]:
    steps = [step for step in item["loc"] if step != "[key]"]
    kind = str(item["type"])
    said = str(item["msg"]).removeprefix("Value error, ")
    detail = _DETAILS.get(kind) or _DETAILS.get(said) or said
    return {"pointer": "".join(f"/{escape(step)}" for step in steps), "code": kind, "detail": detail}


def idempotency_key(request: Request, *, required: bool = True) -> str | None:
    """`Idempotency-Key`, 1 to 255 visible ASCII characters, once."""
    given = request.headers.getlist("idempotency-key")
    if not given and required:
        raise Refusal("idempotency_key_required", "Send an Idempotency-Key: a new one for each new request.")
    if not given:
        return None
    if len(given) > 1 or not _KEY.fullmatch(given[0]):
        raise Refusal("idempotency_key_invalid", "Send one key of 1 to 255 visible ASCII characters.")
    return given[0]


def limit_of(request: Request) -> int:
    """`?limit=`, 1 to 200, 20 by default."""
    text = one_query(request, "limit")
    if text is None:
        return 20
    if not re.fullmatch(r"[0-9]{1,3}", text, re.ASCII) or not 1 <= int(text) <= MAX_PAGE:
        raise bad_query("limit", f"a number from 1 to {MAX_PAGE}")
    return int(text)


def one_query(request: Request, name: str) -> str | None:
    """A query parameter given at most once, without what can't be stored."""
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise bad_query(name, "it stands twice")
    if given and (len(given[0]) > 2_000 or re.search("[\x00\ud800-\udfff]", given[0])):
        raise bad_query(name, "it holds characters that can't be stored, or too many")
    return given[0] if given else None


def bad_query(name: str, detail: str) -> Refusal:
    item = {"parameter": name, "code": "invalid_parameter", "detail": detail}
    return Refusal("invalid_request", "A query parameter is not valid.", [item])


def check_queries(request: Request, *known: str) -> None:
    """Unknown parameters are refused: a misspelt filter must not mean "all"."""
    for name in request.query_params:
        if name not in known:
            raise bad_query(name[:64], "no such parameter is known here")
