"""`python langgraph_enqueue.py URL N`: N runs without a thread for LangGraph's dev server."""

import asyncio
import sys

from langgraph_sdk import get_client


async def main() -> None:
    client, turn = get_client(url=sys.argv[1]), asyncio.Semaphore(16)

    async def one() -> None:
        async with turn:
            await client.runs.create(None, "five", input={"said": []})

    await asyncio.gather(*(one() for _ in range(int(sys.argv[2]))))


asyncio.run(main())
