"""The modules of the guides compile, and say what the guides say of them."""

from __future__ import annotations

from pathlib import Path

from fencepost_contracts.loader import discover_modules, load_module
from fencepost_domain.vocabulary import EffectClass

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def test_the_parcels_of_the_effects_guide_can_be_looked_up_and_are_asked_for() -> None:
    [folder] = discover_modules([EXAMPLES / "parcels" / "modules"], installed=False)
    tool = load_module(folder).catalog.tool("parcels.send")
    assert tool is not None and tool.effect_class is EffectClass.EXTERNAL_QUERYABLE
    assert tool.lookup and tool.approval and tool.http is not None
