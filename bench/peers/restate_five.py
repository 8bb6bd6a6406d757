"""Five journalled steps for Restate, served by hypercorn as `restate_five:app`. The handler counts at its end."""

import os

import restate

service = restate.Service("five")


@service.handler()
async def run(ctx: restate.Context, text: str) -> list:
    said: list = []
    for n in range(1, 6):
        said = await ctx.run_typed(f"step {n}", lambda said=said, n=n: [*said, f"step {n}"])
    line = os.open(os.environ["FIVE_DONE"], os.O_WRONLY | os.O_APPEND)
    os.write(line, b".")
    os.close(line)
    return said


app = restate.app([service])
