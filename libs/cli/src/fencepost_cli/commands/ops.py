"""`migrate`, `token`: for operators, on a database rather than through the api."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer
from fencepost.profile import default_data_dir

from fencepost_cli.console import Exit, Json, fail, print_json, say
from fencepost_cli.databases import admin_dsn

DataDir = Annotated[Path | None, typer.Option(help="Of the embedded mode; the usual one if absent.")]


def migrate(
    passwords: Annotated[
        Path | None, typer.Option(help="A JSON file, readable by you alone: role name to password.")
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Bring the database to this release: core, then modules. Forward only; safe to run twice."""
    from fencepost_store.migrate import SchemaAhead
    from fencepost_store.migrate import migrate as bring
    from psycopg import OperationalError
    from sqlalchemy.exc import OperationalError as EngineError

    from fencepost_cli.embedded.bring_up_schema import module_branches

    dsn = admin_dsn(data_dir or default_data_dir())
    try:
        secrets = json.loads(passwords.read_text()) if passwords else {}
        applied = asyncio.run(bring(dsn, secrets, module_branches()))
    except SchemaAhead as error:
        raise fail(f"{error}: run the newer release, or restore a backup") from None
    except (OperationalError, EngineError) as error:
        raise fail(f"the database does not answer: {str(error).splitlines()[0]}", Exit.UNREACHABLE) from None
    except (OSError, ValueError) as error:
        raise fail(f"--passwords: {error}", Exit.USAGE) from None
    if as_json:
        print_json({"applied": applied})
        return
    for line in applied or ["nothing to do: the schema is current"]:
        say(line)


def token(
    user: Annotated[str, typer.Option(help="The token's `sub`.")] = "local",
    tenant: Annotated[str | None, typer.Option(help="A UUID; the local tenant if absent.")] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(help="user, approver, approver.X, operator, admin, platform, notifier."),
    ] = None,
    hours: Annotated[int, typer.Option(min=1, max=24 * 365)] = 24,
    data_dir: DataDir = None,
) -> None:
    """Make a bearer token for the local api, signed with this data folder's key."""
    from uuid import UUID

    from fencepost_cli.embedded.identity import ALL_ROLES, LOCAL_TENANT, Identity

    roles = tuple(role or ["user"])
    if unknown := sorted(r for r in set(roles) - set(ALL_ROLES) if not r.startswith("approver.")):
        raise fail(f"--role {unknown[0]} is none of {', '.join(ALL_ROLES)}", Exit.USAGE)
    try:
        tenant = str(UUID(tenant)) if tenant else LOCAL_TENANT
    except ValueError:
        raise fail("--tenant must be a UUID", Exit.USAGE) from None
    folder = (data_dir or default_data_dir()) / "secrets"
    if not folder.exists():
        raise fail(f"{folder.parent} has no keys yet: start `fencepost up` once", Exit.UNREACHABLE)
    say(Identity(folder).mint_token(user, tenant, roles, hours * 3600))
