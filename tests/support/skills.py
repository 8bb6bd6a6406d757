"""A reference skill server: asynchronous tasks over real HTTP, with switches and a log of its own.

Started in the test's own loop. `starts` counts what really began; a task ends when the test says so, and is
told by callback unless `silent`.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

DOCUMENT = """\
openapi: 3.1.0
info: {title: Skills, version: "1"}
servers: [{url: "SERVER"}]
paths:
  /reports:
    post:
      operationId: startReport
      summary: Write a report about a topic.
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [topic], properties: {topic: {type: string, minLength: 1}}}
      responses: {"202": {description: accepted}}
  /reports/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getReport, responses: {"200": {description: it}}}
    delete: {operationId: cancelReport, responses: {"200": {description: it}}}
...
"""
CONTRACT = """\
version: "1"
agent_name: research
sources:
  - {name: skills, openapi: skills.yaml}
allowed_tools:
  - name: research.write_report
    from:
      source: skills
      operation: startReport
      task: {status: getReport, cancel: cancelReport, done: [done], failed: [broken], lives_seconds: LIVES}
    risk: RISK
    effect_class: async
    timeout_seconds: 3
...
"""


def research(folder: Path, server: str, *, seconds: float = 600, risk: str = "low") -> Path:
    """The module `research` below `folder`; returns the folder of modules."""
    module = folder / "research"
    module.mkdir(parents=True, exist_ok=True)
    (module / "contract.yaml").write_text(CONTRACT.replace("LIVES", str(seconds)).replace("RISK", risk))
    (module / "skills.yaml").write_text(DOCUMENT.replace("SERVER", server))
    return folder


@dataclass(slots=True)
class Skill:
    """One task as the server knows it."""

    id: str
    topic: str
    callback: str | None
    token: str | None
    state: str = "working"
    result: Any = None
    error: str | None = None
    polls: int = 0
    cancels: int = 0

    def document(self) -> dict[str, Any]:
        return {"id": self.id, "state": self.state, "result": self.result, "error": self.error}


@dataclass(slots=True)
class Skills:
    """switches: silent (no callback), lose (accepts, then drops the answer), stubborn (ignores a cancel)."""

    url: str = ""
    silent: bool = False
    lose: bool = False
    stubborn: bool = False
    down: bool = False
    tasks: dict[str, Skill] = field(default_factory=dict)
    told: list[int] = field(default_factory=list)
    _ids: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def only(self) -> Skill:
        [one] = self.tasks.values()
        return one

    async def start(self, request: Request) -> Response:
        body = await request.json()
        given = request.headers
        skill = Skill(
            f"r-{next(self._ids)}", body["topic"], given.get("fencepost-callback"),
            given.get("fencepost-callback-token"),
        )  # fmt: skip
        self.tasks[skill.id] = skill
        if self.lose:
            await asyncio.sleep(30)
        return JSONResponse(skill.document(), 202)

    async def status(self, request: Request) -> Response:
        if self.down:
            return JSONResponse({}, 503)
        skill = self.tasks[request.path_params["id"]]
        skill.polls += 1
        return JSONResponse(skill.document())

    async def cancel(self, request: Request) -> Response:
        skill = self.tasks[request.path_params["id"]]
        skill.cancels += 1
        if not self.stubborn and skill.state == "working":
            skill.state = "cancelled"
        return JSONResponse(skill.document())

    async def end(self, skill: Skill, state: str = "done", **more: Any) -> None:
        """The task ends now, and says so where it was asked to."""
        skill.state, skill.result, skill.error = state, more.get("result", {"pages": 3}), more.get("error")
        if not self.silent and skill.callback is not None:
            await self.tell(skill)

    async def tell(self, skill: Skill, token: str | None = None) -> int:
        assert skill.callback is not None
        headers = {"Authorization": f"Bearer {token or skill.token}"}
        async with httpx.AsyncClient(trust_env=False, timeout=10.0) as client:
            answer = await client.post(skill.callback, headers=headers)
        self.told.append(answer.status_code)
        return answer.status_code


@asynccontextmanager
async def skill_server() -> AsyncIterator[Skills]:
    skills = Skills()
    routes = [
        Route("/reports", skills.start, methods=["POST"]),
        Route("/reports/{id}", skills.status, methods=["GET"]),
        Route("/reports/{id}", skills.cancel, methods=["DELETE"]),
    ]
    listener = socket.create_server(("127.0.0.1", 0))
    skills.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(Starlette(routes=routes), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield skills
    finally:
        server.should_exit = server.force_exit = True
        await serving
        listener.close()
