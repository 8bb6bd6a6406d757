# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""A question's answer, chosen or written, completes the request it was asked about."""

from __future__ import annotations

from datetime import datetime

import pytest
from fencepost_intents import Answer, IntentResult, detect
from fencepost_intents.questions import Question, answer_to, apply_answer, question_for

REFERENCE = datetime.fromisoformat("2026-03-04T10:00:00+08:00")


def asked(text: str, *answers: Answer, zone: str | None = "Asia/Shanghai") -> tuple[IntentResult, Question]:
    result = detect(text, reference=REFERENCE, zone=zone, answers=answers)
    question = question_for(result)
    assert question is not None
    return result, question


def answered(text: str, *answers: Answer, zone: str | None = "Asia/Shanghai") -> IntentResult:
    return apply_answer(text, answers, reference=REFERENCE, zone=zone)


@pytest.mark.parametrize(("choice", "day"), [("c1", "2026-03-06"), ("c2", "2026-03-13")])
def test_a_chosen_reading_completes_an_ambiguous_time(choice: str, day: str) -> None:
    text = "remind me next Friday at 5 to call Bob"
    _, question = asked(text)

    result = answered(text, answer_to(question, choice=choice))

    assert [one.label[:6] for one in question.candidates] == ["Friday", "Friday"]
    assert result.is_complete
    assert result.slots["time"].to_json()["value"] == f"{day}T17:00:00+08:00"
    assert result.slots["title"].to_json()["value"] == "call Bob"


@pytest.mark.parametrize("said", ["the second one", "the 13th", "March 13", "13 March at 5pm", "2"])
def test_free_text_picks_among_the_readings(said: str) -> None:
    text = "remind me next Friday at 5 to call Bob"
    _, question = asked(text)

    result = answered(text, answer_to(question, text=said))

    assert result.is_complete
    assert result.slots["time"].to_json()["value"] == "2026-03-13T17:00:00+08:00"


@pytest.mark.parametrize(
    ("said", "clock"),
    [
        ("下午三点", "15:00"),
        ("三点", "15:00"),
        ("9点", "09:00"),
        ("15:30", "15:30"),
        ("晚上八点半", "20:30"),
        ("早上8点", "08:00"),
        ("3", "15:00"),
    ],
)
def test_a_clock_completes_the_day_that_was_said(said: str, clock: str) -> None:
    text = "明天提醒我买牛奶"
    result, question = asked(text)
    assert result.required_slots == ("time",)

    result = answered(text, answer_to(question, text=said))

    assert result.is_complete
    assert result.slots["time"].to_json()["value"] == f"2026-03-05T{clock}:00+08:00"


def test_an_offered_hour_completes_the_day() -> None:
    text = "明天提醒我买牛奶"
    _, question = asked(text)

    result = answered(text, answer_to(question, choice=question.candidates[0].id))

    assert result.slots["time"].to_json()["value"] == "2026-03-05T09:00:00+08:00"


def test_a_typed_value_is_taken_as_it_is() -> None:
    text = "提醒我交水电费"
    _, question = asked(text)

    result = answered(text, answer_to(question, value="2026-03-06T09:30:00+08:00"))

    assert question.input_schema == {"type": "string", "format": "date-time"}
    assert result.is_complete
    assert result.slots["time"].to_json()["value"] == "2026-03-06T09:30:00+08:00"


def test_questions_follow_each_other_until_nothing_is_missing() -> None:
    text = "明天提醒我"
    _, title = asked(text)
    given = [answer_to(title, text="买牛奶")]
    _, time = asked(text, *given)

    result = answered(text, *given, answer_to(time, text="下午三点"))

    assert (title.slot, time.slot) == ("title", "time")
    assert result.is_complete
    assert result.slots["title"].to_json()["value"] == "买牛奶"
    assert result.slots["time"].to_json()["value"] == "2026-03-05T15:00:00+08:00"


def test_an_answer_that_leaves_the_time_open_is_asked_again() -> None:
    text = "提醒我交水电费"
    _, question = asked(text)

    result, again = asked(text, answer_to(question, text="明天"))

    assert result.required_slots == ("time",)
    assert again.slot == "time"


@pytest.mark.parametrize("said", ["北京时间", "Asia/Shanghai", "上海", "I'm in Shanghai", "UTC+8"])
def test_an_unknown_zone_is_asked_first_and_an_answer_fixes_the_instant(said: str) -> None:
    text = "明早九点提醒我交周报"
    result, question = asked(text, zone=None)
    assert (result.required_slots, question.slot) == (("zone",), "zone")

    result = answered(text, answer_to(question, text=said), zone=None)

    assert result.is_complete
    assert result.slots["time"].to_json()["value"] == "2026-03-05T09:00:00+08:00"


def test_a_zone_that_is_not_understood_is_asked_again() -> None:
    _, question = asked("明早九点提醒我交周报", zone=None)

    result = answered("明早九点提醒我交周报", answer_to(question, text="不知道"), zone=None)

    assert result.required_slots == ("zone",)


