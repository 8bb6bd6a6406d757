"""How graph state becomes bytes: msgpack with a strict allow-list, and never pickle.

State is JSON values; besides them only LangGraph's own Interrupt, Send and Command may come back as types.
Whoever can write to the checkpoint table must not be able to run code in a worker by it.
"""

from __future__ import annotations

from typing import Final

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

ALLOWED: Final = (
    ("langgraph.types", "Interrupt"),
    ("langgraph.types", "Send"),
    ("langgraph.types", "Command"),
    ("langgraph.types", "Overwrite"),
)


def make_serde() -> JsonPlusSerializer:
    return JsonPlusSerializer(
        pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=ALLOWED
    )
