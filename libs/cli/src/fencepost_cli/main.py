"""The `fencepost` command. Commands are loaded when they are called, so that `--help` answers at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import typer

COMMANDS: Final[dict[str, str]] = {
    "up": "fencepost_cli.commands.up:up",
    "demo": "fencepost_cli.commands.demo:demo",
    "doctor": "fencepost_cli.commands.doctor:doctor",
    "run": "fencepost_cli.commands.runs:run",
    "runs": "fencepost_cli.commands.runs:runs",
    "show": "fencepost_cli.commands.runs:show",
    "files": "fencepost_cli.commands.files:files",
    "watch": "fencepost_cli.commands.runs:watch",
    "approve": "fencepost_cli.commands.decide:approve",
    "reject": "fencepost_cli.commands.decide:reject",
    "approvals": "fencepost_cli.commands.grants:approvals",
    "link": "fencepost_cli.commands.grants:link",
    "grants": "fencepost_cli.commands.grants:grants",
    "answer": "fencepost_cli.commands.decide:answer",
    "cancel": "fencepost_cli.commands.decide:cancel",
    "pause": "fencepost_cli.commands.decide:pause",
    "resume": "fencepost_cli.commands.decide:resume",
    "stuck": "fencepost_cli.commands.operate:stuck",
    "repair": "fencepost_cli.commands.operate:repair",
    "handoff": "fencepost_cli.commands.operate:handoff",
    "retry": "fencepost_cli.commands.lineage:retry",
    "fork": "fencepost_cli.commands.lineage:fork",
    "simulate": "fencepost_cli.commands.lineage:simulate",
    "export": "fencepost_cli.commands.evidence:export",
    "budgets": "fencepost_cli.commands.budgets:budgets",
    "effects": "fencepost_cli.commands.effects:effects",
    "verify": "fencepost_cli.commands.evidence:verify",
    "replay": "fencepost_cli.commands.evidence:replay",
    "erase": "fencepost_cli.commands.evidence:erase",
    "contract": "fencepost_cli.commands.contract:contract",
    "state": "fencepost_cli.commands.state:state",
    "intent": "fencepost_cli.commands.intent:intent",
    "recover": "fencepost_cli.commands.recover:recover",
    "drop-logs": "fencepost_cli.commands.retention:drop_logs",
    "migrate": "fencepost_cli.commands.ops:migrate",
    "token": "fencepost_cli.commands.ops:token",
}


def build(names: tuple[str, ...] = tuple(COMMANDS)) -> typer.Typer:
    """The application with these commands; all of them for the help."""
    app = typer.Typer(
        name="fencepost",
        help="Run AI agents that do a thing once: not twice, not never.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def _root() -> None:
        """Run AI agents that do a thing once: not twice, not never."""

    for name in names:
        loaded = _load(COMMANDS[name])
        if isinstance(loaded, typer.Typer):
            app.add_typer(loaded, name=name)
        else:
            app.command(name)(loaded)
    return app


def _load(where: str) -> Callable[..., Any] | typer.Typer:
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)  # type: ignore[no-any-return]


def main() -> None:
    """Entry point: only the command that was asked for is imported."""
    asked = next((a for a in sys.argv[1:] if not a.startswith("-")), None)
    build((asked,) if asked in COMMANDS else tuple(COMMANDS))()


if __name__ == "__main__":
    main()
