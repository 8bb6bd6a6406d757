"""A contract means what it reads, or it is refused with file, line and key (case CP-4)."""

from pathlib import Path

import pytest
from fencepost_contracts.http_tools import HttpCall, HttpLookup, http_faults
from fencepost_contracts.loader import (
    ContractRefused,
    catalog_text,
    discover_modules,
    parse_contract,
    read_catalog,
)
from fencepost_contracts.names import identity_in_arguments, is_identity, skeleton
from fencepost_domain.errors import Tampered

GOOD = """\
version: "1"
agent_name: mail
allowed_tools:
  - name: mail.send_email
    description: Send an e-mail.
    risk: medium
    effect_class: local
    approval: by_risk
    timeout_seconds: 2
    budgets:
      max_amount: 1000
    input_schema:
      type: object
      additionalProperties: false
      required: [to]
      properties:
        to: {type: string, format: email}
    output_schema:
      type: object
      properties:
        id: {type: string}
...
"""


def refused(text: str, module: str = "mail") -> list[tuple[int, str, str]]:
    with pytest.raises(ContractRefused) as error:
        parse_contract(text.encode(), "contract.yaml", module)
    assert all(fault.file == "contract.yaml" for fault in error.value.faults)
    return [(fault.line, fault.key, fault.detail) for fault in error.value.faults]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_good_contract_becomes_a_catalog() -> None:
    contract, catalog = parse_contract(GOOD.encode(), "contract.yaml", "mail")
    assert contract.agent_name == catalog.module == "mail"
    tool = catalog.tool("mail.send_email")
    assert tool is not None and tool.approval and tool.budgets == {"max_amount": 1000}
    text = catalog_text(catalog.module, catalog.version, catalog.tools)
    assert read_catalog(catalog.fingerprint, text) == catalog
    with pytest.raises(Tampered):
        read_catalog(catalog.fingerprint, text.replace("medium", "low"))


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("approval: by_risk", "approval: off", "allowed_tools.0.approval"),
        ("approval: by_risk", "approval: no", "allowed_tools.0.approval"),
        ("approval: by_risk", "approval: Off", "allowed_tools.0.approval"),
        ("approval: by_risk", "approval: false", "allowed_tools.0.approval"),
        ("approval: by_risk", "aproval: by_risk", "allowed_tools.0.aproval"),
        ("approval: by_risk", "requires_plan: no", "allowed_tools.0.requires_plan"),
        ("approval: by_risk", 'requires_plan: "no"', "allowed_tools.0.requires_plan"),
        ("max_amount: 1000", "max_amount: 1e3", "allowed_tools.0.budgets.max_amount"),
        ("max_amount: 1000", "max_amount: 1_000", "allowed_tools.0.budgets.max_amount"),
        ("max_amount: 1000", "max_amount: 0x3e8", "allowed_tools.0.budgets.max_amount"),
        ("max_amount: 1000", "max_amount: 01000", "allowed_tools.0.budgets.max_amount"),
        ("max_amount: 1000", "max_amount: .inf", "allowed_tools.0.budgets.max_amount"),
        ("max_amount: 1000", "max_amount: 1000.0", "allowed_tools.0.budgets.max_amount"),
        ("max_amount: 1000", "max_amount: &a 1000", "allowed_tools.0.budgets.max_amount"),
        ("max_amount: 1000", "max_amount: !!int 1000", "allowed_tools.0.budgets.max_amount"),
        ("risk: medium", "risk: none", "allowed_tools.0.risk"),
        ("risk: medium", "risk: medium\n    risk: low", "allowed_tools.0.risk"),
        ("format: email", "format: e-mail", "allowed_tools.0.input_schema.properties.to.format"),
        ("type: string, format", "tpye: string, format", "allowed_tools.0.input_schema.properties.to.tpye"),
        ("type: string, format", "type: strin, format", "allowed_tools.0.input_schema.properties.to.type"),
        ("to: {type: string, format: email}", 'to: {$ref: "http://example.test/s"}',
         "allowed_tools.0.input_schema.properties.to.$ref"),
        ("      additionalProperties: false\n", "", "allowed_tools.0.input_schema"),
        ("to: {type", "tenant_id: {type", "allowed_tools.0.input_schema.properties.tenant_id"),
        ("to: {type", "Role: {type", "allowed_tools.0.input_schema.properties.Role"),
        ("mail.send_email", "life.send_email", "allowed_tools.0.name"),
        ("mail.send_email", "mail.sеnd_email", "allowed_tools.0.name"),  # a Cyrillic letter
        ("mail.send_email", "mail.Send_email", "allowed_tools.0.name"),
        ("agent_name: mail", "agent_name: life", "agent_name"),
        ("timeout_seconds: 2", "timeout_seconds: 60", "allowed_tools.0.timeout_seconds"),
    ],
)  # fmt: skip
def test_cp4_a_doubtful_contract_is_refused_with_line_and_key(before: str, after: str, key: str) -> None:
    text = GOOD.replace(before, after, 1)
    assert text != GOOD
    [(line, found, detail)] = refused(text)
    assert found == key
    assert detail
    expected = line_of(text, after) if after else line_of(text, "type: object")
    assert abs(line - expected) <= 1


