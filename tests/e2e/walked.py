"""Each way by which a secret could get out of an outfitted mesh, walked once."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import httpx
from fencepost.aio import AsyncClient
from fencepost.requests import Request

from tests.e2e.conftest import Caller
from tests.e2e.outfitted import FILE_KEY, TOOL_KEY, Outfit
from tests.support.scripted_model import DONE, call, event, finish, say, text_answer
from tests.support.scripted_roles import ScriptedRoles

TENANT = str(uuid4())


def person(outfit: Outfit, *roles: str) -> str:
    """A token of the one user of these tests; the roles beside."""
    return outfit.mesh.identity.mint_token("u1", TENANT, ("user", *roles))


async def lived(outfit: Outfit, client: AsyncClient, *answers: Any, asked: int = 1) -> dict[str, Any]:
    """A run whose model answers so, until it waits or has ended; whatever anybody could see of it is kept."""
    outfit.script(*answers)
    made = await client.create_run("hello", idempotency_key=str(uuid4()), zone="Etc/UTC", module="probe")
    run = dict(await client.wait(made["id"], 60))
    for what in ("", "/events", "/export", *(["/stream"] if run["finished_at"] else [])):
        outfit.seen.append((await client.send(Request("GET", f"/v1/runs/{run['id']}{what}"))).text)
    return run


def calls(*names: str) -> list[bytes]:
    """An answer that calls these tools."""
    made = [
        call(f"probe__{name}", ARGUMENTS.get(name, "{}"), index=place, id=f"c{place}")
        for place, name in enumerate(names)
    ]
    return [*made, finish("tool_calls"), DONE]


ARGUMENTS = {"search": '{"words": "x"}', "add_page": '{"title": "Home"}'}


async def everything_done(outfit: Outfit, client: AsyncClient, operator: AsyncClient) -> dict[str, Any]:
    """Each way by which a secret could get out, walked once; the run that made a file."""
    plan = {"objective": f"with {FILE_KEY}", "success_criteria": [FILE_KEY], "steps": [
        {"id": "make", "title": f"about {FILE_KEY}", "tool": "probe.make_report", "observable": FILE_KEY},
    ]}  # fmt: skip
    answered = text_answer(f"your key is {FILE_KEY}")
    await lived(outfit, client, calls("send", "refused", "search", "put"), answered)
    asked = await lived(outfit, client, calls("add_page"))
    outfit.script(answered)
    await client.resolve(asked["interrupt"]["id"], {"decision": "approve"}, idempotency_key=str(uuid4()))
    outfit.seen.append(str(await client.wait(asked["id"], 60)))
    half = [
        say(f"half {FILE_KEY[:9]}"),
        say(FILE_KEY[9:]),
        event({"error": {"message": f"key {FILE_KEY} is bad", "code": 401}}),
    ]
    await lived(outfit, client, [*half, DONE])
    # What was put is taken back by a run of its own.
    effects = (await operator.send(Request("GET", "/v1/effects", params={"state": "completed"}))).json()[
        "items"
    ]
    done = next(one for one in effects if one["tool"] == "probe.put")
    body = {"reason": "a mistake"}
    undone = await operator.send(
        Request("POST", f"/v1/effects/{done['id']}/compensation", body, key=str(uuid4()))
    )
    await operator.wait(undone.json()["compensation_run_id"], 60)
    roles = ScriptedRoles(
        [("probe.make_report", {"objective": FILE_KEY})],
        [plan],
        [{"arguments": {"title": f"of {FILE_KEY}"}, "used_locators": []}],
        responder=[f"made with {FILE_KEY}"],
    )
    outfit.model.script = roles  # type: ignore[assignment]
    made = await lived(outfit, client)
    assert made["artifacts"], made
    simulated = await client.send(Request("POST", f"/v1/runs/{made['id']}/simulations", {}, key=str(uuid4())))
    await client.wait(simulated.json()["id"], 60)
    outfit.seen.append(
        (await client.send(Request("GET", f"/v1/runs/{simulated.json()['id']}/difference"))).text
    )
    report = {"module": "probe", "last": 5, "substitutes": {}}
    outfit.seen.append(
        (await operator.send(Request("POST", "/v1/simulations", report, key=str(uuid4())))).text
    )
    return made


async def at_the_door(outfit: Outfit, client: AsyncClient, run: dict[str, Any]) -> list[str]:
    """What strangers are told, and what the commands print and save."""
    told = []
    token = person(outfit)
    async with httpx.AsyncClient(base_url=outfit.mesh.url, trust_env=False) as bare:
        for shown in (f"Bearer {token}x", f"Bearer {TOOL_KEY}"):
            told.append((await bare.get("/v1/runs", headers={"Authorization": shown})).text)
        told.append((await bare.get("/v1/feed", params={"ticket": TOOL_KEY})).text)
    folder = outfit.mesh.data_dir / "saved"
    for words in (["files", run["id"], "-o", str(folder)], ["replay", run["id"]], ["stuck"]):
        said = await asyncio.to_thread(Caller(outfit.mesh, TENANT, client).cli, *words)
        told += [said.stdout, said.stderr]
    told += [path.read_text() for path in folder.iterdir()]
    assert any("report.md" in path.name for path in folder.iterdir())
    return told
