"""From a tool's `http:` block and checked arguments to the bytes of a request, as they are stored and sent.

Pure: the same block, arguments and key give the same bytes. A request is canonical JSON of
`{method, url, headers, body}`, the body a text or null; no credential is in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from fencepost.authoring import ToolRefused
from fencepost_contracts import canonical
from fencepost_contracts.http_tools import EFFECT_KEY, PLACEHOLDER, HttpCall, HttpLookup

IN_QUERY: Final = frozenset({"GET", "DELETE"})


def build_request(block: HttpCall, arguments: Mapping[str, Any], key: str) -> bytes:
    """Raises ToolRefused for an argument that can't stand in an address."""
    values = {**arguments, EFFECT_KEY: key}
    used = set(PLACEHOLDER.findall(block.url))
    rest = {name: value for name, value in arguments.items() if name not in used}
    url = fill_url(block.url, values)
    headers = {"accept": "application/json", **block.headers}
    body: str | None = None
    if block.body is not None:
        body = canonical.dumps(canonical.plain(_filled(block.body, values))).decode()
    elif block.method in IN_QUERY:
        url = _with_query(url, rest)
    else:
        body = canonical.dumps(rest).decode()
    if body is not None:
        headers.setdefault("content-type", "application/json")
    if block.key_header is not None:
        headers[block.key_header] = key
    return canonical.dumps(
        {"method": block.method, "url": url, "headers": headers, "body": body, "arguments": dict(arguments)}
    )


def build_lookup(block: HttpLookup, request: bytes, key: str) -> dict[str, Any]:
    """The look-up's request, of the arguments that were stored with the attempt's own."""
    arguments = json.loads(request).get("arguments", {})
    url = fill_url(block.url, {**arguments, EFFECT_KEY: key})
    body = "{}" if block.method not in IN_QUERY else None
    headers = {"accept": "application/json"}
    if body is not None:
        headers["content-type"] = "application/json"
    return {"method": block.method, "url": url, "headers": headers, "body": body}


def fill_url(template: str, values: Mapping[str, Any]) -> str:
    """Percent-encode each value into its place; nothing of it can end the part it stands in."""

    def one(name: str) -> str:
        value = values.get(name)
        if value is None or isinstance(value, dict | list):
            raise ToolRefused("it is part of an address: one plain value", pointer=canonical.pointer(name))
        text = json.dumps(value) if isinstance(value, bool) else str(value)
        if text in ("", ".", ".."):
            raise ToolRefused(
                "it is part of an address: neither empty nor dots", pointer=canonical.pointer(name)
            )
        # A colon may stand in a path as it is. Encoded, a provider that forgets to decode finds no key.
        return quote(text, safe=":" if name == EFFECT_KEY else "")

    return PLACEHOLDER.sub(lambda found: one(found[1]), template)


def _with_query(url: str, values: Mapping[str, Any]) -> str:
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    for name, value in sorted(values.items()):
        for item in value if isinstance(value, list) else [value]:
            pairs.append((name, item if isinstance(item, str) else json.dumps(item)))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(pairs), ""))


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """`"{name}"` alone stands for the value, inside a text for its text; what isn't given is left out."""
    if isinstance(template, dict):
        filled = {name: _filled(value, values) for name, value in template.items()}
        return {name: value for name, value in filled.items() if value is not _ABSENT}
    if isinstance(template, list | tuple):
        return [value for value in (_filled(item, values) for item in template) if value is not _ABSENT]
    if not isinstance(template, str):
        return template
    whole = PLACEHOLDER.fullmatch(template)
    if whole:
        return values.get(whole[1], _ABSENT)
    return PLACEHOLDER.sub(lambda found: str(values.get(found[1], "")), template)


class _Absent:
    pass


_ABSENT: Final = _Absent()


def resolved(value: Any, place: str) -> Any:
    """The value at a JSON pointer; None where there is none."""
    for part in place.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
