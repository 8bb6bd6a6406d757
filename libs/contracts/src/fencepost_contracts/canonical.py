"""One text for one value: RFC 8785 bytes for hashing, and a parser that lets nothing doubtful in.

Python's own parser takes `NaN`, `Infinity` and `1e999`, keeps the last of two equal keys and passes lone
surrogates on (case CP-1). A NaN is under every maximum and over every minimum, so what is read here must not
hold one. Faults are named by JSON pointer, all at once, so that a caller can say which field was wrong.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NoReturn

import rfc8785

MAX_BYTES: Final = 1_048_576
MAX_DEPTH: Final = 32  # deeper than any schema of ours; far below the parser's own recursion limit
MAX_NUMBER: Final = 400  # characters of one number; int() of more is slow and no amount is that long
_SAFE: Final = 2**53 - 1
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a document. `pointer`: JSON pointer, "" for the whole."""

    pointer: str
    detail: str


class JsonRefused(ValueError):
    """The text is no JSON that may be used. `faults` is never empty."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{f.pointer or '/'}: {f.detail}" for f in faults))


class _Bad:
    """Stands where a value was that JSON doesn't have, until its place is known."""

    def __init__(self, detail: str) -> None:
        self.detail = detail


class _Object(dict[str, Any]):
    """An object as read, with the keys that stood twice."""

    twice: tuple[str, ...] = ()


def pointer(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901) from its parts."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def read(
    raw: bytes | str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> tuple[Any, list[Fault]]:
    """The value and every fault in it. A fault's place holds None in the value.

    Raises JsonRefused when there is no value at all: too big, too deep, not UTF-8, not JSON.
    """
    text = _text(raw, max_bytes)
    _check_depth(text, max_depth)
    try:
        value = json.loads(
            text,
            parse_constant=lambda name: _Bad(f"{name} is not a JSON number"),
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_pairs,
        )
    except (ValueError, RecursionError) as error:
        place = (
            f"not JSON at character {error.pos}" if isinstance(error, json.JSONDecodeError) else "not JSON"
        )
        raise JsonRefused([Fault("", place)]) from None
    faults: list[Fault] = []
    return _clean(value, "", faults), faults


def loads(raw: bytes | str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text. Raises JsonRefused with every fault."""
    value, faults = read(raw, max_bytes=max_bytes, max_depth=max_depth)
    if faults:
        raise JsonRefused(faults)
    return value


def plain(value: Any) -> Any:
    """The value with decimals and integers beyond 2^53 as strings: what RFC 8785 can write exactly."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if -_SAFE <= value <= _SAFE else str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(item) for item in value]
    return value


def dumps(value: Any) -> bytes:
    """RFC 8785 bytes. Raises ValueError for NaN, infinities, lone surrogates and foreign types."""
    return rfc8785.dumps(plain(value))


def size(value: Any) -> int:
    """Bytes of a JSON value's text: as its canonical form but for numbers, at a tenth of the cost."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes, lower hex: the hash of arguments, changes, catalogs."""
    return hashlib.sha256(dumps(value)).hexdigest()


def length_delimited(*fields: bytes | str | None) -> bytes:
    """Fields with their lengths in front: `1`,`23` and `12`,`3` differ (case AP-5); None isn't empty."""
    parts: list[bytes] = []
    for field in fields:
        data = field.encode() if isinstance(field, str) else field
        parts.append((-1 if data is None else len(data)).to_bytes(4, "big", signed=True) + (data or b""))
    return b"".join(parts)


def _text(raw: bytes | str, max_bytes: int) -> str:
    if len(raw) > max_bytes:
        raise JsonRefused([Fault("", f"longer than {max_bytes} bytes")])
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonRefused([Fault("", f"not UTF-8 at byte {error.start}")]) from None


def _check_depth(text: str, max_depth: int) -> None:
    """Count brackets outside strings before parsing: the parser itself would recurse."""
    depth = 0
    for found in re.finditer(r'"(?:[^"\\]|\\.)*+"?+|[\[\]{}]', text, re.DOTALL):
        mark = found[0]
        if mark in "[{":
            depth += 1
            if depth > max_depth:
                raise JsonRefused([Fault("", f"nested deeper than {max_depth}")])
        elif mark in "]}":
            depth -= 1


def _float(text: str) -> float | _Bad:
    number = float(text)
    return number if math.isfinite(number) else _Bad(f"{text[:40]} is no finite number")


def _int(text: str) -> int | _Bad:
    return int(text) if len(text) <= MAX_NUMBER else _Bad(f"a number of {len(text)} digits")


def _pairs(pairs: list[tuple[str, Any]]) -> _Object:
    read_as = _Object(pairs)
    if len(read_as) != len(pairs):
        seen: set[str] = set()
        read_as.twice = tuple(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return read_as


def _clean(value: Any, at: str, faults: list[Fault]) -> Any:
    """The value without stand-ins; appends a fault for each place that is wrong."""
    if isinstance(value, _Bad):
        faults.append(Fault(at, value.detail))
        return None
    if isinstance(value, str):
        _check_string(value, at, faults)
        return value
    if isinstance(value, _Object):
        faults.extend(Fault(at + pointer(key), "this key stands twice") for key in value.twice)
        for key in value:
            _check_string(key, at, faults)
        return {key: _clean(item, at + pointer(key), faults) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, at + pointer(place), faults) for place, item in enumerate(value)]
    return value


def _check_string(text: str, at: str, faults: list[Fault]) -> None:
    if _SURROGATE.search(text):
        faults.append(Fault(at, "half a surrogate pair is no character"))
    elif "\x00" in text:
        faults.append(Fault(at, "U+0000 cannot be stored"))


def refuse_reference(uri: str) -> NoReturn:
    """The retriever of every schema validator: `$ref` leads nowhere outside its own schema."""
    raise ValueError(f"a reference outside the schema is refused: {uri[:200]}")
