"""Files of at most 300 lines, bodies of at most 40. An exception needs a reason, here, and must be one."""

from typing import Final

from tests.architecture.shape import LONGEST_FILE, ROOT, long_bodies, our_sources

LONG_FILES: Final = {
    "libs/store/src/fencepost_store/migrations/sql/0001_core.sql": "one migration is one text",
}
LONG_BODIES: Final[dict[str, str]] = {}


def test_no_file_is_too_long() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in our_sources(".py", ".sql")
        if (lines := len(path.read_text().splitlines())) > LONGEST_FILE
    }
    assert {path: lines for path, lines in found.items() if path not in LONG_FILES} == {}
    assert sorted(set(LONG_FILES) - set(found)) == [], "no longer exceptions: take them off the list"


def test_no_function_is_too_long() -> None:
    found = {
        f"{path.relative_to(ROOT)}::{name}": lines
        for path in our_sources(".py")
        for name, lines in long_bodies(path.read_text())
    }
    assert {name: lines for name, lines in found.items() if name not in LONG_BODIES} == {}
    assert sorted(set(LONG_BODIES) - set(found)) == [], "no longer exceptions: take them off the list"


def test_a_long_body_is_found_and_a_long_docstring_is_none() -> None:
    docstring = '    """Says\n' + "    much.\n" * 60 + '    """\n'
    assert long_bodies(f"def talks():\n{docstring}    return 1\n") == []
    assert long_bodies("class A:\n    async def acts(self):\n" + "        x = 1\n" * 41) == [("acts", 41)]
