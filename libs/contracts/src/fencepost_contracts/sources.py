"""Where tools come from that are not our code: OpenAPI documents and MCP servers, and what they declare.

A contract names its sources; a tool is taken `from` one. What a source says of a tool (`Declared`) is
somebody else's text: it gets into a catalog only under a pin that an operator accepted, and its fingerprint
is of the whole declaration as it was read, endpoint included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from fencepost_contracts import canonical
from fencepost_contracts.http_tools import SECRET_NAME, Credential, HttpCall

Kind = Literal["openapi", "mcp"]
_SECRET: Final = re.compile(SECRET_NAME)
SOURCE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
LONGEST_TASK_SECONDS: Final = 30 * 24 * 3600
Pointer = Annotated[StrictStr, Field(pattern=r"^(/[^/]*)*$", max_length=200)]
Operation = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Secret(Frozen):
    """A credential by its name in the secrets folder; the value is put in at the send and stored nowhere."""

    secret: StrictStr


class McpServer(Frozen):
    """A server by its command (a child of the gateway, with this environment and no other) or by its URL."""

    command: tuple[StrictStr, ...] = ()
    env: dict[str, StrictStr | Secret] = Field(default_factory=dict)
    url: StrictStr | None = None


class Source(Frozen):
    """One source. tools `listed`: only what allowed_tools takes from it; `all`: whatever it declares."""

    name: StrictStr
    openapi: StrictStr | None = None  # a file of the module's folder; nothing is fetched
    server: StrictStr | None = None  # one of the document's servers
    mcp: McpServer | None = None
    credential: Credential | None = None
    tools: Literal["listed", "all"] = "listed"

    @property
    def kind(self) -> Kind:
        return "openapi" if self.openapi is not None else "mcp"


class LookUp(Frozen):
    """An operation that says whether an effect happened, by the effect's key, which `key_argument` takes.

    Found: a 2xx answer whose `found` isn't empty; absent: these statuses.
    """

    operation: Operation
    key_argument: StrictStr
    found: Pointer | None = None
    result: Pointer = ""
    external_id: Pointer | None = None
    absent: tuple[StrictInt, ...] = (404,)


class TaskRules(Frozen):
    """How an asynchronous tool's task is followed. Pointers are into the answers of start and status."""

    id: Pointer = "/id"
    status: Operation
    id_argument: StrictStr = "id"  # of the operations `status` and `cancel`
    state: Pointer = "/state"
    done: Annotated[tuple[StrictStr, ...], Field(min_length=1)] = ("succeeded",)
    failed: tuple[StrictStr, ...] = ("failed",)
    cancelled: tuple[StrictStr, ...] = ("cancelled",)
    result: Pointer = "/result"
    error: Pointer = "/error"
    cancel: Operation | None = None
    lives_seconds: Annotated[StrictInt | StrictFloat, Field(gt=0, le=LONGEST_TASK_SECONDS)] = 3600


class From(Frozen):
    """Which operation or MCP tool a tool of the contract is. key_header: where the effect's key goes.

    external_id: where an operation's answer has the other side's name for what was done.
    errors: what an MCP server's own error (`isError`) means. `unknown`: it may have acted before; `refused`:
    the author knows that it did nothing.
    """

    source: StrictStr
    operation: Operation | None = None
    tool: Operation | None = None
    key_header: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    external_id: Pointer | None = None
    lookup: LookUp | None = None
    task: TaskRules | None = None
    errors: Literal["unknown", "refused"] = "unknown"

    @property
    def target(self) -> str:
        return self.operation or self.tool or ""


class Declared(Frozen):
    """What a source says of one tool. description and schemas are as read; `http` says how it is called."""

    source: str
    kind: Kind
    target: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    endpoint: dict[str, Any]
    http: HttpCall | None = None

    def fingerprint(self) -> str:
        """SHA-256 of the canonical content. Raises ValueError for what JSON can't say (NaN)."""
        return canonical.digest(self.model_dump(mode="json"))

    def text(self) -> str:
        """The canonical text that hashes to the fingerprint; kept with the pin."""
        return canonical.dumps(self.model_dump(mode="json")).decode()


class ToolSource(Frozen):
    """In a published tool: what it is pinned to, and what its executor needs besides its `http` block.

    status, cancel: the requests by which an asynchronous tool's task is followed.
    """

    name: str
    kind: Kind
    target: str
    pin: str
    accepted_at: str = ""  # each acceptance makes a catalog of its own, also of one that comes back
    endpoint: dict[str, Any]
    credential: Credential | None = None
    task: TaskRules | None = None
    status: HttpCall | None = None
    cancel: HttpCall | None = None
    errors_are_refusals: bool = False  # of an MCP server: its errors say that it did nothing


def endpoint_of(source: Source) -> dict[str, Any]:
    """What identifies an MCP server: its URL, or its command and the names of what it is given."""
    assert source.mcp is not None
    if source.mcp.url is not None:
        return {"url": source.mcp.url}
    env = {
        name: value if isinstance(value, str) else value.model_dump()
        for name, value in source.mcp.env.items()
    }
    return {"command": list(source.mcp.command), "env": env}


def source_faults(sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """(pointer below /sources, detail) of each thing wrong."""
    seen: set[str] = set()
    for number, source in enumerate(sources):
        at = canonical.pointer(number)
        if not SOURCE_NAME.fullmatch(source.name) or source.name in seen:
            yield at + "/name", "a source has a name of its own: small letters, digits and _"
        seen.add(source.name)
        if (source.openapi is None) == (source.mcp is None):
            yield at, "a source is either `openapi` or `mcp`"
            continue
        if source.mcp is not None:
            yield from _mcp_faults(source, at)


def _mcp_faults(source: Source, at: str) -> Iterator[tuple[str, str]]:
    server = source.mcp
    assert server is not None
    if bool(server.command) == (server.url is not None):
        yield at + "/mcp", "an MCP server has either a `command` or a `url`"
    if server.url is not None and not server.url.startswith(("https://", "http://")):
        yield at + "/mcp/url", "an address starts with https:// or http://"
    if server.url is not None and server.env:
        yield at + "/mcp/env", "a server elsewhere is given no environment"
    if source.server is not None:
        yield at + "/server", "only an OpenAPI document has servers"
    for name, value in server.env.items():
        if isinstance(value, Secret) and not _SECRET.fullmatch(value.secret):
            yield at + "/mcp/env" + canonical.pointer(name), "this names a secret, it is none"


def at_pointer(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to; None where it leads nowhere."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
