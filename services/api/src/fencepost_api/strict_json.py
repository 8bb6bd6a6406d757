"""JSON as it should be: UTF-8, no key twice, no NaN, no depth bomb, no character that can't be stored.

Python's parser accepts `NaN`, `Infinity`, `1e999`, keys given twice, lone surrogates and any depth up to
its stack (cases CP-1, EV-7). Here each is refused with a pointer; in free text a NUL or lone surrogate is
replaced visibly instead, because a person pasted it and means the rest.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from fencepost_runtime.logging import get_logger

from fencepost_api.problems import Refusal

MAX_DEPTH: Final = 32  # of arrays and objects; our deepest request has four
MAX_EXACT: Final = 2**53  # beyond it other parsers round: such numbers travel as strings
FREE_TEXT: Final = frozenset({"text", "note"})  # keys whose value a person wrote
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET: Final = re.compile(rb"[\[\]{}]")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")

log = get_logger(__name__)


class _Twice(ValueError):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__("twice")


def parse(body: bytes) -> Any:
    """The parsed value. Raises Refusal with the code that fits."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal("invalid_encoding", f"Byte {error.start} is not UTF-8.") from None
    _check_depth(body)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except _Twice as error:
        raise Refusal("duplicate_key", f"The key {_shown(error.key)} stands twice in an object.") from None
    except json.JSONDecodeError as error:
        raise Refusal("invalid_json", f"Not JSON at line {error.lineno}, column {error.colno}.") from None
    except (ValueError, RecursionError):  # a constant JSON doesn't have, or a number of thousands of digits
        raise Refusal("invalid_json", "A number can't be read; NaN and Infinity are not JSON.") from None
    return _clean(value, "")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Twice(key)
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _check_depth(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", body)):
        depth += 1 if bracket.group() in b"[{" else -1
        if depth > MAX_DEPTH:
            raise Refusal("json_too_deep", f"At most {MAX_DEPTH} levels are read.")


def _clean(value: Any, pointer: str, key: str = "") -> Any:
    if isinstance(value, str):
        return _clean_text(value, pointer, key)
    if isinstance(value, dict):
        for name in value:
            if _UNSTORABLE.search(name):
                raise _bad(pointer, "invalid_characters", "a key holds a NUL or half a surrogate pair")
        return {name: _clean(item, f"{pointer}/{escape(name)}", name) for name, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, f"{pointer}/{place}") for place, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise _bad(pointer, "number_out_of_range", "the number is too large")
    if isinstance(value, int) and abs(value) > MAX_EXACT:
        raise _bad(pointer, "number_out_of_range", "send numbers beyond 2^53 as strings")
    return value


def _clean_text(value: str, pointer: str, key: str) -> str:
    if not _UNSTORABLE.search(value):
        return value
    if key not in FREE_TEXT:
        raise _bad(pointer, "invalid_characters", "it holds a NUL or half a surrogate pair")
    log.warning("request.text_replaced", pointer=pointer)
    return _UNSTORABLE.sub("\ufffd", value)


def _bad(pointer: str, code: str, detail: str) -> Refusal:
    return Refusal(
        "invalid_request",
        "One value is not valid.",
        [{"pointer": _storable(pointer), "code": code, "detail": detail}],
    )


def escape(name: object) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return str(name).replace("~", "~0").replace("/", "~1")


def _storable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


def _shown(key: str) -> str:
    return json.dumps(_storable(key[:64]), ensure_ascii=False)
