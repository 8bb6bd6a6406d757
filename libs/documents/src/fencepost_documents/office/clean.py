"""Text that an office file can hold: what it can't is replaced visibly, never dropped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

REPLACEMENT: Final = "\ufffd"
# Not characters of XML 1.0 (controls, lone surrogates, U+FFFE, U+FFFF), noncharacters of any plane, and the
# two overrides, which would show a text in another order than it is stored in. Tab and line feed stay.
_UNFIT: Final = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\u202d\u202e"
    + "".join(chr(plane << 16 | low) for plane in range(1, 17) for low in (0xFFFE, 0xFFFF))
    + "]"
)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_BREAKS: Final = re.compile("\r\n|[\r\x85\u2028\u2029]")


def clean(text: str) -> str:
    """All breaks as line feeds, all that can't be stored as U+FFFD.

    A vertical tab or form feed is replaced too: one library takes it for a break, the other raises.
    """
    return _UNFIT.sub(REPLACEMENT, _BREAKS.sub("\n", text))


def clean_line(text: str) -> str:
    """For titles and names: one line, single spaces."""
    return " ".join(clean(text).split())


def storable(value: object) -> object:
    """A text without lone surrogates, anything else as it is: in front of validators that refuse them."""
    return _SURROGATES.sub(REPLACEMENT, value) if isinstance(value, str) else value


def replaced(text: str) -> int:
    """How many replacements a reader of `clean(text)` sees."""
    return clean(text).count(REPLACEMENT)


def squeeze(text: str) -> str:
    """For comparing what was asked with what a file holds: cleaned, without any white space."""
    return "".join(clean(text).split())


def cleaned(value: Any) -> Any:
    """A JSON value with all of its texts cleaned: arguments that a gateway would refuse for one character."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {key: cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value
