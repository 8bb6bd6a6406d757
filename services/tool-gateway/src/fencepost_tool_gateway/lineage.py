"""What a run's lineage did before: a retry or a fork doesn't do it again unseen (design 02 §6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fencepost_contracts.compensation import Earlier
from fencepost_contracts.tools import Tool
from fencepost_domain.action import Action
from fencepost_domain.errors import Conflict
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectClass, EffectState
from fencepost_store.actions import Surroundings
from fencepost_store.effects_outside import earlier_in_lineage
from fencepost_store.transaction import Tx

_SAID: Final = {
    "zh": "同样的操作在这个任务的早先一次运行中已经做过。",
    "en": "The same was done before, by an earlier run of this task.",
}


async def done_before(
    tx: Tx, run: Run, around: Surroundings, tool: Tool, arguments_hash: str
) -> tuple[Earlier, ...]:
    """Completed in another run of the lineage with the same arguments; what its approval has to show.

    What only reads is read again and asks nobody.
    """
    if around.root_run_id == run.id or tool.effect_class is EffectClass.NONE:
        return ()
    found = await earlier_in_lineage(
        tx, root_run_id=around.root_run_id, run_id=run.id, tool=tool.name, arguments_hash=arguments_hash
    )
    return tuple(
        Earlier(effect_key=one.key, run_id=one.run_id, at=one.at)
        for one in found
        if one.state is EffectState.COMPLETED
    )


def shown(preview: dict[str, Any], earlier: Sequence[Earlier], locale: str) -> dict[str, Any]:
    """The preview with what was done before, in words and by its keys."""
    if not earlier:
        return preview
    said = _SAID["zh" if locale.lower().startswith("zh") else "en"]
    listed = [one.model_dump(mode="json") for one in earlier]
    return {**preview, "text": f"{preview['text']}\n{said}".strip(), "earlier": listed}


async def check_lineage(tx: Tx, run: Run, around: Surroundings, action: Action) -> None:
    """Before an attempt is opened, under the run's lock.

    Raises Conflict reconcile while an attempt elsewhere may have landed; precondition_changed when it was
    done elsewhere and no approval showed that, so that it is prepared and asked anew.
    """
    if around.root_run_id == run.id or action.effect_class is EffectClass.NONE:
        return
    found = await earlier_in_lineage(
        tx,
        root_run_id=around.root_run_id,
        run_id=run.id,
        tool=action.tool,
        arguments_hash=action.arguments_hash,
    )
    for one in found:
        if one.state is not EffectState.COMPLETED:
            stored = {
                "effect_key": one.key, "run_id": str(one.run_id), "state": str(one.state), "attempts": 0,
            }  # fmt: skip
            detail = f"run {one.run_id} may have done the same: its effect is {one.state}"
            raise Conflict("reconcile", detail, stored)
    told = {one.get("effect_key") for one in action.preview.get("earlier", ())}
    if any(one.key not in told for one in found):
        raise Conflict("precondition_changed", "the same was done before in this run's lineage")
