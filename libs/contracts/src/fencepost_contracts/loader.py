"""A module's contract.yaml, compiled at start into the catalog its runs are bound to.

What a contract may say is `Contract` below; anything else in the file refuses it, with file, line and key.
The compiled catalog's fingerprint is the SHA-256 of its canonical text, which is stored and checked again
whenever it is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from fencepost_domain.effect import needs_approval
from fencepost_domain.errors import Tampered
from fencepost_domain.vocabulary import EffectClass, Risk
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)

from fencepost_contracts import canonical
from fencepost_contracts.modules import ModuleFolder, discover_modules
from fencepost_contracts.names import MODULE_NAME, TOOL_NAME, skeleton
from fencepost_contracts.schema import check_schema
from fencepost_contracts.tools import Catalog, Tool
from fencepost_contracts.yaml12 import ContractFault, ContractRefused, Document, parse_yaml, read_yaml

__all__ = [
    "Contract", "ContractFault", "ContractRefused", "LoadedModule", "ModuleFolder", "catalog_text",
    "discover_modules", "load_contract", "load_module", "make_catalog", "parse_contract", "read_catalog",
]  # fmt: skip

Seconds = Annotated[StrictInt | StrictFloat, Field(gt=0, le=3600)]
LONGEST_LOCAL_SECONDS: Final = 2.0  # a local tool works under the run's lock, which ends at half a lease


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolContract(_Strict):
    """One tool. `risk` and `effect_class` default to the most careful: high and external_opaque."""

    name: StrictStr
    version: StrictStr = "1"
    description: Annotated[StrictStr, Field(min_length=1, max_length=2000)]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    risk: Risk = Risk.HIGH
    effect_class: EffectClass = EffectClass.EXTERNAL_OPAQUE
    approval: Literal["by_risk", "required"] = "by_risk"
    requires_plan: StrictBool = False
    repeatable: StrictBool = False
    intermediate: StrictBool = False
    lookup: StrictBool = False
    roles: tuple[StrictStr, ...] = ()
    timeout_seconds: Seconds = 10
    settle_within_seconds: Seconds = 60
    key_memory_seconds: Annotated[StrictInt, Field(gt=0)] | None = None
    budgets: dict[str, Annotated[StrictInt, Field(ge=0)]] = Field(default_factory=dict)
    state_bindings: dict[str, StrictStr] = Field(default_factory=dict)


class Contract(_Strict):
    """contract.yaml. An empty `allowed_tools` denies all; leaving it out is refused, so that it is meant.

    state_rules and dynamic_prompts need conditions, which this release doesn't evaluate: they must be empty.
    """

    version: Annotated[StrictStr, Field(min_length=1, max_length=64)]
    agent_name: StrictStr
    description: StrictStr = ""
    allowed_tools: tuple[ToolContract, ...]
    state_rules: Annotated[tuple[Any, ...], Field(max_length=0)] = ()
    dynamic_prompts: Annotated[tuple[Any, ...], Field(max_length=0)] = ()


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module found and compiled."""

    folder: ModuleFolder
    contract: Contract
    catalog: Catalog


def load_module(folder: ModuleFolder) -> LoadedModule:
    """Raises ContractRefused."""
    contract, catalog = load_contract(folder)
    return LoadedModule(folder, contract, catalog)


def load_contract(folder: ModuleFolder) -> tuple[Contract, Catalog]:
    """Compile a module's contract. Raises ContractRefused with all that is wrong."""
    return _compile(read_yaml(folder.contract), folder.name)


def parse_contract(raw: bytes, file: str, module: str) -> tuple[Contract, Catalog]:
    """The same for bytes: for `fencepost contract check`, and tests."""
    return _compile(parse_yaml(raw, file), module)


def _compile(document: Document, module: str) -> tuple[Contract, Catalog]:
    try:
        contract = Contract.model_validate(document.value)
    except ValidationError as error:
        raise ContractRefused([_model_fault(document, item) for item in error.errors()]) from None
    faults = [document.fault(place, detail) for place, detail in _faults(contract, module)]
    if faults:
        raise ContractRefused(faults)
    tools = sorted((_published(tool) for tool in contract.allowed_tools), key=lambda tool: tool.name)
    return contract, make_catalog(module, contract.version, tools)


