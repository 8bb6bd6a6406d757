"""What is read of a request: a body with an end, JSON without doubt, a fence, and who asks."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from fencepost_contracts import canonical
from fencepost_contracts.canonical import Fault, JsonRefused
from fencepost_contracts.tools import FENCE_HEADER
from fencepost_domain.fence import Fence
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from fencepost_tool_gateway.problems import Refused

MAX_BODY: Final = 1_048_576
MAX_FENCE: Final = 400  # characters of the header
MAX_REVISION: Final = 2**63 - 1
_ARGUMENTS: Final = re.compile(r"/calls/(0|[1-9][0-9]{0,3})/arguments(/.*)?", re.DOTALL)
Model = TypeVar("Model", bound=BaseModel)


def check_service(request: Request, secret: bytes) -> None:
    """The caller is one of our services. Compared in constant time, on bytes: text may be anything (AP-5).

    Raises Refused unauthenticated.
    """
    given = request.headers.get("authorization", "").encode("latin-1", "replace")
    if not hmac.compare_digest(given, b"Bearer " + secret):
        raise Refused("unauthenticated", "this service answers to the other services of its mesh")


def read_fence(request: Request) -> Fence:
    """Raises Refused fence_malformed."""
    header = request.headers.get(FENCE_HEADER, "")
    try:
        if len(header) > MAX_FENCE or not header.isprintable():
            raise ValueError
        fence = Fence.parse(header)
        if fence.revision > MAX_REVISION or str(fence.run_id) != header[:36].lower():
            raise ValueError
    except ValueError:
        shape = f"{FENCE_HEADER} is <run_id>/<lease_owner>/<revision>"
        raise Refused("fence_malformed", shape) from None
    return fence


async def read_body(request: Request) -> bytes:
    """At most MAX_BODY bytes, counted as they arrive. Raises Refused body_too_large."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length[:18]) > MAX_BODY:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _too_large()
    return bytes(body)


async def read_model(request: Request, model: type[Model]) -> tuple[Model, Mapping[int, list[Fault]]]:
    """The body as a model, and the faults of calls' arguments by the call's position.

    Raises Refused invalid_json or invalid_request with a pointer for each thing wrong outside arguments.
    """
    try:
        value, faults = canonical.read(await read_body(request))
    except JsonRefused as error:
        raise Refused("invalid_json", "the body can't be used", error.faults) from None
    inside, outside = _sorted(faults)
    if outside:
        raise Refused("invalid_json", "the body can't be used", outside)
    return _model(value, model), inside


def _model(value: Any, model: type[Model]) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = [
            Fault(canonical.pointer(*item["loc"]), str(item["msg"])[:300])
            for item in error.errors(include_url=False, include_context=False, include_input=False)[:20]
        ]
        raise Refused("invalid_request", "the body has another shape", found) from None


def _sorted(faults: list[Fault]) -> tuple[dict[int, list[Fault]], list[Fault]]:
    inside: dict[int, list[Fault]] = {}
    outside: list[Fault] = []
    for fault in faults:
        found = _ARGUMENTS.fullmatch(fault.pointer)
        if found:
            inside.setdefault(int(found[1]), []).append(Fault(found[2] or "", fault.detail))
        else:
            outside.append(fault)
    return inside, outside


def _too_large() -> Refused:
    return Refused("body_too_large", f"at most {MAX_BODY} bytes are read")
