"""The conversation's state around a model call: what the prompt says of it, and which tools it leaves on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fencepost_contracts.state import StateWords
from fencepost_contracts.tools import Catalog

from fencepost_worker.flow.state import State
from fencepost_worker.flow.step import Facts, Step
from fencepost_worker.models.port import Call
from fencepost_worker.models.state_summary import summary

MOST_COMPILED: Final = 64
_compiled: OrderedDict[str, StateWords] = OrderedDict()  # by fingerprint: catalogs never change


@dataclass(frozen=True, slots=True)
class Known:
    """added: what the system prompt ends with. off: tools that no rule switches on, with the way out."""

    added: tuple[str, ...] = ()
    off: Mapping[str, str] | None = None

    def refusals(self, calls: Sequence[Call]) -> list[dict[str, Any]]:
        """Calls of tools that are off, as they are told to the model and the log."""
        refused = [(call, _exact(call.name)) for call in calls]
        return [
            {
                "call_id": call.id,
                "code": "state_binding",
                "tool": name,
                "pointer": "",
                "detail": self.off[name],
                "allowed": [],
            }
            for call, name in refused
            if self.off and name in self.off
        ]


NOTHING_KNOWN: Final = Known()


async def known_state(facts: Facts, state: State, step: Step) -> Known:
    """Read once before the model is asked; a conversation's first words have no state to read."""
    values = await step.conversation_state(acted=bool(state["actions"]))
    catalog = facts.catalog
    words = words_of(catalog) if catalog is not None else None
    if not values and (words is None or not words.asks):
        return NOTHING_KNOWN
    line = summary(values, catalog.state_summary if catalog is not None else ())
    added = [line] if line else []
    if words is None:
        return Known(tuple(added))
    return Known((*added, *words.prompts(values)), words.off(values))


def _exact(name: str) -> str:
    """A name as the catalog has it: one that wasn't offered comes back as the provider's wire spells it."""
    return name.replace("__", ".", 1)


def words_of(catalog: Catalog) -> StateWords:
    """A catalog's words, compiled once."""
    known = _compiled.get(catalog.fingerprint)
    if known is None:
        known = _compiled[catalog.fingerprint] = catalog.state_words()
        while len(_compiled) > MOST_COMPILED:
            _compiled.popitem(last=False)
    return known
