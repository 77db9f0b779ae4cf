"""Answers of OpenAI-compatible servers that are whole, empty, or errors in a form of their own."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest
from chat_server import chunk
from quirky_server import DONE, QuirkyServer, calling, refused, reply, streamed
from starlette.responses import JSONResponse, Response

from llmcore.engine import Delta, LlmError, Message, ReplyError, Request, RequestError, ServerError, Tool
from llmcore.engines.openai_engine import OpenAILlm

ASK = Request((Message("user", "Hello"),), (Tool("weather", "Tells the weather."),), stop=("###",))
HI = chunk({"content": "Hi."}, "stop")
CALL = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}


async def read(llm: OpenAILlm) -> list[Delta]:
    async with aclosing(llm.generate(ASK)) as deltas:
        return [delta async for delta in deltas]


def said(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def whole(**message: Any) -> dict[str, Any]:
    """Return a completion that is not streamed."""
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


# ---- errors in a form of their own


@pytest.mark.parametrize(
    "error",
    [
        {"object": "error", "message": "engine died", "code": 500},
        {"object": "Error", "message": "engine died", "type": "internal_error_proxy"},
        {"detail": "engine died"},
        'event: error\ndata: {"message": "engine died"}\n\n',
        'event: error\ndata: {"error": "engine died", "error_type": "generation"}\n\n',
        {"choices": [], "x_groq": {"id": "req_1", "error": "engine died"}},
        {"choices": None, "usage": None, "base_resp": {"status_code": 1002, "status_msg": "engine died"}},
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {"content": ""},
                    "finish_reason": "error",
                    "error": {"code": 502, "message": "engine died"},
                }
            ]
        },
    ],
    ids=["lmdeploy", "mistral", "detail", "event", "tgi", "groq", "minimax", "openrouter"],
)
@pytest.mark.parametrize("before", [(), (chunk({"content": "Hel"}),)], ids=["first", "later"])
async def test_an_error_in_a_servers_own_form_is_an_error(
    llm: OpenAILlm, server: QuirkyServer, before: tuple[dict[str, Any], ...], error: dict[str, Any] | str
) -> None:
    server.answers = [streamed(*before, error, DONE)]
    with pytest.raises(ReplyError, match="engine died"):
        await read(llm)


async def test_a_reply_that_ends_by_an_error_is_no_reply(llm: OpenAILlm, server: QuirkyServer) -> None:
    server.answers = [streamed(chunk({"content": "Hel"}), chunk({}, "error"), DONE)]
    with pytest.raises(ReplyError, match="failed"):
        await read(llm)


async def test_an_error_before_the_first_word_is_tried_again(server: QuirkyServer) -> None:
    engine = OpenAILlm("tiny", server.address, api_key_env="", backoff_s=0.0)
    await engine.start()
    server.answers = [streamed({"object": "error", "message": "engine died"}, DONE), streamed(HI, DONE)]
    assert said(await read(engine)) == "Hi."
    await engine.close()


@pytest.mark.parametrize("error", [None, "", {}])
async def test_an_empty_error_is_none(llm: OpenAILlm, server: QuirkyServer, error: Any) -> None:
    server.answers = [streamed(HI | {"error": error}, DONE)]
    assert said(await read(llm)) == "Hi."


# ---- answers that are no stream


async def test_a_server_that_does_not_stream_is_understood(llm: OpenAILlm, server: QuirkyServer) -> None:
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL]}
    server.answers = [lambda _: JSONResponse(whole(**message) | {"usage": {"prompt_tokens": 3}})]
    deltas = await read(llm)
    assert said(deltas) == "Let me look."
    assert [(call.name, call.arguments) for delta in deltas for call in delta.tool_calls] == [
        ("weather", '{"city": "Rome"}')
    ]
    usage = deltas[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (3, 0)


async def test_a_message_in_place_of_a_delta_is_said_once(llm: OpenAILlm, server: QuirkyServer) -> None:
    message = whole(content="Hi.")
    server.answers = [streamed(message, DONE), streamed(chunk({"content": "Hi."}), message, DONE)]
    assert [said(await read(llm)) for _ in range(2)] == ["Hi.", "Hi."]


async def test_an_error_in_place_of_a_stream_is_an_error(llm: OpenAILlm, server: QuirkyServer) -> None:
    server.answers = [lambda _: JSONResponse({"error": {"message": "engine died"}})]
    with pytest.raises(ReplyError, match="engine died"):
        await read(llm)


EMPTY = Response("", media_type="text/event-stream")
"""llama-cpp-python's answer to a streamed request that it cannot carry out."""


@pytest.mark.parametrize("stream", ["", DONE, ": comment\n\n"])
async def test_the_whole_answer_is_requested_where_the_stream_is_empty(
    llm: OpenAILlm, server: QuirkyServer, stream: str
) -> None:
    empty = Response(stream, media_type="text/event-stream")
    server.answers = [
        lambda _: empty,
        lambda _: JSONResponse(whole(content=None, tool_calls=[CALL])),
    ]
    assert [call.name for delta in await read(llm) for call in delta.tool_calls] == ["weather"]
    assert [body["stream"] for body in server.bodies] == [True, False]
    assert "stream_options" not in server.bodies[1]


async def test_the_reason_of_an_empty_stream_is_that_of_the_whole_answer(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [lambda _: EMPTY, refused(400, message="no such tool")]
    with pytest.raises(RequestError, match="no such tool"):
        await read(llm)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response("<html>Please log in.</html>", media_type="text/html"), "no stream.*text/html"),
        (Response(json.dumps(HI) + "\n", media_type="application/x-ndjson"), "no stream.*ndjson"),
        (Response(DONE, media_type="text/event-stream"), "no stream of chunks"),
        (Response("[]", media_type="application/json"), "not JSON.*list in place of an object"),
    ],
)
async def test_an_answer_without_a_chunk_is_a_failure_that_names_its_type(
    llm: OpenAILlm, server: QuirkyServer, answer: Response, reason: str
) -> None:
    server.answers = [lambda _: answer]
    with pytest.raises(ServerError, match=reason):
        await read(llm)


