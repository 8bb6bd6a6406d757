"""The one short question for what is missing or ambiguous, and how its answer completes the request.

The run resumes with the original text, the question and the answer. `answer_to` turns what the person
chose or
wrote into an `Answer`; `detect(text, ..., answers=[...])` (or `apply_answer`) reads the request again with
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from fencepost_intents.detect import detect
from fencepost_intents.naming import ZH_ZONES
from fencepost_intents.result import AmountResult, Answer, IntentPart, IntentResult, TimeResult, written
from fencepost_intents.time.holidays import DEFAULT, HolidayTable
from fencepost_intents.time.zones import zone_info
from fencepost_intents.words import is_zh, say_amount, say_date, say_time


@dataclass(frozen=True, slots=True)
class Candidate:
    """A choice: `id` is what a client sends back, `value` is what `Answer.value` takes."""

    id: str
    label: str
    value: str

    def to_json(self) -> dict[str, str]:
        return {"id": self.id, "label": self.label, "value": self.value}


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one slot of one intent, in the user's language.

    input_schema: JSON Schema of a typed `{value}` answer, or None where only a choice or free text makes
    sense.
    """

    text: str
    slot: str
    candidates: tuple[Candidate, ...] = ()
    input_schema: Mapping[str, Any] | None = None
    intent_index: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "slot": self.slot,
            "candidates": [one.to_json() for one in self.candidates],
            "input_schema": None if self.input_schema is None else dict(self.input_schema),
            "intent_index": self.intent_index,
        }


