"""A module's contract.yaml, compiled at start into the catalog its runs are bound to.

What a contract may say is `Contract` below; anything else in the file refuses it, with file, line and key.
The compiled catalog's fingerprint is the SHA-256 of its canonical text, which is stored and checked again
whenever it is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fencepost_domain.effect import needs_approval
from fencepost_domain.errors import Tampered
from fencepost_domain.vocabulary import EffectClass, Risk
from pydantic import ValidationError

from fencepost_contracts import canonical
from fencepost_contracts.compensation import compensate_faults
from fencepost_contracts.contract import Contract, ToolContract
from fencepost_contracts.declared import Offer, Pin, published
from fencepost_contracts.foreign import Unusable
from fencepost_contracts.http_tools import HttpCall, http_faults
from fencepost_contracts.modules import ModuleFolder, discover_modules
from fencepost_contracts.names import MODULE_NAME, TOOL_NAME, skeleton
from fencepost_contracts.offers import from_faults, offer_of
from fencepost_contracts.policies import is_approver_role
from fencepost_contracts.schema import check_schema
from fencepost_contracts.sources import source_faults
from fencepost_contracts.state import only_when_faults, rule_faults, write_faults
from fencepost_contracts.tools import Catalog, Tool
from fencepost_contracts.yaml12 import ContractFault, ContractRefused, Document, parse_yaml, read_yaml

__all__ = [
    "Contract", "ContractFault", "ContractRefused", "LoadedModule", "ModuleFolder", "catalog_text",
    "discover_modules", "load_contract", "load_module", "make_catalog", "parse_contract", "read_catalog",
    "text_of",
]  # fmt: skip

STATE_WORDS: Final = ("state_rules", "dynamic_prompts", "state_summary")
# Keys that Tool got later: a catalog that uses none keeps its fingerprint, and its readers.
LATER: Final = (
    "source",
    "http",
    "only_when",
    "state_writes",
    "grantable",
    "approvers",
    "attachments",
    "compensate",
)
LONGEST_LOCAL_SECONDS: Final = 2.0  # a local tool works under the run's lock, which ends at half a lease


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module found and compiled."""

    folder: ModuleFolder
    contract: Contract
    catalog: Catalog
    offer: Offer = field(default_factory=Offer)

    def pinned(self, pins: Iterable[Pin]) -> tuple[LoadedModule, dict[str, str]]:
        """The module with what its sources provide under these pins; by tool, why one can't be offered."""
        tools, refused = list(self.catalog.tools), {}
        by_tool = {pin.tool: pin for pin in pins}
        for foreign, declared in self.offer.foreign(
            self.folder.name, (pin.declared for pin in by_tool.values())
        ):
            pin = by_tool.get(foreign.name)
            if pin is None or pin.declared != declared:
                continue
            try:
                tools.append(published(foreign, pin, self.offer))
            except Unusable as error:
                refused[foreign.name] = str(error)
        tools.sort(key=lambda one: one.name)
        catalog = make_catalog(self.folder.name, self.contract.version, tools, _words(self.contract))
        return replace(self, catalog=catalog), refused


def load_module(folder: ModuleFolder) -> LoadedModule:
    """The module with its own tools; what its sources provide comes with `pinned`. Raises ContractRefused."""
    document = read_yaml(folder.contract)
    contract, catalog = _compile(document, folder.name)
    return LoadedModule(folder, contract, catalog, offer_of(contract, document, folder.path))


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
    own = (_published(tool) for tool in contract.allowed_tools if tool.from_ is None)
    tools = sorted(own, key=lambda tool: tool.name)
    return contract, make_catalog(module, contract.version, tools, _words(contract))


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
    for place, detail in source_faults(contract.sources):
        yield "/sources" + place, detail
    seen: dict[str, str] = {}
    schemas = {tool.name: tool.input_schema for tool in contract.allowed_tools}
    reads = {tool.name for tool in contract.allowed_tools if tool.effect_class is EffectClass.NONE}
    for number, tool in enumerate(contract.allowed_tools):
        at = canonical.pointer("allowed_tools", number)
        yield from ((at + place, detail) for place, detail in _tool_faults(tool, module))
        yield from ((at + place, detail) for place, detail in from_faults(tool, contract))
        undone = compensate_faults(tool.compensate, tool.name, schemas, reads)
        yield from ((at + place, detail) for place, detail in undone)
        shape = skeleton(tool.name)
        if seen.get(shape) == tool.name:
            yield at + "/name", f"{tool.name} stands twice"
        elif shape in seen:
            yield at + "/name", f"{tool.name!r} looks like {seen[shape]!r}: they would be mixed up"
        seen.setdefault(shape, tool.name)
    names = {tool.name for tool in contract.allowed_tools}
    yield from rule_faults(contract.state_rules, contract.dynamic_prompts, contract.state_summary, names)


