"""An S3 server for tests: a real one where it was built, and a stand-in that always runs.

The real one is started from FENCEPOST_TEST_S3_BIN or ~/.cache/fencepost/versitygw (build_s3_server.sh).
The stand-in speaks what our adapter uses: PUT that refuses to overwrite, GET, DELETE, list; it asks for a
signature and can be told to fail.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import httpx
from fencepost_cli.embedded.ports import free_port
from fencepost_runtime.artifacts.s3 import S3Artifacts
from fencepost_runtime.system import SystemClock

from tests.support.http_requests import read_request

TRIES = 300  # of 0.1 s
NONE_BUILT = "no S3 server was built (scripts/build_s3_server.sh, it takes Go 1.25)"
KEY_ID, SECRET, BUCKET = "test-access", "test-secret-0123456789", "artifacts"


@dataclass(slots=True)
class S3:
    """endpoint: of the server. standin: the one in this process, None where it is a real one."""

    endpoint: str
    standin: StandIn | None = None


def artifacts(server: S3, prefix: str = "", secret: str = SECRET) -> S3Artifacts:
    keys = keys_of(secret)
    return S3Artifacts(
        BUCKET, prefix, region="us-east-1", endpoint=server.endpoint, keys=keys, clock=SystemClock()
    )


def keys_of(secret: str = SECRET) -> Callable[[], Awaitable[tuple[str, str]]]:
    async def keys() -> tuple[str, str]:
        return KEY_ID, secret

    return keys


def server_binary() -> Path | None:
    """Where a real server was built, None where none was."""
    named = os.environ.get("FENCEPOST_TEST_S3_BIN")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost" / "versitygw"
    found = Path(named) if named else cache
    return found if os.access(found, os.X_OK) else None


@asynccontextmanager
async def real(binary: Path, port: int | None = None, folder: Path | None = None) -> AsyncIterator[S3]:
    """Versity's S3 gateway over a folder, with a bucket and one identity.

    port, folder: of a server that comes back where it was; None for others and its own.
    """
    kept = folder or Path(tempfile.mkdtemp(prefix="fencepost-s3-"))
    for name in ("objects", "metadata"):  # beside the objects: not every file system has extended attributes
        (kept / name).mkdir(exist_ok=True)
    (kept / "objects" / BUCKET).mkdir(exist_ok=True)
    address = f"127.0.0.1:{port or free_port()}"
    given = os.environ | {"ROOT_ACCESS_KEY_ID": KEY_ID, "ROOT_SECRET_ACCESS_KEY": SECRET}
    quiet = asyncio.subprocess.DEVNULL
    arguments = ["--port", address, "--quiet", "posix", "--sidecar", kept / "metadata", kept / "objects"]
    process = await asyncio.create_subprocess_exec(binary, *arguments, env=given, stdout=quiet, stderr=quiet)
    try:
        async with httpx.AsyncClient(trust_env=False) as client:
            await _answers(client, f"http://{address}/", process)
        yield S3(f"http://{address}")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        if folder is None:
            shutil.rmtree(kept, ignore_errors=True)


async def _answers(client: httpx.AsyncClient, url: str, process: asyncio.subprocess.Process) -> None:
    for _ in range(TRIES):
        assert process.returncode is None, "the S3 server ended at once"
        try:
            await client.get(url)
        except httpx.TransportError:
            await asyncio.sleep(0.1)
        else:
            return
    raise AssertionError("the S3 server did not start")


@dataclass(slots=True)
class StandIn:
    """objects: by path. fail: the status every request gets instead."""

    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    fail: int | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                line, headers, body = await read_request(reader)
                status, answer, told = self.answer(*line.split()[:2], headers, body)
                told |= {"Content-Length": str(len(answer)), "ETag": f'"{hashlib.md5(answer).hexdigest()}"'}
                lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
                writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, bytes, dict[str, str]]:
        url = urlsplit(target)
        path = unquote(url.path).removeprefix(f"/{BUCKET}").lstrip("/")
        if self.fail is not None:
            return self.fail, f"<Error><Message>{SECRET}</Message></Error>".encode(), {}
        if f"Credential={KEY_ID}/" not in headers.get("authorization", ""):
            return 403, b"<Error><Code>AccessDenied</Code></Error>", {}
        if method == "PUT":
            if headers.get("if-none-match") == "*" and path in self.objects:
                return 412, b"<Error><Code>PreconditionFailed</Code></Error>", {}
            self.objects[path] = (body, datetime.now(UTC))
            return 200, b"", {}
        if method == "POST" and url.query == "delete":  # the only way our library removes
            keys = re.findall(r"<Key>([^<]+)</Key>", body.decode())
            for key in keys:
                self.objects.pop(key, None)
            gone = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return 200, f"<DeleteResult>{gone}</DeleteResult>".encode(), {}
        if not path:
            return 200, self._listed(parse_qs(url.query).get("prefix", [""])[0]), {}
        if path not in self.objects:
            return 404, b"<Error><Code>NoSuchKey</Code></Error>", {}
        data, at = self.objects[path]
        return 200, data, {"Last-Modified": at.strftime("%a, %d %b %Y %H:%M:%S GMT")}

    def _listed(self, prefix: str) -> bytes:
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{at.isoformat()}</LastModified><Size>{len(data)}</Size>"
            f"<ETag>x</ETag></Contents>"
            for key, (data, at) in sorted(self.objects.items())
            if re.match(re.escape(prefix), key)
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode()


@asynccontextmanager
async def standing_in(port: int = 0) -> AsyncIterator[S3]:
    standin = StandIn()
    server = await asyncio.start_server(standin.serve, "127.0.0.1", port, limit=2**20)
    async with server:
        yield S3(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", standin)
