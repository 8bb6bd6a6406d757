"""What a model call may use at most, and what it used: tokens estimated, prices from the table. Pure.

The estimate is of characters, since every provider cuts text differently: a token for three characters of
Latin text, more than one for each character of any other script. It is meant to be too high; what it still
misses is charged as it is, and is the measured error that I23 speaks of.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any, Final

from fencepost_contracts import canonical
from fencepost_domain.budget import Estimate
from fencepost_domain.errors import Invalid
from fencepost_domain.prices import PriceTable, price_table, written
from fencepost_domain.vocabulary import CallState
from fencepost_store.model_calls import NewCall, Outcome

from fencepost_worker.models.assembler import Assembler
from fencepost_worker.models.port import Answer, Model, ModelFailed, ModelRequest, ToolSpec

LATIN_PER_TOKEN: Final = 3.0  # English has about four; code and numbers fewer
OTHER_TOKENS: Final = 1.3  # a character of Chinese has between 0.6 and 1.3 tokens
A_MESSAGE: Final = 8  # what a provider puts around each turn
MOST_SCHEMAS: Final = 512
# Failures in which the provider certainly did no work: nothing was sent, or it was refused at the door.
UNSPENT: Final = frozenset({"secret_missing", "unreachable"})
REFUSED: Final = frozenset(
    {"400", "401", "403", "404", "422", "429", "rate_limit_exceeded", "invalid_api_key"}
)


@dataclass(frozen=True)
class Meter:
    """Reads the price table once. path: of the operator's own, None for the shipped one."""

    path: Path | None = None

    @cached_property
    def prices(self) -> PriceTable:
        """Raises Invalid with the file's name for one that can't be read: a worker doesn't start on it."""
        source = self.path if self.path is not None else files(__package__).joinpath("prices.json")
        try:
            return price_table(json.loads(source.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise Invalid("", f"{source}: {error}", "prices_malformed") from error
        except Invalid as error:
            raise Invalid(error.pointer, f"{source}{error.pointer}: {error}", error.code) from error

    def estimate(self, provider: str, model: str, request: ModelRequest) -> Estimate:
        """The worst case of a request: all of its text in, all that it may answer out."""
        words = [message.text for message in request.messages]
        words += [
            json.dumps(canonical.plain(dict(call.arguments)), ensure_ascii=False)
            for message in request.messages
            for call in message.calls
        ]
        given = sum(map(tokens_of, words)) + sum(map(_tokens_of_tool, request.tools))
        given += A_MESSAGE * (len(request.messages) + len(request.tools))
        made = request.max_output_tokens
        cost = self.prices.cost(provider, model, given, made)
        return Estimate(given, made, cost, self.prices.currency, self.prices.version)

    def told(self, call: NewCall, answer: Answer) -> Answer:
        """A whole answer with its tokens: the provider's own count, or ours where it told none."""
        if answer.input_tokens or answer.output_tokens:
            return answer
        made = tokens_of(answer.text + json.dumps(answer.to_json()["calls"], ensure_ascii=False))
        return replace(answer, input_tokens=call.reserve.input_tokens, output_tokens=made)

    def settled(self, call: NewCall, answer: Answer) -> Outcome:
        """Of a whole answer, as `told` gave it."""
        given, made = answer.input_tokens, answer.output_tokens
        cost = self.prices.cost(call.provider, call.model, given, made)
        return Outcome(CallState.SETTLED, answer.to_json(), None, given, made, cost)

    def spent(self, call: NewCall, assembler: Assembler, error: ModelFailed | None = None) -> Outcome:
        """Of an attempt without a whole answer: what had come until then was made, and is paid for."""
        given, made = assembler.usage
        if not given and not made:
            unspent = error is not None and (error.code in UNSPENT or error.provider_code in REFUSED)
            given = 0 if unspent and not assembler.written else call.reserve.input_tokens
            made = min(tokens_of(assembler.written), call.reserve.output_tokens) if assembler.written else 0
        cost = self.prices.cost(call.provider, call.model, given, made)
        return Outcome(CallState.FAILED, input_tokens=given, output_tokens=made, cost=cost)

    def counted(self, usage: Mapping[str, Any], model: Model, answer: Answer) -> dict[str, Any]:
        """A run's usage with one more answered call."""
        before = Decimal(usage.get("cost", {}).get("value", "0"))
        cost = self.prices.cost(model.provider, model.name, answer.input_tokens, answer.output_tokens)
        return {
            "model_calls": usage["model_calls"] + 1,
            "input_tokens": usage["input_tokens"] + answer.input_tokens,
            "output_tokens": usage["output_tokens"] + answer.output_tokens,
            "cost": {"value": written(before + cost), "currency": self.prices.currency},
        }


_schemas: OrderedDict[int, tuple[Mapping[str, Any], int]] = OrderedDict()


def _tokens_of_tool(tool: ToolSpec) -> int:
    """A catalog's schemas are the same objects call after call, and long: each is counted once. The object is
    kept beside its count, so that its identity can't become another's.
    """
    known = _schemas.get(id(tool.schema))
    if known is None:
        text = json.dumps(canonical.plain(dict(tool.schema)), ensure_ascii=False)
        known = _schemas[id(tool.schema)] = (tool.schema, tokens_of(text))
        if len(_schemas) > MOST_SCHEMAS:
            _schemas.popitem(last=False)
    return known[1] + tokens_of(tool.name) + tokens_of(tool.description)


def tokens_of(text: str) -> int:
    """Our estimate, rounded up."""
    latin = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return ceil(latin / LATIN_PER_TOKEN + (len(text) - latin) * OTHER_TOKENS)


SHIPPED: Final = Meter()
"""With the shipped table."""
