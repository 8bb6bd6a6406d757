"""The typed results of `detect`, and their JSON: exactly the shape of design 05 "Intent result".

Spans are Unicode code points of the text as given, `[start, end)`. Money is `Decimal`. An instant's value is
RFC 3339 with offset; a day is `YYYY-MM-DD`. A day-grained span names its last day (included); a
time-grained span names the instant where it ends (excluded).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final, Literal

VERSION: Final = "intent-rules-2026-12-01.v1"

Span = tuple[int, int]
TimeKind = Literal["instant", "date", "deadline", "span", "duration", "recurrence", "ambiguous"]
# Smallest fraction written for a currency; the rest have two digits.
MINOR_DIGITS: Final[Mapping[str, int]] = {
    "JPY": 0,
    "KRW": 0,
    "VND": 0,
    "CLP": 0,
    "ISK": 0,
    "KWD": 3,
    "BHD": 3,
}


@dataclass(frozen=True, slots=True)
class TimeResult:
    """One time expression. Only the fields of its `kind` are set.

    value: instant, date or deadline (a deadline on a day is the day, and includes it).
    start, end: span.  duration: ISO 8601.  rrule, dtstart, next, exdates: recurrence.
    candidates: ambiguous, each a complete reading.  inferred: what the words left open and how it was closed.
    zone: set only when the text itself names one.  confidence: 0..1.
    """

    kind: TimeKind
    span: Span
    text: str
    value: str | None = None
    start: str | None = None
    end: str | None = None
    duration: str | None = None
    rrule: str | None = None
    dtstart: str | None = None
    next: str | None = None
    exdates: tuple[str, ...] = ()
    candidates: tuple[TimeResult, ...] = ()
    inferred: tuple[str, ...] = ()
    zone: str | None = None
    confidence: float = 1.0

    @property
    def has_clock(self) -> bool:
        """Whether it names a time of day, not only days."""
        shown = self.value or self.start or self.dtstart or ""
        return "T" in shown

    @property
    def choice_value(self) -> str:
        """The string that stands for this reading as an answer."""
        if self.kind == "recurrence":
            return f"{self.dtstart};{self.rrule}"
        if self.kind == "span":
            return f"{self.start}/{self.end}"
        return self.value or self.duration or ""

    def to_json(self) -> dict[str, Any]:
        """The binding shape: the kind's own keys, then span, text and inferred."""
        body: dict[str, Any] = {"kind": self.kind}
        for name in _KEYS[self.kind]:
            body[name] = getattr(self, name)
        if self.kind == "ambiguous":
            body["candidates"] = [one.to_json() for one in self.candidates]
        if self.exdates:
            body["exdates"] = list(self.exdates)
        if self.zone:
            body["zone"] = self.zone
        return body | {"span": list(self.span), "text": self.text, "inferred": list(self.inferred)}


_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "instant": ("value",),
    "date": ("value",),
    "deadline": ("value",),
    "span": ("start", "end"),
    "duration": ("duration",),
    "recurrence": ("rrule", "dtstart", "next"),
    "ambiguous": (),
}


@dataclass(frozen=True, slots=True)
class AmountResult:
    """One amount of money. `value` is None when the writing allows two readings: see `candidates`.

    currency: ISO 4217, or None when none is written and no default is known.
    kind: `paid`, `refund`, `income`, or None where the words don't say.
    """

    value: Decimal | None
    currency: str | None
    currency_written: bool
    text: str
    span: Span
    candidates: tuple[Decimal, ...] = ()
    inferred: tuple[str, ...] = ()
    kind: str | None = None
    share: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Value as a decimal string with the currency's own digits."""
        body: dict[str, Any] = {
            "value": None if self.value is None else written(self.value, self.currency),
            "currency": self.currency,
            "currency_written": self.currency_written,
            "text": self.text,
            "span": list(self.span),
        }
        if self.candidates:
            body["candidates"] = [written(one, self.currency) for one in self.candidates]
        optional = {"inferred": list(self.inferred), "kind": self.kind, "share": self.share}
        return body | {name: value for name, value in optional.items() if value}


def written(value: Decimal, currency: str | None) -> str:
    """A decimal string with the currency's digits; more digits are kept, never rounded away."""
    digits = MINOR_DIGITS.get(currency or "", 2)
    exponent = value.normalize().as_tuple().exponent
    used = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    return f"{value:.{max(digits, used)}f}"


@dataclass(frozen=True, slots=True)
class SlotValue:
    """A slot that is neither time nor amount: its value and where it stands."""

    value: Any
    span: Span | None

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "span": None if self.span is None else list(self.span)}


Slot = SlotValue | TimeResult | AmountResult


@dataclass(frozen=True, slots=True)
class IntentPart:
    """One intent of the sentence, with its own slots and what it still misses."""

    intent: str
    span: Span
    slots: Mapping[str, Slot] = field(default_factory=dict)
    required_slots: tuple[str, ...] = ()
    confidence: float = 1.0

    def to_json(self) -> dict[str, Any]:
        return {"intent": self.intent, "span": list(self.span), "slots": _slots(self.slots)}


@dataclass(frozen=True, slots=True)
class IntentResult:
    """What a text asks for. The top level repeats the first of `intents`.

    required_slots: what is still missing or unsure, over all intents: a question, not a guess.
    fallback_required: the rules don't know; a model or a person must decide.
    """

    intent: str
    confidence: float
    fallback_required: bool
    required_slots: tuple[str, ...]
    risk_level: str
    slots: Mapping[str, Slot]
    intents: tuple[IntentPart, ...]
    times: tuple[TimeResult, ...]
    amounts: tuple[AmountResult, ...]
    text: str
    locale: str
    zone: str | None
    layer: str = "rules"
    version: str = VERSION

    @property
    def is_complete(self) -> bool:
        """Nothing is left to ask."""
        return not self.required_slots and not self.fallback_required

    def to_json(self) -> dict[str, Any]:
        """The object of design 05, ready for `json.dumps`."""
        return {
            "intent": self.intent,
            "confidence": self.confidence,
            "fallback_required": self.fallback_required,
            "required_slots": list(self.required_slots),
            "risk_level": self.risk_level,
            "layer": self.layer,
            "version": self.version,
            "slots": _slots(self.slots),
            "intents": [one.to_json() for one in self.intents],
            "times": [one.to_json() for one in self.times],
            "amounts": [one.to_json() for one in self.amounts],
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to a question about one slot: a choice's `value`, or free `text`.

    intent_index: which of `IntentResult.intents` was asked about.
    """

    slot: str
    value: str | None = None
    text: str | None = None
    intent_index: int = 0

    @property
    def said(self) -> str:
        return self.value if self.value is not None else (self.text or "")


def moved(found: TimeResult, span: Span, text: str) -> TimeResult:
    """The same reading, laid over another stretch of the text (an answer's, over the request's)."""
    return replace(found, span=span, text=text)


def _slots(slots: Mapping[str, Slot]) -> dict[str, Any]:
    return {name: slot.to_json() for name, slot in slots.items()}
