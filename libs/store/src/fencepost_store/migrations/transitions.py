"""Writes the domain's state table into `agent.run_transitions`, which the trigger reads."""

from __future__ import annotations

from alembic import op
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
