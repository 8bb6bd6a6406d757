"""The package of a handed-over run: a fold over what is stored, from which somebody else can go on.

What its finalization called unconfirmed and was settled since is shown as it is now; the record itself is
not amended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from fencepost_domain.vocabulary import UNSETTLED, EffectState

from fencepost_api.texts import next_step

Row = Mapping[Any, Any]
DONE: Final = frozenset({EffectState.COMPLETED, EffectState.COMPENSATED, EffectState.COMPENSATING})
OPEN: Final = frozenset({*UNSETTLED, EffectState.ACCEPTED})


def package(row: Row) -> dict[str, Any] | None:
    """From a run's view row; None for a run that wasn't handed over."""
    asked = row["handoff"]
    if asked is None:
        return None
    actions = row["actions"] or ()
    done = [_shown(a, "result") for a in actions if a["effect"] in DONE]
    unsure = [_shown(a, "effect") for a in actions if a["effect"] in OPEN]
    left = [_shown(a, "status") for a in actions if a["effect"] is None and a["status"] != "rejected"]
    ended = row["finalization"]
    tools = {a["tool"] for a in left}
    undone = [item for item in (ended or {}).get("left_undone", ()) if item not in tools]
    return {
        "run_id": row["id"],
        "by": asked["by"],
        "at": datetime.fromisoformat(asked["at"]).astimezone(UTC),
        "assignee": asked.get("assignee"),
        "note": asked.get("note", ""),
        "goal": row["input"].get("text", ""),
        "contract": _contract(row),
        "done": done,
        "open_effects": unsure,
        "plan_left": [*left, *({"said": item} for item in undone)],
        "artifacts": row["artifacts"] or [],
        "next_step": next_step(row["locale"], open_=bool(unsure), left=bool(left or undone), done=bool(done)),
    }


def brief(whole: Mapping[str, Any]) -> dict[str, Any]:
    """What a run that goes on from it carries in its input: facts, frozen at its creation."""
    kept = ("run_id", "note", "goal", "done", "open_effects", "plan_left", "next_step")
    return {name: str(whole[name]) if name == "run_id" else whole[name] for name in kept}


def _contract(row: Row) -> dict[str, Any]:
    """What the run was to keep to."""
    return {
        "module": row["module"],
        "graph": row["graph"],
        "manifest": row["manifest_fp"],
        "catalog": row["catalog_fp"],
        "budget": row["budget"],
        "locale": row["locale"],
        "zone": row["zone"],
        "metadata": row["metadata"],
    }


def _shown(action: Mapping[str, Any], *more: str) -> dict[str, Any]:
    """An action with its evidence: the key under which its effect is on record, and its arguments."""
    names = ("index", "tool", "risk", "effect_key", "decided_by", *more)
    return {name: action[name] for name in names} | {"arguments": json.loads(action["arguments"])}