def _model_fault(document: Document, item: Any) -> ContractFault:
    place = canonical.pointer(*item["loc"])
    messages = {
        "extra_forbidden": "this key is unknown; is it misspelt?",
        "bool_type": "write true or false",
        "missing": "this key is missing",
        "too_long": "more than this release can use",
    }
    return document.fault(place, messages.get(item["type"], str(item["msg"])))


def _faults(contract: Contract, module: str) -> Iterator[tuple[str, str]]:
    if not MODULE_NAME.fullmatch(module):
        yield "", f"the module's folder is named {module!r}: small letters, digits and _ only"
    if contract.agent_name != module:
        yield "/agent_name", f"the folder is {module!r}; a contract names its own module"
    seen: dict[str, str] = {}
    for number, tool in enumerate(contract.allowed_tools):
        at = canonical.pointer("allowed_tools", number)
        yield from ((at + place, detail) for place, detail in _tool_faults(tool, module))
        shape = skeleton(tool.name)
        if seen.get(shape) == tool.name:
            yield at + "/name", f"{tool.name} stands twice"
        elif shape in seen:
            yield at + "/name", f"{tool.name!r} looks like {seen[shape]!r}: they would be mixed up"
        seen.setdefault(shape, tool.name)


def _tool_faults(tool: ToolContract, module: str) -> Iterator[tuple[str, str]]:
    if not TOOL_NAME.fullmatch(tool.name):
        yield (
            "/name",
            f"{tool.name!r} is no tool name: <module>.<verb_noun>, ASCII small letters, digits and _",
        )
    elif tool.name.partition(".")[0] != module:
        yield "/name", f"a tool of this module is named {module}.…"
    for schema, arguments in (("input_schema", True), ("output_schema", False)):
        for fault in check_schema(getattr(tool, schema), arguments=arguments):
            yield f"/{schema}{fault.pointer}", fault.detail
    if tool.effect_class is EffectClass.LOCAL and tool.timeout_seconds > LONGEST_LOCAL_SECONDS:
        yield "/timeout_seconds", f"a local tool works under a lock: {LONGEST_LOCAL_SECONDS:g} s at most"
    if tool.lookup and tool.effect_class in (EffectClass.NONE, EffectClass.LOCAL):
        yield "/lookup", "this class has nothing outside to look up"
    if tool.effect_class is EffectClass.EXTERNAL_QUERYABLE and not tool.lookup:
        yield "/lookup", "external_queryable needs a lookup"
    for argument in tool.state_bindings:
        if argument not in tool.input_schema.get("properties", {}):
            yield "/state_bindings" + canonical.pointer(argument), "no argument has this name"


def _published(tool: ToolContract) -> Tool:
    required = needs_approval(tool.risk, tool.effect_class, approval=tool.approval == "required")
    body = tool.model_dump(mode="json", exclude={"approval"})
    return Tool.model_validate({**body, "approval": required})


def catalog_text(module: str, version: str, tools: Iterable[Tool]) -> str:
    """The canonical text of a catalog: what is stored, and what the fingerprint is of."""
    body = {"module": module, "version": version, "tools": [tool.model_dump(mode="json") for tool in tools]}
    return canonical.dumps(body).decode()


def make_catalog(module: str, version: str, tools: Iterable[Tool]) -> Catalog:
    tools = tuple(tools)
    fingerprint = hashlib.sha256(catalog_text(module, version, tools).encode()).hexdigest()
    return Catalog(fingerprint=fingerprint, module=module, version=version, tools=tools)


def read_catalog(fingerprint: str, text: str) -> Catalog:
    """A stored catalog. Raises Tampered when it doesn't hash to its fingerprint."""
    if hashlib.sha256(text.encode()).hexdigest() != fingerprint:
        raise Tampered("catalog", fingerprint)
    body: Mapping[str, Any] = canonical.loads(text)
    return Catalog.model_validate({**body, "fingerprint": fingerprint})
