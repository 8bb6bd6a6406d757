"""What the sources of a contract provide, and whether what it takes from them fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fencepost_domain.vocabulary import EffectClass

from fencepost_contracts import canonical
from fencepost_contracts.contract import Contract, ToolContract
from fencepost_contracts.declared import Foreign, Offer
from fencepost_contracts.foreign import Unusable
from fencepost_contracts.openapi import read_document
from fencepost_contracts.sources import Declared
from fencepost_contracts.yaml12 import ContractFault, ContractRefused, Document


def offer_of(contract: Contract, document: Document, folder: Path) -> Offer:
    """What the sources provide; OpenAPI documents are read here. Raises ContractRefused."""
    sources = {source.name: source for source in contract.sources}
    listed = tuple(
        Foreign(tool.name, sources[tool.from_.source], tool.from_, tool)
        for tool in contract.allowed_tools
        if tool.from_ is not None
    )
    operations: dict[tuple[str, str], Declared] = {}
    refused: dict[tuple[str, str], str] = {}
    faults: list[ContractFault] = []
    for number, source in enumerate(contract.sources):
        if source.openapi is None:
            continue
        place = canonical.pointer("sources", number, "openapi")
        path = (folder / source.openapi).resolve()
        if not path.is_relative_to(folder.resolve()):
            faults.append(document.fault(place, "the document is in the module's own folder"))
            continue
        try:
            read = read_document(path, source.name, source.server)
        except Unusable as error:
            faults.append(document.fault(place, str(error)))
            continue
        operations |= {(source.name, name): one for name, one in read.operations.items()}
        refused |= {(source.name, name): why for name, why in read.refused.items()}
    faults += [document.fault(place, detail) for place, detail in _missing(contract, operations, refused)]
    if faults:
        raise ContractRefused(faults)
    return Offer(sources, listed, operations, refused)


def _missing(
    contract: Contract, operations: Mapping[tuple[str, str], Declared], refused: Mapping[tuple[str, str], str]
) -> Iterator[tuple[str, str]]:
    documents = {source.name for source in contract.sources if source.kind == "openapi"}
    for number, tool in enumerate(contract.allowed_tools):
        taken = tool.from_
        if taken is None or taken.source not in documents:
            continue
        wanted = {"/operation": taken.operation}
        if taken.lookup is not None:
            wanted["/lookup/operation"] = taken.lookup.operation
        if taken.task is not None:
            wanted |= {"/task/status": taken.task.status, "/task/cancel": taken.task.cancel}
        for place, name in wanted.items():
            at = (taken.source, name or "")
            if name is not None and at not in operations:
                why = refused.get(at, "the document has no operation of this name")
                yield canonical.pointer("allowed_tools", number, "from") + place, why


def from_faults(tool: ToolContract, contract: Contract) -> Iterator[tuple[str, str]]:
    taken = tool.from_
    if taken is None:
        if tool.effect_class is EffectClass.ASYNC:
            yield "/effect_class", "an async tool is taken `from` a source that runs its tasks"
        return
    source = next((one for one in contract.sources if one.name == taken.source), None)
    if source is None:
        yield "/from/source", "no source has this name"
        return
    word, other = ("operation", "tool") if source.kind == "openapi" else ("tool", "operation")
    if getattr(taken, word) is None or getattr(taken, other) is not None:
        yield "/from", f"from this source a tool is taken by its `{word}`"
    for schema in ("input_schema", "output_schema"):
        if getattr(tool, schema) is not None:
            yield f"/{schema}", "the source brings the schemas of its tools"
    if tool.effect_class is EffectClass.LOCAL:
        yield "/effect_class", "what a source does is not in our database: it is none, external or async"
    if (taken.task is None) == (tool.effect_class is EffectClass.ASYNC):
        yield "/from/task", "an async tool says how its task is followed, and no other does"
    if tool.lookup and taken.lookup is None:
        yield "/from/lookup", "say which operation looks it up"
    if tool.http is not None:
        yield "/http", "the source says how its tools are called"
    if tool.effect_class is EffectClass.EXTERNAL_IDEMPOTENT and taken.key_header is None:
        yield "/from/key_header", "this class repeats by the provider's key: name the header it goes into"
    elif taken.lookup is not None and taken.key_header is None:
        yield "/from/key_header", "the look-up asks by a key that isn't sent: name the header it goes into"
    if source.kind != "mcp" and taken.errors != "unknown":
        yield "/from/errors", "of HTTP the status says it: `rejected` lists those by which nothing was done"
    if taken.external_id is not None and (source.kind == "mcp" or taken.task is not None):
        yield "/from/external_id", "of an OpenAPI operation alone: `task.id` names a task, and MCP has none"
    if source.kind == "mcp" and (taken.task or taken.lookup or taken.key_header):
        yield "/from", "an MCP server has no keys, look-ups or tasks that we could rely on"
