"""procrastinate: five steps in one plain job; not durable by step. `... DSN setup | enqueue N | work`."""

import asyncio
import sys

import procrastinate

DSN, WHAT = sys.argv[1], sys.argv[2]
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DSN))


@app.task(queue="five", name="five")
async def five(text: str) -> None:
    said: list = []
    for n in range(1, 6):
        said = [*said, f"step {n}"]


async def main() -> None:
    async with app.open_async():
        if WHAT == "setup":
            await app.schema_manager.apply_schema_async()
        elif WHAT == "enqueue":
            for _ in range(int(sys.argv[3])):
                await five.defer_async(text="hello")
        else:
            await app.run_worker_async(queues=["five"], concurrency=16, install_signal_handlers=False)


asyncio.run(main())
