"""Which brought graphs a worker serves: found, compiled, and the same as what is published of them."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.graphs import MODEL_MAKER
from fencepost_contracts.modules import ModuleFolder
from fencepost_runtime.logging import get_logger
from fencepost_store import bindings
from fencepost_store.transaction import Store

from fencepost_worker.engine.langgraph.brought.chat import make_chat_model
from fencepost_worker.engine.langgraph.brought.compiled import Ready, make_ready
from fencepost_worker.engine.langgraph.brought.find import GraphRefused, find_graphs
from fencepost_worker.engine.langgraph.brought.saver import BroughtSaver
from fencepost_worker.engine.langgraph.writer import GroupWriter

log = get_logger(__name__)


async def take_up(
    folders: Sequence[ModuleFolder], store: Store, writer: GroupWriter
) -> tuple[list[Ready], list[GraphRefused]]:
    """The graphs to serve, a module's present version before its older ones, and modules not to be served.

    A module whose graph is refused isn't served at all: its runs wait, where our own graph would do
    something else than its author meant.
    """
    MODEL_MAKER.set(make_chat_model)
    found, refused = find_graphs(folders)
    ready: list[Ready] = []
    for brought in found:
        try:
            made = make_ready(brought, BroughtSaver(store, writer))
            for version in made:
                await _check_published(store, version)
        except GraphRefused as error:
            refused.append(error)
        else:
            ready += made
    for one in refused:
        log.error("graph.refused", module=one.module, detail=one.detail)
    return ready, refused


async def _check_published(store: Store, one: Ready) -> None:
    """Raises GraphRefused where this version was published with another structure."""
    definition = one.definition
    async with store.transaction() as tx:
        others = await bindings.published_as(tx, module=definition.name, version=version_of(one))
    if others - {definition.fingerprint()}:
        raise GraphRefused(
            definition.name,
            f"version {definition.version} is published with another structure: give the changed graph"
            " another VERSION, and keep the old one under OLDER while runs of it are in flight",
        )


def version_of(one: Ready) -> str:
    """As it is published: what an operator names it by."""
    return f"{one.definition.name}-{one.definition.version}"