def _tool_faults(tool: ToolContract, module: str) -> Iterator[tuple[str, str]]:
    if not TOOL_NAME.fullmatch(tool.name):
        yield (
            "/name",
            f"{tool.name!r} is no tool name: <module>.<verb_noun>, ASCII small letters, digits and _",
        )
    elif tool.name.partition(".")[0] != module:
        yield "/name", f"a tool of this module is named {module}.…"
    if tool.from_ is None:
        yield from _own_faults(tool)
    is_local = tool.effect_class is EffectClass.LOCAL
    if is_local and tool.timeout_seconds > LONGEST_LOCAL_SECONDS and not tool.takes_time:
        most = f"{LONGEST_LOCAL_SECONDS:g} s at most, or `takes_time: true` and `make` in its code"
        yield "/timeout_seconds", f"a local tool works under a lock: {most}"
    if tool.takes_time and tool.effect_class not in (EffectClass.NONE, EffectClass.LOCAL):
        yield "/takes_time", "is for tools of this house, of class none or local"
    has_lookup = tool.lookup or (tool.http is not None and tool.http.lookup is not None)
    has_lookup |= tool.from_ is not None and tool.from_.lookup is not None
    if has_lookup and tool.effect_class in (EffectClass.NONE, EffectClass.LOCAL):
        yield "/lookup", "this class has nothing outside to look up"
    if tool.effect_class is EffectClass.EXTERNAL_QUERYABLE and not has_lookup:
        yield "/lookup", "external_queryable needs a lookup"
    if tool.http is not None:
        yield from (("/http" + place, detail) for place, detail in _http_faults(tool, tool.http))
    yield from _approval_faults(tool)
    for argument in tool.state_bindings:
        if tool.input_schema is not None and argument not in tool.input_schema.get("properties", {}):
            yield "/state_bindings" + canonical.pointer(argument), "no argument has this name"
    yield from only_when_faults(tool.only_when)
    yield from write_faults(tool.state_writes)


def _approval_faults(tool: ToolContract) -> Iterator[tuple[str, str]]:
    never = tool.risk is Risk.HIGH or tool.effect_class is EffectClass.EXTERNAL_OPAQUE
    if tool.grantable and never:
        yield "/grantable", "an approval of high risk, or of what can't be looked up, is never remembered"
    for place, role in enumerate(tool.approvers.roles if tool.approvers else ()):
        if not is_approver_role(role):
            yield f"/approvers/roles/{place}", "approver, operator, admin, or an approver.<scope>"
    for place, argument in enumerate(tool.attachments):
        if tool.input_schema is not None and argument not in tool.input_schema.get("properties", {}):
            yield f"/attachments/{place}", "no argument has this name"


def _own_faults(tool: ToolContract) -> Iterator[tuple[str, str]]:
    """Our own code brings no schemas: the contract does."""
    if not tool.description:
        yield "/description", "this key is missing"
    for schema, arguments in (("input_schema", True), ("output_schema", False)):
        if getattr(tool, schema) is None:
            yield f"/{schema}", "this key is missing"
            continue
        for fault in check_schema(getattr(tool, schema), arguments=arguments):
            yield f"/{schema}{fault.pointer}", fault.detail


def _http_faults(tool: ToolContract, call: HttpCall) -> Iterator[tuple[str, str]]:
    if tool.effect_class is EffectClass.LOCAL:
        yield "", "a local tool writes our own database; another server's class is external_…, or none"
    if tool.from_ is not None:
        yield "", "a tool has one origin: `from` a source, or `http`"
    arguments = set((tool.input_schema or {}).get("properties", {}))
    keyed = tool.effect_class is EffectClass.EXTERNAL_IDEMPOTENT
    yield from http_faults(call, arguments, keyed=keyed)


def _published(tool: ToolContract) -> Tool:
    required = needs_approval(tool.risk, tool.effect_class, approval=tool.approval == "required")
    body = tool.model_dump(mode="json", exclude={"approval", "from_", "takes_time"})
    body["lookup"] = tool.lookup or (tool.http is not None and tool.http.lookup is not None)
    return Tool.model_validate({**body, "approval": required})


def catalog_text(
    module: str, version: str, tools: Iterable[Tool], words: Mapping[str, Any] | None = None
) -> str:
    """The canonical text of a catalog: what is stored, and what the fingerprint is of.

    What a contract doesn't say about state isn't in the text either: its fingerprint is that of before.
    """
    said = [_said(tool.model_dump(mode="json")) for tool in tools]
    body = {"module": module, "version": version, "tools": said, **(words or {})}
    return canonical.dumps(body).decode()


def _said(tool: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tool.items() if value or name not in LATER}


def text_of(catalog: Catalog) -> str:
    """The canonical text of a catalog as it was published."""
    return catalog_text(catalog.module, catalog.version, catalog.tools, _words(catalog))


def _words(said: Contract | Catalog) -> dict[str, Any]:
    """What it says about state, without what it leaves out."""
    words = said.model_dump(mode="json", include=set(STATE_WORDS))
    return {name: value for name, value in words.items() if value}


def make_catalog(
    module: str, version: str, tools: Iterable[Tool], words: Mapping[str, Any] | None = None
) -> Catalog:
    """words: state_rules, dynamic_prompts and state_summary, those that aren't empty."""
    tools = tuple(tools)
    fingerprint = hashlib.sha256(catalog_text(module, version, tools, words).encode()).hexdigest()
    body = {"fingerprint": fingerprint, "module": module, "version": version, "tools": tools, **(words or {})}
    return Catalog.model_validate(body)


def read_catalog(fingerprint: str, text: str) -> Catalog:
    """A stored catalog. Raises Tampered when it doesn't hash to its fingerprint."""
    if hashlib.sha256(text.encode()).hexdigest() != fingerprint:
        raise Tampered("catalog", fingerprint)
    body: Mapping[str, Any] = canonical.loads(text)
    return Catalog.model_validate({**body, "fingerprint": fingerprint})
