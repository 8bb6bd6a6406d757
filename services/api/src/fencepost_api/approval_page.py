"""The page behind a one-time link: what would change, and two buttons. No script, nothing from elsewhere.

Opening it changes nothing, so a mail scanner may. Everything shown is escaped: previews hold what a model
and strangers wrote.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fencepost_api import render
from fencepost_api.page_words import WORDS, Words
from fencepost_api.usecases.use_link import Seen

STYLE: Final = Path(__file__).with_name("approval.css").read_text()
_DIGEST: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store, private",
    "X-Robots-Tag": "noindex, nofollow",
}
MARKS: Final = {"added": "+", "removed": "\u2212", "changed": "~", "more": "\u2026"}
_LONGEST_VALUE: Final = 2_000  # characters of one cell


def page(seen: Seen, language: str) -> str:
    """The question with its change, and the form while it can be decided; else what was decided."""
    words, row = WORDS[language], seen.row
    parts = [
        f"<h1>{_text(words.title)}</h1>",
        f'<p class="q">{_text(row["question"])}</p>',
        _facts(seen, words),
    ]
    shown = render.interrupt(row)
    previews = {one.get("index"): one for one in _listed(row["preview"])}
    for diff in shown["diff"]:
        parts.append(_action(diff, previews.get(diff["index"], {}), _change(row, diff["index"]), words))
    parts.append(_form(seen, words) if _can_decide(seen) else _outcome(seen, words))
    return _document(words.title, "".join(parts), language)


def notice(detail: str, language: str) -> str:
    """A page that says why there is nothing to decide."""
    words = WORDS[language]
    return _document(
        words.title, f'<h1>{_text(words.title)}</h1><p class="box">{_text(detail)}</p>', language
    )


def _can_decide(seen: Seen) -> bool:
    """The link isn't past, and it ends no later than its question."""
    voted = any(vote["by"] == seen.link.approver for vote in seen.row["votes"] or ())
    return seen.row["status"] == "open" and not voted


def _facts(seen: Seen, words: Words) -> str:
    row, rule = seen.row, seen.rule
    risk = row["risk"] or ""
    rows = [
        (words.asked_by, _text(row["user_id"])),
        (words.you_are, _text(seen.link.approver)),
        (words.risk, f'<span class="risk {_text(risk)}">{_text(words.risks.get(risk, risk))}</span>'),
        (words.open_until, _text(_instant(min(seen.link.expires_at, row["expires_at"])))),
    ]
    if rule["needed"] > 1:
        rows.append((words.approvals, _text(words.of.format(given=rule["given"], needed=rule["needed"]))))
    return _rows(rows)


def _action(
    diff: Mapping[str, Any], preview: Mapping[str, Any], change: Mapping[str, Any], words: Words
) -> str:
    said = preview.get("preview") or {}
    parts = [f"<h2>{_text(said.get('title') or preview.get('tool') or '')}</h2>"]
    lines = [(str(line.get("label")), _text(line.get("value"))) for line in said.get("lines") or ()]
    parts.append(_rows(lines) if lines else "")
    parts.append(f"<h2>{_text(words.change)}</h2>{_diff(diff['rows'], words)}")
    if diff["edited"]:
        parts.append(f"<h2>{_text(words.edited)}</h2>{_diff(diff['edited'], words)}")
    files = [(str(one.get("name")), _text(f"{one.get('size_bytes')} B, SHA-256 {one.get('sha256')}"))
             for one in change.get("attachments") or ()]  # fmt: skip
    if files:
        parts.append(f"<h2>{_text(words.attachments)}</h2>{_rows(files)}")
    return "".join(parts)


def _diff(rows: Sequence[Mapping[str, Any]], words: Words) -> str:
    if not rows:
        return f'<p class="m">{_text(words.nothing_changes)}</p>'
    cells = []
    for row in rows:
        kind = row["kind"]
        if kind == "more":
            more = _text(words.more.format(count=row["count"]))
            cells.append(f'<tr><td>{MARKS[kind]}</td><td colspan="2">{more}</td></tr>')
            continue
        old = f"<del>{_value(row['before'])}</del>" if kind != "added" else ""
        new = f"<ins>{_value(row['after'])}</ins>" if kind != "removed" else ""
        between = " \u2192 " if kind == "changed" else ""
        name = _text(row["path"].removeprefix("/") or words.whole)
        mark, told = MARKS[kind], f"{old}{between}{new}"
        cells.append(f'<tr class="{kind}"><td>{mark}</td><td class="k">{name}</td><td>{told}</td></tr>')
    return f"<table>{''.join(cells)}</table>"


def _form(seen: Seen, words: Words) -> str:
    if not seen.rule["may_decide"]:
        return f'<p class="box">{_text(words.may_not)} {_text(seen.rule["why_not"])}</p>'
    field = '<input type="text" name="note" maxlength="500" autocomplete="off">'
    note = f"<label>{_text(words.note)}{field}</label>"
    indexes = list(seen.row["indexes"])
    if len(indexes) <= 1:
        buttons = (
            f'<button class="y" name="decision" value="approve">{_text(words.approve)}</button>'
            f'<button name="decision" value="reject">{_text(words.reject)}</button>'
        )
        return f'<form method="post" class="box">{note}{buttons}</form>'
    choices = "".join(
        f"<p>{_text(words.action)} {index}: "
        f'<label><input type="radio" name="d{index}" value="approve" required> '
        f"{_text(words.approve)}</label> "
        f'<label><input type="radio" name="d{index}" value="reject"> {_text(words.reject)}</label></p>'
        for index in indexes
    )
    button = f'<button class="y">{_text(words.send)}</button>'
    return f'<form method="post" class="box">{choices}{note}{button}</form>'


def _outcome(seen: Seen, words: Words) -> str:
    row = seen.row
    lines = [
        f"<p>{_text(words.said.format(who=vote['by'], what=words.decisions[vote['decision']]))} "
        f'<span class="m">{_text(_instant(render.utc(vote["at"])))}</span></p>'
        for vote in row["votes"] or ()
    ]
    if row["status"] == "resolved":
        decided = words.decisions.get((row["resolution"] or {}).get("decision", ""), "")
        head = words.decided.format(what=decided, who=row["resolved_by"] or "")
    elif row["status"] == "open" and lines:
        head = words.waiting.format(given=seen.rule["given"], needed=seen.rule["needed"])
    else:
        head = words.statuses.get(row["status"], words.over)
    return f'<div class="box" id="outcome"><p><strong>{_text(head)}</strong></p>{"".join(lines)}</div>'


def _listed(value: Any) -> list[Mapping[str, Any]]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, Mapping)]


def _change(row: Mapping[Any, Any], index: int) -> Mapping[str, Any]:
    return next((one for one in _listed(row["change"]) if one.get("index", index) == index), {})


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    """Cells of labels and of markup that is escaped already."""
    return (
        "<table>"
        + "".join(f'<tr><td class="k">{_text(k)}</td><td>{v}</td></tr>' for k, v in rows)
        + "</table>"
    )


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _text(text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "\u2026")


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)


def _document(title: str, body: str, language: str) -> str:
    words, other = WORDS[language], "en" if language == "zh" else "zh"
    footer = f'<footer>{_text(words.footer)} <a href="?lang={other}">{_text(WORDS[other].name)}</a></footer>'
    return (
        f'<!doctype html><html lang="{"zh-CN" if language == "zh" else "en"}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="robots" content="noindex"><title>{_text(title)}</title><style>{STYLE}</style></head>'
        f"<body><main>{body}</main>{footer}</body></html>"
    )
