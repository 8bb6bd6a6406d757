"""The text of an answer while it is being written: plain content, or the `text` inside `respond`'s arguments.

Only for showing. The answer itself is the assembler's; a piece shown here may yet be for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fencepost_worker.models.control import RESPOND
from fencepost_worker.models.port import CallDelta, ModelDelta, TextDelta
from fencepost_worker.models.whole_text import whole_text

_TEXT_BEGINS: Final = re.compile(r'"text"\s*:\s*"')
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


class RespondStream:
    """Feed it every delta; it calls `show` with text that is whole characters."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._half = ""
        self._index: int | None = None
        self._in_respond = False
        self._begun = False
        self._ended = False
        self._raw = ""  # of the JSON string, what isn't decoded yet

    def feed(self, delta: ModelDelta) -> None:
        if isinstance(delta, TextDelta):
            self._say(delta.text)
        elif isinstance(delta, CallDelta):
            if delta.name:
                self._in_respond, self._index = delta.name == RESPOND, delta.index
            if self._in_respond and delta.index == self._index and isinstance(delta.arguments, str):
                self._take(delta.arguments)

    def _take(self, fragment: str) -> None:
        if self._ended:
            return
        self._raw += fragment
        if not self._begun:
            found = _TEXT_BEGINS.search(self._raw)
            if found is None:
                return
            self._begun, self._raw = True, self._raw[found.end() :]
        self._say(self._decode())

    def _decode(self) -> str:
        """The characters of the string that are complete; an escape cut in two waits for its other half."""
        said: list[str] = []
        at, raw = 0, self._raw
        while at < len(raw):
            char = raw[at]
            if char == '"':
                self._ended = True
                break
            if char != "\\":
                said.append(char)
                at += 1
                continue
            length = 6 if raw[at + 1 : at + 2] == "u" else 2
            if at + length > len(raw):
                break
            escape = raw[at : at + length]
            said.append(
                chr(int(escape[2:], 16))
                if length == 6 and _is_hex(escape[2:])
                else _ESCAPES.get(escape[1], "")
            )
            at += length
        self._raw = raw[at:]
        return "".join(said)

    def _say(self, text: str) -> None:
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        shown = whole_text(text[: len(text) - len(self._half)])
        if shown:
            self._show(shown)


def _is_hex(text: str) -> bool:
    return all(char in "0123456789abcdefABCDEF" for char in text)
