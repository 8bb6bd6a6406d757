"""Every file of the corpus gives its content with places, or says why not; nothing hangs, nothing leaks."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.ir import SourceDocument
from fencepost_documents.problems import PROBLEMS, REFUSALS, explain
from fencepost_documents.read import read_document_async

from tests.documents.made.corpus import CORPUS, Row, World

CANARY = "CANARY-7f3a-in-a-file-of-this-machine"


class Trap:
    """A server that counts who comes."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.callers = 0
        self._thread = threading.Thread(target=self._count, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _count(self) -> None:
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            self.callers += 1
            caller.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join()


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    trap = Trap()
    yield trap
    trap.close()


@pytest.fixture(scope="module")
def world(trap: Trap, tmp_path_factory: pytest.TempPathFactory) -> World:
    canary = tmp_path_factory.mktemp("canary") / "canary.txt"
    canary.write_text(CANARY)
    return World(trap.address, str(canary))


def test_the_corpus_is_large_and_no_name_stands_twice() -> None:
    names = [row.name for row in CORPUS]
    assert len(names) >= 60 and len(names) == len(set(names))


@pytest.mark.parametrize("row", CORPUS, ids=lambda row: row.name)
async def test_a_file_gives_its_content_with_places_or_says_why_not(
    row: Row, world: World, trap: Trap
) -> None:
    data = row.make(world)
    try:
        async with asyncio.timeout(50):
            read = await read_document_async(data, row.name, artifact_id="a1")
    except DocumentRefused as refused:
        assert refused.code == row.refused, str(refused)
        assert refused.code in REFUSALS and CANARY not in str(refused)
        assert explain(refused.code, "zh") != explain(refused.code, "en")
    else:
        assert row.refused is None, [unit.text for unit in read.units[:5]]
        check(row, read)
    assert trap.callers == 0


def check(row: Row, read: SourceDocument) -> None:
    by_place = {unit.locator: unit for unit in read.units}
    shown = {place: unit.text for place, unit in list(by_place.items())[:20]}
    assert read.kind == row.kind
    for place, words in row.says:
        assert place in by_place and words in by_place[place].text, shown
    if row.columns:
        place, columns = row.columns
        assert dict(by_place[place].columns or {}) == columns, shown
    assert {problem.code for problem in read.problems} == row.notes, read.problems
    assert row.notes <= PROBLEMS.keys()
    whole = read.model_dump_json()
    assert CANARY not in whole and not any(word in whole for word in row.silent)


def test_the_canary_is_there(world: World) -> None:
    assert Path(world.canary).read_text() == CANARY
