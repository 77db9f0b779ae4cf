"""An engine behind OpenAI's chat completions, as gateways ask their replicas."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from llmcore.engine import BusyError, Delta, LlmError, Request, RequestError, Usage
from llmcore.serving.chat_completions import chat_app

BODY = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5, "stream": True}
PATH = "/v1/chat/completions"


class OneWord:
    """Says who asked; or fails with `error`."""

    def __init__(self, error: LlmError | None = None) -> None:
        self.error = error

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        if self.error is not None:
            raise self.error
        yield Delta(f"{request.caller}:{request.max_tokens}")
        yield Delta(finish_reason="stop", usage=Usage(7, 3, 1))

    async def prefill(self, request: Request) -> Usage | None:
        if self.error is not None:
            raise self.error
        return Usage(len(request.messages), 0, 0)


async def ask(llm: OneWord, body: Any = BODY, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(chat_app(llm, "m"))
    async with httpx.AsyncClient(transport=transport, base_url="http://replica", headers=headers) as http:
        return await http.post(PATH, json=body)


def events(answer: httpx.Response) -> list[Any]:
    lines = answer.text.removesuffix("data: [DONE]\n\n").split("\n\n")[:-1]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


async def test_a_reply_comes_with_its_session_and_usage() -> None:
    first, finish, usage = events(await ask(OneWord(), **{"x-session-id": "call_1"}))
    assert first["choices"][0]["delta"]["content"] == "call_1:5"
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert usage["usage"]["prompt_tokens_details"]["cached_tokens"] == 3


async def test_an_open_message_is_read_and_not_answered() -> None:
    *_, usage = events(await ask(OneWord(), BODY | {"continue_final_message": True}))
    assert (usage["usage"]["prompt_tokens"], usage["usage"]["completion_tokens"]) == (1, 0)


async def test_a_busy_engine_reads_nothing_ahead_and_nobody_is_refused_for_that() -> None:
    answer = await ask(OneWord(BusyError("full")), BODY | {"continue_final_message": True})
    *_, usage = events(answer)
    assert (answer.status_code, usage["usage"]["prompt_tokens"]) == (200, 0)


@pytest.mark.parametrize(
    ("error", "status"),
    [(RequestError("too long"), 400), (BusyError("full"), 429), (LlmError("it fell over"), 500)],
)
async def test_an_engine_that_fails_at_once_is_an_answer(error: LlmError, status: int) -> None:
    answer = await ask(OneWord(error))
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, str(error))
    assert ("retry-after" in answer.headers) == (status == 429)


@pytest.mark.parametrize("body", [[], {}, {"messages": [{"role": "user"}]}])
async def test_what_is_no_request_is_refused(body: Any) -> None:
    assert (await ask(OneWord(), body)).status_code == 400


async def test_a_reply_that_is_not_to_be_streamed_is_refused() -> None:
    answer = await ask(OneWord(), BODY | {"stream": False})
    assert answer.status_code == 400
    assert "stream is False; allowed: true" in answer.json()["error"]["message"]


async def test_its_health_names_its_process_and_its_list_its_model() -> None:
    transport = httpx.ASGITransport(chat_app(OneWord(), "m"))
    async with httpx.AsyncClient(transport=transport, base_url="http://replica") as http:
        assert (await http.get("/health")).json()["pid"] > 0
        assert (await http.get("/v1/models")).json()["data"][0]["id"] == "m"
