"""Errors as RFC 9457 problems: the only place of this service where an HTTP status stands.

What the worker is told is a code it acts on and words written for it; never an exception's text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from fencepost_contracts.canonical import Fault
from fencepost_contracts.tools import Problem, Refusal
from fencepost_domain.errors import Conflict, FencepostError, Invalid, NotFound, Unavailable
from starlette.responses import Response

MEDIA_TYPE: Final = "application/problem+json"
STATUS: Final[Mapping[str, int]] = {
    "bad_request": 400,
    "invalid_json": 400,
    "invalid_request": 400,
    "fence_malformed": 400,
    "unauthenticated": 401,
    "token_refused": 403,
    "simulation": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "body_too_large": 413,
    "calls_refused": 422,
    "internal": 500,
    "unavailable": 503,
}
CONFLICT: Final = 409  # every other code: the present state says no
TITLES: Final[Mapping[int, str]] = {
    400: "The request can't be read",
    401: "Who asks is not known",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "The present state excludes this",
    413: "The body is too large",
    422: "Calls were refused",
    500: "Something failed on our side",
    503: "Not available now",
}
RETRY_SECONDS: Final = 1.0


class Refused(FencepostError):
    """A request refused at the door, by a code of the table."""

    def __init__(self, code: str, detail: str, faults: Sequence[Fault] = ()) -> None:
        self.code = code  # type: ignore[misc]  # the instance's word wins
        self.faults = tuple(faults)
        super().__init__(detail)


class CallsRefused(FencepostError):
    """One bad call refuses all of an answer; each bad one is named."""

    code = "calls_refused"

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        super().__init__(f"{len(self.refusals)} of the calls may not be made")


def problem(error: FencepostError, request_id: str) -> Problem:
    """The worker's view of an error."""
    code, detail = error.code, str(error)
    errors: tuple[dict[str, str], ...] = ()
    if isinstance(error, NotFound):
        code, detail = "not_found", f"there is no such {error.thing} here"
    elif isinstance(error, Unavailable):
        code, detail = "unavailable", "try again shortly"
    elif isinstance(error, Invalid):
        code, errors = "invalid_request", ({"pointer": error.pointer, "detail": str(error)},)
    elif isinstance(error, Refused):
        errors = tuple({"pointer": fault.pointer, "detail": fault.detail} for fault in error.faults)
    status = STATUS.get(code, CONFLICT)
    return Problem(
        type=f"urn:fencepost:problem:{code}",
        title=TITLES[status],
        status=status,
        detail=detail,
        code=code,
        request_id=request_id,
        errors=errors,
        refusals=error.refusals if isinstance(error, CallsRefused) else (),
        retry_after_seconds=RETRY_SECONDS if status == 503 else None,
        effect=dict(error.stored) if isinstance(error, Conflict) and error.stored else None,
    )


def internal() -> Refused:
    return Refused("internal", "it was logged under the request id")


def respond(error: FencepostError, request_id: str) -> Response:
    told = problem(error, request_id)
    headers = {"Cache-Control": "no-store"}
    if told.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="fencepost"'
    if told.retry_after_seconds is not None:
        headers["Retry-After"] = str(math.ceil(told.retry_after_seconds))
    return Response(told.model_dump_json(), told.status, headers, MEDIA_TYPE)
