"""The five-step worker with steps of over a second: for what happens to runs in the middle of their work."""

from __future__ import annotations

import asyncio

from fencepost_worker.start import give_up_older_boots


def main() -> None:
    give_up_older_boots()  # as the product's entry does, before the engine is imported
    from bench import five

    nodes = dict(five.FIVE_NODES)
    for name, node in nodes.items():
        five.FIVE_NODES[name] = _slowly(node)
    five.main()


def _slowly(node):  # type: ignore[no-untyped-def]
    async def slow(state, step):  # type: ignore[no-untyped-def]
        await asyncio.sleep(1.2)
        return await node(state, step)

    return slow


if __name__ == "__main__":
    main()