# slot -> (Chinese, English)
_PLAIN: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("要提醒您什么？", "What should I remind you of?"),
    "change_title": ("要改哪一条提醒？", "Which reminder should I change?"),
    "cancel_title": ("要取消哪一条提醒？", "Which reminder should I cancel?"),
    "time": ("什么时候？请说日期和时间。", "When? Please give a day and a time."),
    "amount": ("金额是多少？", "How much was it?"),
    "zone": ("您在哪个时区（或哪个城市）？", "Which time zone (or city) are you in?"),
    "currency": ("是哪种货币？", "In which currency?"),
    "target_language": ("要翻译成哪种语言？", "Into which language?"),
    "payload": ("请给出要处理的内容。", "Please give me the text itself."),
    "recipients": ("发给谁？", "Who is it for?"),
    "document": ("是哪一份文档？", "Which document?"),
    "period": ("哪一段时间？", "For which period?"),
}
_ZONES: Final = ("Asia/Shanghai", "Asia/Tokyo", "Europe/London", "America/New_York", "America/Los_Angeles")
_CURRENCIES: Final = ("CNY", "USD", "EUR", "GBP", "JPY")
_LANGUAGES: Final = (("zh", "中文", "Chinese"), ("en", "英文", "English"), ("ja", "日文", "Japanese"))
_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "time": {"type": "string", "format": "date-time"},
    "amount": {"type": "string", "pattern": r"^-?\d{1,15}(\.\d{1,4})?$"},
    "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
    "zone": {"type": "string", "minLength": 1, "maxLength": 64},
}
_TEXT_SCHEMA: Final[Mapping[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 500}


def question_for(result: IntentResult, locale: str | None = None) -> Question | None:
    """The first thing that must be asked, or None when the request is complete or not understood.

    locale: of the question; default the result's own.
    """
    locale = locale or result.locale
    for index, part in enumerate(result.intents):
        if part.required_slots:
            return _ask(result, part, index, part.required_slots[0], locale)
    return None


def answer_to(
    question: Question, *, choice: str | None = None, value: str | None = None, text: str | None = None
) -> Answer:
    """The `Answer` for a resolution `{choice}`, `{value}` or `{text}` (exactly one).

    choice: a candidate's id, value or label.  Raises ValueError for a choice that was not offered.
    """
    if choice is None:
        return Answer(question.slot, value, text, question.intent_index)
    for one in question.candidates:
        if choice in (one.id, one.value, one.label):
            return Answer(question.slot, one.value, None, question.intent_index)
    raise ValueError(f"not a choice of this question: {choice!r}")


def apply_answer(
    text: str,
    answer: Answer | Sequence[Answer],
    *,
    reference: datetime,
    zone: str | None,
    locale: str | None = None,
    currency: str | None = None,
    holidays: HolidayTable = DEFAULT,
) -> IntentResult:
    """Reads the original request again with its answers, all those given so far, in order."""
    answers = (answer,) if isinstance(answer, Answer) else tuple(answer)
    return detect(
        text,
        reference=reference,
        zone=zone,
        locale=locale,
        currency=currency,
        holidays=holidays,
        answers=answers,
    )


def _ask(result: IntentResult, part: IntentPart, index: int, slot: str, locale: str) -> Question:
    zh = is_zh(locale)
    schema = _SCHEMAS.get(slot, _TEXT_SCHEMA)
    found = part.slots.get(slot)
    if slot == "time" and isinstance(found, TimeResult):
        return _ask_time(found, result.zone, index, locale)
    if slot == "amount" and isinstance(found, AmountResult) and found.candidates:
        choices = tuple(
            Candidate(f"c{n}", say_amount(one, found.currency, locale), written(one, found.currency))
            for n, one in enumerate(found.candidates, 1)
        )
        text = f"“{found.text}”是多少？" if zh else f"How much is “{found.text}”?"
        return Question(text, slot, choices, schema, index)
    key = slot
    if slot == "title" and part.intent in ("reminder.change", "reminder.cancel"):
        key = f"{part.intent.partition('.')[2]}_title"
    return Question(
        _PLAIN.get(key, _PLAIN["payload"])[0 if zh else 1], slot, _choices(slot, zh), schema, index
    )


def _choices(slot: str, zh: bool) -> tuple[Candidate, ...]:
    match slot:
        case "zone":
            pairs = [(one, f"{ZH_ZONES[one]}（{one}）" if zh else one) for one in _ZONES]
        case "currency":
            pairs = [(one, one) for one in _CURRENCIES]
        case "target_language":
            pairs = [(code, zh_name if zh else name) for code, zh_name, name in _LANGUAGES]
        case _:
            pairs = []
    return tuple(Candidate(f"c{n}", label, value) for n, (value, label) in enumerate(pairs, 1))


def _ask_time(found: TimeResult, zone: str | None, index: int, locale: str) -> Question:
    zh = is_zh(locale)
    if found.kind == "ambiguous":
        readings = found.candidates
        text = f"“{found.text}”指的是哪个？" if zh else f"Which do you mean by “{found.text}”?"
    else:
        readings = _clock_choices(found, zone)
        said = say_date(_day(found), locale) if found.kind == "date" else f"“{found.text}”"
        text = f"{said}，具体几点？" if zh else f"At what time exactly: {said}?"
    choices = tuple(
        Candidate(f"c{n}", say_time(one, locale, zone), one.choice_value) for n, one in enumerate(readings, 1)
    )
    return Question(text, "time", choices, _SCHEMAS["time"], index)


def _clock_choices(found: TimeResult, zone: str | None) -> tuple[TimeResult, ...]:
    """Hours to offer for a day without a clock, or within a part of a day."""
    if found.kind == "date":
        day = _day(found)
        hours: tuple[int, ...] = (9, 14, 20)
    elif found.kind == "span" and found.start and "T" in found.start:
        start, end = datetime.fromisoformat(found.start), datetime.fromisoformat(found.end or found.start)
        day = start.date()
        length = int((end - start).total_seconds() // 3600)
        hours = tuple(start.hour + length * n // 4 for n in (1, 2, 3)) if 4 <= length <= 12 else ()
    else:
        return ()
    name = found.zone or zone
    if name is None:
        return ()
    tz = zone_info(name)
    return tuple(
        TimeResult(
            "instant",
            found.span,
            found.text,
            datetime(day.year, day.month, day.day, h, tzinfo=tz).isoformat(),
        )
        for h in hours
        if h < 24
    )


def _day(found: TimeResult) -> date:
    return date.fromisoformat(found.value or "")
