"""The offline model's drafts: the user's words in the usual frame, fit for the gate of mails."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from fencepost_intents import detect
from fencepost_quality.draft import EmailFacts
from fencepost_quality.email import judge
from fencepost_worker.models.offline_mail import draft_in, draft_of


@pytest.mark.parametrize(
    ("text", "locale", "to"),
    [
        (
            "draft an email to bob@example.com asking for the quarterly report by Friday",
            "en-US",
            [{"address": "bob@example.com"}],
        ),
        ("给张经理写一封邮件，请他周五前提交季度报告", "zh-CN", [{"name": "张经理"}]),
        (
            "draft an email to Anna Schmidt that sums up the total revenue per region",
            "en-US",
            [{"name": "Anna Schmidt"}],
        ),
    ],
)
def test_a_draft_of_the_users_words_passes_its_gate(text: str, locale: str, to: object) -> None:
    found = detect(
        text, reference=datetime(2026, 12, 1, tzinfo=UTC), zone="Asia/Shanghai", locale=locale, currency="CNY"
    )
    draft = draft_of(found, is_chinese=locale.startswith("zh"))
    assert draft is not None
    assert draft["to"] == to
    assert [one.to_json() for one in judge(draft, EmailFacts(request=text)).violations] == []


def test_what_is_no_mail_makes_no_draft() -> None:
    found = detect(
        "hello", reference=datetime(2026, 12, 1, tzinfo=UTC), zone=None, locale="en", currency="CNY"
    )
    assert draft_of(found, is_chinese=False) is None


def test_a_language_that_rules_cannot_write_makes_no_draft() -> None:
    at = datetime(2026, 12, 1, tzinfo=UTC)
    found = detect(
        "给张经理写一封邮件，请他提交报告", reference=at, zone=None, locale="zh-CN", currency="CNY"
    )
    assert draft_in("en", found, "zh-CN") is None
    assert draft_in("zh", found, "zh-CN") is not None


@pytest.mark.parametrize(
    ("text", "greeting", "subject"),
    [
        ("draft an email to Anna Schmidt that sums up the budget", "Dear Anna Schmidt,", "The budget"),
        ("write an email to Dr. Smith asking for the report", "Dear Dr. Smith,", "The report"),
        ("draft a mail to Anna Monday is fine with me", "Dear Anna,", "Monday is fine with me"),
        ("draft an email to Maria I'm late", "Dear Maria,", "I'm late"),
        ("write a mail to my boss that I am ill", "Hello,", "I am ill"),
    ],
)
def test_a_whole_name_is_greeted_and_the_rest_is_the_matter(text: str, greeting: str, subject: str) -> None:
    found = detect(text, reference=datetime(2026, 12, 1, tzinfo=UTC), zone="UTC", locale="en", currency="USD")
    draft = draft_of(found, is_chinese=False)
    assert draft is not None
    assert (draft["greeting"], draft["subject"]) == (greeting, subject)
