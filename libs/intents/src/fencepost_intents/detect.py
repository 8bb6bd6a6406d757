# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""`detect`: what a text asks for, when and how much. A pure function: no clock, no randomness, no model.

The order: read tokens, amounts and times; outline the requests; fill each request's slots; lay the answers
given so
far over them; say what is still missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from fencepost_intents.answers import with_answers, zone_of
from fencepost_intents.intent.chat import is_about_us, is_small_talk
from fencepost_intents.intent.clauses import split
from fencepost_intents.intent.ledger_words import category_of, reports_money
from fencepost_intents.intent.outline import outline
from fencepost_intents.intent.reading import Located, Reading, read
from fencepost_intents.intent.reminder_edits import cancel_slots, change_slots, find_slots
from fencepost_intents.intent.reminders import create_slots
from fencepost_intents.intent.requests import Outline, Request, Sighting
from fencepost_intents.intent.slots import BUILDERS, ledger_slots, split_entries
from fencepost_intents.patterns import lazy
from fencepost_intents.result import Answer, IntentPart, IntentResult, TimeResult
from fencepost_intents.time.holidays import DEFAULT, HolidayTable
from fencepost_intents.time.zones import proper_name

_RISK: Final[Mapping[str, str]] = {
    "reminder.create": "medium", "reminder.change": "medium", "reminder.cancel": "medium", "ledger.add": "medium",
}  # fmt: skip
_MOVED: Final = lazy(
    r"花(?=[\d一二两三四五六七八九十百])|花了|付了|退了|转了|收到|交了|买了|充了|\b(?:spent|paid|bought)\b"
)
_MANY_CLAUSES: Final = 40  # a text with more is a paste, not a list of what was spent
_DIRECTION: Final[Mapping[str, int]] = {"ledger.add": -1, "ledger.list": -1, "ledger.summary": -1}


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
    """Reads a text; see `IntentResult`.

    reference: aware, when the text was received.  zone: the user's IANA zone, or None when it isn't known
    anywhere;
    then what needs one says so in `required_slots`.  currency: ISO 4217 default where none is written.
    answers: to questions asked about this text before, in order.
    Raises ValueError for a naive reference or a zone that doesn't exist.
    """
    if reference.tzinfo is None:
        raise ValueError("reference must be aware")
    zone = zone_of(answers) or (proper_name(zone) if zone else None)
    currency = next((one.said.strip().upper() for one in answers if one.slot == "currency"), None) or currency
    reading = read(text, reference, zone, locale, currency, holidays)
    shape = _outline(reading)
    if is_about_us(reading.masked.strip(" ,.!。\n")[:120], reading.zh):
        part = IntentPart("chat", (0, len(text)), confidence=0.6)
        return _result(reading, (part,), {}, fallback=True)
    if not shape.requests:
        return _without_request(reading, shape)
    parts: list[IntentPart] = []
    times: dict[tuple[int, int], TimeResult] = {}
    for request in shape.requests:
        for part, used in _parts(reading, request, times):
            parts.append(with_answers(reading, part, used, answers, len(parts)))
    return _result(reading, tuple(parts), times, fallback=False)


def _outline(reading: Reading) -> Outline:
    norm = reading.norm
    whole = sorted(
        [(one.start, one.end) for one in reading.times] + [one.amount.span for one in reading.amounts]
    )
    clauses = split(reading.masked, whole)
    if reading.amounts and 1 < len(clauses) <= _MANY_CLAUSES:
        for clause in clauses:
            window = (clause.start, clause.end)
            if not reading.amounts_in(window) and category_of(norm[clause.start : clause.end]):
                reading.find_plain_amounts(window)  # 早餐12块，打车35
    if not reading.amounts and "n" in reading.tokens.kinds and len(norm) < 200 and _hints_at_money(reading):
        reading.find_plain_amounts((0, len(norm)))
    seen = Sighting(
        [
            (one.start, one.end, one.has_clock)
            for one in reading.times
            if not one.is_length and not reading.is_quoted(one.start)
        ],
        [one.amount.span for one in reading.amounts if not reading.is_quoted(one.amount.span[0])],
    )
    return outline(reading.masked, clauses, seen, reading.zh)


def _hints_at_money(reading: Reading) -> bool:
    """Whether a bare number may be a price: 午饭25, "spent 20 on lunch"."""
    masked = reading.masked
    if not reports_money(masked, reading.zh, 1):
        return False
    return category_of(masked) is not None or _MOVED.search(masked) is not None


