"""An MCP server as our child: newline-delimited JSON over its pipes, within limits.

It gets the environment it was declared and PATH, nothing of ours; it dies with the gateway, also with one
that is killed; a line longer than the limit ends it. The SDK's own transport bounds neither.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as types
from fencepost_runtime.logging import get_logger
from fencepost_runtime.secrets import mask_registered
from mcp.shared.message import SessionMessage

log = get_logger(__name__)
ENDS_WITHIN: Final = 1.0  # after its stdin closes; then SIGTERM, and the same again before SIGKILL
STDERR_LINE: Final = 500  # characters of a line of its stderr that our log takes
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


@asynccontextmanager
async def child(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None, name: str, limit: int
) -> AsyncIterator[tuple[Any, Any]]:
    """Streams of a started server, as the SDK's client takes them. Raises OSError when it can't be started.

    limit: bytes of one line, in either direction of what it says.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", os.defpath), **env},
        cwd=cwd,
        limit=limit,
        start_new_session=True,
        preexec_fn=_limited(os.getpid()),
    )
    to_session, session_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    session_writes, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(process, to_session, name)),
        asyncio.create_task(_write(process, from_session)),
        asyncio.create_task(_listen(process, name)),
    ]
    try:
        yield session_reads, session_writes
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (to_session, session_reads, session_writes, from_session):
                await stream.aclose()


def _limited(parent: int) -> Any:
    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # the gateway died in between: nobody would end us
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return prepare


async def _read(process: asyncio.subprocess.Process, to_session: Any, name: str) -> None:
    assert process.stdout is not None
    async with to_session:
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # LimitOverrunError, as readline tells it
                log.error("mcp.line_too_long", server=name)
                _signal(process, signal.SIGKILL)
                return
            if not line:
                return
            if not line.strip():
                continue
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                log.warning("mcp.line_unreadable", server=name)
                continue
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await to_session.send(SessionMessage(message))


async def _write(process: asyncio.subprocess.Process, from_session: Any) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError, anyio.ClosedResourceError):
        async for told in from_session:
            text = told.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()


async def _listen(process: asyncio.subprocess.Process, name: str) -> None:
    """Its stderr goes to our log, line by line, and is never anybody's answer."""
    assert process.stderr is not None
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:
            continue
        if not line:
            return
        said = mask_registered(line.decode(errors="replace").strip())  # whole: half a secret isn't known
        log.info("mcp.stderr", server=name, said=said[:STDERR_LINE])


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _signal(process, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN):
                await process.wait()
                _signal(process, signal.SIGKILL)  # what it started and left behind
                return


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To its whole group: it was made the leader of one."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
