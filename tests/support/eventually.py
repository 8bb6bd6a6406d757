"""Waiting for what another task or process does: asks often, gives up with the last answer."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, overload

Answer = TypeVar("Answer")


@overload
async def eventually(
    ask: Callable[[], Coroutine[Any, Any, Answer]], timeout: float = ..., every: float = ...
) -> Answer: ...
@overload
async def eventually(ask: Callable[[], Answer], timeout: float = ..., every: float = ...) -> Answer: ...
async def eventually(
    ask: Callable[[], Awaitable[Answer] | Answer], timeout: float = 40.0, every: float = 0.02
) -> Answer:
    """The first truthy answer of `ask`; an AssertionError or a false answer means: ask again.

    The limit is for what never comes, so it is far above what a busy machine needs: after `timeout` seconds
    the last AssertionError, or one that quotes the last answer. `None` counts as
    false, so an `ask` made of asserts must return something: `return True`.
    """
    end = time.monotonic() + timeout
    while True:
        refused: AssertionError | None = None
        answer: Answer | None = None
        try:
            answered = ask()
            answer = await answered if inspect.isawaitable(answered) else answered
            if answer:
                return answer
        except AssertionError as error:
            refused = error
        if time.monotonic() > end:
            raise refused or AssertionError(f"not within {timeout:g} s; the last answer was {answer!r}")
        await asyncio.sleep(every)
