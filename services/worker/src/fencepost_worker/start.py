"""The worker's entry: gives up what an older boot of its slot held, then imports the engine and serves.

The engine's imports take over a second; until then runs of a worker that was killed and restarted in place
would rest for nothing. A slot can't live twice, so whoever held a lease under its name is dead.
"""

from __future__ import annotations

import sys

from fencepost_runtime.settings import SettingsError, WorkerSettings, load_settings
from fencepost_store.free_slot import free_slot


def give_up_older_boots() -> None:
    """Best effort: registering does it again, and the lease's end would do it later."""
    try:
        settings = load_settings(WorkerSettings)
    except SettingsError:
        return  # said by main, once
    if error := free_slot(settings.database_url, settings.worker_slot):
        sys.stderr.write(f"fencepost: the slot's older boots are given up at registration: {error}\n")


def main() -> None:
    give_up_older_boots()
    from fencepost_worker.main import main as serve

    serve()


if __name__ == "__main__":
    main()
