"""Writes the domain's state tables into `agent.run_transitions` and `agent.effect_transitions`."""

from __future__ import annotations

from alembic import op
from fencepost_domain.effect import EFFECT_TRANSITIONS
from fencepost_domain.transitions import RUN_TRANSITIONS
from sqlalchemy import text

_INSERT = text(
    "INSERT INTO agent.run_transitions (event, from_status, to_status, role)"
    " VALUES (:event, :before, :after, :role) ON CONFLICT DO NOTHING"
)


def write_transitions() -> None:
    """Add the rows the table has now; a later migration removes what a release no longer uses."""
    rows = [
        {"event": str(t.event), "before": str(t.before), "after": str(t.after), "role": str(role)}
        for t in RUN_TRANSITIONS
        for role in sorted(t.roles)
    ]
    op.get_bind().execute(_INSERT, rows)


_INSERT_EFFECT = text(
    "INSERT INTO agent.effect_transitions (before_state, after_state)"
    " VALUES (:before, :after) ON CONFLICT DO NOTHING"
)


def write_effect_transitions() -> None:
    """Add the steps the effects' table has now."""
    rows = [
        {"before": str(before), "after": str(after)}
        for before, afters in EFFECT_TRANSITIONS.items()
        for after in sorted(afters)
    ]
    op.get_bind().execute(_INSERT_EFFECT, rows)
