"""The sentences a run ends with, in the run's language: what was done, or that nothing was done, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_domain.budget import SHARED
from fencepost_domain.termination import Ending
from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow import plan as plans
from fencepost_worker.flow.state import DONE, FAILED, REJECTED, UNSETTLED, State
from fencepost_worker.flow.unproven import refused_text, unproven_text, unread_text

Words = tuple[str, str]  # Chinese, English

_NOTHING: Final[Words] = ("没有做任何改动。", "Nothing was done.")
_AGAIN: Final[Words] = ("可以重新发起。", "You can ask for it again.")
_ANSWERED: Final[Words] = ("已答复。", "It was answered.")
_REASONS: Final[Mapping[Reason, Words]] = {
    Reason.ACCEPTANCE_MET: ("请求已完成。", "The request was carried out."),
    Reason.USER_CANCELLED: ("已按您的要求取消。", "Cancelled as you asked."),
    Reason.APPROVAL_REJECTED: ("您没有批准。", "You did not approve it."),
    Reason.APPROVAL_EXPIRED: ("等待答复的时间已过。", "The time to answer is over."),
    Reason.POLICY_DENIED: ("这个请求不被允许。", "The request is not allowed."),
    Reason.DEADLINE_EXCEEDED: ("时限已到。", "The time limit was reached."),
    Reason.BUDGET_EXHAUSTED: ("本次任务的额度已用完。", "The budget of this run is used up."),
    Reason.REQUIRED_TASK_FAILED: ("必要的一步没有成功。", "A step that was needed did not succeed."),
    Reason.CONFLICT_UNRESOLVED: ("有矛盾没能解决。", "A conflict could not be resolved."),
    Reason.NO_PROGRESS: ("任务没有进展。", "The run made no progress."),
    Reason.QUALITY_FAILED: ("结果没有达到质量要求。", "The result did not meet its quality gate."),
    Reason.VERSION_REVOKED: (
        "这个任务使用的版本已被撤回或损坏。",
        "A version this run is bound to was revoked or altered.",
    ),
    Reason.ATTEMPTS_EXHAUSTED: ("多次尝试都没有成功。", "Several attempts failed."),
    Reason.MODEL_FAILED: ("模型没有给出可用的回答。", "The model gave no usable answer."),
    Reason.HANDED_OVER: ("已转交。", "It was handed over."),
}
_CODES: Final[Mapping[str, Words]] = {
    "effect_unsettled": (
        "有一步的结果还不能确定，需要人来核对。",
        "The outcome of one step is not known yet; a person must check it.",
    ),
    "no_answer": ("图运行结束时没有给出答复。", "The graph ended without an answer."),
    "pause_swallowed": (
        "有一步吞掉了请人决定的暂停；worker 日志里写明了是哪个节点。",
        "A step caught the pause with which a person is asked; the worker's log names the node.",
    ),
    "state_not_storable": (
        "图的状态里有无法保存的值；worker 日志里写明了键和类型。",
        "The graph's state holds a value that can't be stored; the worker's log names its key and type.",
    ),
    "agentic_not_available": (
        "这需要分几步完成，目前还做不到。",
        "This needs several steps, which is not available yet.",
    ),
    **{
        f"{scope}_{kind}": words
        for scope, words in {
            "tenant": (
                "您所在组织的额度已用完，管理员可以提高额度。",
                "Your organisation's budget is used up; an admin can raise it.",
            ),
            "user": (
                "您的额度已用完，管理员可以提高额度。",
                "Your budget is used up; an admin can raise it.",
            ),
        }.items()
        for kind in SHARED
    },
    "cost": ("本次任务的费用上限已到。", "This run reached its limit of cost."),
    "requirement_unproven": (
        "结果还没有满足您的全部要求。",
        "The result does not meet all that you asked for.",
    ),
    "repeated_action": (
        "同样的操作重复了几次都没有新的结果，已停止。",
        "The same action was repeated without anything new, so it was stopped.",
    ),
    "refused_action": (
        "您没有批准的操作又被提出，已停止。",
        "An action you had refused came up again; it was stopped.",
    ),
    "no_new_evidence": (
        "几轮下来没有新的进展，已停止。",
        "Several rounds brought nothing new, so it was stopped.",
    ),
    "input_empty": ("请求是空的。", "The request was empty."),
    "answer_invalid": ("这个回答不在可选范围内。", "The answer was not one of the choices."),
}


_GO_ON: Final[Words] = ("继续", "Go on")
_STOP: Final[Words] = ("停止", "Stop")
_GATE: Final[Words] = (
    "这个任务搁置了一段时间，继续之前需要确认发起人今天的权限（{detail}）。要继续吗？",
    "This was at rest; its requester's rights of today have to be known before it goes on ({detail}). Go on?",
)


def gate_question(detail: str, locale: str) -> tuple[str, str, str]:
    """What the recovery gate asks, and the labels of its two answers."""
    return pick(_GATE, locale).format(detail=detail), pick(_GO_ON, locale), pick(_STOP, locale)


def is_zh(locale: str) -> bool:
    return locale.lower().startswith("zh")


def pick(words: Words, locale: str) -> str:
    return words[0 if is_zh(locale) else 1]


def approval_question(previews: Sequence[Mapping[str, Any]], locale: str) -> str:
    """What is asked of the person: each action's preview, then the question."""
    texts = [str(preview["text"]).strip() for preview in previews]
    if len(texts) == 1:
        return pick((f"{texts[0]}\n可以执行吗？", f"{texts[0]}\nShall I go ahead?"), locale)
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))
    return pick(
        (
            f"{listed}\n每一项都可以分别批准或拒绝。",
            f"{listed}\nEach one can be approved or rejected on its own.",
        ),
        locale,
    )


