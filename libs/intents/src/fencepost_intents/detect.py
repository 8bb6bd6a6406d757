"""`detect`: what a text asks for. (First cut: the shape only; the grammar follows.)"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost_intents.result import Answer, IntentPart, IntentResult
from fencepost_intents.time.holidays import DEFAULT, HolidayTable


def detect(
    text: str,
    *,
    reference: datetime,
    zone: str | None,
    locale: str | None = None,
    currency: str | None = None,
    holidays: HolidayTable = DEFAULT,
    answers: Sequence[Answer] = (),
) -> IntentResult:
    """Reads a text; see `IntentResult`."""
    part = IntentPart("out_of_scope", (0, len(text)))
    return IntentResult(part.intent, 0.0, True, (), "low", {}, (part,), (), (), text, locale or "en", zone)
