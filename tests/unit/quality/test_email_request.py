"""The facts of a mail's gate, from the user's own words: right where they are given, and never a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost_quality.email import judge
from fencepost_quality.email_request import (
    facts_of,
    organization_in,
    recipients_in,
    relation_in,
    sender_in,
    without_sender,
)

LABELLED = Path(__file__).parents[2] / "evals" / "gates"


def requests() -> dict[str, dict[str, Any]]:
    rows = [
        json.loads(line)["facts"]
        for name in ("email", "held-out-email")
        for line in (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return {row["request"]: row for row in rows}


@pytest.mark.parametrize(
    ("find", "named", "at_least"),
    [
        (relation_in, "relation", 0.45),
        (sender_in, "sender_name", 0.8),
        (organization_in, "sender_organization", 0.8),
    ],
    ids=["relation", "sender", "organization"],
)
def test_over_the_labelled_requests_nothing_wrong_is_found(find: Any, named: str, at_least: float) -> None:
    """A fact that is missed judges less; a wrong one would refuse a right draft."""
    labelled = requests()
    found = {request: find(request) for request in labelled}
    wrong = {r: said for r, said in found.items() if said is not None and said != labelled[r][named]}
    assert wrong == {}
    right = [r for r, said in found.items() if said == labelled[r][named]]
    assert len(right) >= at_least * len(labelled)


@pytest.mark.parametrize(
    ("request_", "relation", "sender"),
    [
        ("给客户刘女士写邮件，请她确认报价，落款周敏，星河科技", "customer", "周敏"),
        ("给老同学阿强写邮件，约他元旦来玩，署名大鹏", "friend", "大鹏"),
        ("给没打过交道的培训中心罗老师写邮件，报名消防培训，我是安保部的钱进", "new", "钱进"),
        (
            "Email our customer Mrs Alvarez the quote. From Priya Nair, Northlight Ltd",
            "customer",
            "Priya Nair",
        ),
        ("tell my boss that I'm late, I'm Erik Lund", "superior", "Erik Lund"),
        ("cold email to the Marlow Foundation about school gardens, I'm Ruth Adler", "new", "Ruth Adler"),
        # Words that only look like it.
        ("给朋友的公司写邮件，问价格", None, None),
        ("给客户写邮件，请他推荐朋友，我是高兴的", "customer", None),
        ("我是想请他帮忙写封邮件", None, None),
        ("署名处留空，给团队写邮件说明天停电", "colleague", None),
        ("From Monday on the office is closed, tell the team", "colleague", None),
        ("tell my friend's landlord that it leaks, I'm German", "customer", None),
        ("Email my manager's assistant about the room", None, None),
        ("ask the bank manager for a loan", None, None),
        ("给HR写邮件，问应聘的同学什么时候来", "colleague", None),
    ],
)
def test_relation_and_sender_as_people_say_them(
    request_: str, relation: str | None, sender: str | None
) -> None:
    assert (relation_in(request_), sender_in(request_)) == (relation, sender)


def test_recipients_are_whom_the_words_name_and_every_address() -> None:
    assert recipients_in("给张三 zhangsan@example.com 发邮件，抄送 li@example.com") == (
        "张三 zhangsan@example.com", "zhangsan@example.com", "li@example.com",
    )  # fmt: skip
    assert recipients_in("把这份PPT翻译成英文") == ()


def test_a_stranger_is_introduced_only_by_a_name_that_is_known() -> None:
    assert facts_of("给编辑部写邮件，投稿《山里的书店》").relation is None
    assert facts_of("给编辑部写邮件，投稿《山里的书店》，署名余舟").relation == "new"


def test_what_only_says_who_writes_is_no_part_of_the_mail() -> None:
    assert without_sender("问年终奖什么时候发，我是研发部田宇", "田宇") == "问年终奖什么时候发"
    assert without_sender("send the report. From Joe", "Joe") == "send the report"
    assert without_sender("说我是新来的", "田宇") == "说我是新来的"


def test_the_gate_judges_by_what_the_words_say() -> None:
    """A stranger signs another's name: found from the request alone, as a run's gate finds it."""
    draft = {
        "language": "en", "subject": "Quote for brackets", "greeting": "Hey Sam,",
        "body": ["We need a quote for three hundred steel brackets by the middle of January."],
        "call_to_action": "Please send me your quote.", "courtesy": "Thank you.",
        "closing": "Kind regards,", "sender": {"name": "Bob Stone"}, "to": [{"name": "Sam"}],
    }  # fmt: skip
    request = "Email our supplier Sam for a quote on 300 steel brackets. From Nadia Brown"
    assert judge(draft, facts_of(request, "en")).codes == ("relation_mismatch", "sender_forged")
