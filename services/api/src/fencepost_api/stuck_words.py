"""Why a run isn't moving, said to a person: two sentences a code, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fencepost_domain.stuck import Explained

from fencepost_api.texts import is_chinese

Words = tuple[str, str]  # English, Chinese
Sentences = tuple[Words, Words]  # why, and what moves it

_SAID: Final[Mapping[str, Sentences]] = {
    "not_due": (
        (
            "It failed or was put off ({reason}) and is due again at {until}.",
            "上次没有成功或被推迟（{reason}），将在 {until} 再次执行。",
        ),
        ("Time. An operator may requeue it at once.", "到时自动继续；运维可以立即重新排队。"),
    ),
    "no_worker": (
        ("No worker that is alive serves module {module}.", "没有在线的 worker 服务模块 {module}。"),
        ("Start a worker for {module}.", "启动服务 {module} 的 worker。"),
    ),
    "version_not_served": (
        (
            "No worker that is alive serves graph version {graph} of {module}, to which the run is bound.",
            "没有在线的 worker 服务任务所绑定的 {module} 图版本 {graph}。",
        ),
        (
            "A worker that serves it, by itself; or a person's answer to its question.",
            "有 worker 服务该版本时自动继续；或由人回答它的问题。",
        ),
    ),
    "conversation_held": (
        ("Run {run_id} has its conversation.", "它的会话正由任务 {run_id} 占用。"),
        (
            "The end of that run, or that it waits for a person. Look at it, or cancel it.",
            "等那个任务结束，或转为等人；也可以查看或取消它。",
        ),
    ),
    "behind_in_conversation": (
        (
            "Run {run_id} of the same conversation is queued before it.",
            "同一会话里任务 {run_id} 排在它前面。",
        ),
        ("Its turn, once that run has gone on.", "等前一个任务执行后轮到它。"),
    ),
    "in_line": (
        (
            "It is due: {ahead} runs of its tenant and {tenants_ahead} tenants come first.",
            "已到时间：本租户前面还有 {ahead} 个任务，另有 {tenants_ahead} 个租户先轮到。",
        ),
        ("The next free slot of a worker.", "等 worker 有空位。"),
    ),
    "at_work": (
        ("{owner} is at work on it.", "{owner} 正在执行。"),
        ("Nothing has to be done.", "无需处理。"),
    ),
    "pausing": (
        ("{owner} pauses it at its next safe point.", "{owner} 将在下一个安全点暂停它。"),
        ("The end of the step it is at.", "等当前步骤结束。"),
    ),
    "asking_model": (
        (
            "{owner} waits for its model's answer, until {until} at most.",
            "{owner} 正在等模型回答，最迟到 {until}。",
        ),
        ("The model's answer, or the end of the call's time.", "模型给出回答，或调用超时。"),
    ),
    "tool_in_progress": (
        ("A tool's outcome is awaited: {tools}.", "正在等工具的结果：{tools}。"),
        (
            "The outcome; or the attempt's end, after which it is looked up.",
            "等结果；或尝试超时后由系统核对。",
        ),
    ),
    "owner_silent": (
        (
            "Its owner {owner} is silent; its lease holds until {until}.",
            "占有它的 {owner} 没有响应，租约到 {until}。",
        ),
        (
            "The reconciler takes it once the lease is past. An operator may release the lease at once.",
            "租约过后由 reconciler 收回；运维可以立即释放租约。",
        ),
    ),
    "needs_approval": (
        (
            "It waits for the approval of {asked_of} or an approver, until {until}.",
            "正在等 {asked_of} 或审批人批准，截止 {until}。",
        ),
        ("approve or reject; after {until} it ends as expired.", "批准或拒绝；{until} 之后按过期结束。"),
    ),
    "needs_answer": (
        ("It asked {asked_of} a question, until {until}.", "它向 {asked_of} 提了一个问题，截止 {until}。"),
        ("The answer; after {until} it ends as expired.", "回答它；{until} 之后按过期结束。"),
    ),
    "needs_reconcile": (
        ("A person has to say what became of: {tools}.", "需要人确认结果：{tools}。"),
        ("An operator settles the effect, with evidence.", "由运维凭证据结清该操作。"),
    ),
    "children": (
        ("It waits for {children} runs it started.", "正在等它发起的 {children} 个子任务。"),
        ("The end of those runs.", "等子任务结束。"),
    ),
    "wait_over": (
        ("What it waited for is over.", "它等的事已经结束。"),
        (
            "The reconciler queues it within a second; if not, is one up?",
            "reconciler 会在一秒内重新排队；若没有，请检查它是否在线。",
        ),
    ),
    "paused": (
        ("{paused_by} paused it.", "由 {paused_by} 暂停。"),
        ("resume; at {until} it is stopped.", "恢复它；到 {until} 会被停止。"),
    ),
    "draining": (
        ("It is being stopped ({stop}); in progress: {tools}.", "正在停止（{stop}）；进行中：{tools}。"),
        ("The end of what is in progress, {until} at the latest.", "等进行中的部分结束，最迟 {until}。"),
    ),
}
CODES: Final = frozenset(_SAID)


def sentences(found: Explained, locale: str, **more: Any) -> tuple[str, str]:
    """(why, what moves it)."""
    why, moves = _SAID[found.code]
    known = {name: value for name, value in {**more, **found.details}.items() if value is not None}
    values = _Values({**known, "until": _time(found)})
    values["tools"] = ", ".join(e["tool"] for e in found.details.get("effects", ())) or "-"
    pick = 1 if is_chinese(locale) else 0
    return why[pick].format_map(values), moves[pick].format_map(values)


def _time(found: Explained) -> str:
    return found.until.isoformat(timespec="seconds") if found.until else "-"


class _Values(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "-"
