"""The Anthropic engine against a server that answers as the script says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from chat_server import serve
from late_import import late
from messages_server import begin, blocks_of, end, event, message, refuse, usage
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from llmcore.engine import (
    BusyError,
    Delta,
    LlmError,
    Message,
    RefusedError,
    ReplyError,
    Request,
    RequestError,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from llmcore.engines.anthropic_engine import AnthropicLlm

anthropic_engine = late("llmcore.engines.anthropic_engine")

Answer = Callable[[], Response]

SYSTEM = Message("system", "Be brief.")
ASK = Request((SYSTEM, Message("user", "Hello")), max_tokens=7)


class ScriptedServer:
    """Answers the next request with the next of `answers`, and remembers bodies and headers."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    def app(self) -> Starlette:
        async def complete(http: HttpRequest) -> Response:
            self.bodies.append(await http.json())
            self.keys.append(http.headers.get("authorization"))
            return self.answers.pop(0)()

        async def models(http: HttpRequest) -> Response:
            return JSONResponse({"data": [], "has_more": False, "first_id": None, "last_id": None})

        routes = [Route("/v1/messages", complete, methods=["POST"]), Route("/v1/models", models)]
        return Starlette(routes=routes)


@pytest.fixture
async def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def waits() -> list[float]:
    """Return the waits between the engine's tries, in seconds."""
    return []


@pytest.fixture
async def llm(
    server: ScriptedServer, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AnthropicLlm]:
    async def wait_in_no_time(wait_s: float) -> None:
        waits.append(wait_s)

    monkeypatch.setenv("TEST_KEY", "secret")
    async with serve(server.app()) as base_url:
        engine = anthropic_engine.AnthropicLlm("claude", base_url.removesuffix("/v1"), api_key_env="TEST_KEY")
        engine.jitter, engine.sleep = lambda: 0.5, wait_in_no_time
        await engine.start()
        yield engine
        await engine.close()


def stream(*events: str) -> Answer:
    return lambda: StreamingResponse(iter(events), media_type="text/event-stream")


def hello() -> Answer:
    pieces = [sent for text in ("Hel", "lo") for sent in blocks_of(Delta(text), 0)]
    return stream(begin(usage(3, 4, 2)), event("ping"), *pieces, end("end_turn", Usage(9, 4, 2)))


def written() -> Response:
    return JSONResponse(message([], usage(5, 0, 2000), "max_tokens"))


async def read(llm: AnthropicLlm, request: Request = ASK) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


async def test_a_reply_streams_with_its_usage(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [hello()]
    assert await read(llm) == [
        Delta("Hel"),
        Delta("lo"),
        Delta(finish_reason="stop", usage=Usage(9, 4, 2)),
    ]


async def test_the_prompt_counts_what_was_read_from_and_written_to_the_cache(
    llm: AnthropicLlm, server: ScriptedServer
) -> None:
    last = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2})
    server.answers = [stream(begin(usage(3, 40, 500)), *blocks_of(Delta("Hi"), 0), last)]
    assert (await read(llm))[-1].usage == Usage(543, 40, 2, written_tokens=500)


async def test_the_request_says_what_was_asked(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [hello()]
    await read(llm)
    (sent,) = server.bodies
    assert (sent["model"], sent["max_tokens"], sent["stream"]) == ("claude", 7, True)
    assert "temperature" not in sent  # models of today refuse one
    assert server.keys == ["Bearer secret"]


async def test_extra_fields_are_sent(server: ScriptedServer) -> None:
    server.answers = [hello()]
    async with serve(server.app()) as base_url:
        engine = anthropic_engine.AnthropicLlm(
            "claude",
            base_url.removesuffix("/v1"),
            api_key_env="",
            extra_body={"temperature": 0.2},
        )
        await engine.start()
        await read(engine)
        await engine.close()
    (sent,) = server.bodies
    assert sent["temperature"] == 0.2


async def test_a_tool_call_in_pieces_comes_whole(llm: AnthropicLlm, server: ScriptedServer) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "open_door", "input": {}}
    pieces = [
        event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": piece})
        for piece in ('{"room"', ": 7}")
    ]
    started = event("content_block_start", index=1, content_block=call)
    server.answers = [
        stream(begin(), *blocks_of(Delta("Right."), 0), started, *pieces, end("tool_use", Usage()))
    ]
    said, calls, last = await read(llm)
    assert said == Delta("Right.")
    assert calls.tool_calls == (ToolCall("toolu_1", "open_door", '{"room": 7}'),)
    assert last.finish_reason == "tool_calls"


