"""The OpenAI engine against what vLLM, SGLang, TGI, TensorRT-LLM and llama.cpp's server answer.

The answers are made after the servers' documentation and code, shortened: vLLM 0.32, SGLang 0.5, TGI 2.4 and
3.3, TensorRT-LLM 1.2, llama.cpp b8681.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from chat_server import chunk, event, serve
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from llmcore.engine import Delta, Message, Request, RequestError, Tool, Usage
from llmcore.engines.openai_engine import OpenAILlm

ASK = Request((Message("system", "Be brief."), Message("user", "Hello")), max_tokens=7)
DOOR = Tool("open_door", "Opens a door.")

TGI_INFO = {
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "max_concurrent_requests": 128,
    "max_best_of": 2,
    "max_stop_sequences": 4,
    "max_input_tokens": 4095,
    "max_total_tokens": 4096,
    "version": "3.3.4",
    "router": "text-generation-router",
}
SGLANG_INFO = {"model_path": "qwen", "tp_size": 1, "disable_radix_cache": False, "enable_cache_report": True}
LLAMACPP_PROPS = {
    "default_generation_settings": {"n_ctx": 8192},
    "total_slots": 4,
    "model_alias": "tiny",
    "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
    "build_info": "b8681",
}


class Server:
    """A server of one kind. owner: of its models. tells: its answers at other paths."""

    def __init__(self, owner: str, tells: dict[str, dict[str, Any]] | None = None) -> None:
        self.owner = owner
        self.tells = tells or {}
        self.bodies: list[dict[str, Any]] = []
        self.chunks: list[dict[str, Any]] = [chunk({"content": "Hi"}, "stop"), counted({})]
        self.refusal: tuple[int, dict[str, Any]] | None = None

    def app(self) -> Starlette:
        async def complete(http: HttpRequest) -> Response:
            self.bodies.append(await http.json())
            if self.refusal is not None:
                return JSONResponse(self.refusal[1], self.refusal[0])
            events = [event(one) for one in self.chunks] + ["data: [DONE]\n\n"]
            return StreamingResponse(iter(events), media_type="text/event-stream")

        async def models(http: HttpRequest) -> Response:
            card = {"id": "tiny", "object": "model", "created": 0, "owned_by": self.owner}
            return JSONResponse({"object": "list", "data": [card]})

        async def tell(http: HttpRequest) -> Response:
            told = self.tells.get(http.url.path)
            return JSONResponse(told) if told is not None else JSONResponse({"detail": "Not Found"}, 404)

        return Starlette(
            routes=[
                Route("/v1/chat/completions", complete, methods=["POST"]),
                Route("/v1/models", models),
                Route("/{path:path}", tell),
            ]
        )


def counted(usage: dict[str, Any], **beside: Any) -> dict[str, Any]:
    """The chunk with the usage, which has no choice."""
    counts = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11} | usage
    return chunk({}) | {"choices": [], "usage": counts} | beside


@asynccontextmanager
async def engine_of(server: Server) -> AsyncIterator[OpenAILlm]:
    async with serve(server.app()) as base_url:
        engine = OpenAILlm("tiny", base_url, api_key_env="", backoff_s=0.0)
        await engine.start()
        yield engine
        await engine.close()


async def read(llm: OpenAILlm, request: Request = ASK) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


@pytest.mark.parametrize(
    ("server", "fields"),
    [
        (Server("vllm"), {"add_generation_prompt": False, "continue_final_message": True}),
        (Server("sglang", {"/server_info": SGLANG_INFO}), {}),
        (Server("sglang", {"/get_server_info": SGLANG_INFO}), {}),
        (Server("tiny", {"/info": TGI_INFO}), {}),
        (Server("tensorrt_llm"), {"add_generation_prompt": False}),
        (
            Server("llamacpp", {"/props": LLAMACPP_PROPS}),
            {"add_generation_prompt": False, "cache_prompt": True},
        ),
    ],
    ids=["vllm", "sglang", "sglang-0.4", "tgi", "tensorrt-llm", "llama.cpp"],
)
async def test_each_server_reads_ahead_in_its_own_words(server: Server, fields: dict[str, bool]) -> None:
    async with engine_of(server) as llm:
        assert await llm.prefill(ASK) == Usage(9, 0, 2)
    (body,) = server.bodies
    known = ("add_generation_prompt", "continue_final_message", "cache_prompt")
    assert {field: body[field] for field in known if field in body} == fields


@pytest.mark.parametrize(
    "server",
    [
        Server("openai"),
        Server("tiny", {"/info": {"app": {"name": "billing"}}}),
        Server("sglang", {"/server_info": SGLANG_INFO | {"disable_radix_cache": True}}),
    ],
    ids=["openai", "an /info of somebody else's", "sglang without a cache"],
)
async def test_a_server_without_a_cache_is_not_asked_to_read_ahead(server: Server) -> None:
    async with engine_of(server) as llm:
        assert await llm.prefill(ASK) is None
    assert server.bodies == []


@pytest.mark.parametrize(
    ("server", "advice"),
    [
        (
            Server("sglang", {"/server_info": SGLANG_INFO | {"enable_cache_report": False}}),
            "--enable-cache-report",
        ),
        (Server("llamacpp", {"/props": LLAMACPP_PROPS}), "4 slots"),
        (
            Server("llamacpp", {"/props": {"chat_template_caps": {"supports_tools": False}}}),
            "knows no tools",
        ),
    ],
    ids=["cached tokens untold", "slots", "no tools"],
)
async def test_what_a_server_lacks_is_told_at_the_start(
    server: Server, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with engine_of(server):
            pass
    assert advice in caplog.text


async def test_llama_cpp_tells_cached_tokens_among_its_timings() -> None:
    server = Server("llamacpp", {"/props": LLAMACPP_PROPS})
    server.chunks[-1] = counted({}, timings={"cache_n": 6, "prompt_n": 3, "predicted_n": 2})
    async with engine_of(server) as llm:
        assert (await read(llm))[-1].usage == Usage(9, 6, 2)


async def test_tools_without_llama_cpps_flag_are_a_fault_of_the_request() -> None:
    server = Server("llamacpp")
    message = "tools param requires --jinja flag"
    server.refusal = 500, {"error": {"code": 500, "message": message, "type": "server_error"}}
    async with engine_of(server) as llm:
        with pytest.raises(RequestError, match="jinja"):
            await read(llm, Request(ASK.messages, (DOOR,)))
    assert [body.get("tools") is not None for body in server.bodies] == [True, False]


@pytest.mark.parametrize("reason", ["eos_token", "stop_sequence"])
async def test_tgi_ends_a_reply_in_its_own_words(reason: str) -> None:
    server = Server("tiny", {"/info": TGI_INFO})
    server.chunks[0] = chunk({"content": "Hi"}, reason)
    async with engine_of(server) as llm:
        assert (await read(llm))[-1].finish_reason == "stop"


async def test_tgis_tool_call_may_stand_alone_where_others_have_a_list() -> None:
    server = Server("tiny", {"/info": TGI_INFO})
    pieces = [
        {"index": 0, "id": "", "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in (("open_door", ""), (None, '{"room":'), (None, " 7}"))
    ]
    last = chunk({"role": "assistant"}, "eos_token")
    server.chunks[0:1] = [*(chunk({"role": "assistant", "tool_calls": piece}) for piece in pieces), last]
    async with engine_of(server) as llm:
        calls, end = await read(llm)
    assert [(call.name, call.arguments) for call in calls.tool_calls] == [("open_door", '{"room": 7}')]
    assert end.finish_reason == "tool_calls"


async def test_tgis_faults_of_a_request_are_told() -> None:
    server = Server("tiny", {"/info": TGI_INFO})
    words = "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"
    server.refusal = 422, {"error": words, "error_type": "validation"}
    async with engine_of(server) as llm:
        with pytest.raises(RequestError, match="must be <= 4096"):
            await read(llm)


async def test_tensorrt_llm_counts_with_every_chunk() -> None:
    server = Server("tensorrt_llm")
    counts = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    details = {"prompt_tokens_details": {"cached_tokens": 8}}
    server.chunks = [
        chunk({"role": "assistant", "content": "", "tool_calls": []}) | {"usage": counts},
        chunk({"content": "Hi", "tool_calls": []}) | {"usage": counts | details},
        chunk({"tool_calls": []}, "stop") | {"usage": counts | details | {"completion_tokens": 2}},
        counted(details),
    ]
    async with engine_of(server) as llm:
        assert await read(llm) == [Delta("Hi"), Delta(finish_reason="stop", usage=Usage(9, 8, 2))]


async def test_sglang_ends_with_counts_and_no_details() -> None:
    server = Server("sglang", {"/server_info": SGLANG_INFO})
    first = chunk({"role": "assistant", "content": ""}) | {"usage": None}
    server.chunks = [
        first,
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
        counted({"prompt_tokens_details": None}),
    ]
    async with engine_of(server) as llm:
        assert (await read(llm))[-1].usage == Usage(9, 0, 2)


async def test_tokens_written_to_a_cache_are_counted() -> None:
    server = Server("openai")
    server.chunks[-1] = counted({"prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5}})
    async with engine_of(server) as llm:
        assert (await read(llm))[-1].usage == Usage(9, 4, 2, written_tokens=5)
