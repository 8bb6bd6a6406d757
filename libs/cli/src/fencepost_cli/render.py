"""Runs, questions and events as lines for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost_cli.console import ENDED_BADLY, Exit


def run_lines(run: Mapping[str, Any]) -> Iterator[str]:
    """A run in a page: what it is, what it asks, what it did, how it ended."""
    yield f"run        {run['id']}"
    status = run["status"] + (f" on {run['waiting_on']}" if run.get("waiting_on") else "")
    yield f"status     {status}"
    yield f"module     {run['module']}   attempt {run.get('attempt', 0)}"
    text = (run.get("input") or {}).get("text")
    if text:
        yield f"asked      {text}"
    for action in run.get("actions") or []:
        effect = action.get("effect")
        state = (effect.get("state") if isinstance(effect, Mapping) else effect) or action.get("status", "")
        yield f"action {action['index']}   {action['tool']} ({action.get('risk')}): {state}"
    for check in run.get("recovery_checks") or []:
        if check.get("answer") != "ok":
            yield f"recovery   {check.get('check')}: {check.get('answer')} ({check.get('detail')})"
    if run.get("interrupt"):
        yield from interrupt_lines(run["interrupt"])
    final = run.get("finalization")
    if final:
        code = f" ({final['code']})" if final.get("code") else ""
        yield f"ended      {final['status']}: {final['reason']}{code}"
        yield f"           {final['explanation']}"
        detail = (final.get("evidence") or {}).get("detail")
        if isinstance(detail, str) and detail:
            yield f"           {detail}"
        for undone in final.get("left_undone") or []:
            yield f"undone     {undone}"
        for effect in final.get("unconfirmed_effects") or []:
            yield f"uncertain  {effect}"
    used = run.get("usage")
    if used and used["model_calls"]:
        tokens = used["input_tokens"] + used["output_tokens"]
        cost = f"{used['cost']['value']} {used['cost']['currency']}"
        yield f"used       {used['model_calls']} model calls, {tokens} tokens, {cost}"
    yield from file_lines(run)
    output = run.get("output")
    if output and output.get("text"):
        yield f"answer     {output['text']}"
    if run.get("partial"):
        yield f"unfinished {run['partial']['text']}"


def file_lines(run: Mapping[str, Any]) -> Iterator[str]:
    """The files that a run made, or what became of them."""
    for file in run.get("artifacts") or []:
        if file.get("role") == "output":
            gone = "" if file["integrity"] == "ok" else f", {file['integrity']}"
            yield f"file       {file['name']} ({file['size_bytes']} bytes, {file['status']}{gone})"
            yield f"           {file['id']}"


def interrupt_lines(interrupt: Mapping[str, Any]) -> Iterator[str]:
    """The question as it is asked, with what would change and until when it can be answered."""
    previews = _previews(interrupt.get("preview"))
    # With a preview the question repeats it in one sentence before it asks; its last line is the asking.
    yield f"asks       {interrupt['question'].splitlines()[-1] if previews else interrupt['question']}"
    for preview in previews:
        yield f"           {preview.get('title', '')}"
        for line in preview.get("lines") or []:
            yield f"             {line['label']}: {line['value']}"
    for diff in interrupt.get("diff") or []:
        yield from diff_lines(diff)
    for candidate in interrupt.get("candidates") or []:
        yield f"           [{candidate['id']}] {candidate['label']}"
    voted = votes_line(interrupt)
    if voted:
        yield voted
    risk = f"risk {interrupt['risk']}, " if interrupt.get("risk") else ""
    yield f"           {risk}open until {interrupt['expires_at']}"


def diff_lines(diff: Mapping[str, Any]) -> Iterator[str]:
    """What would change after one action, a line a difference; and what an editor changed before."""
    for row in diff.get("edited") or []:
        yield f"           edited {_difference(row)}"
    rows = diff.get("rows") or []
    if not rows:
        yield "           changes nothing that is stored"
    for row in rows:
        yield f"           {_difference(row)}"


def _difference(row: Mapping[str, Any]) -> str:
    name = row["path"].removeprefix("/").replace("/", ".") or "(all)"
    match row["kind"]:
        case "added":
            return f"+ {name}: {_plain(row['after'])}"
        case "removed":
            return f"- {name}: {_plain(row['before'])}"
        case "changed":
            return f"~ {name}: {_plain(row['before'])} -> {_plain(row['after'])}"
        case _:
            return f"… and {row.get('count')} more"


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def votes_line(interrupt: Mapping[str, Any]) -> str | None:
    """Who decided so far, where several have to."""
    said = [f"{vote['by']} {vote['decision']}" for vote in interrupt.get("votes") or []]
    rule = interrupt.get("rule") or {}
    needed = f" ({rule['given']} of {rule['needed']})" if rule.get("needed", 1) > 1 else ""
    return f"           so far: {', '.join(said)}{needed}" if said else None


def _previews(preview: Any) -> list[Mapping[str, Any]]:
    if preview is None:
        return []
    return [p.get("preview", p) for p in (preview if isinstance(preview, list) else [preview])]


def event_line(event: Mapping[str, Any]) -> str:
    """One line of the log: seq, instant, what happened, by whom, and the payload's plain members."""
    payload = event.get("payload") or {}
    told = " ".join(f"{k}={v}" for k, v in payload.items() if isinstance(v, str | int | bool) and v != "")
    return f"{event['seq']:>4}  {event['at'][11:23]}  {event['type']:<22} {told}".rstrip()


def value_lines(value: Any, indent: int = 0) -> Iterator[str]:
    """Any JSON value as lines: members by name, items with a dash, short ones on one line."""
    pad = "  " * indent
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, Mapping | list) and item:
                yield f"{pad}{name}"
                yield from value_lines(item, indent + 1)
            elif item is not None and item != [] and item != {}:
                yield f"{pad}{name:<10} {item}"
    elif isinstance(value, list):
        for item in value:
            first, *rest = list(value_lines(item, 0)) or [""]
            yield f"{pad}- {first}"
            yield from (f"{pad}  {line}" for line in rest)
    else:
        yield f"{pad}{value}"


def exit_code(run: Mapping[str, Any]) -> Exit:
    """The exit code that a run's status means."""
    if run["status"] in ENDED_BADLY:
        return Exit.FAILED
    if run["status"] == "waiting" and run.get("waiting_on") in ("approval", "input", "reconcile", "version"):
        return Exit.WAITS
    return Exit.DONE


def package_lines(package: Mapping[str, Any]) -> list[str]:
    """A handed-over run as its next owner reads it."""
    to = f" to {package['assignee']}" if package["assignee"] else ""
    lines = [f"handed over by {package['by']}{to}: {package['note']}", f"  goal: {package['goal']}"]
    for title, name, more in (("done", "done", "result"), ("open", "open_effects", "effect")):
        lines += [f"  {title}: {a['tool']} {_short(a[more])} ({a['effect_key']})" for a in package[name]]
    lines += [
        f"  left: {a.get('tool') or a.get('said')} {_short(a.get('arguments'))}" for a in package["plan_left"]
    ]
    lines.append(f"  next: {package['next_step']}")
    lines.append(f"  go on: fencepost handoff {package['run_id'][-8:]} --continue")
    return lines


def _short(value: Any) -> str:
    text = "" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + "..."
