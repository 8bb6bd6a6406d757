"""What a model call costs: a price table as data, and amounts as decimals. Pure.

A model that the table doesn't name has the table's worst price: a wrong guess must not make a budget larger
than it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import Any, Final

from fencepost_domain.errors import Invalid

MILLION: Final = Decimal(1_000_000)
STEP: Final = Decimal("0.00000001")  # what amounts are rounded up to; far below a token's price
LARGEST: Final = Decimal(1_000_000)  # of a price: a larger one is a typing error


@dataclass(frozen=True, slots=True)
class Price:
    """Per million tokens, in the table's currency."""

    input: Decimal
    output: Decimal


@dataclass(frozen=True, slots=True)
class PriceTable:
    """version: names the state of the table in the ledger. models: by `provider/model`, or `provider/*`."""

    version: str
    currency: str
    unknown: Price
    models: Mapping[str, Price]

    def price_of(self, provider: str, model: str) -> Price:
        """The model's, else its provider's, else the worst one."""
        named = self.models.get(f"{provider}/{model}") or self.models.get(f"{provider}/*")
        return named or self.unknown

    def cost(self, provider: str, model: str, input_tokens: int, output_tokens: int) -> Decimal:
        """What so many tokens cost, rounded up to STEP."""
        price = self.price_of(provider, model)
        whole = (price.input * input_tokens + price.output * output_tokens) / MILLION
        return whole.quantize(STEP, ROUND_UP)


def written(amount: Decimal) -> str:
    """As texts and JSON show it: no trailing zeros, and no exponent, which `str` gives small amounts."""
    return format(amount.normalize(), "f")


def price_table(raw: object) -> PriceTable:
    """Read `{version, currency, unknown: {input, output}, models: {"provider/model": {input, output}}}`.

    Prices are decimal strings. Raises Invalid("prices_malformed") with a JSON pointer.
    """
    if not isinstance(raw, Mapping):
        raise _bad("", "expected an object")
    if extra := sorted(set(raw) - {"version", "currency", "unknown", "models"}):
        raise _bad(f"/{extra[0]}", "no such field")
    version, currency, models = raw.get("version"), raw.get("currency"), raw.get("models", {})
    if not isinstance(version, str) or not version:
        raise _bad("/version", "a name of this state of the table, such as 2026-12-01")
    if not isinstance(currency, str) or len(currency) != 3 or not currency.isupper():
        raise _bad("/currency", "an ISO 4217 code")
    if not isinstance(models, Mapping):
        raise _bad("/models", "an object of prices by `provider/model`")
    known = {str(name): _price(f"/models/{name}", one) for name, one in models.items()}
    for name in known:
        if "/" not in name:
            raise _bad(f"/models/{name}", "`provider/model`, or `provider/*` for all of a provider's")
    return PriceTable(version, currency, _price("/unknown", raw.get("unknown")), known)


def _price(pointer: str, raw: object) -> Price:
    if not isinstance(raw, Mapping) or set(raw) != {"input", "output"}:
        raise _bad(pointer, "{input, output}: decimal strings, per million tokens")
    return Price(*(_amount(f"{pointer}/{name}", raw[name]) for name in ("input", "output")))


def _amount(pointer: str, raw: Any) -> Decimal:
    try:
        amount = Decimal(raw) if isinstance(raw, str) else None
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or not 0 <= amount <= LARGEST:
        raise _bad(pointer, f"a decimal string from 0 to {LARGEST}")
    return amount


def _bad(pointer: str, detail: str) -> Invalid:
    return Invalid(pointer, detail, "prices_malformed")
