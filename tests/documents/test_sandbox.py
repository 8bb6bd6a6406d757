"""The child that reads strangers' files: what it can't do, and that its limits end it."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from fencepost_documents import child
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import DEFAULT, MIB
from fencepost_documents.read import ask_child, read_document, read_document_async

from tests.documents.made import packages
from tests.support.eventually import eventually

LOCKED = """
import sys
from fencepost_documents.limits import DEFAULT
from fencepost_documents.sandbox import Forbidden, lock_down
lock_down(DEFAULT)
try:
    {attempt}
except Forbidden as refused:
    print("refused", refused)
except OSError as error:
    print("kernel", error)
else:
    print("DONE")
"""


def attempt(code: str, cwd: Path) -> str:
    asked = [sys.executable, "-I", "-B", "-c", LOCKED.format(attempt=code)]
    done = subprocess.run(asked, env={}, cwd=cwd, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() or done.stderr.strip()


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "open('/proc/self/environ').read()",
        "open('../../../../etc/passwd')",
        "open('made.txt', 'w')",
        "__import__('os').open('/etc/passwd', 0)",
        "__import__('io').FileIO('/etc/hostname')",
        "__import__('pathlib').Path('/etc/passwd').read_bytes()",
        "__import__('socket').create_connection(('127.0.0.1', 80), 1)",
        "__import__('socket').getaddrinfo('example.test', 80)",
        "__import__('urllib.request').request.urlopen('http://127.0.0.1/')",
        "__import__('subprocess').run(['true'])",
        "__import__('os').system('true')",
        "__import__('os').fork()",
        "__import__('os').execv('/bin/true', ['true'])",
        "__import__('os').remove('/tmp/nothing-there')",
        "__import__('ctypes').CDLL('libc.so.6')",
        "__import__('sqlite3').connect(':memory:')",
    ],
)
def test_a_locked_child_is_refused(code: str, tmp_path: Path) -> None:
    assert attempt(code, tmp_path).startswith("refused"), code
    assert list(tmp_path.iterdir()) == []


def test_a_symlink_out_of_the_packages_is_followed_before_it_is_judged(tmp_path: Path) -> None:
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    assert attempt("open('passwd')", tmp_path).startswith("refused")


def test_an_except_of_a_library_does_not_hide_a_refusal(tmp_path: Path) -> None:
    hidden = "\n    try:\n        open('/etc/passwd')\n    except Exception:\n        pass"
    assert attempt(f"1{hidden}", tmp_path).startswith("refused")


def test_what_python_and_its_packages_are_may_be_read(tmp_path: Path) -> None:
    assert attempt("import pypdf, docx, encodings.gb18030", tmp_path) == "DONE"


def test_the_child_has_no_environment_and_an_empty_folder(tmp_path: Path) -> None:
    assert attempt("print(len(__import__('os').listdir('.')))", tmp_path).splitlines()[0] == "0"


def test_cpu_time_ends_it() -> None:
    data = packages.many_rows(20_000)
    with pytest.raises(DocumentRefused) as refused:
        read_document(data, "big.xlsx", limits=replace(DEFAULT, cpu_seconds=1))
    assert refused.value.code == "too_expensive"


def test_memory_ends_it() -> None:
    data = packages.changed(
        packages.plain_docx(),
        {"word/document.xml": lambda old: old.replace(b"<w:body>", b"<w:body>" + b"<w:p/>" * 3_000_000)},
    )
    tight = replace(DEFAULT, memory_bytes=256 * MIB, zip_ratio=10_000)
    with pytest.raises(DocumentRefused) as refused:
        read_document(data, "big.docx", limits=tight)
    assert refused.value.code in ("out_of_memory", "corrupt"), str(refused.value)


async def test_the_clock_ends_it_and_nothing_of_it_lives_on() -> None:
    before = children()
    with pytest.raises(DocumentRefused) as refused:
        await read_document_async(b"text", "a.txt", limits=replace(DEFAULT, wall=timedelta(milliseconds=10)))
    assert refused.value.code == "too_expensive"
    await eventually(lambda: children() <= before)


async def test_cancelling_ends_it() -> None:
    before = children()
    task = asyncio.create_task(read_document_async(packages.many_rows(5000), "a.xlsx"))
    await eventually(lambda: children() > before)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: children() <= before)


async def test_the_loop_goes_on_while_a_document_is_read() -> None:
    data, longest = packages.many_rows(3000), 0.0
    task = asyncio.create_task(read_document_async(data, "a.xlsx"))
    while not task.done():
        start = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - start)
    assert len(task.result().units) > 3000
    assert longest < 2  # of a reading that takes seconds; a blocked loop would show all of them


def test_a_document_too_long_is_read_up_to_its_limit_and_says_so() -> None:
    read = read_document(packages.many_rows(100), "a.xlsx", limits=replace(DEFAULT, units_max=20))
    assert len(read.units) == 20
    assert [problem.code for problem in read.problems] == ["truncated"]


@pytest.mark.parametrize(("name", "kind"), [("a.csv", "csv"), ("a.md", "markdown"), ("a.txt", "text")])
def test_a_text_with_too_many_units_has_its_kind_too(name: str, kind: str) -> None:
    said = child.read(b"a,b\n\n" * 30, name, replace(DEFAULT, units_max=5))
    assert (said["kind"], len(said["units"])) == (kind, 5)
    assert [problem["code"] for problem in said["problems"]] == ["truncated"]


async def test_a_child_that_dies_is_a_refusal_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    dying = (sys.executable, "-c", "import sys; sys.exit('boom')")
    instead(monkeypatch, dying)
    with pytest.raises(DocumentRefused) as refused:
        await read_document_async(b"text" * 100_000, "a.txt")
    assert refused.value.code == "reader_failed" and "boom" in refused.value.detail


@pytest.mark.parametrize("said", ["nonsense", "[]", '{"kind": "exe", "units": [], "problems": []}'])
async def test_what_the_child_says_is_judged_like_anybody_s_word(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, (sys.executable, "-c", f"print({said!r})"))
    with pytest.raises(DocumentRefused) as refused:
        await read_document_async(b"text", "a.txt")
    assert refused.value.code == "reader_failed"


async def test_a_flood_of_words_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost_documents.read.ANSWER_BYTES", MIB)
    flood = "import sys\nfor _ in range(8): sys.stdout.write('x' * 1048576)"
    instead(monkeypatch, (sys.executable, "-c", flood))
    with pytest.raises(DocumentRefused) as refused:
        await read_document_async(b"text", "a.txt")
    assert refused.value.code == "reader_failed"


def instead(monkeypatch: pytest.MonkeyPatch, command: Sequence[str]) -> None:
    """Another program in the reader's place."""
    monkeypatch.setattr("fencepost_documents.read.ask_child", partial(ask_child, command=command))


def children() -> int:
    """Processes of this one whose command is the reader."""
    own, found = os.getpid(), 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"PPid:\t{own}\n" in (entry / "status").read_text():
                found += b"fencepost_documents" in (entry / "cmdline").read_bytes()
        except OSError:
            continue
    return found
