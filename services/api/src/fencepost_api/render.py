"""Rows as the API's shapes (fencepost_contracts.http): plain dictionaries, ready to be serialised."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.diff import change_rows, rows_of
from fencepost_domain.grant import Today, lapse_of, status_of
from fencepost_domain.vocabulary import InterruptKind, RunStatus
from fencepost_store.grants import to_grant
from fencepost_store.runs import NewRun
from pydantic_core import to_json
from starlette.responses import Response

from fencepost_api.handoff import package
from fencepost_api.work import work

Row = Mapping[Any, Any]
COST_CURRENCY: Final = "USD"  # what providers bill in
_INTERRUPT: Final = (
    "id", "run_id", "kind", "status", "question", "candidates", "input_schema", "indexes", "preview",
    "change", "risk", "opened_at", "expires_at", "resolution", "resolved_by", "resolved_at",
)  # fmt: skip
_FINALIZATION: Final = (
    "status", "reason", "code", "node", "explanation", "decided_by", "at", "evidence", "left_undone",
    "unconfirmed_effects", "usage",
)  # fmt: skip
_RUN: Final = (
    "id", "status", "waiting_on", "module", "mode", "user_id", "conversation_id", "metadata", "attempt",
    "pause_asked", "created_at", "started_at", "finished_at", "deadline_at", "event_seq", "input", "output",
    "origin",
)  # fmt: skip
_NOT_YET: Final = (
    "waiting_on", "started_at", "finished_at", "output", "partial", "interrupt", "actions", "artifacts",
    "graph", "manifest_fp", "catalog_fp", "recovery_checks", "finalization", "handoff", "work",
    "fork_points", "origin",
)  # fmt: skip
_TIMES: Final = frozenset(
    {"at", "opened_at", "expires_at", "resolved_at", "created_at", "started_at", "finished_at", "deadline_at",
     "updated_at", "ended_at"}
)  # fmt: skip


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON as it is: dates in RFC 3339 with Z, ids as text. Never cached: it is somebody's own."""
    return Response(to_json(content), status, dict(headers or {}), "application/json")


def page(items: Sequence[Mapping[str, Any]], limit: int, cursor: str = "id") -> dict[str, Any]:
    """A page of at most `limit`; `items` may hold one more, which says that there is a next one."""
    shown = items[:limit]
    more = len(items) > limit
    return {"items": shown, "next_cursor": str(shown[-1][cursor]) if more else None}


def picked(row: Row, names: Sequence[str]) -> dict[str, Any]:
    return {name: utc(row[name]) if name in _TIMES else row[name] for name in names}


def utc(value: Any) -> Any:
    """An instant, from Python or from JSON, in UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def run(row: Row) -> dict[str, Any]:
    asked, ended = row["interrupt"], row["finalization"]
    return {
        **picked(row, _RUN),
        "partial": picked(row["partial"], ("text", "at")) if row["partial"] else None,
        "interrupt": interrupt(asked) if asked else None,
        **work(row["work"] or (), row["locale"]),
        "actions": [_action(item) for item in row["actions"] or ()],
        "artifacts": row["artifacts"] or [],
        "degraded": [_degraded(item) for item in row["artifacts"] or () if item["integrity"] != "ok"],
        "usage": _usage(row["usage"]),
        "bound": {"graph": row["graph"], "manifest": row["manifest_fp"], "catalog": row["catalog_fp"]},
        "recovery_checks": row["recovery_checks"] or [],
        "fork_points": row["fork_points"] or [],
        "continues": row["continues"],
        "handoff": package(row),
        "finalization": finalization(ended) if ended else None,
    }


def fresh(new: NewRun, times: Row) -> dict[str, Any]:
    """A run just created, as the view would show it: all but its instants is known without a query."""
    known = ("id", "module", "user_id", "conversation_id", "metadata", "input", "locale")
    return {
        **dict.fromkeys(_NOT_YET),
        **{name: getattr(new, name) for name in known},
        **times,
        "continues": new.continues,
        "status": RunStatus.QUEUED,
        "mode": new.mode,
        "attempt": 0,
        "pause_asked": False,
        "event_seq": 1,
        "usage": {"model_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": "0"},
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """In the currency of the price table that the calls were counted by."""
    cost = {"value": usage["cost"], "currency": usage.get("currency") or COST_CURRENCY}
    return {**{name: usage[name] for name in ("model_calls", "input_tokens", "output_tokens")}, "cost": cost}


def _degraded(artifact: Mapping[str, Any]) -> dict[str, Any]:
    """What this view can't show any more: a file of the run is lost, the rest stands."""
    return {"artifact_id": artifact["id"], "reason": artifact["integrity"]}


