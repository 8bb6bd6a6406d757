"""The HTTP server hears `stop` and nothing else; what doesn't start says so."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fencepost_runtime.http import http_client, request_id
from fencepost_runtime.server import ServerNotStarted, serve_http
from fencepost_runtime.sockets import bind
from fencepost_runtime.system import SystemIds

Send = Callable[[dict[str, Any]], Awaitable[None]]


async def application(scope: dict[str, Any], receive: Any, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


async def refusing(scope: dict[str, Any], receive: Any, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})


async def test_it_serves_until_stop_and_tells_its_port() -> None:
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve_http(application, "127.0.0.1", 0, stop, port.set_result))
    async with http_client(f"http://127.0.0.1:{await port}") as client:
        answer = await client.get("/")
    assert answer.text == "here"
    assert "server" not in answer.headers
    stop.set()
    await asyncio.wait_for(serving, 30)


async def test_a_taken_port_is_an_error_and_no_exit() -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            await serve_http(application, "127.0.0.1", taken.getsockname()[1], asyncio.Event())


async def test_an_application_that_refuses_to_start_is_told() -> None:
    with pytest.raises(ServerNotStarted):
        await serve_http(refusing, "127.0.0.1", 0, asyncio.Event(), lifespan="on")


def test_a_bound_port_is_given_back() -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
    with socket.socket() as again:
        again.bind(("127.0.0.1", port))


@pytest.mark.parametrize("given", [None, "", "a b", "x" * 65, "a\nb", "<script>"])
def test_a_harmful_request_id_is_replaced(given: str | None) -> None:
    assert request_id(given, SystemIds()) != given


def test_a_harmless_request_id_is_kept() -> None:
    assert request_id("req-1.a_B", SystemIds()) == "req-1.a_B"
