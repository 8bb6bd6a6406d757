"""A real browser, driven over its own pipe (Chrome DevTools Protocol, messages that end with NUL).

No driver and no port: the process reads commands from file descriptor 3 and answers on 4.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.eventually import eventually

CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")
_OPTIONS: Final = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--remote-debugging-pipe", "about:blank",
)  # fmt: skip


class Browser:
    """One tab. What a page does is what a person's browser would let it do."""

    def __init__(self, commands: int, reader: asyncio.StreamReader) -> None:
        self._commands, self._reader = commands, reader
        self._numbers, self._session = itertools.count(1), ""

    async def say(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer; events in between are passed over."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        async with asyncio.timeout(30):
            while True:
                heard = json.loads((await self._reader.readuntil(b"\0"))[:-1])
                if heard.get("id") == number:
                    assert "error" not in heard, heard
                    return dict(heard["result"])

    async def attach(self) -> None:
        target = await self.say("Target.createTarget", url="about:blank")
        attached = await self.say("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        await self.say("Page.enable")

    async def open(self, url: str) -> None:
        await self.say("Page.navigate", url=url)
        await eventually(
            lambda: self.js("document.readyState === 'complete' && location.href !== 'about:blank'")
        )

    async def js(self, expression: str) -> Any:
        found = await self.say("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    async def text(self) -> str:
        return str(await self.js("document.body.innerText"))

    async def click(self, selector: str) -> None:
        """Where a mouse would: in the middle of what is shown."""
        place = f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView();"
        place += " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()"
        x, y = await self.js(place)
        for kind in ("mousePressed", "mouseReleased"):
            await self.say("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


@asynccontextmanager
async def browsing(folder: Path) -> AsyncIterator[Browser]:
    assert CHROMIUM is not None, "chromium isn't installed (.ci/run installs it)"
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    def place() -> None:  # in the child: the pipe's ends have to be 3 and 4
        os.dup2(theirs_in, 13)
        os.dup2(theirs_out, 14)
        os.dup2(13, 3)
        os.dup2(14, 4)

    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        CHROMIUM, f"--user-data-dir={folder}", *_OPTIONS,
        close_fds=False, preexec_fn=place, stdout=quiet, stderr=quiet,
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    reader = asyncio.StreamReader(limit=32 * 1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_in, "rb")
    )
    try:
        browser = Browser(ours_out, reader)
        await browser.attach()
        yield browser
    finally:
        process.kill()
        await process.wait()
        os.close(ours_out)
