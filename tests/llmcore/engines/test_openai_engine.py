"""The OpenAI engine against a server that fails as the script says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from chat_server import chunk, event, serve, usage_chunk
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from llmcore.engine import Delta, LlmError, Message, Request, Tool, ToolCall, Usage
from llmcore.engines.openai_chat import request_body
from llmcore.engines.openai_engine import OpenAILlm
from llmcore.engines.remote_failures import retry_after_s

Answer = Callable[[], Response]

ASK = Request((Message("system", "Be brief."), Message("user", "Hello")), max_tokens=7, stop=("END",))


HEADERS = ("authorization", "traceparent", "x-session-id")


class ScriptedServer:
    """Answers the next request with the next of `answers`, and remembers the bodies."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.bodies: list[dict[str, Any]] = []
        self.models_status = 200
        self.models_after_s = 0.0
        self.models: Response | None = None
        self.hangs = asyncio.Event()
        self.hung_up = asyncio.Event()

    def app(self) -> Starlette:
        async def complete(http: HttpRequest) -> Response:
            headers = {name: http.headers.get(name) for name in HEADERS}
            self.bodies.append(await http.json() | headers)
            return self.answers.pop(0)()

        async def models(http: HttpRequest) -> Response:
            await asyncio.sleep(self.models_after_s)
            return self.models or JSONResponse({"object": "list", "data": []}, self.models_status)

        routes = [Route("/v1/chat/completions", complete, methods=["POST"]), Route("/v1/models", models)]
        return Starlette(routes=routes)

    async def hang(self) -> AsyncGenerator[str, None]:
        """Send a chunk without content, then nothing until the client is gone."""
        try:
            yield event(chunk({"role": "assistant", "content": ""}))
            self.hangs.set()
            await asyncio.Event().wait()
        finally:
            self.hung_up.set()


@pytest.fixture
async def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
async def address(server: ScriptedServer) -> AsyncIterator[str]:
    async with serve(server.app()) as base_url:
        yield base_url


@pytest.fixture
def waits() -> list[float]:
    """Return the waits between the engine's tries, in seconds."""
    return []


@pytest.fixture
async def llm(address: str, waits: list[float], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenAILlm]:
    async def wait_in_no_time(wait_s: float) -> None:
        waits.append(wait_s)

    monkeypatch.setenv("TEST_KEY", "secret")
    engine = OpenAILlm("tiny", address, api_key_env="TEST_KEY", backoff_s=0.5, max_backoff_s=4.0)
    engine.jitter, engine.sleep = lambda: 0.5, wait_in_no_time
    await engine.start()
    yield engine
    await engine.close()


def stream(*chunks: dict[str, Any]) -> Answer:
    events = [event(one) for one in chunks] + ["data: [DONE]\n\n"]
    return lambda: StreamingResponse(iter(events), media_type="text/event-stream")


def refuse(status: int, message: str, **headers: str) -> Answer:
    return lambda: JSONResponse({"error": {"message": message}}, status, headers)


def hello() -> Answer:
    return stream(
        chunk({"content": "Hel"}), chunk({"content": "lo"}), chunk({}, "stop"), usage_chunk(9, 4, 2)
    )


async def read(llm: OpenAILlm, request: Request = ASK) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


async def test_a_reply_streams_with_its_usage_and_cached_tokens(
    llm: OpenAILlm, server: ScriptedServer
) -> None:
    server.answers = [hello()]
    assert await read(llm) == [
        Delta("Hel"),
        Delta("lo"),
        Delta(finish_reason="stop", usage=Usage(9, 4, 2)),
    ]


@pytest.mark.parametrize(
    ("counts", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 4}}, 4),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 0),
        ({"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5}, 4),
        ({"cached_tokens": 4}, 4),
        ({"prompt_tokens_details": None, "cached_tokens": None}, 0),
        ({}, 0),
    ],
    ids=["openai", "openai-none", "deepseek", "kimi", "nulls", "untold"],
)
async def test_cached_tokens_are_counted_wherever_a_server_tells_them(
    llm: OpenAILlm, server: ScriptedServer, counts: dict[str, object], cached: int
) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11} | counts
    last = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "tiny", "choices": []}
    server.answers = [stream(chunk({"content": "Hi"}, "stop"), last | {"usage": usage})]
    assert (await read(llm))[-1].usage == Usage(9, cached, 2)


