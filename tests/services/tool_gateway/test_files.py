"""Files that tools read and make: registered with their outcome, seen by their own run's user alone."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from fencepost_runtime.artifacts import ArtifactMissing, ArtifactsUnavailable, ids_of, key_of
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_runtime.failpoints import Action, arm
from fencepost_runtime.system import SystemIds
from fencepost_store import artifacts as registry
from fencepost_tool_gateway.files import Shelf

from tests.support.gateway import Served, code, module_folder, process, serving
from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives

CONTRACT = 'version: "1"\nagent_name: probe\nallowed_tools:\n' + "".join(
    f"""\
  - name: probe.{kind}
    description: It {kind}.
    risk: {risk}
    effect_class: {effect}
    timeout_seconds: 5
    takes_time: true
    input_schema: {{type: object, additionalProperties: false, properties: {{file: {{type: string}},
      text: {{type: string}}, name: {{type: string}}, replaces: {{type: string}}}}}}
    output_schema: {{type: object}}
"""
    for kind, effect, risk in [
        ("makes", "local", "low"), ("asks", "local", "medium"), ("reads", "none", "low"),
        ("sneaks", "none", "low"), ("lies", "local", "low"), ("floods", "local", "low"),
        ("writes", "local", "low"), ("fails", "local", "low"), ("moved", "local", "low"),
        ("peeks", "none", "low"),
    ]
) + "...\n"  # fmt: skip
TOOLS = """\
from uuid import UUID
from fencepost import Plan, Result, tool
from fencepost.authoring import listing
from fencepost.files import NewArtifact

def made(args, ctx, **more):
    data = args.get("text", "hello").encode()
    return ctx.new_artifact(args.get("name", "note.md"), "text/markdown", data, evidence={"words": 1}, **more)

class Made:
    async def make(self, args, ctx):
        old = UUID(args["replaces"]) if "replaces" in args else None
        file = made(args, ctx, status="verified", replaces=old)
        return Result({"artifact_id": str(file.id)}, artifacts=[file])

@tool("probe.makes")
class Makes(Made): ...

@tool("probe.asks")
class Asks(Made): ...

@tool("probe.sneaks")
class Sneaks(Made): ...

@tool("probe.reads")
class Reads:
    async def make(self, args, ctx):
        found = await ctx.read_artifact(args["file"], pointer="/file")
        known = {"name": found.name, "type": found.media_type, "sha256": found.sha256}
        return {"text": found.data.decode(), **known}

@tool("probe.peeks")
class Peeks:
    async def prepare(self, args, ctx):
        await ctx.read_artifact(args["file"], pointer="/file")
        return listing("probe.peeks", args)
    async def commit(self, args, ctx):
        return {"size": len((await ctx.read_artifact(args["file"])).data)}

@tool("probe.lies")
class Lies:
    async def make(self, args, ctx):
        return Result({}, artifacts=[NewArtifact(ctx.new_id, "../../x.pdf", "application/pdf", b"no pdf")])

@tool("probe.floods")
class Floods:
    async def make(self, args, ctx):
        return Result({}, artifacts=[made(args, ctx) for _ in range(21)])

@tool("probe.writes")
class Writes:
    async def make(self, args, ctx):
        return await ctx.tx.row("anything")

@tool("probe.fails")
class Fails:
    async def make(self, args, ctx):
        made(args, ctx)
        raise RuntimeError("password=hunter2")

SEEN = [1]

@tool("probe.moved")
class Moved(Made):
    async def prepare(self, args, ctx):
        return Plan(listing("m", args).preview, listing("m", args).change, precondition={"n": len(SEEN)})
    async def precondition(self, args, ctx):
        return {"n": len(SEEN)}
    async def make(self, args, ctx):
        SEEN.append(1)
        return await super().make(args, ctx)