async def test_prefill_asks_for_no_tokens_and_only_once(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [written]
    assert await llm.prefill(ASK) == Usage(2005, 0, 0, written_tokens=2000)
    growing = Request((SYSTEM, Message("user", "Hello, I would")))
    assert await llm.prefill(growing) == Usage()
    (sent,) = server.bodies
    assert sent["max_tokens"] == 0
    assert "stream" not in sent


async def test_a_prefill_that_failed_is_asked_for_again(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [lambda: refuse(400, "invalid_request_error", "not now")]
    with pytest.raises(RequestError):
        await llm.prefill(ASK)
    server.answers = [written]
    assert await llm.prefill(ASK) == Usage(2005, 0, 0, written_tokens=2000)


async def test_a_reply_leaves_its_prompt_warm(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [hello()]
    await read(llm)
    assert await llm.prefill(ASK) == Usage()
    assert len(server.bodies) == 1


async def test_a_prompt_is_written_again_when_its_time_to_live_is_over(
    llm: AnthropicLlm, server: ScriptedServer
) -> None:
    now_s = 0.0
    llm.clock = lambda: now_s
    server.answers = [written] * 2
    await llm.prefill(ASK)
    now_s = 301.0
    assert (await llm.prefill(ASK) or Usage()).written_tokens == 2000


async def test_what_two_callers_share_is_kept_warm_for_an_hour(server: ScriptedServer) -> None:
    now_s = 0.0

    async def sleep(wait_s: float) -> None:
        nonlocal now_s
        now_s += wait_s + 1.0
        await asyncio.sleep(0)

    async with serve(server.app()) as base_url:
        engine = anthropic_engine.AnthropicLlm("claude", base_url.removesuffix("/v1"), api_key_env="")
        engine.clock, engine.sleep = lambda: now_s, sleep
        await engine.start()
        server.answers = [hello(), hello(), *[written] * 13]
        for caller in ("ann", "bob"):
            await read(engine, replace(ASK, caller=caller))
        while len(server.bodies) < 2 + 13:  # noqa: ASYNC110 - the engine tells nobody that it reads
            await asyncio.sleep(0)
        await engine.close()
    again = server.bodies[2:]
    assert all(body["max_tokens"] == 0 and body["system"][0]["text"] == "Be brief." for body in again)


async def test_an_overloaded_server_is_tried_again_when_it_says(
    llm: AnthropicLlm, server: ScriptedServer, waits: list[float]
) -> None:
    headers = {"retry-after": "2"}
    server.answers = [lambda: refuse(529, "overloaded_error", "Overloaded", **headers), hello()]
    assert (await read(llm))[-1].finish_reason == "stop"
    assert waits == [2.0]


async def test_an_overload_told_inside_the_stream_is_tried_again(
    llm: AnthropicLlm, server: ScriptedServer
) -> None:
    broken = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    server.answers = [stream(begin(), broken), hello()]
    assert (await read(llm))[-1].finish_reason == "stop"


async def test_a_server_that_stays_overloaded_is_busy(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [lambda: refuse(529, "overloaded_error", "Overloaded")] * 3
    with pytest.raises(BusyError, match=r"Overloaded.*3 tries"):
        await read(llm)


async def test_a_refused_request_is_not_tried_again(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [lambda: refuse(400, "invalid_request_error", "prompt is too long"), hello()]
    with pytest.raises(RequestError, match="prompt is too long"):
        await read(llm)
    assert len(server.bodies) == 1


async def test_a_reply_that_the_model_refused_is_an_llm_error(
    llm: AnthropicLlm, server: ScriptedServer
) -> None:
    server.answers = [stream(begin(), *blocks_of(Delta("I"), 0), end("refusal", Usage()))]
    with pytest.raises(LlmError, match="refusal"):
        await read(llm)


async def test_a_stream_that_ends_early_is_an_llm_error(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [stream(begin(), *blocks_of(Delta("Hel"), 0))]
    with pytest.raises(LlmError, match="ended before"):
        await read(llm)


@pytest.mark.parametrize(
    ("kind", "text"), [("text/html", "<html>Please log in.</html>"), ("application/json", "{}")]
)
async def test_an_answer_that_is_no_stream_is_a_failure_that_names_its_type(
    llm: AnthropicLlm, server: ScriptedServer, kind: str, text: str
) -> None:
    server.answers = [lambda: Response(text, media_type=kind)] * 3
    with pytest.raises(LlmError, match=f"no stream of events \\(content type: {kind}"):
        await read(llm)


@pytest.mark.parametrize("kind", [None, "text/plain"])
async def test_a_stream_of_another_type_is_read(
    llm: AnthropicLlm, server: ScriptedServer, kind: str | None
) -> None:
    events = [begin(), *blocks_of(Delta("Hello."), 0), end("end_turn", Usage())]
    server.answers = [lambda: StreamingResponse(iter(events), media_type=kind)]
    assert (await read(llm))[0] == Delta("Hello.")


async def test_a_missing_key_is_an_llm_error_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(LlmError, match="ANTHROPIC_API_KEY"):
        await anthropic_engine.AnthropicLlm("claude").start()


async def test_thinking_is_a_thought_and_comes_back_signed_with_the_call(
    llm: AnthropicLlm, server: ScriptedServer
) -> None:
    began = {"type": "thinking", "thinking": "", "signature": ""}
    thinking = [
        event("content_block_start", index=0, content_block=began),
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."}),
        event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "S"}),
        event("content_block_stop", index=0),
    ]
    call = Delta(tool_calls=(ToolCall("toolu_1", "open_door", "{}"),))
    server.answers = [stream(begin(), *thinking, *blocks_of(call, 1), end("tool_use", Usage()))]
    thought, called, _ = await read(llm)
    assert thought.thought == "Hm."
    (made,) = called.tool_calls
    assert json.loads(made.opaque)["thoughts"] == [{"type": "thinking", "thinking": "Hm.", "signature": "S"}]


@pytest.mark.parametrize("reason", ["end_turn", "whatever", "pause_turn"])
async def test_words_and_an_orderly_end_are_a_reply(
    llm: AnthropicLlm, server: ScriptedServer, reason: str
) -> None:
    server.answers = [stream(begin(), *blocks_of(Delta("<think>Hm.</think>Hi."), 0), end(reason, Usage()))]
    *deltas, last = await read(llm)
    assert "".join(delta.text for delta in deltas) == "Hi."
    assert last.finish_reason == "stop"


async def test_a_refusal_is_of_this_request_alone(llm: AnthropicLlm, server: ScriptedServer) -> None:
    server.answers = [stream(begin(), end("refusal", Usage()))]
    with pytest.raises(RefusedError):
        await read(llm)


async def test_an_error_inside_a_stream_is_of_this_request_alone(
    llm: AnthropicLlm, server: ScriptedServer
) -> None:
    server.answers = [stream(begin(), event("error", error={"type": "api_error", "message": "oh"}))] * 3
    with pytest.raises(ReplyError):
        await read(llm)
