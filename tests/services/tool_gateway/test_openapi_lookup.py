"""A tool of an OpenAPI document whose look-up is another operation of it: sent once, looked up by its key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from fencepost_domain.effect import effect_key
from fencepost_store import pins
from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.world import outside_world

from tests.services.tool_gateway.test_outside import effect, look, over
from tests.support.fixed_secrets import FixedSecrets
from tests.support.gateway import Served, serving
from tests.support.lives import Lives
from tests.support.parcels import SECRET, SEND, TOKEN, Provider, providing_parcels

DOCUMENT = """\
openapi: 3.1.0
info: {title: Parcels, version: "1"}
servers: [{url: "SERVER"}]
paths:
  /parcels:
    post:
      operationId: sendParcel
      summary: Send a parcel.
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [to, what]
              properties: {to: {type: string}, what: {type: string}}
      responses: {"201": {description: sent}}
  /parcels/by-key/{key}:
    parameters: [{name: key, in: path, required: true, schema: {type: string}}]
    get: {operationId: parcelByKey, responses: {"200": {description: it}}}
...
"""
CONTRACT = f"""\
version: "1"
agent_name: post
sources:
  - {{name: parcels, openapi: parcels.yaml, credential: {{secret: {SECRET}}}}}
allowed_tools:
  - name: post.send_parcel
    from:
      source: parcels
      operation: sendParcel
      key_header: Idempotency-Key
      external_id: /id
      lookup: {{operation: parcelByKey, key_argument: key, found: /id, external_id: /id}}
    risk: low
    effect_class: external_queryable
    timeout_seconds: 2
    settle_within_seconds: 1
...
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[Provider]:
    async with providing_parcels() as running:
        yield running


@pytest.fixture
async def post(lives: Lives, provider: Provider, tmp_path: Path) -> AsyncIterator[Served]:
    module = tmp_path / "modules" / "post"
    module.mkdir(parents=True)
    (module / "contract.yaml").write_text(CONTRACT)
    (module / "parcels.yaml").write_text(DOCUMENT.replace("SERVER", provider.url))
    world = outside_world(FixedSecrets(**{SECRET: TOKEN}), Egress())
    async with serving(lives, dirs=[module.parent], outside=world) as served:
        await served.catalogs.look(lives.gateway)
        async with lives.api.transaction() as tx:
            [pin] = await pins.list_pins(tx)
            accepted = {"module": pin.module, "tool": pin.tool, "fingerprint": pin.fingerprint}
            await pins.decide_pin(tx, **accepted, wanted="accepted", who="op")
        await served.catalogs.follow(lives.gateway)
        await provider.switch(mode="normal", times=0, visible_after=0, lookup_fails=False, no_keys=False)
        yield served


@pytest.mark.parametrize(("mode", "found"), [("accept_then_drop", True), ("error", False)])
async def test_i10_it_is_looked_up_by_another_operation_of_its_document(
    post: Served, provider: Provider, mode: str, found: bool
) -> None:
    held = await post.bound(module="post")
    action = await post.prepared(held, "post.send_parcel", SEND)
    key = effect_key(held.run.id, 0)
    await provider.switch(mode=mode)
    assert (await post.commit(held, action)).status_code == 202
    assert (await effect(post, key))["state"] == "unknown"
    await over(post, key)
    assert (await look(post, held))["state"] == ("completed" if found else "absent")
    answer = (await post.commit(held, action)).json()
    assert answer["state"] == "completed" and answer["result"]["id"]
    # The other side's name for it, from the look-up's answer or from that of the operation itself.
    assert (await effect(post, key))["external_id"] == answer["result"]["id"]
    assert await provider.sent(key) == 1
    whats = [one["what"] for one in await provider.log() if one.get("key") == key]
    assert whats == (["sent", "looked"] if found else ["error", "looked", "sent"])
    assert await post.lives.violations() == []
