"""For authors of LangGraph graphs: `tool_node`, `call_tool`, `tools`, `chat_model`.

They work inside a worker, which runs the graph under a run's fence; a test plays the worker's part with
`fencepost.testing.playing`. LangGraph is the author's dependency, not this package's: messages go in and
out as LangChain's classes or as plain dicts, which `add_messages` takes alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from fencepost.graph_messages import asked_calls, tool_message
from fencepost.graph_types import RunInput, ToolCall, ToolOutcome

__all__ = [
    "HOST",
    "MODEL_MAKER",
    "Host",
    "NotInARun",
    "RunInput",
    "ToolCall",
    "ToolOutcome",
    "call_tool",
    "chat_model",
    "run_input",
    "tool_node",
    "tool_node_for",
    "tools",
]


Node = Callable[[Any], Awaitable[dict[str, Any]]]


class Host(Protocol):
    """What runs a graph: a worker, or a test."""

    async def call_tools(self, calls: Sequence[ToolCall]) -> Sequence[ToolOutcome]:
        """Outcomes in the order of the calls."""
        ...

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The module's tools: name, description and JSON Schema under `parameters`."""
        ...

    def run_input(self) -> RunInput: ...


class ModelMaker(Protocol):
    def __call__(self, *, with_tools: bool) -> Any: ...


HOST: ContextVar[Host | None] = ContextVar("fencepost_host", default=None)
MODEL_MAKER: ContextVar[ModelMaker | None] = ContextVar("fencepost_model_maker", default=None)


class NotInARun(RuntimeError):
    """Called where no run is executed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"fencepost.{what} works while a worker runs the graph; in a test, do it inside"
            " `with fencepost.testing.playing(...)`"
        )


async def tool_node(state: Any) -> dict[str, Any]:
    """A node that carries out the tool calls of the last message: `builder.add_node("tools", tool_node)`.

    Each goes to the tool-gateway: checked, previewed, asked of a person where the contract says so, carried
    out once. Answers come back under `messages`, one a call, in their order; see tool_node_for.
    """
    return await tool_node_for("messages")(state)


def tool_node_for(messages_key: str) -> Node:
    """A tool node for a state that keeps its messages elsewhere. Its answers go under the same key."""

    async def tools(state: Any) -> dict[str, Any]:
        calls, broken = asked_calls(_messages(state, messages_key))
        outcomes = [*(await _host("tool_node").call_tools(calls) if calls else ()), *broken]
        return {messages_key: [tool_message(outcome) for outcome in outcomes]}

    return tools


async def call_tool(name: str, arguments: Mapping[str, Any] | None = None) -> ToolOutcome:
    """One call of a tool of the module's contract, from any async node, without a message.

    It leaves the node while a person is asked, and the node starts again from its first line when they have
    answered: what it called before is then answered from what is stored.
    """
    call = ToolCall(f"call_{name.replace('.', '_')}", name, dict(arguments or {}))
    [outcome] = await _host("call_tool").call_tools([call])
    return outcome


def tools() -> list[dict[str, Any]]:
    """The module's tools for a model of your own: `model.bind_tools(fencepost.tools())`.

    In the shape OpenAI made common. Its names may hold no dot, so `life.create_reminder` is
    `life__create_reminder`; `tool_node` takes both.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": str(one["name"]).replace(".", "__"),
                "description": one["description"],
                "parameters": one["parameters"],
            },
        }
        for one in _host("tools").tools()
    ]


def run_input() -> RunInput:
    """What the run was asked: its words, language, zone, and the instant that "tomorrow" counts from."""
    return _host("run_input").run_input()


def chat_model(*, with_tools: bool = True) -> Any:
    """The model that the operator configured, as a LangChain `BaseChatModel`.

    Its calls go through the run's ledger: an answer that was paid for is not asked for again after a crash,
    budgets hold, and the log says what was sent. with_tools: offer the module's tools; `bind_tools` adds
    others. It may be made while graph.py is imported; it is asked inside a node.
    """
    maker = MODEL_MAKER.get()
    if maker is None:
        raise NotInARun("chat_model")
    return maker(with_tools=with_tools)


def _host(what: str) -> Host:
    host = HOST.get()
    if host is None:
        raise NotInARun(what)
    return host


def _messages(state: Any, key: str) -> Sequence[Any]:
    """The messages of a state: a list itself, or under `key` of a mapping or an object."""
    if isinstance(state, list | tuple):
        return state
    found = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    if not isinstance(found, list | tuple):
        raise TypeError(f"tool_node finds no list of messages under {key!r} in the state; see tool_node_for")
    return found
