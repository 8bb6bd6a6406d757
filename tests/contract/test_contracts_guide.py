"""The guide's own example is a contract that loads and a tool that is found."""

import re
from pathlib import Path

from fencepost.authoring import tools_in
from fencepost_contracts.loader import parse_contract

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "write-a-module.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_guides_contract_loads_and_its_tool_has_that_name() -> None:
    _, catalog = parse_contract(block("yaml").encode(), "contract.yaml", "ticketing")
    namespace: dict[str, object] = {}
    exec(block("python"), namespace)
    assert set(tools_in(namespace)) == {tool.name for tool in catalog.tools} == {"ticketing.open_ticket"}
