"""The words of the approval page, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Words:
    name: str
    title: str
    asked_by: str
    you_are: str
    risk: str
    open_until: str
    approvals: str
    of: str
    change: str
    edited: str
    attachments: str
    nothing_changes: str
    more: str
    whole: str
    note: str
    approve: str
    reject: str
    send: str
    action: str
    may_not: str
    said: str
    decided: str
    waiting: str
    over: str
    footer: str
    choose: str
    invalid: str
    otherwise: str
    risks: Mapping[str, str] = field(default_factory=dict)
    decisions: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, str] = field(default_factory=dict)
    gone: Mapping[str, str] = field(default_factory=dict)


EN: Final = Words(
    name="English",
    title="An approval is asked of you",
    asked_by="Asked for",
    you_are="You decide as",
    risk="Risk",
    open_until="Open until",
    approvals="Approvals",
    of="{given} of {needed}",
    change="What would change",
    edited="What the editor changed",
    attachments="What goes out with it",
    nothing_changes="Nothing that is stored would change.",
    more="and {count} more",
    whole="(the whole)",
    note="A note, kept with your decision (optional)",
    approve="Approve",
    reject="Reject",
    send="Send my decision",
    action="Action",
    may_not="You may not decide this:",
    said="{who}: {what}",
    decided="Decided: {what}, by {who}.",
    waiting="Your decision is stored. {given} of {needed} approvals so far.",
    over="Its time is over.",
    footer="Opening this page decides nothing. The link works once, and for you alone.",
    choose="Choose approve or reject.",
    invalid="This link is not valid.",
    otherwise="It was decided otherwise before. What is stored stands.",
    risks={"low": "low", "medium": "medium", "high": "high"},
    decisions={"approve": "approved", "reject": "rejected", "mixed": "decided one by one"},
    statuses={
        "open": "Its time is over.",
        "expired": "Nobody decided in time; nothing is done.",
        "withdrawn": "It isn't asked any more.",
    },
    gone={
        "link_expired": "The time of this link is over. Ask for a new one.",
        "link_replaced": "A newer link was made for you. Use that one.",
        "link_spent": "This link was used before.",
        "interrupt_expired": "Nobody decided in time; nothing is done.",
        "interrupt_withdrawn": "It isn't asked any more.",
        "run_finished": "The run has ended.",
        "run_cancelling": "The run is being stopped.",
        "cross_site": "Open the link itself, and decide there.",
    },
)
ZH: Final = Words(
    name="中文",
    title="有一项操作等待您的审批",
    asked_by="申请人",
    you_are="您的身份",
    risk="风险",
    open_until="截止时间",
    approvals="已批准",
    of="{given} / {needed}",
    change="将会改变的内容",
    edited="编辑者所做的修改",
    attachments="随附的文件",
    nothing_changes="不会改变任何已保存的内容。",
    more="还有 {count} 处",
    whole="（整体）",
    note="备注，与您的决定一起保存（可不填）",
    approve="批准",
    reject="拒绝",
    send="提交我的决定",
    action="操作",
    may_not="您不能决定这一项：",
    said="{who}：{what}",
    decided="已决定：{what}（{who}）。",
    waiting="您的决定已保存。目前 {given} / {needed} 人批准。",
    over="时间已过。",
    footer="打开本页不会作出任何决定。此链接只能使用一次，且仅供您本人使用。",
    choose="请选择批准或拒绝。",
    invalid="此链接无效。",
    otherwise="之前已有不同的决定，以已保存的为准。",
    risks={"low": "低", "medium": "中", "high": "高"},
    decisions={"approve": "已批准", "reject": "已拒绝", "mixed": "已逐项决定"},
    statuses={
        "open": "时间已过。",
        "expired": "无人及时决定，没有执行任何操作。",
        "withdrawn": "已不再询问此事。",
    },
    gone={
        "link_expired": "此链接已过期，请重新获取。",
        "link_replaced": "已为您生成新的链接，请使用新的。",
        "link_spent": "此链接已被使用。",
        "interrupt_expired": "无人及时决定，没有执行任何操作。",
        "interrupt_withdrawn": "已不再询问此事。",
        "run_finished": "任务已结束。",
        "run_cancelling": "任务正在停止。",
        "cross_site": "请直接打开链接，并在页面上作出决定。",
    },
)
WORDS: Final[Mapping[str, Words]] = {"en": EN, "zh": ZH}


def language_of(asked: str | None, accepted: str | None) -> str:
    """asked: `?lang=`; accepted: Accept-Language, of which the first language counts."""
    if asked in WORDS:
        return str(asked)
    first = (accepted or "").split(",")[0].strip().lower()
    return "zh" if first.startswith("zh") else "en"
