"""Conformance: behaviour of every LLM engine. Each test runs on all of them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
import tiny_llama

from llmcore.engine import READING, Delta, LlmError, Message, Request, Tool, ToolCall
from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.engines.llamacpp_engine import LlamaCppLlm
from llmcore.engines.openai_engine import OpenAILlm
from llmcore.engines.vllm_engine import VllmLlm

pytestmark = pytest.mark.asyncio(loop_scope="session")

if TYPE_CHECKING:
    from llmcore.engines.anthropic_engine import AnthropicLlm

    Engine = AnthropicLlm | CTranslate2Llm | LlamaCppLlm | OpenAILlm | VllmLlm

DOOR = Tool("open_door", "Opens a door.", {"type": "object", "properties": {"room": {"type": "string"}}})


@pytest.fixture(
    params=["anthropic", "ct2", "llamacpp", "openai", pytest.param("vllm", marks=pytest.mark.timeout(300))]
)
def llm(request: pytest.FixtureRequest) -> Engine:
    engine: Engine = request.getfixturevalue(request.param)
    return engine


def ask(word: str, **options: object) -> Request:
    system = Message("system", "You are brief.")
    return Request(messages=(system, Message("user", word)), **options)  # type: ignore[arg-type] - a test's shorthand


async def read(llm: Engine, request: Request) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def idle(llm: Engine) -> None:
    """Wait until the engine works on nothing; the test's time limit says when that is never."""
    while llm.running:  # noqa: ASYNC110 - an engine tells nobody that it is idle
        await asyncio.sleep(0.01)


async def test_a_reply_comes_piece_by_piece(llm: Engine) -> None:
    deltas = await read(llm, ask("count"))
    assert text(deltas) == tiny_llama.RESPONSES["count"]
    assert len([delta for delta in deltas if delta.text]) > 1


async def test_only_the_last_delta_has_the_finish_reason_and_the_usage(llm: Engine) -> None:
    *pieces, last = await read(llm, ask("count"))
    assert all(piece.finish_reason is None and piece.usage is None for piece in pieces)
    assert last.finish_reason == "stop"
    assert last.usage is not None
    assert last.usage.prompt_tokens > last.usage.cached_tokens
    assert last.usage.completion_tokens == len(tiny_llama.SCRIPTS["count"])


async def test_max_tokens_caps_the_reply(llm: Engine) -> None:
    deltas = await read(llm, ask("forever", max_tokens=5))
    assert text(deltas) == " tick tock tick tock tick"
    assert deltas[-1].finish_reason == "length"
    assert deltas[-1].usage is not None
    assert deltas[-1].usage.completion_tokens == 5


@pytest.mark.parametrize("stop", ["three", "o th"])
async def test_a_stop_string_ends_the_reply_and_is_left_out(llm: Engine, stop: str) -> None:
    deltas = await read(llm, ask("count", stop=(stop,)))
    assert text(deltas) == tiny_llama.RESPONSES["count"].partition(stop)[0]
    assert deltas[-1].finish_reason == "stop"


async def test_a_stop_string_that_does_not_come_delays_no_text(llm: Engine) -> None:
    deltas = await read(llm, ask("count", stop=("a text that is longer than the whole reply",)))
    assert text(deltas) == tiny_llama.RESPONSES["count"]
    assert len([delta for delta in deltas if delta.text]) > 1


async def test_text_that_begins_a_stop_string_is_not_lost_at_the_end(llm: Engine) -> None:
    reply = tiny_llama.RESPONSES["count"]
    deltas = await read(llm, ask("count", stop=(reply[-3:] + " and more",)))
    assert text(deltas) == reply


async def test_a_character_of_several_tokens_comes_whole(llm: Engine) -> None:
    deltas = await read(llm, ask("accents"))
    assert text(deltas) == tiny_llama.RESPONSES["accents"]
    # an engine that is read late gives two characters at once, but never a part of one
    assert all("\N{REPLACEMENT CHARACTER}" not in delta.text for delta in deltas)
    assert len([delta for delta in deltas if delta.text]) > 1


async def test_a_character_cut_by_the_token_limit_is_left_out(llm: Engine) -> None:
    assert text(await read(llm, ask("accents", max_tokens=3))) == "\u00e9"


async def test_greedy_replies_are_the_same_each_time(llm: Engine) -> None:
    replies = [text(await read(llm, ask("spell"))) for _ in range(3)]
    assert replies == [tiny_llama.RESPONSES["spell"]] * 3