def _parts(
    reading: Reading, request: Request, times: dict[tuple[int, int], TimeResult]
) -> list[tuple[IntentPart, Located | None]]:
    """The intents of one request (a ledger's may hold several entries) and the time each uses."""
    intent = request.intent
    span = _trim(reading, request)
    if intent == "ledger.add":
        found: list[tuple[IntentPart, Located | None]] = []
        for entry, amounts in split_entries(reading, request):
            slots, missing = ledger_slots(reading, entry, amounts)
            found.append((IntentPart(intent, _trim(reading, entry), slots, missing, 0.93), None))
        return found
    used: Located | None = None
    if intent == "reminder.create":
        slots, missing, own = create_slots(reading, request)
        if own is not None:
            used = own.located
            times.update({(piece.start, piece.end): own.result for piece in own.pieces})
            missing = (*_zone_missing(reading, own.result, used), *missing)
    elif intent == "reminder.list":
        slots, missing = find_slots(reading, request)
    elif intent == "reminder.cancel":
        slots, missing = cancel_slots(reading, request)
    elif intent == "reminder.change":
        slots, missing = change_slots(reading, request)
        if isinstance(slot := slots.get("time"), TimeResult):
            times[slot.span] = slot
            missing = (*_zone_missing(reading, slot, None), *missing)
    elif intent in BUILDERS:
        slots, missing = BUILDERS[intent](reading, request)
    else:
        slots, missing = {}, ()
    return [(IntentPart(intent, span, slots, missing, 0.97), used)]


def _zone_missing(reading: Reading, found: TimeResult, used: Located | None) -> tuple[str, ...]:
    """A wall time means nothing without a zone; "in 20 minutes" needs none."""
    if reading.zone or found.zone or found.kind == "duration":
        return ()
    relative = (
        used is not None
        and used.expr.duration is not None
        and used.expr.clock is None
        and found.kind == "instant"
    )
    return () if relative else ("zone",)


def _trim(reading: Reading, request: Request) -> tuple[int, int]:
    start, end = request.start, request.end
    while start < end and reading.norm[start] in " ,.;。!?\n":
        start += 1
    while end > start and reading.norm[end - 1] in " ,;。!?\n.":
        end -= 1
    return start, end


def _without_request(reading: Reading, shape: Outline) -> IntentResult:
    """Small talk, a wish withdrawn, or nothing that the rules know."""
    whole = (0, len(reading.text))
    stripped = reading.masked.strip(" ,.;!?~。\n")
    if shape.conditional:
        part, fallback = IntentPart("out_of_scope", whole, confidence=0.4), True
    elif shape.refused:
        part, fallback = IntentPart("chat", whole, confidence=0.8), False
    elif is_small_talk(stripped, reading.zh):
        part, fallback = IntentPart("chat", whole, confidence=0.9), False
    elif shape.tale:
        part, fallback = IntentPart("chat", whole, confidence=0.5), True
    else:
        part, fallback = IntentPart("out_of_scope", whole, confidence=0.4 if stripped else 0.0), True
    return _result(reading, (part,), {}, fallback=fallback)


def _result(
    reading: Reading,
    parts: tuple[IntentPart, ...],
    times: dict[tuple[int, int], TimeResult],
    *,
    fallback: bool,
) -> IntentResult:
    first = parts[0]
    required = tuple(dict.fromkeys(slot for part in parts for slot in part.required_slots))
    return IntentResult(
        intent=first.intent,
        confidence=first.confidence,
        fallback_required=fallback,
        required_slots=required,
        risk_level=_RISK.get(first.intent, "low"),
        slots=first.slots,
        intents=parts,
        times=_all_times(reading, parts, times),
        amounts=tuple(one.amount for one in reading.amounts if not _in_payload(parts, one.amount.span)),
        text=reading.text,
        locale=_locale(reading),
        zone=reading.zone,
    )


def _locale(reading: Reading) -> str:
    """The language to answer in: that of the text, with the user's own region where they agree."""
    if reading.language == "other":
        return reading.locale or "en"
    own = reading.locale or ""
    return own if own.lower().startswith(reading.language) else reading.language


def _all_times(
    reading: Reading, parts: tuple[IntentPart, ...], known: dict[tuple[int, int], TimeResult]
) -> tuple[TimeResult, ...]:
    """Every time of the text once, those of a translation's payload left out."""
    found: list[TimeResult] = []
    settings = {direction: reading.setting(direction) for direction in (-1, 1)}
    for one in reading.times:
        span = (one.start, one.end)
        if _in_payload(parts, span) or (one.expr.mode == "tail" and span not in known):
            continue
        result = known.get(span)
        if result is None:
            intent = next((part.intent for part in parts if part.span[0] <= one.start < part.span[1]), "")
            result = reading.resolve(one, settings[_DIRECTION.get(intent, 1)])
        # The pieces of one time (a day here, a clock there) share one result.
        if all(result is not other for other in found[-4:]):
            found.append(result)
    return tuple(found)


def _in_payload(parts: tuple[IntentPart, ...], span: tuple[int, int]) -> bool:
    return any(part.intent == "translate" and part.span[0] <= span[0] < part.span[1] for part in parts)
