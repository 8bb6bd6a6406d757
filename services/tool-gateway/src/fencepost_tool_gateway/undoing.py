"""A run that undoes an effect: its order counts until its attempt is opened; a person sees what is undone."""

from __future__ import annotations

from typing import Any, Final

from fencepost_contracts.compensation import Undoes
from fencepost_domain.action import Action
from fencepost_domain.errors import Conflict
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectState
from fencepost_store.actions import Surroundings
from fencepost_store.compensation import order_of
from fencepost_store.transaction import Tx

FIRST: Final = 0  # an order is one call
_SAID: Final = {
    "zh": ("这将撤销 {tool}（{key}）。{by} 下达，原因：{reason}", "撤销", "下达人", "原因"),
    "en": ("This undoes {tool} ({key}), by order of {by}: {reason}", "undoes", "ordered by", "reason"),
}


def undoes(around: Surroundings, index: int) -> str | None:
    """The key of the effect that this action undoes; None for every other action."""
    return str(around.ordered["compensates"]) if around.ordered is not None and index == FIRST else None


def ordered_by(around: Surroundings) -> str | None:
    """Whose the arguments are, where four eyes are asked for: who ordered them, not whose run it is."""
    return str(around.ordered["by"]) if around.ordered is not None else None


async def shown_undoing(
    tx: Tx, run: Run, around: Surroundings, index: int, preview: dict[str, Any]
) -> dict[str, Any]:
    """The preview with what is undone, by whose order and why; never a tool's own word on that."""
    preview.pop("undoes", None)
    key = undoes(around, index)
    if key is None or around.ordered is None:
        return preview
    first = await order_of(tx, key)
    told = Undoes(
        effect_key=key,
        tool=first["tool"] if first is not None else "",
        by=str(around.ordered["by"]),
        reason=str(around.ordered["reason"]),
    )
    said, *labels = _SAID["zh" if run.locale.lower().startswith("zh") else "en"]
    values = (f"{told.tool} {key}", told.by, told.reason)
    lines = [{"label": label, "value": value} for label, value in zip(labels, values, strict=True)]
    whole = said.format(tool=told.tool, key=key, by=told.by, reason=told.reason)
    text = f"{preview['text']}\n{whole}".strip()
    shown = {"text": text, "lines": [*preview["lines"], *lines], "undoes": told.model_dump(mode="json")}
    return {**preview, **shown}


async def check_order(tx: Tx, run: Run, around: Surroundings, action: Action) -> None:
    """Before an attempt is opened. Raises Conflict order_over: it was undone, or is another run's by now."""
    key = undoes(around, action.index)
    if key is None or around.ordered is None:
        return
    first = await order_of(tx, key)
    if action.tool != around.ordered["tool"]:
        raise Conflict("order_over", f"the order was {around.ordered['tool']}, not {action.tool}")
    if first is None or first["state"] != EffectState.COMPENSATING or first["compensation_run_id"] != run.id:
        raise Conflict(
            "order_over",
            f"{key} is {first['state'] if first else 'gone'}: nothing is to be undone by this run",
        )
