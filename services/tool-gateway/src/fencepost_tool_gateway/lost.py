"""What a restore lost: an attempt that may have been made, of which no row tells (ADR-0031).

The key of an action's effect is the same in every history of its run, so the other side can be asked about
it, or repeats it as one. What left no trace there is a person's to find out.
"""

from __future__ import annotations

from typing import Final

from fencepost_contracts.tools import InProgress
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.effect import EXTERNAL
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.vocabulary import EffectClass, Ev
from fencepost_store.actions import Surroundings
from fencepost_store.effects import Lost
from fencepost_store.record import record
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.judge import SHORTEST_RETRY, Authorised

LEAVES: Final = EXTERNAL | {EffectClass.ASYNC}  # what only reads, or is all ours, was lost with the rest


def lost_before(around: Surroundings, effect_class: EffectClass) -> Lost | None:
    """None for a run that no restore touched, and for what never left the house."""
    if around.lost_after is None or around.recovered_at is None or effect_class not in LEAVES:
        return None
    return Lost(around.lost_after, around.recovered_at)


async def opened_as_lost(gateway: Gateway, tx: Tx, fence: Fence, may: Authorised, key: str) -> InProgress:
    """Attempt 1 is one that a restore may have lost: nothing is sent, the next turn asks about it."""
    action = may.action
    told = {
        "index": action.index, "n": action.n, "tool": action.tool, "effect_key": key, "attempt": 1,
        "late": False,
    }  # fmt: skip
    event = NewEvent(tx.ids.uuid7(), Ev.ACTION_UNKNOWN, told, gateway.actor)
    await record(tx, may.run, Decision(None, events=(event,), fence=fence, fence_kind=FenceKind.START))
    return InProgress(retry_after_seconds=SHORTEST_RETRY)
