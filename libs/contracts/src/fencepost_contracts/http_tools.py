"""The `http:` block of a tool: one request to somebody else's server, declared and not programmed.

It is part of the published tool, so a run goes on with the request it was bound to. Nothing in it is secret:
a credential is named, and its value is put in at the send.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from fencepost_contracts.canonical import pointer

EFFECT_KEY: Final = "effect_key"  # the placeholder of the key that is the same on every attempt
PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
SECRET_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$"  # noqa: S105 - the shape of names
_HEADER: Final = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$"
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Header = Annotated[StrictStr, Field(pattern=_HEADER)]
Pointer = Annotated[StrictStr, Field(pattern=r"^(/.*)?$", max_length=200)]
Url = Annotated[StrictStr, Field(min_length=8, max_length=2000)]
Status = Annotated[int, Field(ge=200, le=599)]


class _Block(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Credential(_Block):
    """A secret by its name, sent as `<header>: <scheme> <value>` (an empty scheme: the value alone)."""

    secret: Annotated[StrictStr, Field(pattern=SECRET_NAME)]
    header: Header = "Authorization"
    scheme: StrictStr = "Bearer"


class HttpLookup(_Block):
    """How to ask whether an earlier attempt happened. `{effect_key}` stands for its key.

    found: a pointer to what proves it (a non-empty value); without one any 2xx does. absent: statuses that
    say it isn't there; a 2xx whose `found` is missing, null or empty says so too. Anything else is unsure.
    """

    method: Method = "GET"
    url: Url
    found: Pointer | None = None
    absent: tuple[Status, ...] = (404,)
    result: Pointer = ""
    external_id: Pointer | None = None


class HttpCall(_Block):
    """One request. `{argument}` is percent-encoded in `url`; in `body` it stands for the value.

    body: without one, the arguments that the url doesn't use are sent as JSON (as a query by GET and DELETE).
    key_header: where the provider takes its idempotency key. result, external_id: pointers into the answer.
    rejected: statuses by which the other side says that it did nothing.
    """

    method: Method = "POST"
    url: Url
    headers: dict[Header, StrictStr] = Field(default_factory=dict)
    body: Any = None
    key_header: Header | None = None
    credential: Credential | None = None
    result: Pointer = ""
    external_id: Pointer | None = None
    rejected: tuple[Status, ...] = (400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 451)
    lookup: HttpLookup | None = None


def http_faults(call: HttpCall, arguments: set[str], *, keyed: bool) -> Iterator[tuple[str, str]]:
    """(JSON pointer inside the block, what is wrong). keyed: the class needs the provider's key."""
    yield from (("/url", detail) for detail in _url_faults(call.url, arguments))
    if call.lookup is not None:
        yield from (("/lookup/url", detail) for detail in _url_faults(call.lookup.url, arguments))
        if EFFECT_KEY not in PLACEHOLDER.findall(call.lookup.url):
            yield "/lookup/url", f"a look-up asks by the key: {{{EFFECT_KEY}}} has to be in it"
    for name in sorted(set(_names(call.body)) - arguments - {EFFECT_KEY}):
        yield "/body", f"no argument is named {name}"
    for header in call.headers:
        if header.lower() in ("authorization", "cookie", "proxy-authorization"):
            yield "/headers" + pointer(header), "a credential is named under `credential`, never written here"
    if call.key_header is None and EFFECT_KEY not in {*_names(call.body), *_names(call.url)}:
        way_out = f"name its header, or send {{{EFFECT_KEY}}}"
        if keyed:
            yield "/key_header", f"this class repeats by the provider's key: {way_out}"
        elif call.lookup is not None:  # it would never be found, and each repeat would be one more
            yield "/key_header", f"the look-up asks by a key that the call doesn't send: {way_out}"


def _url_faults(url: str, arguments: set[str]) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.fragment:
        yield "an http or https address without user and fragment"
    if PLACEHOLDER.search(parts.netloc) or "{" in parts.scheme:
        yield "scheme and host are fixed: an argument must not choose whom we talk to"
    for name in sorted(set(PLACEHOLDER.findall(url)) - arguments - {EFFECT_KEY}):
        yield f"no argument is named {name}"


def _names(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield from PLACEHOLDER.findall(template)
    elif isinstance(template, dict):
        for value in template.values():
            yield from _names(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from _names(value)
