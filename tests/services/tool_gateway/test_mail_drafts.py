"""work.draft_email: a draft file, nothing sent, and no second header from a line of the first (FI-6)."""

from collections.abc import AsyncIterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fencepost_runtime.artifacts import key_of
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_runtime.system import SystemIds
from fencepost_tool_gateway.files import Shelf

from tests.support.gateway import Served, code, serving
from tests.support.lives import TENANT, Lives

DRAFT: dict[str, Any] = {
    "language": "zh",
    "to": [{"name": "王磊", "address": "wang@example.com"}, {"name": "周敏"}],
    "subject": "周五下班前请发测试报告",
    "greeting": "王磊，你好：",
    "body": ["本周的版本已经封版，还差登录模块的测试报告。", "报告里请写明失败用例的编号。"],
    "call_to_action": "麻烦你在周五下班前把报告发给我。",
    "courtesy": "谢谢！",
    "closing": "祝好",
    "sender": {"name": "张伟", "title": "测试组"},
}


@pytest.fixture
def bytes_(tmp_path: Path) -> FilesystemArtifacts:
    return FilesystemArtifacts(tmp_path / "artifacts", SystemIds())


@pytest.fixture
async def working(lives: Lives, bytes_: FilesystemArtifacts) -> AsyncIterator[Served]:
    async with serving(lives, shelf=Shelf(bytes_, 1_000_000)) as running:
        yield running


def words_of(message: EmailMessage) -> str:
    body = message.get_body()
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


async def test_a_draft_is_a_file_a_mail_program_opens_and_nothing_is_sent(
    working: Served, bytes_: FilesystemArtifacts
) -> None:
    held = await working.bound(module="work", locale="zh-CN")
    action = await working.prepared(held, "work.draft_email", DRAFT)
    assert "不会发送" in action["preview"]["title"]
    assert "王磊 <wang@example.com>、周敏" in action["preview"]["text"]
    result = (await working.commit(held, action)).json()["result"]
    assert (result["sent"], result["name"]) == (False, "周五下班前请发测试报告.eml")
    message = message_from_bytes(
        await bytes_.read(key_of(TENANT, UUID(result["artifact_id"]))), policy=default
    )
    assert message["subject"] == DRAFT["subject"]
    assert message["to"] == "王磊 <wang@example.com>"
    assert set(message.keys()) == {"To", "Subject", "X-Unsent", "MIME-Version", "Content-Type",
                                   "Content-Transfer-Encoding"}  # fmt: skip
    text = words_of(message)
    assert text.split("\n\n")[0] == "王磊，你好："
    assert "祝好\n\n张伟\n测试组" in text
    assert await working.lives.violations() == []


SAID = {
    "header_injection": "one line without control characters",
    "address_invalid": "one plain mail address",
    "name_like_address": "the name is another mail address",
}
INJECTED = [
    ({"subject": "Hi\r\nBcc: c@evil.test"}, "/subject", "header_injection"),
    ({"subject": "Hi\nBcc: c@evil.test"}, "/subject", "header_injection"),
    ({"subject": "Hi\rBcc: c@evil.test"}, "/subject", "header_injection"),
    ({"subject": "Hi\u2028Bcc: c@evil.test"}, "/subject", "header_injection"),
    ({"subject": "Hi\u0085Bcc: c@evil.test"}, "/subject", "header_injection"),
    ({"subject": "Hi\u000bthere"}, "/subject", "header_injection"),
    ({"sender": {"name": "张三\n"}}, "/sender/name", "header_injection"),
    ({"to": [{"name": "张三\n", "address": "z@example.com"}]}, "/to/0/name", "header_injection"),
    ({"to": [{"address": "a@example.com\rBcc: c@evil.test"}]}, "/to/0/address", "header_injection"),
    ({"cc": [{"address": "a@example.com, c@evil.test"}]}, "/cc/0/address", "address_invalid"),
    ({"to": [{"address": "a@example.com> <c@evil.test"}]}, "/to/0/address", "address_invalid"),
    ({"to": [{"address": "undisclosed: c@evil.test;"}]}, "/to/0/address", "address_invalid"),
    ({"to": [{"name": "a@example.com", "address": "c@evil.test"}]}, "/to/0/name", "name_like_address"),
]


@pytest.mark.parametrize(
    ("change", "pointer", "refusal"), INJECTED, ids=[repr(row[0])[:40] for row in INJECTED]
)
async def test_fi6_a_head_of_more_than_one_line_is_refused_before_the_effect_starts(
    working: Served, change: dict[str, Any], pointer: str, refusal: str
) -> None:
    held = await working.bound(module="work", locale="en")
    response = await working.prepare(held, "work.draft_email", {**DRAFT, **change})
    assert response.status_code == 422, response.text
    [refused] = response.json()["refusals"]
    assert (refused["code"], refused["pointer"]) == ("arguments_invalid", pointer)
    assert SAID[refusal] in refused["detail"]
    assert "\n" not in refused["detail"]
    assert code(response)
    assert await working.attempts() == 0
    assert await working.count("agent.artifacts") == 0


async def test_fi6_what_is_only_unprintable_is_replaced_where_one_can_see_it(
    working: Served, bytes_: FilesystemArtifacts
) -> None:
    held = await working.bound(module="work", locale="en")
    odd = {**DRAFT, "subject": "Report\u202e fdp.exe", "body": ["one\u000btwo\uffff", "three"]}
    action = await working.prepared(held, "work.draft_email", odd)
    result = (await working.commit(held, action)).json()["result"]
    data = await bytes_.read(key_of(TENANT, UUID(result["artifact_id"])))
    message = message_from_bytes(data, policy=default)
    assert message["subject"] == "Report\ufffd fdp.exe"
    assert "one\ufffdtwo\ufffd" in words_of(message)