@pytest.mark.parametrize(
    "answer", [{"choice": "c2"}, {"value": "3350"}, {"text": "3350"}, {"text": "the second"}]
)
def test_an_amount_with_two_readings_is_settled_by_the_answer(answer: dict[str, str]) -> None:
    text = "spent 3.350 on lunch"
    _, question = asked(text)

    result = answered(text, answer_to(question, **answer))

    assert result.is_complete
    assert result.slots["amount"].to_json()["value"] == "3350.00"
    assert result.slots["amount"].to_json()["currency"] == "CNY"


def test_a_missing_amount_is_taken_from_the_answer_with_its_currency() -> None:
    text = "帮我记账：午饭"
    _, question = asked(text)

    result = answered(text, answer_to(question, text="28块5"))

    assert question.slot == "amount"
    assert result.is_complete
    assert result.slots["amount"].to_json()["value"] == "28.50"


def test_a_currency_that_nothing_tells_is_asked() -> None:
    text = "spent 20 on lunch"
    _, question = asked(text, zone=None)

    result = answered(text, answer_to(question, choice="USD"), zone=None)

    assert question.slot == "currency"
    assert result.is_complete
    assert result.slots["amount"].to_json()["currency"] == "USD"


def test_a_target_language_is_taken_as_code_or_as_word() -> None:
    text = "帮我翻译一下这段话"
    _, question = asked(text)

    for answer in (answer_to(question, choice="en"), answer_to(question, text="英语")):
        assert answered(text, answer).slots["target_language"].to_json()["value"] == "en"


def test_every_31st_is_settled_by_a_choice() -> None:
    text = "每月31号上午9点提醒我对账"
    _, question = asked(text)

    result = answered(text, answer_to(question, choice="c2"))

    assert "2月" not in question.text
    assert result.is_complete
    assert result.slots["time"].to_json()["rrule"] == "FREQ=MONTHLY;BYMONTHDAY=-1"


def test_the_second_request_of_a_sentence_has_its_own_question() -> None:
    text = "明早九点提醒我开会，然后提醒我交周报"
    _, question = asked(text)

    result = answered(text, answer_to(question, text="明天下午三点"))

    assert question.intent_index == 1
    assert [one.slots["time"].to_json()["value"] for one in result.intents] == [
        "2026-03-05T09:00:00+08:00",
        "2026-03-05T15:00:00+08:00",
    ]


def test_a_choice_that_was_not_offered_is_refused() -> None:
    _, question = asked("remind me next Friday at 5 to call Bob")

    with pytest.raises(ValueError, match="not a choice"):
        answer_to(question, choice="c9")


@pytest.mark.parametrize(
    ("text", "start"), [("提醒我交周报", "什么时候"), ("remind me to pay the rent", "When?")]
)
def test_the_question_is_in_the_language_of_the_request(text: str, start: str) -> None:
    _, question = asked(text)

    assert question.text.startswith(start)
    assert question.to_json()["slot"] == "time"


def test_nothing_is_asked_of_a_complete_or_an_unknown_request() -> None:
    for text in ("明早九点提醒我交周报", "播放音乐"):
        assert question_for(detect(text, reference=REFERENCE, zone="Asia/Shanghai")) is None


def test_a_reading_chosen_stays_chosen_when_its_time_of_day_is_asked_next() -> None:
    text = "每隔三天提醒我浇花"
    _, interval = asked(text)
    chosen = answer_to(interval, choice="c2")
    between, clock = asked(text, chosen)

    result = answered(text, chosen, answer_to(clock, text="早上八点"))

    assert between.required_slots == ("time",)
    assert result.is_complete
    assert result.slots["time"].to_json()["rrule"] == "FREQ=DAILY;INTERVAL=4"
    assert result.slots["time"].to_json()["dtstart"] == "2026-03-05T08:00:00+08:00"


@pytest.mark.parametrize(
    ("said", "value"),
    [("am", "2026-03-05T09:00:00+08:00"), ("pm", "2026-03-04T21:00:00+08:00"), ("tonight", "2026-03-04T21:00:00+08:00"),
     ("tomorrow", "2026-03-05T09:00:00+08:00"), ("9pm", "2026-03-04T21:00:00+08:00")],
)  # fmt: skip
def test_a_half_of_the_day_or_a_day_picks_the_reading(said: str, value: str) -> None:
    text = "remind me at 9 to call mom"
    _, question = asked(text)

    assert answered(text, answer_to(question, text=said)).slots["time"].to_json()["value"] == value


@pytest.mark.parametrize(
    ("text", "said", "start"),
    [
        ("每月15号提醒我还信用卡", "上午九点", "2026-03-15T09:00:00+08:00"),
        ("remind me every thursday to water the plants", "at 7pm", "2026-03-05T19:00:00+08:00"),
    ],
)
def test_a_clock_completes_a_repetition(text: str, said: str, start: str) -> None:
    _, question = asked(text)

    result = answered(text, answer_to(question, text=said))

    assert result.is_complete
    assert result.slots["time"].to_json()["dtstart"] == start
