"""(m) Contracts: 100 tools read and compiled, one call checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from fencepost_contracts import canonical
from fencepost_contracts.loader import catalog_text, parse_contract, read_catalog
from fencepost_contracts.names import identity_in_arguments
from fencepost_contracts.schema import Schema
from fencepost_contracts.tools import Catalog

from bench.measure import percentile

TOOLS: Final = 100
TOOL: Final = """\
  - name: probe.make_thing_NUMBER
    description: Make a thing.
    risk: medium
    effect_class: local
    timeout_seconds: 2
    input_schema:
      type: object
      additionalProperties: false
      required: [title, at]
      properties:
        title: {type: string, minLength: 1, maxLength: 200}
        at: {type: string, format: date-time}
        amount: {type: string, pattern: "^-?[0-9]{1,12}([.][0-9]{1,4})?$"}
        tags: {type: array, maxItems: 10, items: {type: string, maxLength: 40}}
        place:
          type: object
          additionalProperties: false
          properties: {city: {type: string}, country: {type: string, minLength: 2, maxLength: 2}}
    output_schema:
      type: object
      required: [id]
      properties: {id: {type: string}, text: {type: string}}
"""
CALL: Final = {
    "title": "send the report",
    "at": "2026-12-01T09:00:00+08:00",
    "amount": "1234.50",
    "tags": ["work", "monthly"],
    "place": {"city": "Shanghai", "country": "CN"},
}


def contract() -> bytes:
    tools = "".join(TOOL.replace("NUMBER", str(number)) for number in range(TOOLS))
    return f'version: "1"\nagent_name: probe\nallowed_tools:\n{tools}...\n'.encode()


def compiled(catalog: Catalog) -> dict[str, tuple[Schema, Schema]]:
    """As the gateway holds a bound catalog."""
    return {tool.name: (Schema(tool.input_schema), Schema(tool.output_schema)) for tool in catalog.tools}


def checked(catalog: Catalog, schemas: dict[str, tuple[Schema, Schema]], name: str) -> bool:
    """What the gateway asks of a call by its contract: name, identity, schema, size."""
    tool = catalog.tool(name)
    assert tool is not None
    is_fine = not identity_in_arguments(CALL) and not schemas[name][0].faults(CALL)
    return is_fine and canonical.size(CALL) < 65_536


def timed(work: Callable[[], Any], times: int) -> list[float]:
    """Milliseconds of each."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1000)
    return found


async def run(quick: bool) -> dict[str, Any]:
    text = contract()
    reads = timed(lambda: parse_contract(text, "contract.yaml", "probe"), 2 if quick else 5)
    catalog = parse_contract(text, "contract.yaml", "probe")[1]
    stored = catalog_text(catalog.module, catalog.version, catalog.tools)
    schemas = compiled(catalog)
    last = f"probe.make_thing_{TOOLS - 1}"
    assert checked(catalog, schemas, last)
    compiles = timed(lambda: compiled(catalog), 10 if quick else 50)
    calls = timed(lambda: checked(catalog, schemas, last), 2_000 if quick else 20_000)
    return {
        "100 tools compiled, ms (target 20)": {
            "p50": percentile(compiles, 0.5),
            "p99": percentile(compiles, 0.99),
        },
        "one call checked, µs (target 20)": {
            "p50": percentile(calls, 0.5) * 1000,
            "p99": percentile(calls, 0.99) * 1000,
        },
        "a stored catalog read and hashed, ms": percentile(
            timed(lambda: read_catalog(catalog.fingerprint, stored), 5), 0.5
        ),
        "contract.yaml read strictly, ms": percentile(reads, 0.5),
    }
