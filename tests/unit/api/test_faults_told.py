"""What a body's fault is told as: the pointer, and the form that is asked for."""

import pytest
from fencepost_api.deps import shape
from fencepost_api.problems import Refusal
from fencepost_contracts.http import Money, Text
from pydantic import BaseModel


class Note(BaseModel):
    amount: Money
    text: Text


def test_a_value_of_another_form_is_told_which() -> None:
    with pytest.raises(Refusal) as refused:
        shape(Note, {"amount": "12,50", "text": "  "})

    told = {fault["pointer"]: fault["detail"] for fault in refused.value.errors}
    assert r"'^[0-9]{1,15}(\.[0-9]{1,6})?$'" in told["/amount"]
    assert told["/text"] == "it can't be blank"
