"""The OpenAI engine against vLLM's own server, over the one vLLM engine of the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
import tiny_llama
from chat_server import serve
from strict_templates import STRICT

from llmcore.engine import Delta, LlmError, Message, Request, Tool, ToolCall
from llmcore.engines.openai_engine import OpenAILlm
from llmcore.engines.vllm_engine import VllmLlm

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

SYSTEM = Message("system", "This is the front desk of a small inn by the sea. Breakfast is at seven.")
DOOR = Tool("open_door", "Opens a door.", {"type": "object", "properties": {"room": {"type": "string"}}})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def llm(vllm: VllmLlm, scripted_model: Path) -> AsyncIterator[OpenAILlm]:
    async with engine_of(vllm, scripted_model) as engine:
        yield engine


@asynccontextmanager
async def engine_of(
    vllm: VllmLlm, model: Path, *more: str, name: str = "tiny", asks_shapes: bool = False
) -> AsyncIterator[OpenAILlm]:
    """Start vLLM's server with these options in addition to its usual ones, and yield an engine for it."""
    from vllm.entrypoints.launchers.api_server.app_state import init_app_state  # noqa: PLC0415 - optional
    from vllm.entrypoints.launchers.app import build_app  # noqa: PLC0415
    from vllm.entrypoints.launchers.cli_args import make_arg_parser  # noqa: PLC0415
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    options = [
        "--model",
        str(model),
        "--served-model-name",
        "tiny",
        "--enable-prompt-tokens-details",
    ]
    options += ["--enable-auto-tool-choice", "--tool-call-parser", "hermes", *more]
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(options)
    engine = vllm.process.current.engine
    tasks = await engine.get_supported_tasks()
    app = build_app(arguments, tasks)
    await init_app_state(engine, app.state, arguments, tasks)
    async with serve(app) as base_url:
        client = OpenAILlm(name, base_url, api_key_env="")
        client.asks_shapes = asks_shapes
        try:
            await client.start()
            yield client
        finally:
            await client.close()


def ask(word: str, **options: object) -> Request:
    return Request((SYSTEM, Message("user", word)), **options)  # type: ignore[arg-type] - a test's shorthand


async def read(llm: OpenAILlm, request: Request) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def test_a_reply_streams(llm: OpenAILlm) -> None:
    deltas = await read(llm, ask("count"))
    assert text(deltas) == tiny_llama.RESPONSES["count"]
    assert deltas[-1].finish_reason == "stop"


async def test_cached_tokens_are_counted(llm: OpenAILlm) -> None:
    await read(llm, ask("count"))
    usage = (await read(llm, ask("spell")))[-1].usage
    assert usage is not None
    assert 0 < usage.cached_tokens < usage.prompt_tokens


async def test_what_was_read_ahead_is_found_by_the_reply(llm: OpenAILlm) -> None:
    told = "The lift is out of order until Monday, so please take the stairs beside the bar. "
    await llm.prefill(ask(told))
    usage = (await read(llm, ask(f"{told} count")))[-1].usage
    assert usage is not None
    assert usage.cached_tokens > 0.5 * usage.prompt_tokens


async def test_a_tool_is_called(llm: OpenAILlm) -> None:
    deltas = await read(llm, ask("open", tools=(DOOR,)))
    assert text(deltas) == "Right."
    assert [call.name for delta in deltas for call in delta.tool_calls] == ["open_door"]
    assert deltas[-1].finish_reason == "tool_calls"


async def test_closing_in_mid_reply_aborts_it_in_the_engine(llm: OpenAILlm, vllm: VllmLlm) -> None:
    deltas = llm.generate(ask("forever", max_tokens=400))
    await anext(deltas)
    assert vllm.running == 1
    await deltas.aclose()
    while vllm.running:  # noqa: ASYNC110 - the engine tells nobody that it is idle
        await asyncio.sleep(0.01)


async def test_a_refusal_carries_the_servers_words(llm: OpenAILlm) -> None:
    with pytest.raises(LlmError, match=r"400.*maximum context length"):
        await read(llm, ask("word " * 3000))


LOOK = ToolCall("call_0123456789", "open_door", '{"room": "seven"}')
CALL = (
    SYSTEM,
    Message("assistant", "Hello, this is the inn."),
    Message("user", "Open seven."),
    Message("assistant", "Right.", (LOOK,)),
    Message("tool", "It is open.", tool_call_id=LOOK.call_id),
    Message("user", "And now?"),
    Message("system", "Say that it is late."),
)


@pytest.mark.parametrize("name", ["alternating", "system_first", "no_system", "one_call"])
async def test_the_start_finds_out_what_a_template_refuses_or_leaves_out(
    vllm: VllmLlm, scripted_model: Path, tmp_path: Path, name: str
) -> None:
    template = tmp_path / "strict.jinja"
    template.write_text(STRICT[name].source)
    given = "--chat-template", str(template)
    async with engine_of(vllm, scripted_model, *given, asks_shapes=True) as llm:
        assert llm.shapes.refused == STRICT[name].refused
        assert (await read(llm, Request(CALL, (DOOR,), max_tokens=2)))[-1].finish_reason is not None


async def test_a_refusal_in_a_call_is_learned(vllm: VllmLlm, scripted_model: Path, tmp_path: Path) -> None:
    template = tmp_path / "strict.jinja"
    template.write_text(STRICT["alternating"].source)
    async with engine_of(vllm, scripted_model, "--chat-template", str(template)) as llm:
        assert (await read(llm, Request(CALL, (DOOR,), max_tokens=2)))[-1].finish_reason is not None
        assert llm.shapes.refused


async def test_a_wrong_model_names_those_that_there_are(vllm: VllmLlm, scripted_model: Path) -> None:
    with pytest.raises(LlmError, match=r"no model 'tyni'.*there are: tiny"):
        async with engine_of(vllm, scripted_model, name="tyni", asks_shapes=True):
            pass
