"""Errors as RFC 9457 problems: the only place where an HTTP status stands.

Every code has one row: its status and title. What the caller is told comes from the row and from words that
were written for callers; an exception's text, a SQL message or a traceback never leaves the process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fencepost_domain.errors import (
    Conflict,
    FencepostError,
    Forbidden,
    Gone,
    IllegalTransition,
    Invalid,
    NotFound,
    Refused,
    Unavailable,
)
from starlette.responses import Response

MEDIA_TYPE: Final = "application/problem+json"
RETRY_SECONDS: Final = 1  # what a caller waits before the same request again

# code -> (status, title)
PROBLEMS: Final[Mapping[str, tuple[int, str]]] = {
    "bad_request": (400, "The request can't be read"),
    "invalid_json": (400, "The body is not JSON"),
    "invalid_encoding": (400, "The body is not UTF-8"),
    "duplicate_key": (400, "An object names a key twice"),
    "json_too_deep": (400, "The body is nested too deeply"),
    "empty_body": (400, "A body is needed"),
    "idempotency_key_required": (400, "Idempotency-Key is missing"),
    "idempotency_key_invalid": (400, "Idempotency-Key is malformed"),
    "invalid_header": (400, "A header is malformed"),
    "unauthenticated": (401, "A valid token is needed"),
    "forbidden": (403, "Not allowed"),
    "not_found": (404, "Not found"),
    "method_not_allowed": (405, "Method not allowed"),
    "not_acceptable": (406, "Nothing acceptable to send"),
    "request_timeout": (408, "The body didn't arrive in time"),
    "conflict": (409, "Conflict with the present state"),
    "request_in_progress": (409, "The first request under this key is still in work"),
    "conversation_busy": (409, "The conversation is busy"),
    "already_resolved": (409, "It was decided otherwise"),
    "effect_not_asked": (409, "Nobody is asked about this effect"),
    "already_voted": (409, "You decided otherwise"),
    "not_an_approval": (409, "No approval is asked for"),
    "run_finished": (409, "The run has ended"),
    "run_not_finished": (409, "The run has not ended yet"),
    "run_not_started": (409, "The run has not been started yet"),
    "settle_the_effect": (409, "It is answered by settling the effect"),
    "version_not_served": (409, "No living worker serves this version"),
    "not_a_fork_point": (409, "The run can't be forked there"),
    "not_compensable": (409, "The effect can't be undone"),
    "not_completed": (409, "The effect is not completed"),
    "run_is_an_order": (409, "The run does one ordered call"),
    "no_origin": (409, "The run was not made from another one"),
    "simulation": (409, "A simulation may not touch the world"),
    "event_too_new": (409, "The log was written by a newer release"),
    "run_cancelling": (409, "The run is being stopped"),
    "not_handed_over": (409, "The run was not handed over"),
    "already_continued": (409, "Another run goes on from it"),
    "nothing_to_repair": (409, "This repair doesn't apply now"),
    "gone": (410, "Its time is over"),
    "interrupt_expired": (410, "It can't be answered any more"),
    "artifact_lost": (410, "The content is lost"),
    "run_erased": (410, "What the run said was erased"),
    "artifact_erased": (410, "The content was erased"),
    "interrupt_withdrawn": (410, "It isn't asked any more"),
    "link_expired": (410, "The link's time is over"),
    "link_replaced": (410, "A newer link was made"),
    "link_spent": (410, "The link was used before"),
    "body_too_large": (413, "The body is too large"),
    "uri_too_long": (414, "The address is too long"),
    "unsupported_media_type": (415, "Send application/json in UTF-8"),
    "upload_expected": (415, "Send a file as multipart/form-data"),
    "artifact_type_refused": (415, "This type of file isn't taken"),
    "invalid_request": (422, "The request is not valid"),
    "idempotency_key_reused": (422, "Idempotency-Key was used for another request"),
    "budget_exhausted": (429, "A budget is used up"),
    "headers_too_large": (431, "The headers are too large"),
    "artifacts_unavailable": (503, "The artifact store doesn't answer"),
    "internal": (500, "Something failed on our side"),
    "unavailable": (503, "Not available now"),
}
_BY_STATUS: Final = {
    400: "bad_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "body_too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
    503: "unavailable",
}
# Where a code has no row of its own, its class of errors has.
_BY_CLASS: Final[tuple[tuple[type[FencepostError], str], ...]] = (
    (NotFound, "not_found"),
    (Forbidden, "forbidden"),
    (Gone, "gone"),
    (Invalid, "invalid_request"),
    (IllegalTransition, "conflict"),
    (Conflict, "conflict"),
    (Unavailable, "unavailable"),
    (Refused, "conflict"),
)


class Refusal(Refused):
    """A request refused at the door, by a code of the table.

    errors: what is wrong, as members of the problem's `errors[]`. headers: for the answer.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code  # type: ignore[misc]  # the instance's word wins
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Told:
    """What a caller is told."""

    code: str
    detail: str
    errors: tuple[Mapping[str, Any], ...] = ()
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def tell(error: FencepostError) -> Told:
    """A domain error in the caller's words. Details of domain errors are written for callers."""
    if isinstance(error, Refusal):
        return Told(error.code, str(error), error.errors, headers=error.headers)
    code = next((row for kind, row in _BY_CLASS if isinstance(error, kind)), "internal")
    if isinstance(error, NotFound):
        return Told(code, f"There is no such {error.thing} here.")
    if isinstance(error, Invalid):
        item = {"pointer": error.pointer, "code": error.code, "detail": str(error)}
        return Told(code, "One value is not valid.", (item,))
    if isinstance(error, Unavailable):
        return Told(code, "Try again shortly.", headers={"Retry-After": str(RETRY_SECONDS)})
    if error.code in PROBLEMS:
        code = error.code
    if code == "internal":
        return Told(code, _INTERNAL)
    if isinstance(error, IllegalTransition):
        return Told(code, "The present state doesn't allow this.")
    stored = getattr(error, "stored", {})
    return Told(code, f"{str(error)[:1].upper()}{str(error)[1:]}.", members=stored)


_INTERNAL: Final = "It was logged under the request id."


def internal() -> Told:
    return Told("internal", _INTERNAL)


def of_status(status: int, headers: Mapping[str, str] | None = None) -> Told:
    """For refusals of the framework (routing, methods), which know a status only."""
    code = _BY_STATUS.get(status, "bad_request" if status < 500 else "internal")
    return Told(code, PROBLEMS[code][1] + ".", headers=dict(headers or {}))


def status_of(code: str) -> int:
    return PROBLEMS[code][0]


def body_of(told: Told, request_id: str) -> dict[str, Any]:
    status, title = PROBLEMS[told.code]
    return {
        "type": f"urn:fencepost:problem:{told.code}",
        "title": title,
        "status": status,
        "detail": told.detail,
        "code": told.code,
        "request_id": request_id,
        "errors": [dict(item) for item in told.errors],
        **{key: value for key, value in told.members.items() if key not in _RESERVED},
    }


_RESERVED: Final = frozenset({"type", "title", "status", "detail", "code", "request_id", "errors"})


def respond(told: Told, request_id: str) -> Response:
    """The answer. Problems are never cached."""
    content = json.dumps(body_of(told, request_id), ensure_ascii=False, default=str).encode(
        "utf-8", errors="replace"
    )
    headers = {"Cache-Control": "no-store", **told.headers}
    if status_of(told.code) == 401:
        headers.setdefault("WWW-Authenticate", 'Bearer realm="fencepost"')
    return Response(content, status_of(told.code), headers, MEDIA_TYPE)
