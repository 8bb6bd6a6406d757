"""How long files and functions are, as the shape tests count. Not a test itself."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LONGEST_FILE: Final = 300
LONGEST_BODY: Final = 40


def our_sources(*suffixes: str) -> Iterator[Path]:
    """What we wrote by hand and run in production."""
    for top in ("libs", "services", "modules"):
        for suffix in suffixes:
            yield from sorted(path for path in (ROOT / top).rglob(f"*{suffix}") if "evals" not in path.parts)


def long_bodies(source: str, limit: int = LONGEST_BODY) -> list[tuple[str, int]]:
    """Functions whose body, docstring aside, has more lines than `limit`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = _body_lines(node)
            if lines > limit:
                found.append((node.name, lines))
    return found


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if not body:
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1
