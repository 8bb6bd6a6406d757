"""A tool's arguments from slots: a table per intent, cut to what the tool's own schema names.

What the words don't say is left out, never filled in; the guard judges the outcome like any model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from fencepost_intents import AmountResult, IntentPart, IntentResult, SlotValue, TimeResult
from fencepost_intents.result import written

from fencepost_worker.models.port import ModelContext

KINDS: Final = {"paid": "expense", "income": "income", "refund": "refund"}
ONE_DAY: Final = timedelta(days=1)


class Slots:
    """The slots of one part, as values of arguments."""

    def __init__(self, part: IntentPart, result: IntentResult, context: ModelContext) -> None:
        self.part = part
        self.result = result
        self.context = context
        found = part.slots.get("time") or part.slots.get("period")
        self.time = found if isinstance(found, TimeResult) else None
        amount = part.slots.get("amount")
        self.amount = amount if isinstance(amount, AmountResult) else None

    def text(self, name: str) -> Any:
        slot = self.part.slots.get(name)
        return slot.value if isinstance(slot, SlotValue) else None

    def instant(self) -> str | None:
        """The instant meant, with its offset; of a recurrence its first occurrence."""
        if self.time is None:
            return None
        if self.time.kind == "recurrence":
            return self.time.next or self.time.dtstart
        return self.time.value if self.time.kind in ("instant", "deadline") and self.time.has_clock else None

    def moved_to(self) -> str | None:
        """Where a change moves a reminder: the time said, or the old time said and how far from it."""
        if self.time is None or self.time.kind != "duration":
            return self.instant()
        old = self.part.slots.get("period")
        if not isinstance(old, TimeResult) or old.kind not in ("instant", "deadline") or not old.value:
            return None
        step = _seconds(self.time.duration or "")
        at = datetime.fromisoformat(old.value)
        if step is None or "T" not in old.value:
            return None
        zone = ZoneInfo(self.result.zone) if self.result.zone else at.tzinfo
        return datetime.fromtimestamp(at.timestamp() + step, zone).isoformat()

    def moved_by(self) -> str | None:
        """How far a change moves a reminder whose old time isn't said: ISO 8601, negative for earlier."""
        is_length = self.time is not None and self.time.kind == "duration" and self.moved_to() is None
        return self.time.duration if is_length and self.time else None

    def all(self) -> bool | None:
        """Whether every one is meant, and none by its title."""
        return True if self.text("payload") == "all" and not self.text("title") else None

    def rrule(self) -> str | None:
        return self.time.rrule if self.time is not None and self.time.kind == "recurrence" else None

    def exdates(self) -> list[str]:
        """Occurrences of a repetition that are left out ("every day but 1 October")."""
        return list(self.time.exdates) if self.time is not None and self.time.kind == "recurrence" else []

    def zone(self) -> str | None:
        """Only where it isn't the run's own: named in the text, or asked for."""
        named = self.time.zone if self.time is not None else None
        asked = any(answer.slot == "zone" for answer in self.context.answers)
        return named or (self.result.zone if asked else None)

    def amount_text(self) -> str | None:
        if self.amount is None or self.amount.value is None:
            return None
        return written(abs(self.amount.value), self.amount.currency)

    def currency(self) -> str | None:
        return (self.amount.currency if self.amount is not None else None) or self.context.currency

    def kind(self) -> str | None:
        return KINDS.get(self.amount.kind or "") if self.amount is not None else None

    def day(self, which: str = "start") -> str | None:
        """The local day meant, or the first or last one of a period."""
        if self.time is None:
            return None
        shown = (self.time.end if which == "end" else self.time.start) or self.time.value or self.time.next
        return shown[:10] if shown else None

    def moment(self, which: str) -> str | None:
        """The period's bound as an instant; a last day is included, so its end is the next midnight."""
        day = self.day(which)
        if day is None:
            return None
        on = date.fromisoformat(day) + (ONE_DAY if which == "end" else timedelta(0))
        zone = ZoneInfo(self.result.zone) if self.result.zone else self.context.reference.tzinfo
        return datetime.combine(on, time(0), zone).isoformat()


LENGTH: Final = re.compile(r"(-?)P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


def _seconds(duration: str) -> int | None:
    """The length of an ISO 8601 duration; None where it depends on the calendar."""
    found = LENGTH.fullmatch(duration)
    if found is None:
        return None
    sign, *counts = found.groups()
    sizes = (604800, 86400, 3600, 60, 1)
    total = sum(int(count or 0) * size for count, size in zip(counts, sizes, strict=True))
    return -total if sign else total


Filler = Callable[[Slots], Any]

# intent -> argument -> how it is filled. None and "" are left out.
ARGUMENTS: Final[Mapping[str, Mapping[str, Filler]]] = {
    "reminder.create": {
        "title": lambda s: s.text("title"),
        "at": Slots.instant,
        "rrule": Slots.rrule,
        "exdates": Slots.exdates,
        "zone": Slots.zone,
    },
    "reminder.list": {
        "text": lambda s: s.text("title"),
        "from": lambda s: s.moment("start"),
        "to": lambda s: s.moment("end"),
    },
    "reminder.change": {
        "match": lambda s: s.text("title"),
        "at": Slots.moved_to,
        "by": Slots.moved_by,
        "rrule": Slots.rrule,
        "exdates": Slots.exdates,
        "zone": Slots.zone,
    },
    # Which of them, where the words give no title: a tool that knows `at` or `all` is told so.
    "reminder.cancel": {
        "match": lambda s: s.text("title"),
        "at": lambda s: None if s.text("title") else s.instant(),
        "all": Slots.all,
    },
    "ledger.add": {
        "amount": Slots.amount_text,
        "currency": Slots.currency,
        "kind": Slots.kind,
        "category": lambda s: s.text("category"),
        "description": lambda s: s.text("title"),
        "date": Slots.day,
    },
    "ledger.list": {
        "from": Slots.day,
        "to": lambda s: s.day("end"),
        "category": lambda s: s.text("category"),
    },
    "ledger.summary": {
        "from": Slots.day,
        "to": lambda s: s.day("end"),
        "category": lambda s: s.text("category"),
    },
    "plan.today": {"date": Slots.day},
}


def arguments_for(
    part: IntentPart, schema: Mapping[str, Any], result: IntentResult, context: ModelContext
) -> dict[str, Any]:
    """Arguments of the tool whose schema this is."""
    slots = Slots(part, result, context)
    fillers = ARGUMENTS.get(part.intent, {})
    filled = {name: fillers[name](slots) for name in schema.get("properties", {}) if name in fillers}
    return {name: value for name, value in filled.items() if value not in (None, "", [])}
