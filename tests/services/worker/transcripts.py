"""What the scripted provider was asked in a test, as a file: one for each path walked of the graph.

A transcript holds every request in order: who asked (by the tools offered), and each message; one that stood
in an earlier request is named by its place. What differs from run to run or from machine to machine (ids, a
fence's nonce, the present, a made file's bytes) is numbered. A fan-out's requests stand in the order of their
parts. The fixed words of a prompt are named by its version, a tool's schema by its hash.

`make transcripts` writes all of them anew; the diff is then what a review has to agree with.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from fencepost_worker.contexts.fencing import FENCING
from fencepost_worker.prompts import PRESENT, read_prompt

from tests.support.scripted_roles import role_of

FOLDER: Final = Path(__file__).parent / "transcripts"
UPDATE: Final = "FENCEPOST_UPDATE_GOLDEN"
_CHANGING: Final = (
    ("nonce", re.compile(r"(?<=<data )[0-9a-f]{16}|(?<=</data )[0-9a-f]{16}")),
    ("id", re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")),
    ("hash", re.compile(r"\b[0-9a-f]{64}\b")),
    ("size", re.compile(r'(?<="size_bytes": )\d+')),
)
# The present, which two requests share or not as it happens.
_NOW: Final = (
    re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}"),
    re.compile(r'(?<="on": ")\d{4}-\d\d-\d\d(?=")'),
)


def kept(name: str) -> Path:
    """Where a test's transcript is. name: of the test, with its case."""
    return FOLDER / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name).strip('-')}.txt"


def check(name: str, requests: Sequence[Mapping[str, Any]]) -> None:
    """Compare with the kept file, or write it where the environment asks for that."""
    text = "\n".join(lines(requests) if requests else ["no model is asked"]) + "\n"
    path = kept(name)
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"no transcript is kept of {name}: `make transcripts` writes it"
    assert text == path.read_text(encoding="utf-8"), f"{path.name}: another conversation than the kept one"


def lines(requests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The transcript, line by line."""
    numbered: dict[str, dict[str, str]] = {}
    known: dict[str, str] = {}
    for place, request in enumerate(in_order(requests), 1):
        names = [tool["function"]["name"] for tool in request.get("tools", ())]
        yield f"== {place} {role_of(names)} · tools {', '.join(names)} · {digest(request.get('tools', ()))}"
        for number, message in enumerate(request["messages"], 1):
            text = settled(shown(message), numbered)
            if text in known:
                yield f"-- {place}.{number} as {known[text]}"
                continue
            known[text] = f"{place}.{number}"
            yield f"-- {place}.{number} {message['role']}"
            yield text


def in_order(requests: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """As they were sent; branches of one fan-out, which are sent at once, by their part."""
    for _, group in groupby(requests, key=lambda one: part_of(one) is not None):
        yield from sorted(group, key=lambda one: part_of(one) or 0)


def part_of(request: Mapping[str, Any]) -> int | None:
    found = _PART.search(str(request["messages"][0].get("content") or ""))
    return int(found[1]) if found else None


_PART: Final = re.compile(r'"part": "(\d+) of \d+, joined in order"')
_SCHEMA: Final = re.compile(r"^Schema of (`[^`]+`): (.*)$", re.DOTALL)
_FENCING: Final = re.compile(re.escape(FENCING).replace(re.escape("$nonce"), "[0-9a-f]{16}"))
_FIXED: Final = {
    prompt.reference: {line for line in prompt.text.splitlines() if line.strip() and "$" not in line}
    for prompt in map(read_prompt, PRESENT.values())
}


def without_fixed(text: str) -> str:
    """A prompt's own lines and a schema, named in place of said."""
    schema = _SCHEMA.match(text)
    if schema:
        return f"Schema of {schema[1]}: [{digest(schema[2])}]"
    said = _FENCING.sub("[fencing]", text).splitlines()
    name = max(_FIXED, key=lambda one: sum(line in _FIXED[one] for line in said))
    rest = [line for line in said if line not in _FIXED[name]]
    return text if len(rest) == len(said) else "\n".join([f"[{name}]", *rest])


def shown(message: Mapping[str, Any]) -> str:
    said = [without_fixed(str(message.get("content") or ""))]
    said += [
        f"calls {c['function']['name']} {c['function']['arguments']}" for c in message.get("tool_calls", ())
    ]
    answers = message.get("tool_call_id")
    return "\n".join([*([f"answers {answers}"] if answers else []), *filter(None, said)])


def settled(text: str, numbered: dict[str, dict[str, str]]) -> str:
    """The text with what changes from run to run named by its kind and its first appearance."""
    for present in _NOW:
        text = present.sub("now", text)
    for kind, form in _CHANGING:
        seen = numbered.setdefault(kind, {})
        text = form.sub(
            lambda m, kind=kind, seen=seen: seen.setdefault(m[0], f"{kind} {len(seen) + 1}"), text
        )  # type: ignore[misc]
    return text


def digest(tools: Any) -> str:
    """Of what is offered, so that a changed schema or description is seen."""
    return hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()[:12]