"""
MODULES = module_folder(CONTRACT, TOOLS)
IDS = SystemIds()


@pytest.fixture
def bytes_(tmp_path: Path) -> FilesystemArtifacts:
    return FilesystemArtifacts(tmp_path / "artifacts", IDS)


@pytest.fixture
async def probed(lives: Lives, bytes_: FilesystemArtifacts) -> AsyncIterator[Served]:
    async with serving(lives, dirs=[MODULES], shelf=Shelf(bytes_, 1000)) as running:
        yield running


async def done(served: Served, held: Any, tool: str, index: int = 0, **arguments: str) -> dict[str, Any]:
    action = await served.prepared(held, tool, arguments, index=index)
    response = await served.commit(held, action)
    assert response.status_code == 200, response.text
    return dict(response.json())


async def kept(bytes_: FilesystemArtifacts) -> list[str]:
    return [str(ids_of(one.key)[1]) async for one in bytes_.stored()]


async def uploaded(
    lives: Lives, bytes_: FilesystemArtifacts, *, tenant: UUID = TENANT, user: str = USER, **more: Any
) -> str:
    new, data = IDS.uuid7(), b"attached"
    await bytes_.put(key_of(tenant, new), data)
    digest = hashlib.sha256(data).digest()
    async with lives.api.transaction(tenant) as tx:
        await registry.add_artifact(
            tx, registry.NewArtifact(new, tenant, user, "a.txt", "text/plain", len(data), digest, **more)
        )
    return str(new)


async def attach(lives: Lives, run_id: UUID, *files: str) -> None:
    await lives.sql(
        "UPDATE agent.runs SET input = input || jsonb_build_object('attachments', CAST(%s AS text[]))"
        " WHERE id = %s",
        list(files),
        run_id,
    )


async def test_a_made_file_its_row_and_its_event_are_one_with_the_outcome(
    probed: Served, bytes_: FilesystemArtifacts
) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.makes", {"text": "周报", "name": "../报告\u202egpj.md"})
    first = (await probed.commit(held, action)).json()
    made = first["result"]["artifact_id"]
    assert (await probed.commit(held, action)).json() == {**first, "replayed": True}
    [row] = await probed.lives.sql("SELECT * FROM agent.artifacts")
    assert (str(row["id"]), row["run_id"], row["user_id"]) == (made, held.run.id, USER)
    assert (row["name"], row["status"], row["origin"], row["version"]) == (
        "报告gpj.md",
        "verified",
        "tool",
        1,
    )
    assert row["evidence"] == {"words": 1, "read_back": True, "tool": "probe.makes", "index": 0}
    assert await bytes_.read(key_of(TENANT, UUID(made))) == "周报".encode()
    assert await kept(bytes_) == [made]
    assert (await probed.lives.event_types(held.run.id))[-2:] == ["action.committed", "artifact.created"]
    assert await probed.lives.violations() == []


async def test_the_final_message_comes_with_the_files_made_each_in_its_newest_version(probed: Served) -> None:
    held = await probed.bound(module="probe")
    first = (await done(probed, held, "probe.makes"))["result"]["artifact_id"]
    newer = (await done(probed, held, "probe.makes", 1, replaces=first))["result"]["artifact_id"]
    other = (await done(probed, held, "probe.makes", 2))["result"]["artifact_id"]
    await probed.lives.finalize(held)
    [row] = await probed.lives.sql("SELECT artifacts FROM agent.messages WHERE author = 'assistant'")
    assert row["artifacts"] == [newer, other]


async def test_a_file_is_read_by_the_run_that_made_it_and_by_its_conversation(
    probed: Served, bytes_: FilesystemArtifacts
) -> None:
    held = await probed.bound(module="probe")
    made = (await done(probed, held, "probe.makes"))["result"]["artifact_id"]
    read = await done(probed, held, "probe.reads", 1, file=made)
    digest = hashlib.sha256(b"hello").hexdigest()
    assert read["result"] == {"text": "hello", "name": "note.md", "type": "text/markdown", "sha256": digest}
    assert (await done(probed, held, "probe.peeks", 2, file=made))["result"] == {"size": 5}
    await probed.lives.finalize(held)
    later = await probed.bound(module="probe", conversation_id=held.run.conversation_id)
    assert (await done(probed, later, "probe.reads", file=made))["state"] == "completed"
    newer = await done(probed, later, "probe.makes", 1, replaces=made)
    [row] = await probed.lives.sql(
        "SELECT version, first_id FROM agent.artifacts WHERE id = %s", newer["result"]["artifact_id"]
    )
    assert (row["version"], str(row["first_id"])) == (2, made)


async def test_an_attachment_is_read_and_nothing_of_another_is(
    probed: Served, bytes_: FilesystemArtifacts
) -> None:
    lives, held = probed.lives, await probed.bound(module="probe")
    mine = await uploaded(lives, bytes_)
    hidden = await uploaded(lives, bytes_)  # mine, and of no run of this conversation
    anothers = await uploaded(lives, bytes_, user="somebody-else")
    foreign = await uploaded(lives, bytes_, tenant=OTHER_TENANT)
    await attach(lives, held.run.id, mine, anothers, foreign)
    assert (await done(probed, held, "probe.reads", file=mine))["result"]["text"] == "attached"
    for index, file in enumerate((hidden, anothers, foreign, str(IDS.uuid7()), "../etc/passwd"), start=1):
        answer = await done(probed, held, "probe.reads", index, file=file)
        assert (answer["state"], answer["error"]["code"]) == ("failed", "artifact_unknown"), file
    refused = await probed.prepare(held, "probe.peeks", {"file": hidden}, index=9)
    assert code(refused) == "calls_refused" and refused.json()["refusals"][0]["pointer"] == "/file"
    stolen = await probed.prepared(held, "probe.makes", {"replaces": hidden}, index=10)
    assert code(await probed.commit(held, stolen)) == "not_found"
    assert len(await kept(bytes_)) == 4, "what was refused isn't kept"


async def test_i29_what_is_lost_altered_or_rejected_is_not_read(
    probed: Served, bytes_: FilesystemArtifacts, tmp_path: Path
) -> None:
    lives, held = probed.lives, await probed.bound(module="probe")
    gone, altered = await uploaded(lives, bytes_), await uploaded(lives, bytes_)
    rejected = await uploaded(lives, bytes_, status=registry.ArtifactStatus.REJECTED)
    await attach(lives, held.run.id, gone, altered, rejected)
    await bytes_.delete(key_of(TENANT, UUID(gone)))
    (tmp_path / "artifacts" / str(TENANT) / altered).write_bytes(b"attacked")
    for index, (file, expected) in enumerate(
        {gone: "artifact_lost", altered: "artifact_lost", rejected: "artifact_rejected"}.items()
    ):
        answer = await done(probed, held, "probe.reads", index, file=file)
        assert answer["error"]["code"] == expected


async def test_what_is_no_file_is_refused_and_leaves_nothing(
    probed: Served, bytes_: FilesystemArtifacts
) -> None:
    held = await probed.bound(module="probe", budget={"actions": 100})
    wrong = {
        "lies": "artifact_refused", "floods": "artifact_refused", "sneaks": "result_invalid",
        "writes": "tool_failed", "fails": "tool_failed",
    }  # fmt: skip
    for index, (kind, expected) in enumerate(wrong.items()):
        answer = await done(probed, held, f"probe.{kind}", index)
        assert (answer["state"], answer["error"]["code"]) == ("failed", expected), kind
        assert "hunter2" not in str(answer)
    large = await done(probed, held, "probe.makes", 9, text="x" * 1001)
    assert large["error"]["code"] == "artifact_refused" and "1000" in large["error"]["detail"]
    assert await kept(bytes_) == [] and await probed.count("agent.artifacts") == 0
    assert await probed.lives.violations() == []


async def test_what_the_plan_relied_on_changed_while_it_was_made(
    probed: Served, bytes_: FilesystemArtifacts
) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.moved", {})
    assert code(await probed.commit(held, action)) == "precondition_changed"
    assert await kept(bytes_) == [] and await probed.attempts() == 0


async def test_i12_a_file_for_approval_is_not_made_before_the_yes(
    probed: Served, bytes_: FilesystemArtifacts
) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.asks", {})
    assert code(await probed.commit(held, action)) == "not_approved"
    assert await kept(bytes_) == []
    held = await probed.approved(held, action)
    assert (await probed.commit(held, action)).json()["state"] == "completed"
    assert len(await kept(bytes_)) == 1


async def test_twins_make_it_once(probed: Served, bytes_: FilesystemArtifacts) -> None:
    held = await probed.bound(module="probe")
    action = await probed.prepared(held, "probe.makes", {})
    answers = await asyncio.gather(*(probed.commit(held, action) for _ in range(4)))
    assert len({one.json()["result"]["artifact_id"] for one in answers}) == 1
    assert len(await kept(bytes_)) == await probed.count("agent.artifacts") == 1


class Away(FilesystemArtifacts):
    async def put(self, key: str, data: bytes) -> None:
        raise ArtifactsUnavailable("away")


async def test_a_store_that_is_away_is_no_failure_of_the_tool(lives: Lives, tmp_path: Path) -> None:
    shelf = Shelf(Away(tmp_path / "artifacts", IDS))
    async with serving(lives, dirs=[MODULES], shelf=shelf) as probed:
        held = await probed.bound(module="probe")
        action = await probed.prepared(held, "probe.makes", {})
        answer = await probed.commit(held, action)
        assert (answer.status_code, code(answer)) == (503, "unavailable")
        assert await probed.attempts() == 0


async def test_without_a_store_a_tool_is_told_so(lives: Lives) -> None:
    async with serving(lives, dirs=[MODULES]) as probed:
        held = await probed.bound(module="probe")
        answer = await done(probed, held, "probe.makes")
        assert answer["error"]["code"] == "artifacts_unavailable"


async def test_killed_with_its_bytes_stored_it_is_made_again_and_the_rest_is_left_over(
    lives: Lives, tmp_path: Path
) -> None:
    store = FilesystemArtifacts(tmp_path / "data" / "artifacts", IDS)
    async with process(lives, tmp_path, MODULES, FENCEPOST_DATA_DIR=str(tmp_path / "data")) as gateway:
        served = gateway.served
        await served.catalogs.publish(lives.gateway)
        held = await served.bound(module="probe")
        action = await served.prepared(held, "probe.makes", {})
        arm(gateway.failpoints, "gateway.artifact.after_put", Action.KILL)
        with pytest.raises(httpx.TransportError):
            await served.commit(held, action)
        await gateway.ended()
        [left] = await kept(store)
        assert await served.count("agent.artifacts") == await served.attempts() == 0
        await gateway.start()
        made = (await served.commit(held, action)).json()["result"]["artifact_id"]
        assert sorted(await kept(store)) == sorted([left, made])
        async with lives.reconciler.transaction() as tx:
            nobodys, _ = await registry.without_row(tx, [UUID(left), UUID(made)])
        assert nobodys == {UUID(left)}
        await store.delete(key_of(TENANT, UUID(left)))
        with pytest.raises(ArtifactMissing):
            await store.read(key_of(TENANT, UUID(left)))
    assert await lives.violations() == []