# ---- arguments


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ('"{\\"city\\": \\"Rome\\"}"', '{"city": "Rome"}'),
        ("null", "{}"),
        ('""', "{}"),
        ('"cut', '"cut'),
        ('{"city": "Rome"} thanks', '{"city": "Rome"}'),
        ('```json\n{"city": "Rome"}\n```', '{"city": "Rome"}'),
        ('{"city": "Ro\nme"}', '{"city": "Ro\\nme"}'),
    ],
)
async def test_arguments_that_are_encoded_twice_or_null_are_an_object(
    llm: OpenAILlm, server: QuirkyServer, sent: str, expected: str
) -> None:
    function = {"name": "weather", "arguments": sent}
    server.answers = [calling({"index": 0, "id": "a", "type": "function", "function": function})]
    calls = [call for delta in await read(llm) for call in delta.tool_calls]
    assert [call.arguments for call in calls] == [expected]


@pytest.mark.parametrize(
    "sent",
    [
        *("Weather", "functions.weather", "functions.weather:0", "weather<|channel|>commentary", '"weather"'),
        *(
            "functions.weather<|channel|>json",
            "default_api.weather",
            "default_api:weather",
            "weather()",
            " weather ",
        ),
    ],
)
async def test_a_call_whose_name_is_written_otherwise_is_one_of_the_tool(
    llm: OpenAILlm, server: QuirkyServer, sent: str
) -> None:
    function = {"name": sent, "arguments": "{}"}
    server.answers = [calling({"index": 0, "id": "a", "type": "function", "function": function})]
    assert [call.name for delta in await read(llm) for call in delta.tool_calls] == ["weather"]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "Hi."}],
        [{"type": "output_text", "text": "Hi."}],
        {"type": "text", "text": "Hi."},
    ],
)
async def test_content_in_parts_is_said(llm: OpenAILlm, server: QuirkyServer, content: Any) -> None:
    server.answers = [streamed(chunk({"content": content}, "stop"), DONE)]
    assert said(await read(llm)) == "Hi."


@pytest.mark.parametrize(
    ("of_choice", "of_chunk"),
    [({"usage": {"prompt_tokens": 10}}, {}), ({}, {"x_groq": {"id": "r", "usage": {"prompt_tokens": 10}}})],
    ids=["kimi", "groq"],
)
async def test_token_counts_in_another_place_are_counted(
    llm: OpenAILlm, server: QuirkyServer, of_choice: dict[str, Any], of_chunk: dict[str, Any]
) -> None:
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", **of_choice}], **of_chunk}
    server.answers = [streamed(chunk({"content": "Hi."}), last, DONE)]
    usage = (await read(llm))[-1].usage
    assert usage is not None
    assert usage.prompt_tokens == 10


async def test_a_call_in_its_old_and_its_new_form_is_one_call(llm: OpenAILlm, server: QuirkyServer) -> None:
    """llama-cpp-python's form, whose call was made twice."""

    def both(arguments: str) -> dict[str, Any]:
        function = {"name": "weather", "arguments": arguments}
        call = {"index": 0, "id": "call__0_weather", "type": "function", "function": function}
        return chunk({"role": None, "content": None, "function_call": function, "tool_calls": [call]})

    last = chunk({"role": None, "content": None, "function_call": None, "tool_calls": None}, "tool_calls")
    server.answers = [streamed(both('{"city": "Rome"}'), both(""), last, DONE)]
    calls = [call for delta in await read(llm) for call in delta.tool_calls]
    assert [(call.call_id, call.name, call.arguments) for call in calls] == [
        ("call__0_weather", "weather", '{"city": "Rome"}')
    ]


# ---- fields that a model refuses

NEWER_NAME = "Unsupported parameter: 'max_tokens' is not supported with it. Use 'max_completion_tokens'."
DEFAULT_ONLY = "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1)."
NO_STOP = "Unsupported parameter: 'stop' is not supported with this model."


async def test_a_model_that_refuses_fields_is_asked_without_them(
    llm: OpenAILlm, server: QuirkyServer, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = [refused(400, message=text) for text in (NEWER_NAME, DEFAULT_ONLY, NO_STOP)]
    server.answers = [*refusals, reply(["Hi."])]
    assert [said(await read(llm)) for _ in range(2)] == ["Hi.", "Hi."]
    assert len(server.bodies) == 5  # the second reply's request is right at once
    body = server.bodies[-1]
    assert body["max_completion_tokens"] == ASK.max_tokens
    assert not {"max_tokens", "temperature", "stop"} & set(body)
    for line in ("max_tokens: sent as max_completion_tokens", "temperature: left out", "stop: left out"):
        assert caplog.text.count(f"it refuses {line}") == 1


async def test_a_field_of_the_configuration_is_not_left_out(server: QuirkyServer) -> None:
    engine = OpenAILlm("tiny", server.address, api_key_env="", retries=0, extra_body={"temperature": 0.7})
    await engine.start()
    server.answers = [refused(400, message=DEFAULT_ONLY)]
    with pytest.raises(RequestError, match="temperature"):
        await read(engine)
    assert len(server.bodies) == 2
    await engine.close()


async def test_a_refusal_of_something_else_is_not_tried_without_fields(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [refused(400, message="max_tokens is too large: 9000")]
    with pytest.raises(LlmError, match="too large"):
        await read(llm)
    assert len(server.bodies) == 1
