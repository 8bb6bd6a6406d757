"""What Postgres can't hold in text or jsonb is replaced visibly by U+FFFD (case EV-7).

A NUL, or half a surrogate pair, comes from a model or a client and would make the same write fail for ever.
The six visible characters backslash-u-0000 are text like any other: values are cleaned, never their JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with what can't be stored replaced; the same object when there is nothing."""
    return _UNSTORABLE.sub("\ufffd", text) if _UNSTORABLE.search(text) else text


def as_json(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """A value as JSON text for a jsonb column, keys and strings storable.

    default: for what JSON has no form for, as json.dumps takes it.
    """
    try:
        text = json.dumps(value)  # plain JSON values, as nearly all are, in C
    except TypeError:
        return json.dumps(_cleaned(value), default=default)
    if "\\u0000" in text or "\\ud" in text:  # perhaps half a pair, perhaps an emoji: looked at by itself
        return json.dumps(_cleaned(value), default=default)
    return text


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_cleaned(item) for item in value]
    return value


_SAFE: Final = 2**53 - 1  # design 02 §8: a larger integer is a string in the log


def loggable(value: Any) -> Any:
    """A JSON value as an event's payload may hold it: strings storable, numbers that RFC 8785 can say."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -_SAFE <= value <= _SAFE else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): loggable(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [loggable(item) for item in value]
    return str(value)
