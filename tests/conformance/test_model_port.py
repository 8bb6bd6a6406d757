"""The model port's suite: adapters yield deltas that assemble to the same answers, and fail the same way.

The OpenAI-compatible adapter speaks to a scripted server over real HTTP (cases ST-1, ST-4, ST-5).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from fencepost_worker.models.assembler import Assembler
from fencepost_worker.models.guard import check_calls
from fencepost_worker.models.openai_compatible import OpenAICompatible, WireNames, public_endpoint
from fencepost_worker.models.port import Answer, Message, ModelContext, ModelFailed, ModelRequest, ToolSpec
from fencepost_worker.models.respond_stream import RespondStream

from tests.support.scripted_model import (
    DONE,
    ScriptedModel,
    call,
    delta,
    event,
    finish,
    providing,
    say,
    text_answer,
    tool_answer,
    usage,
)

ADD = ToolSpec(
    "ledger.add",
    "",
    {
        "type": "object",
        "properties": {"amount": {"type": "string"}},
        "required": ["amount"],
        "additionalProperties": False,
    },
)
LIST = ToolSpec("ledger.list", "", {"type": "object", "properties": {}, "additionalProperties": False})


def request(*messages: Message) -> ModelRequest:
    context = ModelContext("hi", datetime(2026, 12, 1, tzinfo=UTC), None, "en", "CNY", "life")
    return ModelRequest(
        "key",
        "module",
        "scripted",
        context,
        messages or (Message("user", "hi"),),
        (ADD, LIST),
        timeout_seconds=5,
    )


@pytest.fixture
async def provider() -> AsyncIterator[ScriptedModel]:
    async with providing(ScriptedModel()) as model:
        yield model


async def ask(provider: ScriptedModel, *messages: Message) -> Answer:
    model = OpenAICompatible(provider.url, "scripted", "sk-test-key-000000")
    assembler = Assembler()
    try:
        async for piece in model.stream(request(*messages)):
            assembler.feed(piece)
        return assembler.finish()
    except ModelFailed as error:
        error.partial = error.partial or assembler.partial
        raise
    finally:
        await model.close()


def amounts(answer: Answer) -> list[Any]:
    return [c.arguments.get("amount") for c in answer.calls]


async def test_text_and_usage_come_through(provider: ScriptedModel) -> None:
    provider.answer(text_answer("hello"))
    answer = await ask(provider)
    assert (answer.text, answer.calls, answer.finish) == ("hello", (), "stop")
    assert (answer.input_tokens, answer.output_tokens) == (7, 5)
    assert provider.headers[0]["authorization"] == "Bearer sk-test-key-000000"


async def test_a_call_in_pieces_is_one_call_and_names_pass_a_wire_without_dots(
    provider: ScriptedModel,
) -> None:
    provider.answer(tool_answer("ledger.add", {"amount": "12.00"}))
    answer = await ask(provider)
    assert [(c.name, dict(c.arguments)) for c in answer.calls] == [("ledger.add", {"amount": "12.00"})]
    assert provider.requests[0]["tools"][0]["function"]["name"] == "ledger__add"


async def test_st1_two_calls_under_one_index_stay_two(provider: ScriptedModel) -> None:
    provider.answer([
        call("ledger__add", '{"amount":"12.00"}', index=0, id="call_a"),
        call("ledger__add", '{"amount":"8.50"}', index=0, id="call_b"),
        finish("tool_calls"),
        DONE,
    ])  # fmt: skip
    assert amounts(await ask(provider)) == ["12.00", "8.50"]


async def test_st1_interleaved_and_unnumbered_calls_stay_apart(provider: ScriptedModel) -> None:
    provider.answer(
        [
            call("ledger__add", '{"amou', index=0, id="a"),
            call("ledger__add", '{"amount":"', index=1, id="b"),
            call(None, 'nt":"1"}', index=0),
            call(None, '2"}', index=1),
            finish("tool_calls"),
            DONE,
        ],
        [
            call("ledger__add", '{"amount":"3"}', index=None, id="a"),
            call("ledger__add", '{"amount":"4"}', index=None, id="b"),
            finish("tool_calls"),
            DONE,
        ],
    )
    assert amounts(await ask(provider)) == ["1", "2"]
    assert amounts(await ask(provider)) == ["3", "4"]


async def test_st1_what_cannot_be_told_apart_is_a_protocol_error(provider: ScriptedModel) -> None:
    provider.answer([
        call("ledger__add", '{"amount":"12', index=0),
        call("ledger__add", '{"amount":"8.50"}', index=0),
        finish("tool_calls"),
        DONE,
    ])  # fmt: skip
    with pytest.raises(ModelFailed) as failed:
        await ask(provider)
    assert failed.value.code == "protocol_error"


@pytest.mark.parametrize("end", [[DONE], []], ids=["end mark", "no end mark"])
async def test_st4_an_error_inside_the_stream_fails_with_its_code(
    provider: ScriptedModel, end: list[bytes]
) -> None:
    provider.answer([say("好的"), event({"error": {"message": "quota", "code": 429}}), *end])
    with pytest.raises(ModelFailed) as failed:
        await ask(provider)
    assert (failed.value.code, failed.value.provider_code, failed.value.retryable) == (
        "provider_error",
        "429",
        True,
    )
    assert failed.value.partial == "好的"


async def test_st4_variants(provider: ScriptedModel) -> None:
    provider.answer(
        [say("好的"), event({"choices": [], "error": {"message": "bad key", "code": "401"}}), DONE],
        [say("好的"), b"data: not json\n\n", DONE],
        [say("好的"), DONE],
        [say("好的"), finish("length"), DONE],
    )
    with pytest.raises(ModelFailed) as failed:
        await ask(provider)
    assert (failed.value.provider_code, failed.value.retryable) == ("401", False)
    for code in ("protocol_error", "incomplete", "incomplete"):
        with pytest.raises(ModelFailed) as failed:
            await ask(provider)
        assert (failed.value.code, failed.value.partial) == (code, "好的")


async def test_a_status_is_told_with_whether_a_retry_can_help(provider: ScriptedModel) -> None:
    for status, retryable in ((429, True), (503, True), (401, False), (400, False)):
        provider.status = status
        with pytest.raises(ModelFailed) as failed:
            await ask(provider)
        assert failed.value.retryable is retryable


async def test_i19_half_a_call_is_no_call(provider: ScriptedModel) -> None:
    provider.answer(
        [call("ledger__add", '{"amount":"1', id="a")],  # the connection ends
        [call("ledger__add", '{"amount":"1', id="a"), finish("tool_calls"), DONE],  # or claims to be done
        [call("ledger__add", '{"amount":"1', id="a"), finish("length"), DONE],
        [call("ledger__add", "{", id="a"), finish("stop"), DONE],
    )
    for _ in range(4):
        with pytest.raises(ModelFailed):
            await ask(provider)


@pytest.mark.parametrize("empty", ["", "null", None, {}], ids=["empty", "null", "absent", "object"])
async def test_st5_no_arguments_are_an_empty_object_and_never_an_executed_one(
    provider: ScriptedModel, empty: Any
) -> None:
    provider.answer(
        [call("ledger__list", empty, id="a"), call("ledger__add", empty, index=1, id="b"), finish(), DONE]
    )
    answer = await ask(provider)
    assert [dict(c.arguments) for c in answer.calls] == [{}, {}]
    refusals = check_calls(answer.calls, (ADD, LIST))
    assert [(r.tool, r.code, r.pointer) for r in refusals] == [("ledger.add", "arguments_invalid", "/amount")]


async def test_st5_arguments_as_an_object(provider: ScriptedModel) -> None:
    provider.answer([call("ledger__add", {"amount": "5"}, id="a"), finish("stop"), DONE])
    assert amounts(await ask(provider)) == ["5"]


async def test_st5_reasoning_stays_out_and_usage_of_the_last_chunk_is_kept(provider: ScriptedModel) -> None:
    parts = [{"type": "reasoning", "text": "hmm"}, {"type": "text", "text": "答案"}]
    provider.answer([delta(reasoning_content="thinking"), delta(content=parts), finish(), usage(11, 3), DONE])
    answer = await ask(provider)
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("答案", 11, 3)


async def test_st5_bytes_are_decoded_across_chunks_and_lines_end_at_cr_and_lf_only(
    provider: ScriptedModel,
) -> None:
    whole = event({"choices": [{"index": 0, "delta": {"content": "明早\u2028九点"}}]})
    cut = whole.index("明".encode()) + 2
    crlf = b": a comment\r\n\r\n" + whole[:cut]
    provider.answer([crlf, whole[cut:].replace(b"\n\n", b"\r\n\r\n"), finish().replace(b"\n", b"\r"), DONE])
    answer = await ask(provider)
    assert answer.text == "明早\u2028九点"
    assert answer.text.encode() == b"\xe6\x98\x8e\xe6\x97\xa9\xe2\x80\xa8\xe4\xb9\x9d\xe7\x82\xb9"


async def test_st5_a_surrogate_pair_cut_between_fragments_stays_one_character(
    provider: ScriptedModel,
) -> None:
    high = b'data: {"choices":[{"index":0,"delta":{"content":"ok \\ud83d"}}]}\n\n'
    low = b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"}}]}\n\n'
    arguments = '{"amount":"\\ud83d', '\\ude00"}'
    provider.answer(
        [high, low, finish(), DONE],
        [call("ledger__add", arguments[0], id="a"), call(None, arguments[1]), finish("tool_calls"), DONE],
    )
    assert (await ask(provider)).text == "ok 😀"
    assert amounts(await ask(provider)) == ["😀"]


async def test_calls_and_their_answers_go_out_paired_on_the_wire(provider: ScriptedModel) -> None:
    from fencepost_worker.models.port import Call

    provider.answer(text_answer("ok"))
    await ask(
        provider,
        Message("user", "hi"),
        Message("assistant", "", (Call("c1", "ledger.add", {"amount": "1"}),)),
        Message("tool", "{}", call_id="c1"),
    )
    sent = provider.requests[0]["messages"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "ledger__add", "arguments": '{"amount": "1"}'}
    assert sent[2] == {"role": "tool", "content": "{}", "tool_call_id": "c1"}


def test_wire_names_go_back_by_table_and_an_endpoint_holds_no_password() -> None:
    names = WireNames(["a.b", "a__b"])
    assert [names.back(names.out(name)) for name in ("a.b", "a__b")] == ["a.b", "a__b"]
    assert names.back("life.create") == "life.create"
    assert public_endpoint("https://user:pw@host:8/v1/?key=1") == "https://host:8/v1"


def test_the_text_of_respond_is_shown_as_whole_characters_while_it_is_written() -> None:
    shown: list[str] = []
    stream = RespondStream(shown.append)
    text = json.dumps({"text": 'a"b\n😀 明', "left_undone": []})  # with escapes
    from fencepost_worker.models.port import CallDelta

    stream.feed(CallDelta(0, "c", "respond", ""))
    for piece in text:
        stream.feed(CallDelta(0, None, None, piece))
    assert "".join(shown) == 'a"b\n😀 明'
    assert all(not ("\ud800" <= char <= "\udfff") for part in shown for char in part)
