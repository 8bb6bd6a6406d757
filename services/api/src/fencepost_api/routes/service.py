"""Health, and pages for who opens the address in a browser."""

from __future__ import annotations

import html
from typing import Any, Final

from fastapi import APIRouter, Request
from fencepost_runtime.health import run_checks
from fencepost_store.schema import schema_is_current
from starlette.responses import HTMLResponse, Response

from fencepost_api import render
from fencepost_api.deps import ApiDep

router = APIRouter(include_in_schema=False)
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font:14px/1.4 ui-monospace,monospace;background:#f4f4f2;padding:.1em .3em;border-radius:3px}"
    "pre{padding:1em;overflow:auto}table{border-collapse:collapse}td{padding:.3em .8em .3em 0;"
    "vertical-align:top;border-bottom:1px solid #ddd}.m{font-weight:600}"
)


class NotMigrated(Exception):
    """The database's schema isn't this release's."""


@router.api_route("/healthz", methods=["GET", "HEAD"])
async def healthz() -> Response:
    """The process answers; whether it can work is for /readyz."""
    return render.answer({"status": "ok"})


@router.api_route("/readyz", methods=["GET", "HEAD"])
async def readyz(request: Request, api: ApiDep) -> Response:
    """Ready with the database and its migrations; degraded without LISTEN, files or Vault."""

    async def database() -> None:
        async with api.store.transaction() as tx:
            await tx.row("feed_start")

    async def migrations() -> None:
        if not getattr(request.app.state, "migrated", False):
            if not await schema_is_current(api.store.engine):
                raise NotMigrated
            request.app.state.migrated = True

    checks = await run_checks({"database": database, "migrations": migrations})
    ready = all(verdict == "ok" for verdict in checks.values())
    listener = getattr(request.app.state, "listener", None)
    quick = listener is None or listener.connected
    checks["notifications"] = "ok" if quick else "down"
    told = api.beside.told(ready, checks)
    if ready and not quick:
        told["status"] = "degraded"
    return render.answer(told, 200 if ready else 503)


@router.get("/")
async def front(request: Request) -> Response:
    """What this is and where to go on."""
    version = html.escape(str(request.app.version))
    return _page(
        "Fencepost",
        f"<h1>Fencepost</h1><p>AI-agent runs that are neither lost nor done twice. API {version}.</p>"
        '<ul><li><a href="/docs">The API, route by route</a></li>'
        '<li><a href="/openapi.json">OpenAPI document</a></li>'
        '<li><a href="/readyz">Is it ready?</a></li></ul>'
        "<p>Try it:</p><pre>curl -X POST $FENCEPOST_URL/v1/runs \\\n"
        '  -H "Authorization: Bearer $FENCEPOST_TOKEN" \\\n  -H "Idempotency-Key: $(date +%s)" \\\n'
        '  -H "Content-Type: application/json" -H "Prefer: wait=10" \\\n'
        '  -d \'{"input": {"text": "Remind me tomorrow at 9 to send the report"}}\'</pre>',
    )


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The OpenAPI document as a page: no script, nothing from elsewhere."""
    document: dict[str, Any] = request.app.openapi()
    rows = [
        f'<tr><td class="m">{method.upper()}</td><td><code>{html.escape(path)}</code></td>'
        f"<td>{html.escape(_first_line(operation))}</td></tr>"
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    return _page("Fencepost API", f"<h1>Fencepost API</h1><table>{''.join(rows)}</table>"
                 '<p>Shapes and problems: <a href="/openapi.json">/openapi.json</a>.</p>')  # fmt: skip


def _first_line(operation: dict[str, Any]) -> str:
    text: str = operation.get("description") or operation.get("summary") or ""
    return text.partition("\n")[0]


def _page(title: str, body: str) -> Response:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style><body>{body}</html>'
    )