def test_cp4_a_tool_that_stands_twice_is_refused() -> None:
    tool = GOOD[GOOD.index("  - name") : GOOD.index("...")]
    twice = GOOD.replace("...\n", tool.replace("1000", "99") + "...\n")
    [(line, key, detail)] = refused(twice)
    assert (key, detail) == ("allowed_tools.1.name", "mail.send_email stands twice")
    assert line == twice[: twice.rindex("  - name")].count("\n") + 1


def test_cp4_look_alike_names_are_refused() -> None:
    tool = GOOD[GOOD.index("  - name") : GOOD.index("...")]
    text = GOOD.replace("...\n", tool.replace("send_email", "send_emai1") + "...\n")
    [(_, key, detail)] = refused(text)
    assert key == "allowed_tools.1.name" and "looks like" in detail


def test_cp4_a_file_cut_off_anywhere_is_refused() -> None:
    for end in range(len(GOOD) - 2):
        assert refused(GOOD[:end])


def test_cp4_an_empty_allow_list_denies_all_and_a_missing_one_is_refused() -> None:
    empty = 'version: "1"\nagent_name: mail\nallowed_tools: []\n...\n'
    assert parse_contract(empty.encode(), "contract.yaml", "mail")[1].tools == ()
    assert refused('version: "1"\nagent_name: mail\n...\n')[0][1] == "allowed_tools"
    assert refused('version: "1"\nagent_name: mail\nallowed_tools:\n...\n')[0][1] == "allowed_tools"


@pytest.mark.parametrize(
    "text",
    [
        "...\n",
        "a: *b\n...\n",
        "a: &a [*a]\n...\n",
        "<<: {a: 1}\n...\n",
        "a: 1\n---\nb: 2\n...\n",
        "%YAML 1.1\n---\na: yes\n...\n",
        "a: [1\n...\n",
        "- " * 200 + "\n...\n",
        "? [a, b]\n: 1\n...\n",
        "a: !!python/object/apply:os.system [id]\n...\n",
        "\t- a\n...\n",
        "a: \u0007\n...\n",
    ],
)
def test_cp4_yaml_that_could_mean_two_things_is_refused(text: str) -> None:
    assert refused(text)


def test_the_order_of_tools_in_the_file_does_not_change_the_fingerprint_and_content_does() -> None:
    tool = GOOD[GOOD.index("  - name") : GOOD.index("...")]
    other = tool.replace("send_email", "draft")
    head = GOOD[: GOOD.index("  - name")]
    one = parse_contract(f"{head}{tool}{other}...\n".encode(), "c", "mail")[1]
    two = parse_contract(f"{head}{other}{tool}...\n".encode(), "c", "mail")[1]
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != parse_contract(GOOD.encode(), "c", "mail")[1].fingerprint


