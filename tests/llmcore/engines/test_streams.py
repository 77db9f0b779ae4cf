"""Streams of chat completions servers, and their results: replies, and failures of three kinds."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from chat_server import chunk, event, usage_chunk
from openai.types.chat import ChatCompletionChunk
from quirky_server import DONE, QuirkyServer, broken, calling, plain_server, refused, reply, streamed
from starlette.responses import StreamingResponse
from written_replies import CALLS, THOUGHTS

from llmcore.engine import (
    BusyError,
    Delta,
    LlmError,
    Message,
    RefusedError,
    ReplyError,
    Request,
    RequestError,
    ServerError,
    SetupError,
    Tool,
    is_server_failure,
)
from llmcore.engines.openai_chat import ChunkReader
from llmcore.engines.openai_engine import OpenAILlm

WEATHER = Tool(
    "weather", "Tells the weather.", {"type": "object", "properties": {"city": {"type": "string"}}}
)
ASK = Request((Message("user", "Hello"),), (WEATHER,))
BOOKED = "Your table is booked."
UNOPENED = "The caller wants a table.\n</think>\n\nYour table is booked."


@pytest.fixture
async def llm(server: QuirkyServer) -> AsyncIterator[OpenAILlm]:
    engine = OpenAILlm("tiny", server.address, api_key_env="", backoff_s=0.0)
    await engine.start()
    yield engine
    await engine.close()


async def read(llm: OpenAILlm, request: Request = ASK) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


def said(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def called(deltas: list[Delta]) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for delta in deltas for call in delta.tool_calls]


# ---- the end of a stream


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        *[
            (word, "stop")
            for word in ("eos", "end_turn", "STOP", "COMPLETE", "abort", "null", "whatever", None)
        ],
        *[(word, "length") for word in ("MAX_TOKENS", "length", "model_length")],
    ],
)
async def test_words_and_an_orderly_end_are_a_reply_whatever_the_finish_word(
    llm: OpenAILlm, server: QuirkyServer, word: str | None, reason: str
) -> None:
    server.answers = [reply([BOOKED], word)]
    deltas = await read(llm)
    assert said(deltas) == BOOKED
    assert deltas[-1].finish_reason == reason
    assert len(server.bodies) == 1


async def test_a_finish_word_that_is_not_known_is_logged_once(
    llm: OpenAILlm, server: QuirkyServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [reply(["Hi."], "because")]
    with caplog.at_level(logging.WARNING):
        await read(llm)
        await read(llm)
    assert [record.message for record in caplog.records if "because" in record.message] == [
        f"{server.address} tiny: unknown finish reason 'because', treated as a stop"
    ]


async def test_a_connection_that_breaks_is_a_failure_of_the_server(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [broken("Your table")]
    with pytest.raises(ServerError):
        await read(llm)


async def test_the_end_of_a_connection_is_the_end_of_a_stream_where_done_came_before() -> None:
    async with plain_server(event(chunk({"content": BOOKED})), DONE) as address:
        engine = OpenAILlm("tiny", address, api_key_env="")
        await engine.start()
        assert said(await read(engine)) == BOOKED
        await engine.close()


async def test_the_end_of_a_connection_without_any_mark_is_a_broken_reply() -> None:
    async with plain_server(event(chunk({"content": BOOKED}))) as address:
        engine = OpenAILlm("tiny", address, api_key_env="")
        await engine.start()
        with pytest.raises(ServerError, match="before the reply did"):
            await read(engine)
        await engine.close()


async def test_a_reply_is_whole_at_its_finish_word_though_the_connection_stays_open(
    server: QuirkyServer,
) -> None:
    """Some gateways keep the connection open after the last chunk, and send no `[DONE]`."""
    engine = OpenAILlm("tiny", server.address, api_key_env="", retries=0)
    await engine.start()
    leave = asyncio.Event()

    async def lingering() -> AsyncIterator[str]:
        yield event(chunk({"content": BOOKED}, "stop"))
        yield event(usage_chunk(9, 4, 2))
        await leave.wait()

    server.answers = [lambda _: StreamingResponse(lingering(), media_type="text/event-stream")]
    deltas = await asyncio.wait_for(read(engine), 6)  # `timeout_s` is 8
    leave.set()
    usage = deltas[-1].usage
    assert usage is not None
    assert (said(deltas), deltas[-1].finish_reason, usage.prompt_tokens) == (BOOKED, "stop", 9)
    await engine.close()


async def test_a_reply_is_whole_at_its_finish_word_though_the_connection_breaks_then(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [broken("Your ", BOOKED, finish="stop")]
    deltas = await read(llm)
    assert (said(deltas), deltas[-1].finish_reason) == (f"Your {BOOKED}", "stop")


@pytest.mark.parametrize(
    ("reasons", "ended"),
    [
        ((None, None, "stop"), [False, False, True]),
        (("null", "null", "stop"), [False, False, True]),  # DashScope
        (("stop", "stop", "stop"), [True, False, False]),
        (("", "none", "length"), [False, False, True]),
    ],
)
def test_a_reply_has_not_ended_while_words_follow_its_finish_word(
    reasons: tuple[str | None, ...], ended: list[bool]
) -> None:
    """Some servers send a finish word with every chunk: a pause of a second must not cut the reply."""
    reader, seen = ChunkReader(), []
    for reason in reasons:
        reader.push(ChatCompletionChunk.construct(None, **chunk({"content": "Your "}, reason)))
        seen.append(reader.ended)
    assert seen == ended
    assert reader.finish()[-1].finish_reason == ("length" if "length" in reasons else "stop")


# ---- failures and their kinds


@pytest.mark.parametrize("word", ["content_filter", "SAFETY", "refusal", "guardrail_intervened", "sensitive"])
async def test_a_reply_that_a_filter_ends_is_refused(llm: OpenAILlm, server: QuirkyServer, word: str) -> None:
    server.answers = [reply(["Well, "], word)]
    with pytest.raises(RefusedError, match=word):
        await read(llm)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refused(403, message="Your input was flagged", metadata={"reasons": ["violence"]}), RefusedError),
        (refused(403, code="moderation_blocked"), RefusedError),
        (refused(400, code="content_filter", message="The response was filtered"), RefusedError),
        (refused(400, message="Content Exists Risk"), RefusedError),
        (refused(400, message="too long"), RequestError),
        (refused(422, message="no such field"), RequestError),
        (refused(403, message="this key may not do that"), SetupError),
        (refused(401, message="wrong key"), SetupError),
        (refused(404, message="no such model"), SetupError),
        (refused(429, message="slow down"), BusyError),
        (refused(500, message="disk full"), ServerError),
        (refused(503, message="starting"), ServerError),
        (
            streamed(chunk({"content": "Well"}), {"error": {"message": "provider gone", "code": 502}}),
            ReplyError,
        ),
        (streamed({"error": {"message": "provider gone", "code": 502}}), ReplyError),
        (streamed({"error": {"message": "flagged by moderation", "code": 403}}), RefusedError),
        (streamed(chunk({"content": "Well"}), "data: nonsense\n\n"), ServerError),
        (streamed({"choices": [7]}), ServerError),
    ],
)
async def test_failures_are_of_the_request_of_the_server_or_of_this_side(
    llm: OpenAILlm, server: QuirkyServer, answer: Any, kind: type[LlmError]
) -> None:
    server.answers = [answer]
    with pytest.raises(LlmError) as caught:
        await read(llm)
    assert type(caught.value) is kind
    assert is_server_failure(caught.value) == (kind is ServerError)


async def test_an_engine_without_its_key_or_its_start_is_this_sides_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ABSENT_KEY", raising=False)
    engine = OpenAILlm("tiny", "http://127.0.0.1:9/v1", api_key_env="ABSENT_KEY")
    with pytest.raises(SetupError):
        await engine.start()
    with pytest.raises(SetupError):
        await read(engine)


async def test_a_call_that_cannot_be_read_is_of_this_request(llm: OpenAILlm, server: QuirkyServer) -> None:
    server.answers = [reply(["<tool_call>nonsense</tool_call>"])]
    with pytest.raises(ReplyError, match="tool call"):
        await read(llm)


# ---- control text


@pytest.mark.parametrize("text", [*THOUGHTS.values(), UNOPENED], ids=[*THOUGHTS, "end alone"])
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_thoughts_are_no_words(llm: OpenAILlm, server: QuirkyServer, text: str, size: int) -> None:
    server.answers = [reply(text[at : at + size] for at in range(0, len(text), size))]
    assert said(await read(llm)) == BOOKED


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
async def test_a_call_that_is_written_as_text_is_a_call(
    llm: OpenAILlm, server: QuirkyServer, text: str
) -> None:
    server.answers = [reply(text[at : at + 5] for at in range(0, len(text), 5))]
    deltas = await read(llm)
    assert (said(deltas), called(deltas)) == ("", [("weather", {"city": "Rome"})])
    assert deltas[-1].finish_reason == "tool_calls"


async def test_json_that_is_no_call_is_said(llm: OpenAILlm, server: QuirkyServer) -> None:
    server.answers = [reply(['{"name": "Ann", ', '"city": "Rome"}'])]
    assert said(await read(llm)) == '{"name": "Ann", "city": "Rome"}'


async def test_a_model_that_was_seen_to_leave_thoughts_open_has_them_held_back(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    plain, unopened = reply(["Hello."]), reply(["Zwei Personen.", "</think>", BOOKED])
    server.answers = [plain, unopened, unopened, plain, unopened]
    texts = [said(await read(llm)) for _ in range(5)]
    # the first one passes: it begins unlike an English thought, and the model had no such reply before
    assert texts == ["Hello.", f"Zwei Personen. {BOOKED}", BOOKED, "Hello.", BOOKED]


async def test_words_that_begin_as_thoughts_do_are_held_back_in_doubt(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [reply(["Hello."]), reply(UNOPENED)]
    assert said(await read(llm)) == "Hello."
    assert said(await read(llm)) == BOOKED


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thoughts_that_the_server_tells_apart_are_thoughts(
    llm: OpenAILlm, server: QuirkyServer, field: str
) -> None:
    server.answers = [streamed(chunk({field: "Hm"}), chunk({field: "."}), chunk({"content": "Hi."}), DONE)]
    deltas = await read(llm)
    assert ("".join(delta.thought for delta in deltas), said(deltas)) == ("Hm.", "Hi.")


async def test_thoughts_are_counted_by_the_servers_word_or_by_their_pieces(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 9, "total_tokens": 10}
    told = chunk({}) | {
        "choices": [],
        "usage": usage | {"completion_tokens_details": {"reasoning_tokens": 7}},
    }
    pieces = [chunk({"reasoning": "Hm"}), chunk({"reasoning": "."}), chunk({"content": "Hi."}, "stop")]
    server.answers = [streamed(*pieces, told, DONE), streamed(*pieces, DONE)]
    counts = [(await read(llm))[-1].usage for _ in range(2)]
    assert [usage.thought_tokens for usage in counts if usage is not None] == [7, 2]


async def test_a_model_that_thinks_for_longer_than_a_first_token_may_take_is_alive(
    server: QuirkyServer,
) -> None:
    engine = OpenAILlm("tiny", server.address, api_key_env="", first_token_timeout_s=0.3, retries=0)
    await engine.start()

    async def thinking() -> AsyncIterator[str]:
        for _ in range(8):
            yield event(chunk({"reasoning_content": "Hm. "}))
            await asyncio.sleep(0.1)
        yield event(chunk({"content": "Hi."}, "stop"))

    server.answers = [lambda _: StreamingResponse(thinking(), media_type="text/event-stream")]
    assert said(await read(engine)) == "Hi."
    await engine.close()


# ---- calls in pieces


def piece(arguments: Any = "", **fields: Any) -> dict[str, Any]:
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return {"index": 0, "type": "function", "function": name | {"arguments": arguments}} | fields


ANN = [("book", {"name": "Ann"})]
TWO = [("book", {"name": "Ann"}), ("book", {"name": "Bob"})]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([piece(part, id="call_1", name="book") for part in ('{"name"', ': "A', 'nn"}')], ANN),
        ([piece('{"name"', id="a", name="book"), piece(': "Ann"}', id="b")], ANN),
        ([piece('{"na', id="a", name="book"), piece('{"name": "Ann"}', id="a", name="book")], ANN),
        ([piece("{}", id="a", name="book"), piece('{"name": "Ann"}', id="a")], ANN),
        ([piece({"name": "Ann"}, id="a", name="book")], ANN),
        ([piece('{"name": "Ann"}', name="book"), piece('{"name": "Bob"}', name="book")], TWO),
        (
            [piece(part, name="book", index=None) for part in ('{"name": "Ann"}', '{"name"', ': "Bob"}')],
            TWO,
        ),
        ([piece('{"name": "Ann"}', name="book", id="a"), piece('{"name": "Bob"}', name="book", id="b")], TWO),
        ([piece("", name="look", id="a"), piece("", name="ring", id="b")], [("look", {}), ("ring", {})]),
        ([piece("", name="look"), piece("", name="ring")], [("look", {}), ("ring", {})]),
    ],
)
async def test_names_and_ids_are_atoms_and_whole_json_tells_calls_apart(
    llm: OpenAILlm, server: QuirkyServer, pieces: list[dict[str, Any]], expected: list[tuple[str, Any]]
) -> None:
    server.answers = [calling(*pieces)]
    assert called(await read(llm)) == expected


async def test_the_one_call_of_older_servers_is_a_call(llm: OpenAILlm, server: QuirkyServer) -> None:
    parts = [{"name": "book", "arguments": '{"name"'}, {"arguments": ': "Ann"}'}]
    server.answers = [
        streamed(*[chunk({"function_call": part}) for part in parts], chunk({}, "function_call"), DONE)
    ]
    assert called(await read(llm)) == ANN


# ---- opaque fields sent back


def answered(deltas: list[Delta]) -> Request:
    """Return the next request of a tool loop."""
    calls = tuple(call for delta in deltas for call in delta.tool_calls)
    results = [Message("tool", "Sunny.", tool_call_id=call.call_id) for call in calls]
    return replace(ASK, messages=(*ASK.messages, Message("assistant", said(deltas), calls), *results))


async def test_what_a_server_put_with_a_call_goes_back_with_it(llm: OpenAILlm, server: QuirkyServer) -> None:
    signed = {"extra_content": {"google": {"thought_signature": "Q0FGRQ=="}}}
    call = piece('{"city": "Rome"}', id="c1", name="weather", **signed)
    call["function"]["signature"] = "S"
    server.answers = [calling(call), reply(["Sunny."])]
    await read(llm, answered(await read(llm)))
    (sent,) = server.bodies[1]["messages"][1]["tool_calls"]
    assert sent["extra_content"] == signed["extra_content"]
    assert sent["function"] == {"name": "weather", "arguments": '{"city": "Rome"}', "signature": "S"}


@pytest.mark.parametrize(
    ("sent", "back"),
    [
        ([{"reasoning_content": "Hm"}, {"reasoning_content": "."}], {"reasoning_content": "Hm."}),
        ([{"reasoning": "Hm."}], {"reasoning": "Hm."}),
        (
            [
                {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "H"}]},
                {
                    "reasoning_details": [
                        {"type": "reasoning.text", "index": 0, "text": "m.", "signature": "S"}
                    ]
                },
            ],
            {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Hm.", "signature": "S"}]},
        ),
        (
            [{"extra_content": {"google": {"thought_signature": "S"}}}],
            {"extra_content": {"google": {"thought_signature": "S"}}},
        ),
    ],
)
async def test_thoughts_that_led_to_a_call_go_back_with_its_message(
    llm: OpenAILlm, server: QuirkyServer, sent: list[dict[str, Any]], back: dict[str, Any]
) -> None:
    call = piece('{"city": "Rome"}', id="c1", name="weather")
    server.answers = [
        streamed(*map(chunk, sent), chunk({"tool_calls": [call]}), chunk({}, "tool_calls"), DONE),
        reply(["Sunny."]),
    ]
    await read(llm, answered(await read(llm)))
    message = server.bodies[1]["messages"][1]
    assert {key: message.get(key) for key in back} == back


async def test_what_a_server_put_with_a_message_goes_back_with_it_but_not_its_thoughts(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    extra = {"extra_content": {"google": {"thought_signature": "S"}}}
    server.answers = [
        streamed(chunk({"content": "Hi."} | extra), chunk({"reasoning": "Hm."}), chunk({}, "stop"), DONE)
    ]
    deltas = await read(llm)
    history = (*ASK.messages, Message("assistant", "Hi.", opaque=deltas[-1].opaque), Message("user", "And?"))
    await read(llm, replace(ASK, messages=history))
    assert server.bodies[1]["messages"][1] == {"role": "assistant", "content": "Hi."} | extra


async def test_to_another_server_or_model_nothing_of_that_goes(server: QuirkyServer, llm: OpenAILlm) -> None:
    signed = {"extra_content": {"google": {"thought_signature": "S"}}}
    server.answers = [
        calling(piece("{}", id="c1", name="weather", **signed), reasoning="Hm."),
        reply(["Hi."]),
    ]
    other = OpenAILlm("other", server.address, api_key_env="")
    await other.start()
    await read(other, answered(await read(llm)))
    await other.close()
    message = server.bodies[1]["messages"][1]
    assert message.keys() == {"role", "content", "tool_calls"}
    assert message["tool_calls"][0].keys() == {"id", "type", "function"}


# ---- stop strings of the request


@pytest.mark.parametrize(
    "pieces", [["Yes.\nCaller: and"], ["Yes.", "\nCal", "ler: and"], ["Yes.\n", "Caller:", " and"]]
)
async def test_a_stop_string_that_the_server_ignores_ends_the_reply(
    llm: OpenAILlm, server: QuirkyServer, pieces: list[str]
) -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[str]:
        try:
            for piece in pieces:
                yield event(chunk({"content": piece}))
            while True:
                await asyncio.sleep(0.001)
                yield event(chunk({"content": " more"}))
        finally:
            closed.set()

    server.answers = [lambda _: StreamingResponse(endless(), media_type="text/event-stream")]
    async with asyncio.timeout(20):
        deltas = await read(llm, replace(ASK, stop=("\nCaller:",)))
        assert (said(deltas), deltas[-1].finish_reason) == ("Yes.", "stop")
        await closed.wait()


async def test_words_that_only_begin_a_stop_string_are_spoken(llm: OpenAILlm, server: QuirkyServer) -> None:
    server.answers = [reply(["Yes.", "\nCall"])]
    assert said(await read(llm, replace(ASK, stop=("\nCaller:",)))) == "Yes.\nCall"


async def test_words_before_a_call_are_whole_where_they_may_begin_a_stop_string(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": "{}"}}
    server.answers = [
        streamed(chunk({"content": "Yes.\n"}), chunk({"tool_calls": [call]}), chunk({}, "tool_calls"), DONE)
    ]
    deltas = await read(llm, replace(ASK, stop=("\nCaller:",)))
    assert (said(deltas), called(deltas)) == ("Yes.\n", [("weather", {})])


# ---- streams that end without their end


async def test_a_stream_without_the_end_that_the_server_sends_is_broken(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [reply(["Yes."]), streamed(chunk({"content": "The table"}))]
    assert said(await read(llm)) == "Yes."
    with pytest.raises(LlmError, match="ended before the reply did"):
        await read(llm)


async def test_a_server_that_never_marks_the_end_ends_its_replies_by_the_stream(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [streamed(chunk({"content": "Yes."}))]
    assert [said(await read(llm)) for _ in range(2)] == ["Yes.", "Yes."]
