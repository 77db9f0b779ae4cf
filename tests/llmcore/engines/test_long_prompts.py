"""Prompts longer than a server's context: the oldest turns are left out, as engines in this process do."""

from __future__ import annotations

import json
import logging
from contextlib import aclosing
from typing import Any

import pytest
from quirky_server import DONE, Answer, QuirkyServer, refused, reply, streamed
from starlette.responses import JSONResponse, Response

from llmcore.engine import Message, Request, RequestError
from llmcore.engines.openai_engine import OpenAILlm

SYSTEM = Message("system", "Be brief.")
OLD = tuple(Message("user", f"{number}: " + "word " * 100) for number in range(40))
LONG = Request((SYSTEM, *OLD, Message("user", "Hello?")))
REFUSALS = {
    "llama.cpp": (
        400,
        {
            "code": 400,
            "message": "request (9101 tokens) exceeds the available context size (2048 tokens), "
            "try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 9101,
            "n_ctx": 2048,
        },
    ),
    "vllm": (
        400,
        {
            "message": "This model's maximum context length is 2048 tokens. "
            "However, you requested 9101 tokens.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "litellm": (
        400,
        {
            "message": "litellm.ContextWindowExceededError: litellm.BadRequestError: "
            "ContextWindowExceededError: OpenAIException - the model takes no more",
            "type": None,
            "code": "400",
        },
    ),
    "gemini": (
        400,
        {"message": "The input token count (9101) exceeds the maximum number of tokens allowed (2048)."},
    ),
    "groq": (413, {"message": "Please reduce the length of the messages or completion."}),
}


def up_to(characters: int, refusal: Answer) -> Answer:
    """Return an answer of a server whose context has this many characters."""

    def answer(body: dict[str, Any]) -> Response:
        return (refusal if len(json.dumps(body)) > characters else reply(["Yes?"]))(body)

    return answer


async def read(llm: OpenAILlm, request: Request = LONG) -> str:
    async with aclosing(llm.generate(request)) as deltas:
        return "".join([delta.text async for delta in deltas])


@pytest.mark.parametrize("name", REFUSALS)
async def test_the_oldest_turns_are_left_out_of_a_prompt_that_is_refused_for_its_length(
    llm: OpenAILlm, server: QuirkyServer, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    status, error = REFUSALS[name]
    server.answers = [up_to(8_000, refused(status, **error))]
    with caplog.at_level(logging.WARNING):
        assert await read(llm) == "Yes?"
    contents = [message["content"] for message in server.bodies[-1]["messages"]]
    assert (contents[0], contents[-1]) == ("Be brief.", "Hello?")
    assert contents[1:-1] == [message.content for message in OLD][-len(contents) + 2 :]
    assert "oldest turns" in caplog.text


async def test_the_next_prompt_is_short_enough_at_once(llm: OpenAILlm, server: QuirkyServer) -> None:
    server.answers = [up_to(8_000, refused(400, **REFUSALS["vllm"][1]))]
    await read(llm)
    asked = len(server.bodies)
    await read(llm)
    assert len(server.bodies) == asked + 1


async def test_a_detail_in_place_of_an_error_is_read(llm: OpenAILlm, server: QuirkyServer) -> None:
    """FastAPI's form."""
    too_long = {"detail": "the prompt is too long for this model"}
    server.answers = [up_to(8_000, lambda _: JSONResponse(too_long, 422))]
    assert await read(llm) == "Yes?"


async def test_a_length_refused_inside_the_stream_is_one_refused(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    """SGLang's form."""
    error = {"object": "error", "message": "The input is longer than the model's context length", "code": 400}
    server.answers = [up_to(8_000, streamed({"error": error}, DONE))]
    assert await read(llm) == "Yes?"


async def test_a_length_that_ends_the_stream_without_a_word_is_one_refused(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    """llama-cpp-python's form: only the whole answer has the reason."""
    too_long = refused(400, message="This model's maximum context length is 2048 tokens")

    def refuse(body: dict[str, Any]) -> Response:
        return Response("", media_type="text/event-stream") if body["stream"] else too_long(body)

    server.answers = [up_to(8_000, refuse)]
    assert await read(llm) == "Yes?"


async def test_a_newest_turn_that_is_too_long_alone_fails_as_the_server_says(
    llm: OpenAILlm, server: QuirkyServer
) -> None:
    server.answers = [refused(400, **REFUSALS["vllm"][1])]
    with pytest.raises(RequestError, match="maximum context length"):
        await read(llm, Request((SYSTEM, Message("user", "word " * 9_000))))
    assert len(server.bodies) == 1


async def test_a_reply_limit_that_is_too_large_costs_no_turns(llm: OpenAILlm, server: QuirkyServer) -> None:
    server.answers = [refused(400, message="max_tokens is too large: 200. At most 100 tokens are allowed.")]
    with pytest.raises(RequestError, match="too large"):
        await read(llm)
    assert len(server.bodies) == 1
