"""MCP servers for tests: how to reach them by stdio and by HTTP, their switches and their own log."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost_tool_gateway.mcp.reached import Reached

from tests.support import mcp_server
from tests.support.eventually import eventually

SCRIPT = str(mcp_server.__file__)


@dataclass(slots=True)
class Wiki:
    """A server's folder. reached: how the gateway reaches it."""

    folder: Path
    endpoint: dict[str, Any]

    @property
    def reached(self) -> Reached:
        return Reached("wiki", self.endpoint, None)

    def switch(self, **on: Any) -> None:
        draft = self.folder / "switches.draft"
        draft.write_text(json.dumps(on))
        draft.replace(self.folder / "switches.json")

    def calls(self) -> list[dict[str, Any]]:
        log = self.folder / "calls.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def environment(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.folder / "environment.json").read_text())
        return found

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())


def by_stdio(folder: Path, **env: Any) -> Wiki:
    folder.mkdir(parents=True, exist_ok=True)
    return Wiki(folder, {"command": [sys.executable, "-P", SCRIPT, str(folder)], "env": env})


@asynccontextmanager
async def by_http(folder: Path) -> AsyncIterator[Wiki]:
    """A server that runs by itself."""
    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - a test's own folder
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(sys.executable, "-P", SCRIPT, str(folder), str(port))

    async def answers() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        return True

    try:
        await eventually(answers, timeout=30.0)
        yield Wiki(folder, {"url": f"http://127.0.0.1:{port}/mcp"})
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
