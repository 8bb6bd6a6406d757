"""`python restate_enqueue.py INGRESS N`: N invocations sent, not waited for."""

import asyncio
import sys

import httpx


async def main() -> None:
    turn = asyncio.Semaphore(16)

    async def one(client: httpx.AsyncClient) -> None:
        async with turn:
            (await client.post("/five/run/send", json="hello")).raise_for_status()

    async with httpx.AsyncClient(base_url=sys.argv[1], timeout=60) as client:
        await asyncio.gather(*(one(client) for _ in range(int(sys.argv[2]))))


asyncio.run(main())
