"""From deltas to a complete answer, or to a failure that says why. Nothing half ever comes out (I19).

Providers differ: every call under index 0, calls without an index, arguments as an object, empty or absent,
surrogate pairs cut between fragments. What can't be told apart is a protocol error, never a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fencepost_contracts import canonical

from fencepost_worker.models.port import (
    Answer,
    Call,
    CallDelta,
    FinishDelta,
    ModelDelta,
    ModelFailed,
    TextDelta,
    UsageDelta,
)
from fencepost_worker.models.respond_stream import RespondStream
from fencepost_worker.models.whole_text import whole_text

LEGAL_FINISH: Final = frozenset({"stop", "tool_calls", "function_call"})
MAX_CALLS: Final = 16
MAX_ARGUMENTS: Final = 262_144  # characters of one call's arguments
MAX_TEXT: Final = 1_048_576
# Escapes of a JSON text, taken one after the other: in `\\u0000` the backslash is the escaped one.
_ESCAPE: Final = re.compile(
    r"(?P<kept>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?!u0000|u[dD][89a-fA-F]).)"
    r"|\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})"
)


@dataclass(slots=True)
class _Building:
    """A call while its pieces come. whole: arguments that came as an object."""

    index: int | None
    id: str | None
    name: str | None = None
    parts: list[str] = field(default_factory=list)
    whole: Mapping[str, Any] | None = None

    def text(self) -> str:
        return "".join(self.parts)

    def is_complete(self) -> bool:
        return self.whole is not None or _parses(self.text())


class Assembler:
    """Feed it every delta in order, then ask `finish`."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._length = 0
        self._calls: list[_Building] = []
        self._finish: str | None = None
        self._usage = (0, 0)

    @property
    def partial(self) -> str:
        return whole_text("".join(self._text))

    @property
    def shown(self) -> str:
        """What a person could have read so far: plain text, and the text inside `respond`."""
        said = [self.partial]
        for call in self._calls:
            stream = RespondStream(said.append)
            stream.feed(CallDelta(0, call.id, call.name, call.text()))
        return "".join(said)

    @property
    def written(self) -> str:
        """All that the model made so far, calls too; for counting only."""
        return "".join([*self._text, *(call.text() + (call.name or "") for call in self._calls)])

    @property
    def usage(self) -> tuple[int, int]:
        """Tokens in and out, as the provider told; zeros before it did."""
        return self._usage

    def feed(self, delta: ModelDelta) -> None:
        """Take a delta. Raises ModelFailed when it contradicts what came before."""
        match delta:
            case TextDelta(text):
                self._take_text(text)
            case CallDelta():
                self._take_call(delta)
            case UsageDelta(given, made):
                self._usage = (given, made)
            case FinishDelta(reason):
                self._finish = reason

    def finish(self) -> Answer:
        """The complete answer. Raises ModelFailed: no finish, an illegal one, or a call that is no call."""
        if self._finish is None:
            raise self._failed("incomplete", "the stream ended without a finish reason")
        if self._finish not in LEGAL_FINISH:
            raise self._failed("incomplete", f"the model stopped with {self._finish!r}")
        calls = tuple(self._complete(place, call) for place, call in enumerate(self._calls))
        if self._finish != "stop" and not calls:
            raise self._failed("protocol_error", f"finish {self._finish!r} without any call")
        return Answer(self.partial, calls, self._finish, *self._usage)

    def _take_text(self, text: str) -> None:
        self._text.append(text)
        self._length += len(text)
        if self._length > MAX_TEXT:
            raise self._failed("protocol_error", "the answer is too long", retryable=False)

    def _take_call(self, delta: CallDelta) -> None:
        call = self._place(delta)
        if delta.id:
            call.id = call.id or delta.id
        if delta.name:
            if call.name and call.name != delta.name:
                raise self._failed("protocol_error", "a call changed its name")
            call.name = delta.name
        if isinstance(delta.arguments, Mapping):
            if call.parts or call.whole is not None:
                raise self._failed("protocol_error", "arguments came as text and as an object")
            call.whole = delta.arguments
        elif delta.arguments:
            if call.whole is not None:
                raise self._failed("protocol_error", "arguments came as an object and as text")
            call.parts.append(delta.arguments)
            if sum(map(len, call.parts)) > MAX_ARGUMENTS:
                raise self._failed("protocol_error", "a call's arguments are too long", retryable=False)

    def _place(self, delta: CallDelta) -> _Building:
        """The call a piece belongs to; a new one where the piece says so (case ST-1)."""
        known = self._find(delta)
        starts_anew = known is not None and self._starts_anew(known, delta)
        if known is not None and not starts_anew:
            return known
        if known is None and not delta.name and not delta.id:
            raise self._failed("protocol_error", "a piece of a call that never began")
        if len(self._calls) >= MAX_CALLS:
            raise self._failed("protocol_error", f"more than {MAX_CALLS} calls in one answer")
        self._calls.append(_Building(delta.index, delta.id))
        return self._calls[-1]

    def _find(self, delta: CallDelta) -> _Building | None:
        if delta.id:
            by_id = [c for c in self._calls if c.id == delta.id]
            if by_id:
                return by_id[-1]
        if delta.index is None:
            return self._calls[-1] if self._calls else None
        return next((c for c in reversed(self._calls) if c.index == delta.index), None)

    def _starts_anew(self, known: _Building, delta: CallDelta) -> bool:
        if delta.id and known.id and delta.id != known.id:
            return True
        if not delta.name or delta.id:
            return False
        # A name again, without an id: the same call told twice, or a second one under the same index.
        if known.is_complete() and delta.arguments:
            return True
        begins = delta.arguments is None or isinstance(delta.arguments, Mapping) or "{" in delta.arguments[:8]
        if (known.parts or known.whole is not None) and begins:
            raise self._failed("protocol_error", "two calls under one index can't be told apart")
        return False

    def _complete(self, place: int, call: _Building) -> Call:
        if not call.name:
            raise self._failed("protocol_error", "a call without a name")
        call_id = call.id or f"call_{place}"
        if call.whole is not None:
            return Call(call_id, call.name, _read(json.dumps(call.whole), self._failed))
        text = whole_text(call.text()).strip()
        if text in ("", "null"):
            return Call(call_id, call.name, {})
        return Call(call_id, call.name, _read(text, self._failed))

    def _failed(self, code: str, detail: str, *, retryable: bool = True) -> ModelFailed:
        return ModelFailed(code, detail, retryable, partial=self.shown)


def storable(text: str) -> str:
    """JSON whose strings can be kept: an escaped U+0000 or half of a surrogate pair becomes U+FFFD (FI-6).

    The rest of a title is what was asked for; a call refused for one character would come again the same.
    """
    return _ESCAPE.sub(lambda found: found[0] if found["kept"] else "\\ufffd", whole_text(text))


def _parses(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _read(text: str, failed: Any) -> Mapping[str, Any]:
    try:
        value = canonical.loads(storable(text))
    except canonical.JsonRefused as error:
        raise failed("protocol_error", f"arguments are no JSON: {error}") from None
    if not isinstance(value, dict):
        raise failed("protocol_error", "arguments are no object")
    return value
