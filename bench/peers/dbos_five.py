"""DBOS: five steps as a workflow on a queue. `python dbos_five.py DSN enqueue N | work`."""

import sys
import time

from dbos import DBOS, DBOSClient, DBOSConfig

DSN, WHAT = sys.argv[1], sys.argv[2]
QUEUE = "five"


@DBOS.step()
def step(n: int, said: list) -> list:
    return [*said, f"step {n}"]


@DBOS.workflow()
def five(text: str) -> list:
    said: list = []
    for n in range(1, 6):
        said = step(n, said)
    return said


config: DBOSConfig = {
    "name": "five",
    "system_database_url": DSN,
    "log_level": "WARNING",
    "application_version": "1",
    "executor_id": sys.argv[3] if WHAT == "work" else "setup",
}
if WHAT == "setup":
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=16, polling_interval_sec=0.1)
    DBOS.destroy()
elif WHAT == "enqueue":
    client = DBOSClient(system_database_url=DSN)
    for _ in range(int(sys.argv[3])):
        client.enqueue({"queue_name": QUEUE, "workflow_name": "five", "app_version": "1"}, "hello")
else:
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=16, polling_interval_sec=0.1)
    while True:
        time.sleep(60)
