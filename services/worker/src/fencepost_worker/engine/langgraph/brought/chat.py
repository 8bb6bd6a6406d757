"""The configured model as a LangChain chat model, through the run's ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any

from fencepost.graphs import HOST, NotInARun
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from fencepost_worker.engine.langgraph.brought.host import RunHost
from fencepost_worker.engine.langgraph.brought.messages import dotted, to_port
from fencepost_worker.models.control import ASK, RESPOND
from fencepost_worker.models.pairing import paired
from fencepost_worker.models.port import Answer, ToolSpec


class LedgerChatModel(BaseChatModel):
    """Asked inside a node. with_tools: offers the module's tools; bound: others, beside them."""

    with_tools: bool = True
    bound: tuple[dict[str, Any], ...] = ()

    @property
    def _llm_type(self) -> str:
        return "fencepost"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[Any, AIMessage]:
        """The model with further tools. Raises ValueError for a forced choice: the port has none."""
        if tool_choice not in (None, "auto"):
            raise ValueError(f"tool_choice={tool_choice!r} can't be asked for: the model chooses by itself")
        more = tuple(convert_to_openai_tool(tool)["function"] for tool in tools)
        return self.model_copy(update={"bound": (*self.bound, *more)})

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        host = HOST.get()
        if not isinstance(host, RunHost):
            raise NotInARun("chat_model")
        # Paired whatever the graph's routes left open: a strict provider would refuse the thread for ever.
        sent = paired(to_port(messages))
        name, answer = await host.ask_model(sent, self._specs(host))
        return ChatResult(generations=[ChatGeneration(message=_message(name, answer))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """For sync nodes, which LangGraph runs in a thread: the call itself is made on the run's loop."""
        host = HOST.get()
        if not isinstance(host, RunHost):
            raise NotInARun("chat_model")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            context = copy_context()
            done = asyncio.run_coroutine_threadsafe(_within(context, self._agenerate(messages)), host.loop)
            return done.result()
        raise RuntimeError(
            "an async node must `await model.ainvoke(...)`: invoke() would block the run's own loop"
        )

    def _specs(self, host: RunHost) -> tuple[ToolSpec, ...]:
        mine = host.specs() if self.with_tools else ()
        known = {spec.name for spec in mine}
        others = [
            ToolSpec(dotted(one["name"]), str(one.get("description") or ""), one.get("parameters") or {})
            for one in self.bound
        ]
        return (*mine, *(spec for spec in others if spec.name not in known))


async def _within(context: Context, work: Any) -> ChatResult:
    """Await under a thread's context: the node, its place and its run are found there."""
    result: ChatResult = await asyncio.create_task(work, context=context)
    return result


def _message(name: str, answer: Answer) -> AIMessage:
    """With ids of our own: a provider may use the same in every answer, and answers are paired by them."""
    said = [answer.text, *(str(c.arguments.get("text", "")) for c in answer.calls if c.name == RESPOND)]
    said += [str(c.arguments.get("question", "")) for c in answer.calls if c.name == ASK]
    calls = [c for c in answer.calls if c.name not in (RESPOND, ASK)]
    return AIMessage(
        "\n\n".join(text for text in said if text.strip()),
        id=f"answer-{name}",
        tool_calls=[
            {"id": f"call_{name}_{n}", "name": c.name, "args": dict(c.arguments), "type": "tool_call"}
            for n, c in enumerate(calls)
        ],
        usage_metadata={
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
        },
        response_metadata={"finish_reason": answer.finish},
    )


def make_chat_model(*, with_tools: bool) -> LedgerChatModel:
    return LedgerChatModel(with_tools=with_tools)