async def test_requests_at_once_do_not_mix(llm: Engine) -> None:
    words = ["count", "spell", "accents", "count", "spell", "accents"]
    replies = await asyncio.gather(*(read(llm, ask(word)) for word in words))
    assert [text(reply) for reply in replies] == [tiny_llama.RESPONSES[word] for word in words]


async def test_closing_in_the_middle_frees_the_engine(llm: Engine) -> None:
    for _ in range(8):  # more than any of them runs at once
        deltas = llm.generate(ask("forever", max_tokens=400))
        while (first := await anext(deltas)) == READING:
            pass
        assert first.text
        await deltas.aclose()
    await idle(llm)
    assert text(await read(llm, ask("count"))) == tiny_llama.RESPONSES["count"]


async def test_cancelling_the_reader_frees_the_engine(llm: Engine) -> None:
    reading = asyncio.Event()

    async def reader() -> None:
        async with aclosing(llm.generate(ask("forever", max_tokens=400))) as deltas:
            async for _ in deltas:
                reading.set()

    task = asyncio.create_task(reader())
    await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await idle(llm)


async def test_closing_before_the_first_item_does_nothing(llm: Engine) -> None:
    await idle(llm)
    await llm.generate(ask("count")).aclose()
    assert llm.running == 0


async def test_a_prompt_beyond_the_context_is_an_llm_error(llm: Engine) -> None:
    with pytest.raises(LlmError, match="tokens"):
        await read(llm, ask("word " * 3000))


async def test_an_error_leaves_the_engine_usable(llm: Engine) -> None:
    with pytest.raises(LlmError):
        await read(llm, ask("word " * 3000))
    assert text(await read(llm, ask("spell"))) == tiny_llama.RESPONSES["spell"]


async def test_a_tool_call_is_passed_on_and_never_spoken(llm: Engine) -> None:
    deltas = await read(llm, ask("open", tools=(DOOR,)))
    assert text(deltas) == "Right."
    calls = [call for delta in deltas for call in delta.tool_calls]
    assert [(call.name, call.arguments) for call in calls] == [("open_door", '{"room": "seven"}')]
    assert deltas[-1].finish_reason == "tool_calls"


async def test_a_thought_is_told_apart_and_never_spoken(llm: Engine) -> None:
    deltas = await read(llm, ask("ponder"))
    assert text(deltas) == "yes"
    assert "".join(delta.thought for delta in deltas) == " hmm"
    assert deltas[-1].usage is not None
    assert deltas[-1].usage.thought_tokens == 1


async def test_a_tool_call_that_was_not_asked_for_is_dropped(llm: Engine) -> None:
    deltas = await read(llm, ask("open", tools=(DOOR,), tool_choice="none"))
    assert text(deltas) == "Right."
    assert not any(delta.tool_calls for delta in deltas)
    assert deltas[-1].finish_reason == "stop"


async def test_an_unreadable_tool_call_is_an_llm_error(llm: Engine) -> None:
    with pytest.raises(LlmError, match="tool call"):
        await read(llm, ask("broken", tools=(DOOR,)))


@pytest.mark.parametrize("choice", ["required", "open_door"])
async def test_a_demanded_tool_call_is_made(llm: Engine, choice: str) -> None:
    deltas = await read(llm, ask("count", tools=(DOOR,), tool_choice=choice, max_tokens=60))
    assert [call.name for delta in deltas for call in delta.tool_calls] == ["open_door"]
    assert deltas[-1].finish_reason == "tool_calls"


async def test_demanding_a_tool_that_is_not_offered_is_an_llm_error(llm: Engine) -> None:
    with pytest.raises(LlmError, match="close_door"):
        await read(llm, ask("count", tools=(DOOR,), tool_choice="close_door"))


async def test_a_history_with_tool_calls_is_read(llm: Engine) -> None:
    messages = (
        Message("system", "You are brief."),
        Message("user", "open"),
        Message("assistant", "Right.", tool_calls=(ToolCall("call_1", "open_door", '{"room": "seven"}'),)),
        Message("tool", "It is open.", tool_call_id="call_1"),
        Message("assistant", "Done."),
        Message("user", "count"),
    )
    assert text(await read(llm, Request(messages, tools=(DOOR,)))) == tiny_llama.RESPONSES["count"]


async def test_an_engine_that_is_not_started_says_so(llm: Engine, unstarted: dict[str, Engine]) -> None:
    with pytest.raises(LlmError, match="not started"):
        await read(unstarted[type(llm).__name__], ask("count"))


async def test_closing_an_engine_that_is_not_started_does_nothing(unstarted: dict[str, Engine]) -> None:
    for engine in unstarted.values():
        await engine.close()
        await engine.close()
