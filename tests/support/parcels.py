"""The reference provider: docs/examples/parcels/provider.py as a real process, and a module that calls it."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from tests.support.gateway import module_folder

SCRIPT: Final = Path(__file__).parents[2] / "docs" / "examples" / "parcels" / "provider.py"
TOKEN: Final = "parcel-token-7f3a9c"
SECRET: Final = "parcels_token"
SEND: Final = {"to": "Bob", "what": "book"}


@dataclass(slots=True)
class Provider:
    """The running provider. What it says in `log` is what happened to the world."""

    url: str
    http: httpx.AsyncClient

    async def switch(self, **asked: Any) -> None:
        (await self.http.post("/switch", json=asked)).raise_for_status()

    async def log(self) -> list[dict[str, Any]]:
        return list((await self.http.get("/log")).json())

    async def sent(self, key: str | None = None) -> int:
        """How many parcels really left, of a key or at all."""
        return sum(one["what"] == "sent" and key in (None, one["key"]) for one in await self.log())

    async def counts(self) -> Counter[str]:
        return Counter(one["what"] for one in await self.log())


@asynccontextmanager
async def providing_parcels() -> AsyncIterator[Provider]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), "--port", "0", "--token", TOKEN, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().split()[-1]
    try:
        async with httpx.AsyncClient(base_url=url, timeout=30.0) as http:
            yield Provider(url, http)
    finally:
        process.kill()
        await process.wait()


def contract(url: str, *, timeout: float = 2.0, settle_within: float = 1.0, key_memory: int = 60) -> str:
    """A module `probe` with the same parcel under each class, each low in risk but for the opaque one."""
    common = f"""\
    version: "1"
    timeout_seconds: {timeout}
    settle_within_seconds: {settle_within}
    input_schema:
      type: object
      additionalProperties: false
      required: [to, what]
      properties: {{to: {{type: string}}, what: {{type: string}}, at: {{type: string}}}}
    output_schema:
      type: object
      required: [id]
      properties: {{id: {{type: string}}}}
"""
    call = f"""\
    http:
      url: {url}/parcels
      external_id: /id
      credential: {{secret: {SECRET}}}
"""
    look = f"""\
      lookup: {{url: "{url}/parcels/by-key/{{effect_key}}", external_id: /id}}
"""
    keyed = "      key_header: Idempotency-Key\n"
    memory = f"    key_memory_seconds: {key_memory}\n"

    def back(name: str, effect_class: str, *parts: str, risk: str = "low") -> str:
        return f"""\
  - name: probe.{name}
    description: Calls a parcel back.
    risk: {risk}
    effect_class: {effect_class}
    timeout_seconds: {timeout}
    settle_within_seconds: {settle_within}
    input_schema:
      type: object
      additionalProperties: false
      required: ["id"]
      properties: {{id: {{type: string}}}}
    output_schema: {{type: object, required: [called_back], properties: {{called_back: {{type: boolean}}}}}}
{"".join(parts)}\
    http:
      method: DELETE
      url: "{url}/parcels/{{id}}"
      key_header: Idempotency-Key
      credential: {{secret: {SECRET}}}
"""

    def undone(by: str, place: str = "/external_id") -> str:
        return f"    compensate: {{tool: probe.{by}, arguments: {{id: {place}}}}}\n"

    look_back = f"""\
      lookup: {{url: "{url}/callbacks/by-key/{{effect_key}}"}}
"""

    def tool(name: str, effect_class: str, *parts: str, risk: str = "low") -> str:
        head = f"  - name: probe.{name}\n    description: Sends a parcel.\n    risk: {risk}\n"
        return head + f"    effect_class: {effect_class}\n" + common + "".join(parts)

    return "\n".join(
        (
            'version: "1"',
            "agent_name: probe",
            "allowed_tools:",
            tool("idempotent", "external_idempotent", memory, undone("call_back"), call, keyed),
            tool("keyless", "external_idempotent", call, keyed),
            tool("idempotent_look", "external_idempotent", memory, call, keyed, look),
            tool("queryable", "external_queryable", undone("call_back_look"), call, keyed, look),
            tool("opaque", "external_opaque", undone("call_back_opaque", "/result/id"), call),
            tool("asked", "external_idempotent", memory, call, keyed, risk="medium"),
            back("call_back", "external_idempotent", memory),
            back("call_back_look", "external_queryable") + look_back,
            back("call_back_opaque", "external_opaque", risk="high"),
            f"""\
  - name: probe.find
    description: Finds a parcel by its key.
    risk: low
    effect_class: none
    timeout_seconds: {timeout}
    input_schema:
      type: object
      additionalProperties: false
      required: [key]
      properties: {{key: {{type: string}}}}
    output_schema: {{type: object, required: [id], properties: {{id: {{type: string}}}}}}
    http:
      method: GET
      url: "{url}/parcels/by-key/{{key}}"
      credential: {{secret: {SECRET}}}
...
""",
        )
    )


def parcels_module(url: str, **more: Any) -> Path:
    """The folder that FENCEPOST_MODULES_DIR would name."""
    return module_folder(contract(url, **more), "")


def secrets_folder(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / SECRET).write_text(TOKEN)
    return folder