def _action(item: Mapping[str, Any]) -> dict[str, Any]:
    return {**item, "arguments": json.loads(item["arguments"])}


def interrupt(row: Row, rule: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """rule: who has to approve, where one is asked for alone."""
    return {
        **picked(row, _INTERRUPT),
        "requested_by": row["user_id"],
        "votes": [{**vote, "at": utc(vote["at"])} for vote in row.get("votes") or ()],
        "diff": diffs(row),
        "rule": rule,
    }


def diffs(row: Row) -> list[dict[str, Any]]:
    """What would be different, an entry an action, from its `change`; and what an editor changed before."""
    if row["kind"] != InterruptKind.APPROVAL:
        return []
    shown = {one.get("index"): one for one in _entries(row["preview"])}
    return [
        {
            "index": one.get("index", row["index"]),
            "rows": change_rows(one),
            "edited": rows_of(
                shown.get(one.get("index"), {}).get("edited_from"),
                shown.get(one.get("index"), {}).get("arguments"),
            )
            if shown.get(one.get("index"), {}).get("edited_from") is not None
            else [],
        }
        for one in _entries(row["change"])
    ]


def _entries(value: Any) -> list[Mapping[str, Any]]:
    """A preview or change: one, or a list with one an action."""
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, Mapping)]


_GRANT: Final = (
    "id", "user_id", "granted_by", "interrupt_id", "run_id", "module", "tool", "risk", "condition",
    "max_uses", "uses", "created_at", "expires_at", "ended_at", "ended_by",
)  # fmt: skip


def grant(row: Row, recent: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Void is shown as it is judged today, also before anything noticed it."""
    kept, today = to_grant(row), Today(frozenset(row["roles_today"]), row["catalog_today"], row["now"])
    return {
        **picked(row, _GRANT),
        "status": status_of(kept, today),
        "catalog": row["catalog_fp"],
        "ended_reason": row["ended_reason"] or lapse_of(kept, today),
        "recent": [{**one, "used_at": utc(one["used_at"])} for one in recent] if recent is not None else None,
    }


def finalization(row: Row) -> dict[str, Any]:
    return picked(row, _FINALIZATION)


def event(row: Row) -> dict[str, Any]:
    erased = row["payload"] is None
    return {
        **picked(
            row, ("seq", "id", "type", "schema_version", "actor", "at", "causation_id", "correlation_id")
        ),
        "payload": payload(row),
        "erased": erased,
        "salt": None if erased else row["salt"].hex(),
        "payload_hash": row["payload_hash"].hex(),
        "prev_hash": row["prev_hash"].hex(),
        "hash": row["hash"].hex(),
    }


def payload(row: Row) -> dict[str, Any] | None:
    """An event's payload, None when erased."""
    if row["payload"] is None:
        return None
    found: dict[str, Any] = json.loads(bytes(row["payload"]))
    return found


def conversation(row: Row) -> dict[str, Any]:
    return picked(row, ("id", "user_id", "title", "holder_run_id", "created_at", "updated_at"))


def message(row: Row) -> dict[str, Any]:
    return picked(
        row, ("id", "conversation_id", "seq", "run_id", "author", "text", "artifacts", "created_at")
    )


def integrity(row: Row) -> str:
    """What became of an artifact's bytes, in a word."""
    return "erased" if row["erased_at"] else row["lost"] or "ok"


def artifact(row: Row) -> dict[str, Any]:
    names = ("id", "user_id", "run_id", "name", "media_type", "size_bytes", "status", "first_id", "version")
    told = picked(row, (*names, "origin", "evidence"))
    times = {name: utc(row[name]) for name in ("created_at", "checked_at")}
    return {**told, **times, "sha256": bytes(row["sha256"]).hex(), "integrity": integrity(row)}


def state_event(row: Row) -> dict[str, Any]:
    names = (
        "seq",
        "key",
        "operation",
        "existed",
        "exists",
        "erased",
        "source",
        "event_id",
        "run_id",
        "trace_id",
    )
    told = picked(row, names)
    return {**told, "old": row["old_value"], "new": row["new_value"], "at": utc(row["at"])}


def uuid_or_none(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None
