"""One MCP server: a session that is opened when it is needed, and opened anew after it died.

The SDK's client is entered and left by one task, which holds the session; others use it meanwhile. What a
server says (descriptions, results, errors) is somebody else's text: it is bounded, and never an instruction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final

import httpx2
from fencepost_contracts.sources import Declared
from fencepost_runtime.logging import get_logger
from fencepost_runtime.secrets import mask_registered
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import CallToolResult, Implementation

from fencepost_tool_gateway.egress import Egress, EgressRefused, dial_checked
from fencepost_tool_gateway.mcp.reached import Reached, SourceUnavailable
from fencepost_tool_gateway.mcp.stdio import child
from fencepost_tool_gateway.secrets import SecretMissing, Secrets

log = get_logger(__name__)
OPENS_WITHIN: Final = 20.0  # a cold interpreter on a busy machine
MOST_TOOLS: Final = 500
MOST_PAGES: Final = 20
MOST_BYTES: Final = 4_194_304  # of one message
CLIENT: Final = Implementation(name="fencepost", version="1")


class McpServer:
    def __init__(self, reached: Reached, secrets: Secrets, egress: Egress) -> None:
        self._reached, self._secrets, self._egress = reached, secrets, egress
        self._client: Client | None = None
        self._holder: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self.changed = asyncio.Event()  # it said that its tools changed

    async def declared(self) -> dict[str, Declared]:
        """Its tools as it lists them now, by name. Raises SourceUnavailable."""
        tools: dict[str, Declared] = {}
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._ask(lambda client, at=cursor: client.list_tools(cursor=at))  # type: ignore[misc]
            for tool in page.tools:
                tools[tool.name] = Declared(
                    source=self._reached.source,
                    kind="mcp",
                    target=tool.name,
                    description=mask_registered(tool.description or ""),
                    input_schema=mask_registered(tool.input_schema),
                    output_schema=mask_registered(tool.output_schema),
                    endpoint=dict(self._reached.endpoint),
                )
            cursor = page.next_cursor
            if cursor is None or len(tools) >= MOST_TOOLS:
                break
        return tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """Raises MCPError and whatever the SDK raises: what became of the call isn't known then."""
        client = await self._ready()
        return await client.call_tool(tool, arguments)

    async def _ask(self, ask: Callable[[Client], Awaitable[Any]]) -> Any:
        """A question that changes nothing: asked again on a new session when the last one died."""
        for is_last in (False, True):
            client = await self._ready()
            try:
                async with asyncio.timeout(OPENS_WITHIN):
                    return await ask(client)
            except (MCPError, TimeoutError, OSError, httpx2.HTTPError, ValueError, RuntimeError) as error:
                await self.close()
                if is_last:
                    raise SourceUnavailable(f"{self._reached.source}: {type(error).__name__}") from error
        raise AssertionError("unreachable")

    async def _ready(self) -> Client:
        async with self._opening:
            if self._client is not None and self._holder is not None and not self._holder.done():
                return self._client
            opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._holder = asyncio.create_task(self._hold(opened), name=f"mcp-{self._reached.source}")
            try:
                async with asyncio.timeout(OPENS_WITHIN):
                    self._client = await asyncio.shield(opened)
            except TimeoutError:
                self._holder.cancel()
                raise SourceUnavailable(f"{self._reached.source}: it doesn't answer") from None
            return self._client

    async def _hold(self, opened: asyncio.Future[Client]) -> None:
        """Opens the session and stays until it is cancelled: who enters the SDK's client has to leave it."""
        try:
            async with self._transport() as transport:
                client = Client(transport, cache=None, client_info=CLIENT, message_handler=self._told)
                async with client:
                    if not opened.done():
                        opened.set_result(client)
                    await self._listen(client)
                    await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # task groups raise groups of whatever their tasks raised
            log.warning("mcp.session_lost", server=self._reached.source, error=type(error).__name__)
            if not opened.done():
                why = str(error) if isinstance(error, SecretMissing | EgressRefused) else type(error).__name__
                opened.set_exception(SourceUnavailable(f"{self._reached.source}: {why}"))
        finally:
            self._client = None
            if not opened.done():
                opened.set_exception(SourceUnavailable(f"{self._reached.source}: it was closed"))

    async def _listen(self, client: Client) -> None:
        """Hear of changes as this protocol version tells them; who can't tell is asked now and then."""
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self.changed.set()

    async def _told(self, message: Any) -> None:
        if "list_changed" in str(getattr(message, "method", "")):
            self.changed.set()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[AbstractAsyncContextManager[Any]]:
        endpoint = self._reached.endpoint
        if "command" in endpoint:
            env = {name: await self._value(value) for name, value in endpoint["env"].items()}
            yield child(endpoint["command"], env, self._reached.folder, self._reached.source, MOST_BYTES)
            return
        headers = {}
        if self._reached.auth is not None:
            auth = self._reached.auth
            value = await self._secrets.get(auth.secret)
            headers[auth.header] = f"{auth.scheme} {value}".strip()
        transport = _Guarded(self._egress)
        async with httpx2.AsyncClient(
            headers=headers, transport=transport, timeout=httpx2.Timeout(300.0, connect=5.0), trust_env=False
        ) as http:
            yield streamable_http_client(endpoint["url"], http_client=http, max_sse_event_size=MOST_BYTES)

    async def _value(self, declared: str | Mapping[str, str]) -> str:
        return declared if isinstance(declared, str) else await self._secrets.get(declared["secret"])

    async def close(self) -> None:
        holder, self._holder, self._client = self._holder, None, None
        if holder is not None:
            holder.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await holder


class _Guarded(httpx2.AsyncBaseTransport):
    """httpx2's transport behind the guard, with an end to what one answer may be."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            await dial_checked(self._egress, request)
        except EgressRefused as error:
            raise httpx2.ConnectError(str(error)) from error
        response = await self._inner.handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Bounded(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._inner:
            seen += len(chunk)
            if seen > MOST_BYTES:
                raise httpx2.ReadError("the answer is too long")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
