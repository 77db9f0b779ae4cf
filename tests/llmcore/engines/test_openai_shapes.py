"""The OpenAI engine learns the message shapes that a server accepts, at the start and during a call."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
from chat_server import serve
from strict_templates import ALTERNATING, FREE, NO_SYSTEM, ONE_CALL, STRICT, SYSTEM_FIRST, StrictTemplate
from template_server import TemplateServer

from llmcore.engine import Delta, LlmError, Message, Request, RequestError, Tool, ToolCall
from llmcore.engines.openai_engine import OpenAILlm

SYSTEM = Message("system", "Be brief.")
QUESTION = Message("user", "Is there a ship?")
LOOK = ToolCall("call_0123456789", "look", "{}")
CALL = (
    SYSTEM,
    Message("assistant", "Hello, this is the lighthouse."),
    QUESTION,
    Message("assistant", "Let me look.", (LOOK,)),
    Message("tool", "One ship.", tool_call_id=LOOK.call_id),
    Message("user", "And now?"),
    Message("system", "Say that it is late."),
)
DOOR = Tool("look", "Looks.")


@asynccontextmanager
async def engine_of(
    server: TemplateServer, model: str = "tiny", key_env: str = "", asks: bool = True
) -> AsyncIterator[OpenAILlm]:
    async with serve(server.app()) as base_url:
        engine = OpenAILlm(model, base_url, api_key_env=key_env, retries=0)
        engine.asks_shapes = asks
        try:
            await engine.start()
            yield engine
        finally:
            await engine.close()


async def read(llm: OpenAILlm, *messages: Message, tools: tuple[Tool, ...] = ()) -> str:
    async with aclosing(llm.generate(Request(messages, tools))) as deltas:
        found: list[Delta] = [delta async for delta in deltas]
    return "".join(delta.text for delta in found)


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize(
    "template", [STRICT["alternating"], STRICT["system_first"]], ids=["alternating", "system_first"]
)
async def test_the_start_finds_out_what_a_server_refuses(template: StrictTemplate, status: int) -> None:
    server = TemplateServer(template.source, status)
    async with engine_of(server) as llm:
        assert llm.shapes.refused == template.refused
        learned = len(server.bodies)
        assert await read(llm, *CALL, tools=(DOOR,)) == "Yes."
        assert len(server.bodies) == learned + 1


async def test_a_server_that_takes_all_is_asked_for_two_tokens() -> None:
    server = TemplateServer(FREE)
    async with engine_of(server) as llm:
        assert llm.shapes.refused == frozenset()
        assert [body["max_tokens"] for body in server.bodies] == [1, 1]


async def test_without_being_asked_to_an_engine_sends_nothing_at_the_start() -> None:
    server = TemplateServer(FREE)
    async with engine_of(server, asks=False):
        assert server.bodies == []


async def test_where_prompts_can_be_seen_words_that_a_template_leaves_out_are_missed() -> None:
    async with engine_of(TemplateServer(ONE_CALL, owner="llamacpp")) as llm:
        assert "words_with_calls" not in llm.shapes.refused
    async with engine_of(TemplateServer(ONE_CALL, owner="llamacpp", shows=True)) as llm:
        assert {"words_with_calls", "assistant_first"} <= llm.shapes.refused


async def test_a_probe_that_is_too_long_for_a_small_model_tells_nothing() -> None:
    source = (
        "{% if messages | length > 6 %}{{ raise_exception('the maximum context length is 20') }}{% endif %}"
    )
    async with engine_of(TemplateServer(source + FREE)) as llm:
        assert llm.shapes.refused == frozenset()


async def test_guidance_is_in_the_prompt_of_a_server_that_wants_the_system_message_first() -> None:
    server = TemplateServer(SYSTEM_FIRST)
    async with engine_of(server) as llm:
        await read(llm, SYSTEM, QUESTION, Message("system", "Say that it is late."))
    assert server.prompts[-1].count("Say that it is late.") == 1
    assert [message["role"] for message in server.bodies[-1]["messages"]] == ["system", "user"]


async def test_what_is_refused_is_told_once_and_in_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with engine_of(TemplateServer(NO_SYSTEM)) as llm:
        await read(llm, *CALL)
    assert (
        caplog.text.count("it refuses a system message: sent as the beginning of the first user message") == 1
    )


@pytest.mark.parametrize("status", [400, 500])
async def test_a_refusal_in_a_call_is_learned_and_the_call_goes_on(status: int) -> None:
    server = TemplateServer(SYSTEM_FIRST, status)
    async with engine_of(server, asks=False) as llm:
        assert await read(llm, *CALL, tools=(DOOR,)) == "Yes."
        assert len(server.bodies) == 2
        assert await read(llm, *CALL, tools=(DOOR,)) == "Yes."
        assert len(server.bodies) == 3
        assert llm.shapes.refused == {"later_system"}


async def test_a_refusal_that_names_no_shape_is_answered_by_the_simplest_order() -> None:
    server = TemplateServer(ALTERNATING)
    async with engine_of(server, asks=False) as llm:
        assert await read(llm, *CALL, tools=(DOOR,)) == "Yes."
        assert len(server.bodies) == 2


async def test_a_refusal_that_stays_is_told_as_it_first_was_and_nothing_is_learned() -> None:
    source = "{{ raise_exception('no messages at all, today') }}"
    server = TemplateServer(source)
    async with engine_of(server, asks=False) as llm:
        with pytest.raises(RequestError, match="no messages at all"):
            await read(llm, *CALL)
        assert llm.shapes.refused == frozenset()
        assert len(server.bodies) == 2


async def test_another_refusal_is_not_tried_again() -> None:
    server = TemplateServer(FREE, fails_with=400)
    async with engine_of(server, asks=False) as llm:
        with pytest.raises(RequestError):
            await read(llm, *CALL)
    assert len(server.bodies) == 1


async def test_a_server_that_takes_no_tools_is_offered_none() -> None:
    server = TemplateServer(FREE, takes_tools=False)
    async with engine_of(server) as llm:
        assert llm.shapes.refused == {"tools"}
        assert await read(llm, *CALL, tools=(DOOR,)) == "Yes."
    assert "tools" not in server.bodies[-1]
    assert "One ship." in server.prompts[-1]


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_has_no_time_for_probes_starts_all_the_same(status: int) -> None:
    server = TemplateServer(FREE, fails_with=status)
    async with engine_of(server) as llm:
        assert llm.shapes.refused == frozenset()


async def test_a_server_that_does_not_answer_probes_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llmcore.engines.openai_engine.START_S", 0.0)
    async with engine_of(TemplateServer(ALTERNATING)) as llm:
        assert llm.shapes.refused == frozenset()


async def test_a_server_that_refuses_everything_is_left_to_the_turn_that_warms_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with engine_of(TemplateServer(FREE, fails_with=400)) as llm:
        assert llm.shapes.refused == frozenset()
    assert "refuses even a plain question" in caplog.text


async def test_a_wrong_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIP_KEY", "wrong")
    with pytest.raises(LlmError, match=r"401.*Incorrect API key.*SHIP_KEY"):
        async with engine_of(TemplateServer(FREE, key="right"), key_env="SHIP_KEY"):
            pass


async def test_a_wrong_model_names_those_that_there_are() -> None:
    with pytest.raises(LlmError, match=r"no model 'tyni'.*there are: tiny, other"):
        async with engine_of(TemplateServer(FREE), model="tyni"):
            pass


async def test_a_replica_that_comes_back_is_asked_then() -> None:
    server = TemplateServer(SYSTEM_FIRST, fails_with=503)
    async with engine_of(server) as llm:
        assert llm.shapes.refused == frozenset()
        server.fails_with = 0
        await llm.reach()
        assert llm.shapes.refused == STRICT["system_first"].refused
        asked = len(server.bodies)
        await llm.reach()
        assert len(server.bodies) == asked
