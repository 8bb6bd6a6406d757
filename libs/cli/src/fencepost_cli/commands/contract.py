"""`contract`: check contracts and compare two of them, for CI; see and decide what sources declare.

Exit codes of `check`: 0 fine, 1 refused. Of `diff`: 0 the same or compatible, 1 breaking, 2 can't be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fencepost_cli.commands.pins import accept, pins, revoke
from fencepost_cli.console import Exit, Json, print_json, say

if TYPE_CHECKING:
    from fencepost_contracts.loader import LoadedModule

FILE: Final = "contract.yaml"
UNREADABLE: Final = 2
contract = typer.Typer(help="Check, compare and pin what modules may do.", no_args_is_help=True)
contract.command()(pins)
contract.command()(accept)
contract.command()(revoke)


@contract.command()
def check(
    paths: Annotated[list[Path], typer.Argument(help="Contracts, module folders, or folders of modules.")],
    as_json: Json = False,
) -> None:
    """Compile contracts and the documents they name. Nothing is imported, started or fetched."""
    from fencepost_contracts.loader import ContractRefused

    found: list[dict[str, object]] = []
    refused = 0
    for path in paths:
        for file in _contracts(path):
            try:
                found.append(_described(_load(file), file))
            except ContractRefused as error:
                refused += 1
                found.append({"file": str(file), "faults": [str(fault) for fault in error.faults]})
        if not any(True for _ in _contracts(path)):
            refused += 1
            found.append({"file": str(path), "faults": [f"{path}: there is no {FILE} here"]})
    if as_json:
        print_json({"contracts": found})
    else:
        for one in found:
            _say(one)
    raise typer.Exit(int(Exit.FAILED if refused else Exit.DONE))


def _say(one: dict[str, object]) -> None:
    faults = one.get("faults")
    if isinstance(faults, list):
        for fault in faults:
            say(str(fault))
        return
    say(f"ok  {one['module']} {one['version']}: {one['tools']} tools, {one['fingerprint']}")
    for name, why in dict(one["not_offered"]).items():  # type: ignore[call-overload]  # a mapping, as made below
        say(f"    not offered: {name}: {why}")
    for source in list(one["asked_at_run_time"]):  # type: ignore[call-overload]
        say(f"    {source}: an MCP server declares its tools when it runs; pin them there")


def _described(module: LoadedModule, file: Path) -> dict[str, object]:
    whole, not_offered = _with_documents(module)
    return {
        "file": str(file),
        "module": module.folder.name,
        "version": module.contract.version,
        "fingerprint": whole.catalog.fingerprint[:12],
        "tools": len(whole.catalog.tools),
        "not_offered": not_offered,
        "asked_at_run_time": [one.name for one in module.contract.sources if one.kind == "mcp"],
    }


@contract.command()
def diff(
    old: Annotated[Path, typer.Argument(help="A contract or module folder.")],
    new: Annotated[Path, typer.Argument(help="The same module, later.")],
    as_json: Json = False,
) -> None:
    """What changed, and is it breaking? Exits with 1 when it is, with 2 when one of them can't be read."""
    from fencepost_contracts.compare import compare
    from fencepost_contracts.loader import ContractRefused

    try:
        before, after = (_with_documents(_load(_one(path)))[0] for path in (old, new))
    except ContractRefused as error:
        for fault in error.faults:
            say(str(fault))
        raise typer.Exit(UNREADABLE) from None
    changes = compare(before.catalog, after.catalog)
    if before.folder.name != after.folder.name:
        say(f"{before.folder.name} and {after.folder.name} are two modules")
        raise typer.Exit(UNREADABLE)
    breaking = [change for change in changes if change.breaking]
    verdict = "breaking" if breaking else "compatible" if changes else "the same"
    if as_json:
        print_json({"verdict": verdict, "changes": [asdict(change) for change in changes]})
    else:
        for change in changes:
            say(f"{'breaking  ' if change.breaking else 'compatible'}  {change.place}: {change.detail}")
        say(verdict)
    raise typer.Exit(int(Exit.FAILED if breaking else Exit.DONE))


def _contracts(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif (path / FILE).is_file():
        yield path / FILE
    else:
        yield from sorted(path.glob(f"*/{FILE}"))


def _one(path: Path) -> Path:
    return path / FILE if path.is_dir() else path


def _load(file: Path) -> LoadedModule:
    """By its folder's name where the file has its usual name, else by the name it gives itself."""
    from fencepost_contracts.loader import load_module
    from fencepost_contracts.modules import ModuleFolder
    from fencepost_contracts.yaml12 import read_yaml

    name = file.resolve().parent.name
    if file.name != FILE:
        value = read_yaml(file).value
        name = str(value.get("agent_name", "")) if isinstance(value, dict) else ""
    return load_module(ModuleFolder(name, file.parent, file, None))


def _with_documents(module: LoadedModule) -> tuple[LoadedModule, dict[str, str]]:
    """The module as if everything its documents declare were pinned."""
    from fencepost_contracts.declared import Pin

    declared = module.offer.operations.values()
    named = module.offer.foreign(module.folder.name, declared)
    return module.pinned(Pin(foreign.name, one, "") for foreign, one in named)
