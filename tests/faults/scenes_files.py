"""What becomes of files while somebody dies: uploaded, looked at, erased."""

from __future__ import annotations

from fencepost.errors import ApiError
from fencepost_cli.anchor_files import erase_run

from tests.faults.mesh import Mesh
from tests.faults.people import REMIND, Person


async def uploaded(mesh: Mesh, person: Person, point: str) -> None:
    """A file sent while the api dies: sent again under its key it is one artifact, whole."""
    mesh.arm(point)
    person.is_ready.set()
    artifact = await person.upload(b"whole")
    await mesh.hit(point)
    assert await person.content(artifact) == b"whole"
    [(rows,)] = await mesh.sql("SELECT count(*) FROM agent.artifacts WHERE tenant_id = %s", person.tenant)
    assert rows == 1


async def scanned(mesh: Mesh, person: Person, point: str) -> None:
    """The scan dies over an artifact: it is looked at again, and is what it was."""
    person.is_ready.set()
    artifact = await person.upload(b"whole")
    mesh.arm(point)
    await mesh.sql(
        "UPDATE agent.artifacts SET checked_at = checked_at - interval '2 days' WHERE id = %s", artifact["id"]
    )
    await mesh.hit(point)
    await mesh.until(
        "SELECT checked_at > clock_timestamp() - interval '1 day' AND lost IS NULL"
        " FROM agent.artifacts WHERE id = %s",
        artifact["id"],
    )
    assert await person.content(artifact) == b"whole"


async def erased(mesh: Mesh, person: Person, point: str) -> None:
    """The reconciler dies over an erased file's bytes: gone, and the list is worked off after all."""
    artifact = await person.upload(b"to be forgotten")
    run = await person.ask(REMIND.format(title="go home"), attachments=[artifact["id"]])
    run = await person.asked(run)
    await person.decide(run, decision="approve")
    person.reminders.append("go home")
    await person.ends(run, "succeeded")
    mesh.arm(point)
    person.is_ready.set()
    gone = await erase_run(mesh.running.dsn(), run["id"], "asked")
    assert gone.files == 1
    await mesh.hit(point)
    await mesh.until(
        "SELECT removed_at IS NOT NULL FROM agent.artifact_removals WHERE artifact_id = %s", artifact["id"]
    )
    try:
        await person.client.content(artifact["id"])
    except ApiError as error:
        assert error.code == "artifact_erased"
    else:
        raise AssertionError("an erased file was given out")
