"""The recovery gate at work: on every claim of a run that was worked on before, ahead of its graph.

A first claim never comes here and pays nothing. What the gate answers is stored for this revision; a commit
asks for it (design 02 §4), so a graph that goes on without a yes can't start anything new.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from fencepost_contracts.loader import read_catalog
from fencepost_contracts.tools import Catalog, Tool
from fencepost_domain.errors import Tampered
from fencepost_domain.policy import APPROVER_ROLES
from fencepost_domain.recovery import (
    FIRST_REVISION,
    GATE_INDEX,
    GO_ON,
    MAY_START,
    STOP,
    Answer,
    Facts,
    PendingAction,
    Verdict,
    judge,
)
from fencepost_domain.vocabulary import ActionStatus, InterruptKind, Reason, WaitingOn
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import recovery
from fencepost_store.claims import Claim
from fencepost_store.recovery import NewerCatalog, Stood, instant
from fencepost_store.transaction import Store, Tx

from fencepost_worker.binding import Bound
from fencepost_worker.engine.port import Awaiting, Broken, Deferred, Outcome, Parked
from fencepost_worker.flow.step import Question
from fencepost_worker.flow.wording import gate_question
from fencepost_worker.holding import Held

LOOK_AGAIN: Final = timedelta(
    seconds=5
)  # where a wait has no end of its own; its settlement wakes it earlier
NOT_SERVED_SECONDS: Final = 10.0

log = get_logger(__name__)
Hook = Callable[[Claim], Awaitable[Sequence[str]]]


async def _none(_: Claim) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Gate:
    """One per process. secrets, artifacts: name what of a run's isn't to be had, or isn't as it was."""

    store: Store
    secrets: Hook = _none
    artifacts: Hook = _none

    async def stop_at(self, held: Held, bound: Bound | Broken, *, model: str | None) -> Outcome | None:
        """How the run leaves without its graph; None when the graph may go on.

        model: its name when this worker has no access to it. Raises FenceLost, Unavailable.
        """
        if held.claim.run.revision <= FIRST_REVISION:
            return bound if isinstance(bound, Broken) else None
        secrets = [*([model] if model else []), *await self.secrets(held.claim)]
        files = await self.artifacts(held.claim)
        async with self.store.transaction() as tx:
            stood = await recovery.read(tx, held.claim.run.id)
            verdict = judge(await self._facts(tx, bound, stood, secrets, files))
            await recovery.note(tx, held.claim.run, held.fence, verdict)
            await ahit("worker.gate.before_commit")
        await ahit("worker.gate.after_commit")
        if verdict.answer not in MAY_START:
            log.info("gate.closed", check=verdict.deciding.name, answer=str(verdict.answer))
        return self._leave(held, bound, verdict, stood)

    async def _facts(
        self, tx: Tx, bound: Bound | Broken, stood: Stood, secrets: Sequence[str], files: Sequence[str]
    ) -> Facts:
        broken = isinstance(bound, Broken)
        catalog = None if isinstance(bound, Broken) else bound.catalog
        newer = None
        if not broken and any(a["status"] == ActionStatus.APPROVED for a in stood.pending):
            newer = await recovery.newer_catalog(tx, stood.module, stood.catalog_fp)
        return Facts(
            now=stood.now,
            broken=bound.code if isinstance(bound, Broken) else "",
            requester=stood.requester,
            effects=stood.effects,
            pending=_pending(stood, catalog, newer),
            spent=stood.spent,
            limits=stood.limits,
            secrets_missing=secrets,
            artifacts_bad=sorted({*stood.artifacts_bad, *files}),
            said_since=stood.said_since,
            state_since=stood.state_since,
        )

    def _leave(self, held: Held, bound: Bound | Broken, verdict: Verdict, stood: Stood) -> Outcome | None:
        check = verdict.deciding
        match verdict.answer, check.name:
            case Answer.STOP, "budget":
                return Broken(Reason.BUDGET_EXHAUSTED, "lineage_budget", check.detail)
            case Answer.STOP, "rights":
                return Broken(Reason.POLICY_DENIED, "rights_refused", check.detail)
            case Answer.STOP, _:
                assert isinstance(bound, Broken)
                return bound
            case Answer.HUMAN, "rights":
                return Parked(_question(stood.n_to_ask, check.detail, held.claim.run.locale))
            case Answer.WAIT, "secrets":
                return Deferred("model_not_served", check.detail, NOT_SERVED_SECONDS, counts=False)
            case Answer.WAIT, _:
                until = check.until or stood.now + LOOK_AGAIN
                return Awaiting(WaitingOn.TOOL, max((until - stood.now).total_seconds(), 0.0))
            case _:
                return None  # ok, repaired; or a person is asked by the graph, which may start nothing new


def _pending(stood: Stood, bound: Catalog | None, newer: NewerCatalog | None) -> list[PendingAction]:
    then = _newer_tools(newer)
    pending = []
    for row in stood.pending:
        decided_at = instant(row["decided_at"])
        by_other = row["decided_by"] not in (None, stood.user_id)
        roles = row["decider_roles"] if by_other else ()  # a requester's own yes needs no role
        pending.append(
            PendingAction(
                index=row["index"],
                n=row["n"],
                tool=row["tool"],
                is_approved=row["status"] == ActionStatus.APPROVED,
                needs_approval=row["approval"],
                token_expires_at=datetime.fromisoformat(row["token_expires_at"]),
                decided_by=row["decided_by"],
                decider_roles=tuple(roles) if roles is not None else None,
                needed_roles=tuple(sorted(APPROVER_ROLES)) if by_other else (),
                changed=_changed(row["tool"], decided_at, bound, newer, then),
            )
        )
    return pending


def _newer_tools(newer: NewerCatalog | None) -> Catalog | None:
    if newer is None:
        return None
    try:
        return read_catalog(newer.fingerprint, newer.body)
    except Tampered:
        return None  # found by who is bound to it; it is no reason to ask anything of this run


def _changed(
    name: str,
    decided_at: datetime | None,
    bound: Catalog | None,
    newer: NewerCatalog | None,
    then: Catalog | None,
) -> str:
    """Why an approval of a tool is asked for again: its contract was changed since. '' where it wasn't.

    The run goes on under the contract it is bound to; what a person said yes to is what may have changed.
    """
    if (
        bound is None
        or newer is None
        or then is None
        or decided_at is None
        or newer.in_force_at <= decided_at
    ):
        return ""
    old, new = bound.tool(name), then.tool(name)
    if old is None:
        return ""
    if new is None:
        return "the tool is no longer offered"
    return "its tool's contract was changed since" if _scope(old) != _scope(new) else ""


def _scope(tool: Tool) -> tuple[object, ...]:
    """What a yes to a tool is given to."""
    return (
        tool.version,
        tool.risk,
        tool.effect_class,
        tool.approval,
        tuple(sorted(tool.roles)),
        tool.input_schema,
    )


def _question(n: int, detail: str, locale: str) -> Question:
    text, go_on, stop = gate_question(detail, locale)
    return Question(
        InterruptKind.INPUT,
        GATE_INDEX,
        n,
        text,
        candidates=(
            {"id": GO_ON, "label": go_on, "value": GO_ON},
            {"id": STOP, "label": stop, "value": STOP},
        ),
    )