async def test_a_character_that_a_server_cut_in_two_comes_whole_and_a_lone_half_can_be_sent_back(
    llm: OpenAILlm, server: ScriptedServer
) -> None:
    server.answers = [
        stream(chunk({"content": "Hi \ud83d"}), chunk({"content": "\ude00 \ud800"}), chunk({}, "stop")),
        hello(),
    ]
    said = "".join(delta.text for delta in await read(llm))
    assert said == "Hi 😀 \ufffd"
    await read(llm, replace(ASK, messages=(*ASK.messages, Message("assistant", said))))


async def test_the_request_says_all_that_was_asked(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [hello()]
    await read(llm)
    (body,) = server.bodies
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]
    assert (body["model"], body["max_tokens"], body["stop"]) == ("tiny", 7, ["END"])
    assert body["stream_options"] == {"include_usage": True}
    assert body["authorization"] == "Bearer secret"
    assert "tools" not in body


async def test_the_span_that_a_request_is_made_in_is_told(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [hello(), hello()]
    await read(llm)
    await read(llm, replace(ASK, traceparent="00-a-b-01"))
    assert [body["traceparent"] for body in server.bodies] == [None, "00-a-b-01"]


async def test_the_call_that_a_request_is_of_is_told(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [hello(), hello()]
    await read(llm)
    await read(llm, replace(ASK, caller="call_1"))
    assert [body["x-session-id"] for body in server.bodies] == [None, "call_1"]


async def test_newer_field_names_and_extra_fields_are_sent(server: ScriptedServer, address: str) -> None:
    server.answers = [hello()]
    engine = OpenAILlm(
        "tiny",
        address,
        api_key_env="",
        max_tokens_field="max_completion_tokens",
        extra_body={"reasoning_effort": "none"},
    )
    await engine.start()
    await read(engine)
    await engine.close()
    (body,) = server.bodies
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (7, "none")
    assert "max_tokens" not in body


async def test_tools_and_their_history_are_sent(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [hello()]
    messages = (
        Message("user", "Open seven."),
        Message("assistant", "", tool_calls=(ToolCall("call_1", "open_door", '{"room": 7}'),)),
        Message("tool", "Open.", tool_call_id="call_1"),
    )
    await read(llm, Request(messages, tools=(Tool("open_door", "Opens."),), tool_choice="open_door"))
    (body,) = server.bodies
    assert body["tool_choice"] == {"type": "function", "function": {"name": "open_door"}}
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}
    function = {"name": "open_door", "arguments": '{"room": 7}'}
    assert body["messages"][1]["tool_calls"] == [{"id": "call_1", "type": "function", "function": function}]
    assert body["messages"][2] == {"role": "tool", "content": "Open.", "tool_call_id": "call_1"}


def call_piece(index: int, call_id: str | None = None, **function: str) -> dict[str, Any]:
    piece: dict[str, Any] = {"index": index, "function": function}
    if call_id is not None:
        piece |= {"id": call_id, "type": "function"}
    return chunk({"tool_calls": [piece]})


async def test_tool_calls_in_pieces_come_whole(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [
        stream(
            chunk({"content": "Right."}),
            call_piece(0, "call_a", name="open_door", arguments=""),
            call_piece(0, arguments='{"room"'),
            call_piece(0, arguments=": 7}"),
            call_piece(1, "call_b", name="ring", arguments="{}"),
            chunk({}, "stop"),  # as vLLM ends a call that tool_choice named
            usage_chunk(5, 0, 9),
        )
    ]
    said, calls, last = await read(
        llm, Request(ASK.messages, tools=(Tool("open_door", ""), Tool("ring", "")))
    )
    assert said == Delta("Right.")
    assert calls.tool_calls == (
        ToolCall("call_a", "open_door", '{"room": 7}'),
        ToolCall("call_b", "ring", "{}"),
    )
    assert last.finish_reason == "tool_calls"


TWO_CALLS = (("call_a", "open_door", '{"room": 7}'), ("call_b", "ring", "{}"))


@pytest.mark.parametrize("index", [{"index": 0}, {"index": None}, {}])
async def test_calls_that_have_one_index_or_none_are_told_apart_by_their_ids(
    llm: OpenAILlm, server: ScriptedServer, index: dict[str, Any]
) -> None:
    pieces = [
        chunk({"tool_calls": [index | {"id": call_id, "function": {"name": name, "arguments": arguments}}]})
        for call_id, name, arguments in TWO_CALLS
    ]
    server.answers = [stream(*pieces, chunk({}, "tool_calls"))]
    calls, _ = await read(llm)
    assert calls.tool_calls == tuple(ToolCall(*call) for call in TWO_CALLS)


async def test_arguments_that_come_as_an_object_are_taken(llm: OpenAILlm, server: ScriptedServer) -> None:
    piece = {"index": 0, "id": "call_a", "function": {"name": "open_door", "arguments": {"room": 7}}}
    server.answers = [stream(chunk({"tool_calls": [piece]}), chunk({}, "tool_calls"))]
    calls, _ = await read(llm)
    assert calls.tool_calls == (ToolCall("call_a", "open_door", '{"room": 7}'),)


@pytest.mark.parametrize(
    ("called", "sent"),
    [("bad name!", "bad_name_"), ("", "unnamed"), ("shop.add", "shop_add"), ("x" * 70, "x" * 64)],
)
async def test_a_called_name_that_no_tool_can_have_is_sent_back_as_one_that_it_can(
    llm: OpenAILlm, server: ScriptedServer, called: str, sent: str
) -> None:
    server.answers = [hello()]
    call = Message("assistant", "", tool_calls=(ToolCall("call_1", called, "{}"),))
    await read(llm, Request((*ASK.messages, call, Message("tool", "no such tool", tool_call_id="call_1"))))
    assert server.bodies[0]["messages"][2]["tool_calls"][0]["function"]["name"] == sent


async def test_a_refusal_of_the_model_is_what_it_says(llm: OpenAILlm, server: ScriptedServer) -> None:
    pieces = [chunk({"content": None, "refusal": text}) for text in ("I cannot ", "do that.")]
    server.answers = [stream(*pieces, chunk({}, "stop"))]
    assert "".join(delta.text for delta in await read(llm)) == "I cannot do that."


async def test_of_content_in_parts_the_text_is_said(llm: OpenAILlm, server: ScriptedServer) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    parts = [[thought], [{"type": "text", "text": "Hel"}], "lo"]
    server.answers = [stream(*[chunk({"content": part}) for part in parts], chunk({}, "stop"))]
    assert "".join(delta.text for delta in await read(llm)) == "Hello"


async def test_chunks_without_choices_or_delta_say_nothing(llm: OpenAILlm, server: ScriptedServer) -> None:
    empty = [chunk({}) | {"choices": choices} for choices in ([], None, [{"index": 0, "delta": None}])]
    server.answers = [stream(*empty, chunk({"content": "Hello"}), chunk({}, "stop"))]
    assert "".join(delta.text for delta in await read(llm)) == "Hello"


async def test_a_chunk_that_is_none_is_an_llm_error(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [stream({"choices": [7]})] * 3
    with pytest.raises(LlmError, match="an event cannot be read"):
        await read(llm)


async def test_too_many_requests_are_tried_again_when_the_server_says(
    llm: OpenAILlm, server: ScriptedServer, waits: list[float]
) -> None:
    server.answers = [refuse(429, "slow down", **{"retry-after": "3"}), hello()]
    assert (await read(llm))[-1].finish_reason == "stop"
    assert waits == [3.0]


def test_retry_after_is_a_number_of_seconds_or_a_date() -> None:
    # the example of RFC 9110, 5.6.7, half a minute before
    assert retry_after_s("Sun, 06 Nov 1994 08:49:37 GMT", lambda: 784111747.0) == 30.0
    assert retry_after_s("Sun, 06 Nov 1994 08:49:37 GMT", lambda: 784112000.0) == 0.0
    assert (retry_after_s("1.5"), retry_after_s("soon"), retry_after_s(None)) == (1.5, None, None)


async def test_server_errors_are_tried_again_with_growing_jittered_waits(
    llm: OpenAILlm, server: ScriptedServer, waits: list[float]
) -> None:
    server.answers = [refuse(500, "oh"), refuse(503, "oh"), hello()]
    assert (await read(llm))[-1].finish_reason == "stop"
    assert waits == [0.25, 0.5]


async def test_after_the_last_try_the_error_names_endpoint_status_and_message(
    llm: OpenAILlm, server: ScriptedServer, address: str
) -> None:
    server.answers = [refuse(500, "disk full")] * 3
    with pytest.raises(LlmError) as caught:
        await read(llm)
    for part in (address, "500", "disk full", "3 tries"):
        assert part in str(caught.value)


async def test_a_refusal_for_good_is_not_tried_again(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [refuse(400, "no such field"), hello()]
    with pytest.raises(LlmError, match="no such field"):
        await read(llm)
    assert len(server.bodies) == 1


async def test_a_server_that_asks_for_too_much_patience_is_given_up(
    llm: OpenAILlm, server: ScriptedServer
) -> None:
    server.answers = [refuse(429, "quota used up", **{"retry-after": "3600"}), hello()]
    with pytest.raises(LlmError, match="quota used up"):
        await read(llm)
    assert len(server.bodies) == 1


async def test_a_server_that_hangs_before_the_first_token_is_retried(
    address: str, server: ScriptedServer
) -> None:
    engine = OpenAILlm("tiny", address, api_key_env="", first_token_timeout_s=0.2, backoff_s=0.0)
    await engine.start()
    server.answers = [lambda: StreamingResponse(server.hang(), media_type="text/event-stream"), hello()]
    assert (await read(engine))[-1].finish_reason == "stop"
    await server.hung_up.wait()
    await engine.close()


async def test_a_stream_that_falls_silent_is_an_llm_error(address: str, server: ScriptedServer) -> None:
    async def silent() -> AsyncGenerator[str, None]:
        yield event(chunk({"content": "Hel"}))
        await asyncio.Event().wait()

    engine = OpenAILlm("tiny", address, api_key_env="", timeout_s=0.2)
    await engine.start()
    server.answers = [lambda: StreamingResponse(silent(), media_type="text/event-stream"), hello()]
    with pytest.raises(LlmError, match=r"within 0\.2 s"):
        await read(engine)
    assert len(server.bodies) == 1
    await engine.close()


async def test_a_connection_that_breaks_in_mid_stream_is_an_llm_error(
    llm: OpenAILlm, server: ScriptedServer
) -> None:
    async def broken() -> AsyncGenerator[str, None]:
        yield event(chunk({"content": "Hel"}))
        raise ConnectionResetError("pulled the plug")

    server.answers = [lambda: StreamingResponse(broken(), media_type="text/event-stream")]
    with pytest.raises(LlmError, match="connection"):
        await read(llm)


async def test_an_error_inside_the_stream_is_an_llm_error(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [stream(chunk({"content": "Hel"}), {"error": {"message": "engine died"}})]
    with pytest.raises(LlmError, match="engine died"):
        await read(llm)


async def test_a_reply_that_a_filter_cut_is_an_llm_error(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [stream(chunk({"content": "Hel"}), chunk({}, "content_filter"))]
    with pytest.raises(LlmError, match="content_filter"):
        await read(llm)


async def test_what_is_no_stream_of_chunks_is_an_llm_error(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [lambda: Response("data: nonsense\n\n", media_type="text/event-stream")] * 3
    with pytest.raises(LlmError, match="not JSON"):
        await read(llm)


async def test_closing_in_mid_reply_hangs_up(llm: OpenAILlm, server: ScriptedServer) -> None:
    async def endless() -> AsyncGenerator[str, None]:
        try:
            while True:
                yield event(chunk({"content": "tick "}))
                await asyncio.sleep(0.001)
        finally:
            server.hung_up.set()

    server.answers = [lambda: StreamingResponse(endless(), media_type="text/event-stream")]
    deltas = llm.generate(ASK)
    await anext(deltas)
    await deltas.aclose()
    await server.hung_up.wait()
    assert llm.running == 0


async def test_cancelling_before_the_first_token_hangs_up(llm: OpenAILlm, server: ScriptedServer) -> None:
    server.answers = [lambda: StreamingResponse(server.hang(), media_type="text/event-stream")]
    task = asyncio.create_task(read(llm))
    await server.hangs.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.hung_up.wait()
    assert llm.running == 0


async def test_a_missing_key_is_an_llm_error_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ABSENT_KEY", raising=False)
    with pytest.raises(LlmError, match="ABSENT_KEY"):
        await OpenAILlm("tiny", api_key_env="ABSENT_KEY").start()


async def test_a_key_that_is_refused_is_an_llm_error_at_the_start(
    address: str, server: ScriptedServer
) -> None:
    server.models_status = 401
    engine = OpenAILlm("tiny", address, api_key_env="")
    with pytest.raises(LlmError, match="401"):
        await engine.start()
    await engine.close()


@pytest.mark.parametrize("status", [404, 405, 500])
async def test_a_server_without_a_list_of_models_will_do(
    address: str, server: ScriptedServer, status: int
) -> None:
    server.models_status = status
    engine = OpenAILlm("tiny", address, api_key_env="")
    await engine.start()
    await engine.close()


@pytest.mark.parametrize("models", [HTMLResponse("<html>Log in</html>"), JSONResponse([]), JSONResponse(7)])
async def test_a_server_with_a_list_of_models_that_cannot_be_read_will_do(
    address: str, server: ScriptedServer, models: Response
) -> None:
    server.models = models
    engine = OpenAILlm("tiny", address, api_key_env="")
    await engine.start()
    await engine.close()


async def test_a_server_may_take_longer_to_answer_at_the_start_than_while_a_caller_waits(
    address: str, server: ScriptedServer
) -> None:
    server.models_after_s = 0.3
    engine = OpenAILlm("tiny", address, api_key_env="", first_token_timeout_s=0.1, retries=0)
    await engine.start()
    with pytest.raises(LlmError, match=r"within 0\.1 s"):
        await engine.reach()
    await engine.close()


async def test_nobody_at_the_address_is_an_llm_error_at_the_start() -> None:
    engine = OpenAILlm("tiny", "http://127.0.0.1:9/v1", api_key_env="", backoff_s=0.0)
    with pytest.raises(LlmError, match=r"127\.0\.0\.1:9"):
        await engine.start()
    await engine.close()


async def test_there_is_no_cache_to_prefill(llm: OpenAILlm, server: ScriptedServer) -> None:
    assert await llm.prefill(ASK) is None
    assert json.dumps(server.bodies) == "[]"


async def test_a_server_with_a_prefix_cache_reads_ahead(server: ScriptedServer, address: str) -> None:
    server.answers = [hello()]
    engine = OpenAILlm("tiny", address, api_key_env="", prefix_cache=True)
    await engine.start()
    assert await engine.prefill(ASK) == Usage(9, 4, 2)
    await engine.close()
    (body,) = server.bodies
    assert (body["max_tokens"], body["continue_final_message"], body["add_generation_prompt"]) == (
        1,
        True,
        False,
    )


def test_a_picture_is_a_part_of_its_message() -> None:
    look = Message("user", "What is this?", images=("data:image/png;base64,AAAA",))
    (sent,) = request_body(Request((look,)))["messages"]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert sent["content"] == [{"type": "text", "text": "What is this?"}, image]
