"""Absurd: five steps of a task. `python absurd_five.py DSN setup | enqueue N | work`."""

import asyncio
import sys

from absurd_sdk import AsyncAbsurd

DSN, WHAT = sys.argv[1], sys.argv[2]


async def main() -> None:
    app = AsyncAbsurd(DSN, queue_name="five")

    @app.register_task("five", queue="five")
    async def five(params, ctx):
        said: list = []
        for n in range(1, 6):

            async def add(n=n, said=said):
                return [*said, f"step {n}"]

            said = await ctx.step(f"step-{n}", add)
        return said

    if WHAT == "setup":
        await app.create_queue("five")
    elif WHAT == "enqueue":
        for _ in range(int(sys.argv[3])):
            await app.spawn("five", {"text": "hello"})
    else:
        await app.start_worker(concurrency=16)


asyncio.run(main())
