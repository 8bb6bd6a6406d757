"""What a reading process does around its work: told of one document, it locks itself in and answers once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import Limits
from fencepost_documents.sandbox import lock_down

Work = Callable[[bytes, str, Limits], dict[str, Any]]


def answer_one(work: Work) -> None:
    """Header line and bytes from stdin; what `work` says of them, or a refusal, to stdout."""
    header = json.loads(sys.stdin.buffer.readline())
    limits = Limits(**header["limits"] | {"wall": timedelta(seconds=header["limits"]["wall"])})
    lock_down(limits)
    try:
        said = work(sys.stdin.buffer.read(), header["name"], limits)
    except DocumentRefused as refused:
        said = {"refused": {"code": refused.code, "detail": refused.detail, "where": refused.where}}
    except (MemoryError, RecursionError) as error:
        said = {"refused": {"code": "out_of_memory", "detail": type(error).__name__, "where": ""}}
    sys.stdout.buffer.write(json.dumps(said).encode())
    sys.stdout.buffer.flush()
