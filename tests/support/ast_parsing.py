"""`ast.parse` made safe against what the garbage collector runs in its middle.

CPython before 3.13 keeps the depth of the tree it is building in one place per interpreter: a finalizer
that parses too (pytest's report of an unraisable exception does, for its carets) leaves its own depth
there, and the outer call fails with `SystemError: AST constructor recursion depth mismatch`.
"""

import ast
import gc
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

_MENDED_IN = (3, 13)


def without_collection(call: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """`call`, in which no collection begins: it waits until the answer is there."""

    @wraps(call)
    def calling(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        if not gc.isenabled():
            return call(*args, **kwargs)
        gc.disable()
        try:
            return call(*args, **kwargs)
        finally:
            gc.enable()

    return calling


def parse_undisturbed() -> None:
    """Guard this process's `ast.parse`, which ours, pytest's and traceback's calls go through."""
    if sys.version_info < _MENDED_IN:
        ast.parse = without_collection(ast.parse)