def reconcile_question(preview: Mapping[str, Any], locale: str) -> str:
    """What a person is asked when nobody can know but by looking at the other side."""
    text = str(preview.get("text") or "").strip()
    return pick(
        (
            f"{text}\n这一步可能已经做了，也可能没有。请到对方系统核对后说明结果。",
            f"{text}\nThis may have happened or not. Please check with the other side and say what happened.",
        ),
        locale,
    )


_ASKED_AGAIN: Final[Mapping[str, Words]] = {
    "precondition_changed": ("情况有变，需要重新确认。", "Something changed since you approved it."),
    "token_expired": ("之前的批准已太久，需要重新确认。", "The approval is too old."),
    "withdrawn": ("需要重新确认。", "It was prepared anew."),
    "approval_revoked": ("之前的批准已不再有效。", "The earlier approval doesn't count any more."),
    "attachment_changed": ("要发送的文件已改变。", "A file that goes out with it changed."),
    "edit_refused": ("修改后的内容未被接受。", "The edited values were not accepted."),
}


def asked_again(actions: Sequence[Mapping[str, Any]], locale: str) -> str:
    """Why something is asked that was answered before; empty the first time."""
    lines = []
    for action in actions:
        if action.get("again") in _ASKED_AGAIN:
            detail = action.get("again_detail") or ""
            lines.append(pick(_ASKED_AGAIN[action["again"]], locale) + (f" ({detail})" if detail else ""))
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


def done_text(actions: Sequence[Mapping[str, Any]], locale: str) -> str:
    """What happened to each action, from its stored result."""
    return "\n".join(line for line in (_line(action, locale) for action in actions) if line)


def _line(action: Mapping[str, Any], locale: str) -> str:
    summary = str(
        action.get("change", {}).get("summary") or action.get("preview", {}).get("text") or action["tool"]
    )
    summary = summary.strip().rstrip("。.")
    match action["status"]:
        case "done":
            return _result(action, summary, locale)
        case "rejected":
            return pick(
                (f"未执行（您没有批准）：{summary}。", f"Not done, as you did not approve it: {summary}."),
                locale,
            )
        case "failed":
            detail = action["error"].get("detail") or action["error"]["code"]
            return pick((f"没有成功：{summary}（{detail}）。", f"This failed: {summary} ({detail})."), locale)
        case "unsettled":
            return pick(
                (f"结果未知，需要核对：{summary}。", f"Outcome not known, to be checked: {summary}."), locale
            )
        case _:
            return ""


