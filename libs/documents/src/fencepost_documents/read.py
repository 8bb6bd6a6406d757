"""Reading a document that a stranger sent: in a limited child process of its own, with nothing to take.

    document = await read_document(data, "报告.xlsx")

The child gets the bytes on stdin and answers with one JSON object. It starts in about 0.2 s (most of it the
parser's import), so there is neither a pool nor a fork server. At its limits its whole process group is
killed; the loop of a server isn't blocked meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Final

from pydantic import ValidationError

from fencepost_documents.errors import DocumentRefused
from fencepost_documents.ir import SourceDocument
from fencepost_documents.limits import DEFAULT, MIB, Limits

COMMAND: Final = (sys.executable, "-I", "-B", "-X", "utf8", "-m", "fencepost_documents.child")
ANSWER_BYTES: Final = 128 * MIB  # all text, four bytes a character, and its frame; more isn't our reader's
CHUNK: Final = 256 * 1024
NAME_SHOWN: Final = 200
SAID_ON_STDERR: Final = 400  # characters of it that go into a refusal


async def read_document_async(
    data: bytes, name: str, *, limits: Limits = DEFAULT, artifact_id: str = ""
) -> SourceDocument:
    """The document with its locators. name: as its owner calls it; only a hint.

    Raises DocumentRefused. Cancelling kills the child.
    """
    if len(data) > limits.bytes_max:
        raise DocumentRefused("too_large", f"{len(data)} bytes, {limits.bytes_max} are read")
    if not data:
        raise DocumentRefused("empty", "0 bytes")
    said = await ask_child(data, name, limits)
    if refused := said.get("refused"):
        raise DocumentRefused(str(refused["code"]), str(refused["detail"]), str(refused["where"]))
    digest = hashlib.sha256(data).hexdigest()
    try:
        return SourceDocument.model_validate(
            {**said, "name": name[:NAME_SHOWN], "artifact_id": artifact_id, "sha256": digest}
        )
    except ValidationError as error:
        raise DocumentRefused("reader_failed", f"its answer has {error.error_count()} faults") from error


def read_document(
    data: bytes, name: str, *, limits: Limits = DEFAULT, artifact_id: str = ""
) -> SourceDocument:
    """The same for callers without a loop, and for those inside one who may block it (tests, scripts)."""
    with ThreadPoolExecutor(1) as thread:
        reading = read_document_async(data, name, limits=limits, artifact_id=artifact_id)
        return thread.submit(asyncio.run, reading).result()


async def ask_child(
    data: bytes, name: str, limits: Limits, command: Sequence[str] = COMMAND
) -> dict[str, Any]:
    """What a limited child says of the bytes: a JSON object, not looked at further. Raises DocumentRefused.

    command: a program that reads a header line and the bytes, as `fencepost_documents.child` does.
    """
    plain = asdict(limits) | {"wall": limits.wall.total_seconds()}
    header = json.dumps({"name": name[:NAME_SHOWN], "limits": plain}).encode() + b"\n"
    with tempfile.TemporaryDirectory(prefix="fencepost-reader-") as empty:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=empty, env={}, start_new_session=True
        )
        try:
            async with asyncio.timeout(limits.wall.total_seconds()):
                answer, errors = await _talk(child, header, data)
        except TimeoutError:
            raise DocumentRefused("too_expensive", f"more than {limits.wall.total_seconds():g} s") from None
        finally:
            await _end(child)
    if child.returncode == 0 and answer:
        return _parsed(answer)
    raise _why(child.returncode or 0, errors)


async def _talk(child: Process, header: bytes, data: bytes) -> tuple[bytes, bytes]:
    assert child.stdin and child.stdout and child.stderr  # all three are pipes

    async def feed(stdin: asyncio.StreamWriter) -> None:
        try:
            stdin.write(header)
            for at in range(0, len(data), CHUNK):
                stdin.write(data[at : at + CHUNK])
                await stdin.drain()
            stdin.close()
            await stdin.wait_closed()
        except (BrokenPipeError, ConnectionResetError):
            return  # it ended early; how, its exit says

    async with asyncio.TaskGroup() as parts:
        parts.create_task(feed(child.stdin))
        answer = parts.create_task(_at_most(child.stdout, ANSWER_BYTES))
        errors = parts.create_task(_at_most(child.stderr, MIB))
    await child.wait()
    return answer.result(), errors.result()


async def _at_most(stream: asyncio.StreamReader, limit: int) -> bytes:
    """All of it; nothing once it is longer than it may be, while the rest is thrown away."""
    parts, size = list[bytes](), 0
    while chunk := await stream.read(CHUNK):
        size += len(chunk)
        if size <= limit:
            parts.append(chunk)
    return b"".join(parts) if size <= limit else b""


async def _end(child: Process) -> None:
    """The whole group: whatever it could have started goes with it."""
    with contextlib.suppress(ProcessLookupError):  # gone already
        os.killpg(child.pid, signal.SIGKILL)
    await child.wait()


def _parsed(answer: bytes) -> dict[str, Any]:
    try:
        said = json.loads(answer)
    except ValueError as error:
        raise DocumentRefused("reader_failed", "its answer is not JSON") from error
    if not isinstance(said, dict):
        raise DocumentRefused("reader_failed", "its answer is no object")
    return said


def _why(status: int, errors: bytes) -> DocumentRefused:
    if status == -signal.SIGXCPU:
        return DocumentRefused("too_expensive", "its CPU time ran out")
    last = errors.decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]
    if status == -signal.SIGKILL:
        return DocumentRefused("too_expensive", "its CPU time ran out")  # the hard limit of RLIMIT_CPU
    if "MemoryError" in last:
        return DocumentRefused("out_of_memory", last[:SAID_ON_STDERR])
    return DocumentRefused("reader_failed", f"exit {status}: {last}"[:SAID_ON_STDERR])
