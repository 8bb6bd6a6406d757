"""What a contract says of state compiles when it is right, and is refused with line and key when it isn't."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fencepost_contracts.loader import ContractRefused, parse_contract, read_catalog, text_of
from fencepost_contracts.schema import Schema
from fencepost_domain.errors import Conflict
from fencepost_domain.state import Change, Operation

TOOL = """\
  - name: mail.{name}
    description: Do {name}.
    risk: low
    effect_class: local
    timeout_seconds: 2
    input_schema: {{type: object, additionalProperties: false, properties: {{to: {{type: string}}}}}}
    output_schema: {{type: object}}
{more}"""
BAD: list[tuple[str, str, str]] = [  # (tool's words, contract's words, key that is named)
    (
        '    only_when: {condition: "stat.x == 1", otherwise: "w"}\n',
        "",
        "allowed_tools.0.only_when.condition",
    ),
    ('    only_when: {condition: "state.x", otherwise: "w"}\n', "", "allowed_tools.0.only_when.condition"),
    ('    only_when: {condition: "state.x == 1"}\n', "", "allowed_tools.0.only_when.otherwise"),
    ('    state_writes: [{key: Bad-Key, value: "1"}]\n', "", "allowed_tools.0.state_writes.0.key"),
    ("    state_writes: [{key: x}]\n", "", "allowed_tools.0.state_writes.0.value"),
    (
        '    state_writes: [{key: x, operation: delete, value: "1"}]\n',
        "",
        "allowed_tools.0.state_writes.0.value",
    ),
    (
        '    state_writes: [{key: x, operation: put, value: "1"}]\n',
        "",
        "allowed_tools.0.state_writes.0.member",
    ),
    ('    state_writes: [{key: x, member: "1", value: "1"}]\n', "", "allowed_tools.0.state_writes.0.member"),
    (
        '    state_writes: [{key: x, operation: swap, value: "1"}]\n',
        "",
        "allowed_tools.0.state_writes.0.operation",
    ),
    ('    state_writes: [{key: x, value: "results.id"}]\n', "", "allowed_tools.0.state_writes.0.value"),
    (
        '    state_writes: [{key: x, value: "1", when: "state.y"}]\n',
        "",
        "allowed_tools.0.state_writes.0.when",
    ),
    ("    state_bindings: {nobody: x}\n", "", "allowed_tools.0.state_bindings.nobody"),
    ("", 'state_rules: [{when: "state.x == 1", tools: [mail.gone]}]\n', "state_rules.0.tools.0"),
    ("", 'state_rules: [{when: "state.x ==", tools: [mail.send]}]\n', "state_rules.0.when"),
    ("", 'state_rules: [{when: "state.x == 1", tools: []}]\n', "state_rules.0.tools"),
    ("", 'dynamic_prompts: [{when: "true", template: "a {Bad} place"}]\n', "dynamic_prompts.0.template"),
    ("", 'dynamic_prompts: [{when: "arguments.x == 1", template: "x"}]\n', "dynamic_prompts.0.when"),
    ("", "state_summary: [Bad Key]\n", "state_summary.0"),
]


def contract(more: str = "", words: str = "", tools: int = 1) -> bytes:
    named = [TOOL.format(name="send" if n == 0 else f"send_{n}", more=more) for n in range(tools)]
    head = 'version: "1"\nagent_name: mail\n'
    return (head + words + "allowed_tools:\n" + "".join(named) + "...\n").encode()


@pytest.mark.parametrize(("more", "words", "key"), BAD)
def test_wrong_words_are_refused_with_their_key(more: str, words: str, key: str) -> None:
    with pytest.raises(ContractRefused) as refused:
        parse_contract(contract(more, words), "c.yaml", "mail")
    assert key in {fault.key for fault in refused.value.faults}
    assert all(fault.line > 1 for fault in refused.value.faults)


def test_words_about_state_are_bound_by_the_fingerprint() -> None:
    words = 'state_rules: [{when: "state.x == 1", tools: [mail.send]}]\nstate_summary: [x]\n'
    plain = parse_contract(contract(), "c.yaml", "mail")[1]
    ruled = parse_contract(contract(words=words), "c.yaml", "mail")[1]
    assert ruled.fingerprint != plain.fingerprint
    assert read_catalog(ruled.fingerprint, text_of(ruled)) == ruled
    assert "state_rules" not in text_of(plain) and "only_when" not in text_of(plain)


WRITES = """\
    state_writes:
      - {key: who, value: "arguments.to"}
      - {key: sent, operation: increment, value: "has(state.sent) ? 1 : 10"}
      - {key: by_id, operation: put, member: result.id, value: "{'to': arguments.to}"}
      - {key: gone, operation: delete, when: "has(state.gone)"}
"""


def test_writes_are_computed_from_arguments_result_and_state() -> None:
    words = parse_contract(contract(WRITES), "c.yaml", "mail")[1].state_words()
    put = Change("by_id", Operation.PUT, {"to": "ann"}, "i1")
    first = words.changes("mail.send", {"to": "ann"}, {"id": "i1"}, {})
    assert first == [Change("who", Operation.SET, "ann"), Change("sent", Operation.INCREMENT, 10), put]
    later = words.changes("mail.send", {"to": "ann"}, {"id": "i1"}, {"sent": 1, "gone": 0})
    assert later[1:] == [Change("sent", Operation.INCREMENT, 1), put, Change("gone", Operation.DELETE)]
    for arguments, result in (
        ({}, {"id": "i"}),
        ({"to": "a"}, {}),
        ({"to": "a"}, None),
        ({"to": "a"}, {"id": 5}),
    ):
        with pytest.raises(Conflict):
            words.changes("mail.send", arguments, result, {})


@pytest.mark.parametrize(
    ("known", "given", "passes"),
    [("a", "a", True), ("a", "b", False), (["a", "b"], "b", True), (["a"], "b", False), ({"a": 1}, "a", True),
     ({"a": 1}, "b", False), (1, True, False), (None, "a", False)],
)  # fmt: skip
def test_an_argument_is_the_states_value_or_one_of_them(known: Any, given: Any, passes: bool) -> None:
    words = parse_contract(contract("    state_bindings: {to: who}\n"), "c.yaml", "mail")[1].state_words()
    assert (list(words.refusals("mail.send", {"to": given}, {"who": known})) == []) is passes
    assert list(words.refusals("mail.send", {"to": given}, {})) != []
    assert list(words.refusals("mail.send", {}, {})) == []


def test_compiling_and_checking_stay_quick() -> None:
    """Far above the figures of bench/contracts.py, so that only a change of kind is caught here."""
    raw = contract(tools=100)
    started = time.perf_counter()
    catalog = parse_contract(raw, "c.yaml", "mail")[1]
    compiled = [Schema(tool.input_schema) for tool in catalog.tools]
    assert time.perf_counter() - started < 5.0 and len(compiled) == 100