def test_skeletons_of_look_alikes_are_equal_and_of_different_words_not() -> None:
    name = "life.create_reminder"
    for other in ("life.сreate_reminder", "life.create_rerninder", "ＬＩＦＥ.create_reminder",
                  "1ife.create_reminder", "life.create\u200b_reminder", "life.createreminder"):  # fmt: skip
        assert skeleton(other) == skeleton(name)
    assert skeleton("life.change_reminder") != skeleton(name)


def test_i14_identity_is_recognised_however_it_is_spelt() -> None:
    for name in ("tenant", "Tenant_ID", "tenantId", "user-id", "ｒｏｌｅ", "conversation_id", "usеr"):
        assert is_identity(name)
    assert not any(map(is_identity, ("title", "to", "currency", "recipients", "subject")))
    assert identity_in_arguments({"a": [{"user_id": 1}]}) == ["/a/0/user_id"]


def test_modules_are_found_by_their_contract(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name / "migrations").mkdir(parents=True)
        (tmp_path / name / "contract.yaml").write_text("...\n")
    (tmp_path / "a" / "migrations" / "0001_pre_a.py").write_text("")
    (tmp_path / "not_one").mkdir()
    found = discover_modules([tmp_path, None], installed=False)
    assert [(folder.name, folder.migrations is not None) for folder in found] == [("a", True), ("b", False)]


def test_two_folders_with_one_name_are_refused(tmp_path: Path) -> None:
    for place in ("x", "y"):
        (tmp_path / place / "life").mkdir(parents=True)
        (tmp_path / place / "life" / "contract.yaml").write_text("...\n")
    with pytest.raises(ContractRefused, match="is in"):
        discover_modules([tmp_path / "x", tmp_path / "y"], installed=False)


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("probe.call_back", "{id: /external_id}", None),
        ("probe.nothing", "{id: /external_id}", "no other tool of this contract"),
        ("probe.idempotent", "{id: /external_id}", "no other tool of this contract"),
        ("probe.find", "{key: /effect_key}", "undoes nothing"),
        ("probe.call_back", "{id: /somewhere}", "begin with one of /arguments"),
        ("probe.call_back", "{}", "needs id"),
        ("probe.call_back", "{id: /result/id, colour: /result/colour}", "no argument of this name"),
    ],
)
def test_what_undoes_a_tool_is_another_tool_with_all_it_needs(
    tool: str, arguments: str, why: str | None
) -> None:
    from tests.support.parcels import contract

    text = contract("http://127.0.0.1:9").replace(
        "compensate: {tool: probe.call_back, arguments: {id: /external_id}}",
        f"compensate: {{tool: {tool}, arguments: {arguments}}}",
        1,
    )
    if why is None:
        _, catalog = parse_contract(text.encode(), "contract.yaml", "probe")
        found = catalog.tool("probe.idempotent")
        assert found is not None and found.compensate is not None
        return
    with pytest.raises(ContractRefused, match="compensate") as refused:
        parse_contract(text.encode(), "contract.yaml", "probe")
    assert why in str(refused.value)


def test_a_look_up_asks_by_a_key_that_the_call_sends() -> None:
    """Else it finds nothing, ever, and each repeat is one more in the world."""
    lookup = HttpLookup(url="https://x.example/by/{effect_key}")
    plain = HttpCall(url="https://x.example/", lookup=lookup)
    [(place, why)] = http_faults(plain, {"a"}, keyed=False)
    assert place == "/key_header" and "doesn't send" in why
    for sends in (
        {"key_header": "Idempotency-Key"},
        {"body": {"key": "{effect_key}"}},
        {"url": "https://x.example/{effect_key}"},
    ):
        assert list(http_faults(plain.model_copy(update=sends), {"a"}, keyed=False)) == []
