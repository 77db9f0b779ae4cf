"""The first thing that visitors say to the hotel: they want a room, from some day."""

from __future__ import annotations

from pathlib import Path

import pytest
from shipped_models import INT8

from llmcore.engine import Message, Request
from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.policies.set_answers import answer_to
from llmcore.serving.joined_engines import SetAnswersLlm
from voiceagent.agents.load import beginning_of
from voiceagent.config.tables import Config, load

CONFIGS = Path(__file__).parents[3] / "configs"
WHICH = "Which room would you like: single, double, family or suite?"


@pytest.fixture(params=["demo.toml", "vllm-cpu.toml"])
def config(request: pytest.FixtureRequest) -> Config:
    return load(CONFIGS / request.param)


def answer(config: Config, words: str) -> str | None:
    answers = [table.to_answer() for table in config.set_answers]
    return answer_to([Message("user", words)], answers)


@pytest.mark.parametrize(
    ("words", "stay"),
    [
        ("I want to book a room for two nights from Friday.", "two nights"),
        ("i want to book a room for two nights from friday", "two nights"),
        ("I would like a room from Friday for three nights, please.", "three nights"),
        ("Hi, can I reserve a room for one night, starting tomorrow?", "one night"),
        ("We need a room for four nights on Monday.", "four nights"),
    ],
)
def test_a_room_without_its_kind_is_asked_for(words: str, stay: str, config: Config) -> None:
    assert answer(config, words) == f"Gladly, for {stay}. {WHICH}"


@pytest.mark.parametrize(
    "words",
    [
        "I want to book a double room for two nights from Friday.",
        "I have booked a room for two nights from Friday and want to cancel.",
        "How much is a room for two nights from Friday?",
        "I want to book a room.",
        "When is breakfast?",
        "Two nights from Friday.",
    ],
)
def test_all_else_is_the_models(words: str, config: Config) -> None:
    assert answer(config, words) is None


async def test_the_model_goes_on_from_there_with_the_day_and_the_nights() -> None:
    config = load(CONFIGS / "demo.toml")
    instructions, tools = beginning_of(config.agent, config.instructions(), config.source)
    llm = SetAnswersLlm(CTranslate2Llm(INT8), [table.to_answer() for table in config.set_answers])
    await llm.start()
    messages = [Message("system", instructions)]
    said = []
    for words in ("I want to book a room for two nights from Friday.", "A double room, please."):
        messages.append(Message("user", words))
        said.append("".join([delta.text async for delta in llm.generate(Request(tuple(messages), tools))]))
        messages.append(Message("assistant", said[-1]))
    await llm.close()
    assert WHICH in said[0]
    assert "the double room from Friday for two nights, two hundred and forty dollars" in said[1]
