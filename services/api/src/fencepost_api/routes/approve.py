"""The page of a one-time link. GET and HEAD show; only POST, from the page itself, decides."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fencepost_contracts.http import ActionDecision, ResolutionRequest
from fencepost_domain.errors import Conflict, FencepostError, Forbidden, Gone, Invalid
from starlette.responses import HTMLResponse, Response

from fencepost_api.approval_page import HEADERS, notice, page
from fencepost_api.deps import ApiDep, read_body
from fencepost_api.page_words import WORDS, language_of
from fencepost_api.usecases.use_link import Seen, look_at_link, use_link

router = APIRouter(include_in_schema=False)
FORM: Final = "application/x-www-form-urlencoded"
MOST_BYTES: Final = 8_192
MOST_FIELDS: Final = 40


@router.api_route("/approve/{token}", methods=["GET", "HEAD"])
async def show(token: str, request: Request, api: ApiDep) -> Response:
    """What is asked, and what would change. Opened a hundred times it is the same."""
    language = _language(request)
    try:
        return _html(page(await look_at_link(api, token), language))
    except (Forbidden, Gone) as error:
        return _refused(error, language)


@router.post("/approve/{token}")
async def decide(token: str, request: Request, api: ApiDep) -> Response:
    """Decide, once. The same again shows what is stored."""
    language = _language(request)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return _html(notice(WORDS[language].gone["cross_site"], language), 403)
    try:
        seen = await look_at_link(api, token)
        asked = await _decision(request, seen)
        if asked is None:
            return _html(notice(WORDS[language].choose, language), 422)
        return _html(page(await use_link(api, token, asked), language))
    except (Conflict, Forbidden, Gone, Invalid) as error:
        return _refused(error, language)


async def _decision(request: Request, seen: Seen) -> ResolutionRequest | None:
    """The form as a decision; None when nothing was chosen, or it is no form of ours."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return None
    body = await read_body(request)
    if len(body) > MOST_BYTES:
        return None
    try:
        given = parse_qs(body.decode(), strict_parsing=True, max_num_fields=MOST_FIELDS)
    except (ValueError, UnicodeDecodeError):
        return None
    said = {name: values[0] for name, values in given.items() if len(values) == 1}
    note = said.get("note", "").replace("\x00", "")[:500] or None
    indexes = list(seen.row["indexes"])
    if len(indexes) <= 1:
        chosen = said.get("decision")
        return ResolutionRequest(decision=chosen, note=note) if chosen in ("approve", "reject") else None
    chosen_each = [(index, said.get(f"d{index}")) for index in indexes]
    if any(one not in ("approve", "reject") for _, one in chosen_each):
        return None
    decisions = tuple(ActionDecision(index=index, decision=one) for index, one in chosen_each)
    return ResolutionRequest(decisions=decisions, note=note)


def _language(request: Request) -> str:
    return language_of(request.query_params.get("lang"), request.headers.get("accept-language"))


def _refused(error: FencepostError, language: str) -> Response:
    words = WORDS[language]
    if isinstance(error, Gone):
        return _html(notice(words.gone.get(error.code, words.over), language), 410)
    if isinstance(error, Conflict):
        return _html(notice(words.gone.get(error.code, words.otherwise), language), 409)
    if isinstance(error, Invalid):
        return _html(notice(words.choose, language), 422)
    told = str(error) if str(error) != "this link is not valid" else ""
    return _html(notice(f"{words.may_not} {told}" if told else words.invalid, language), 403)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, dict(HEADERS))