def _result(action: Mapping[str, Any], summary: str, locale: str) -> str:
    """A tool's own words when its result has some; a reading's result as it is; else what was changed."""
    result = action.get("result")
    if isinstance(result, dict) and isinstance(result.get("text"), str) and result["text"].strip():
        return str(result["text"])
    if action.get("effect_class") == "none" and result not in (None, {}, []):
        return f"{summary}\n{json.dumps(result, ensure_ascii=False, indent=1)}"
    return pick((f"已完成：{summary}。", f"Done: {summary}."), locale)


def final_text(ending: Ending, state: State, locale: str, currency: str) -> tuple[str, str]:
    """The final message and the finalization's explanation."""
    reason = explain(ending, locale)
    if ending.reason is Reason.QUALITY_FAILED:
        gap = "" if is_zh(locale) else " "
        reason = gap.join(part for part in (reason, refused_text(state["failure"], locale)) if part)
    if ending.reason is Reason.ACCEPTANCE_MET:
        message = state["reply"]["text"]
        reason = reason if state["actions"] else pick(_ANSWERED, locale)  # nothing was carried out
    else:
        changed = any(a["status"] in (DONE, UNSETTLED) for a in state["actions"])
        tried = any(a["status"] in (DONE, UNSETTLED, FAILED) for a in state["actions"])
        shown = plans.told(state["plan"], [a for a in state["actions"] if a["status"] != REJECTED])
        told = done_text(shown, locale) if tried else ""
        # What it said in place of what was asked for ("I can't do this") is the best explanation there is.
        said = state["reply"].get("text", "") if ending.unproven and not tried else ""
        message = "\n".join(
            part
            for part in (
                said,
                reason,
                unproven_text(ending.unproven, is_zh(locale)),
                told,
                unread_text(state["actions"], told),
                "" if changed else pick(_NOTHING, locale),
            )
            if part
        )
    left = state["left_undone"]
    if left:
        listed = "；".join(left) if is_zh(locale) else "; ".join(left)
        message += pick(
            (
                f"\n还没有做：{listed}。可以作为下一条消息发给我。",
                f"\nNot done yet: {listed}. Send it as your next message.",
            ),
            locale,
        )
    return message, reason


def explain(ending: Ending, locale: str) -> str:
    """One sentence for the user: why the run ended as it did."""
    words = _CODES.get(ending.code or "") or _REASONS[ending.reason]
    return pick(words, locale)


def nothing_done(reason: Reason, locale: str) -> str:
    """A message for an ending in which nothing was done."""
    return f"{pick(_REASONS[reason], locale)}{'' if is_zh(locale) else ' '}{pick(_NOTHING, locale)}"


def stopped_text(
    explanation: str, done: Sequence[Mapping[str, Any]], unsettled: Sequence[Mapping[str, Any]], locale: str
) -> str:
    """The message of a run that was stopped: what was done, what isn't known, what to do next."""
    lines = [explanation]
    tools = [effect["tool"] for effect in done]
    if tools:
        names = "、".join(tools) if is_zh(locale) else ", ".join(tools)
        lines.append(pick((f"在此之前已经完成：{names}。", f"Done before that: {names}."), locale))
    if unsettled:
        names = ("、" if is_zh(locale) else ", ").join(effect["tool"] for effect in unsettled)
        unknown = (
            f"结果还未确认：{names}。请核对后再重试。",
            f"Outcome not confirmed: {names}. Check before you try again.",
        )
        lines.append(pick(unknown, locale))
    if not tools and not unsettled:
        lines += [pick(_NOTHING, locale), pick(_AGAIN, locale)]
    return "\n".join(lines)
