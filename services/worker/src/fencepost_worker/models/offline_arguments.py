"""A tool's arguments from slots, by the tool's own schema: only what the schema names is filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from fencepost_intents import AmountResult, IntentPart, IntentResult, SlotValue, TimeResult
from fencepost_intents.result import written

from fencepost_worker.models.port import ModelContext

Filler = Callable[["Slots"], Any]


class Slots:
    """The slots of one part, as values."""

    def __init__(self, part: IntentPart, result: IntentResult, context: ModelContext) -> None:
        self.part = part
        self.result = result
        self.context = context
        time = part.slots.get("time") or part.slots.get("period")
        self.time = time if isinstance(time, TimeResult) else None
        amount = part.slots.get("amount")
        self.amount = amount if isinstance(amount, AmountResult) else None

    def value(self, name: str) -> Any:
        slot = self.part.slots.get(name)
        return slot.value if isinstance(slot, SlotValue) else None

    @property
    def zone(self) -> str | None:
        return (self.time.zone if self.time else None) or self.context.zone

    def instant(self) -> str | None:
        """The instant meant, with its offset: of a recurrence, its first occurrence."""
        if self.time is None:
            return None
        if self.time.kind == "recurrence":
            return self.time.next or self.time.dtstart
        if self.time.kind in ("instant", "deadline"):
            return self.time.value
        return None

    def rrule(self) -> str | None:
        return self.time.rrule if self.time is not None and self.time.kind == "recurrence" else None

    def day(self) -> str:
        """The local day meant, today where none is."""
        if self.time is not None:
            shown = self.time.value or self.time.start or self.time.dtstart
            if shown:
                return shown[:10]
        return self._today()

    def bound(self, which: str) -> str | None:
        """Start or end of a period."""
        if self.time is None:
            return None
        if self.time.kind == "span":
            return self.time.start if which == "start" else self.time.end
        return self.time.value

    def _today(self) -> str:
        reference: datetime = self.context.reference
        zone = self.zone
        return (reference.astimezone(ZoneInfo(zone)) if zone else reference).date().isoformat()


def _amount(slots: Slots) -> str | None:
    found = slots.amount
    return None if found is None or found.value is None else written(found.value, found.currency)


def _currency(slots: Slots) -> str:
    return (slots.amount.currency if slots.amount else None) or slots.context.currency


def _title(slots: Slots) -> Any:
    return slots.value("title") or slots.value("payload")


# Property of a schema -> how it is filled. A None is left out.
FILLERS: Final[Mapping[str, Filler]] = {
    "title": _title,
    "text": _title,
    "reminder": _title,
    "query": _title,
    "match": _title,
    "description": _title,
    "item": _title,
    "note": _title,
    "at": Slots.instant,
    "due_at": Slots.instant,
    "remind_at": Slots.instant,
    "first_at": Slots.instant,
    "starts_at": Slots.instant,
    "new_at": Slots.instant,
    "rrule": Slots.rrule,
    "recurrence": Slots.rrule,
    "zone": lambda slots: slots.zone,
    "amount": _amount,
    "currency": _currency,
    "category": lambda slots: slots.value("category"),
    "kind": lambda slots: slots.amount.kind if slots.amount else None,
    "date": Slots.day,
    "day": Slots.day,
    "from": lambda slots: slots.bound("start"),
    "since": lambda slots: slots.bound("start"),
    "start": lambda slots: slots.bound("start"),
    "until": lambda slots: slots.bound("end"),
    "to": lambda slots: slots.bound("end"),
    "end": lambda slots: slots.bound("end"),
}


def arguments_for(
    part: IntentPart, schema: Mapping[str, Any], result: IntentResult, context: ModelContext
) -> dict[str, Any]:
    """Arguments of the tool whose schema this is; the guard judges them like any model's."""
    slots = Slots(part, result, context)
    filled: dict[str, Any] = {}
    for name in schema.get("properties", {}):
        filler = FILLERS.get(name)
        value = filler(slots) if filler is not None else None
        if value not in (None, ""):
            filled[name] = value
    return filled
