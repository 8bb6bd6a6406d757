"""A service that only starts, is ready, says what it was told, and ends. Not a test.

argv: the variable with its port. STUB_EXIT: end at once with this code, after a last word. STUB_LACKS: what
it says it is up without, a JSON object.
"""

import asyncio
import json
import os
import sys

from fencepost_runtime.beside import Beside
from fencepost_runtime.health import serve_health
from fencepost_runtime.lifecycle import run_service


async def main(stop: asyncio.Event) -> None:
    told = {name: value for name, value in os.environ.items() if name.startswith("FENCEPOST_")}
    print(f"told {sorted(told)} slot={told.get('FENCEPOST_WORKER_SLOT')}", flush=True)
    if os.environ.get("STUB_EXIT"):
        print("last words", flush=True)
        sys.exit(int(os.environ["STUB_EXIT"]))
    beside = Beside(lasting=json.loads(os.environ.get("STUB_LACKS", "{}")))
    await serve_health("127.0.0.1", int(os.environ[sys.argv[1]]), {}, stop, told=beside.told)
    print("ended in order", flush=True)


run_service(main)
