from __future__ import annotations

import re
from contextlib import aclosing

import pytest
from scripted_llm import ScriptedLlm

from llmcore.engine import Message, Request, Tool, Usage
from llmcore.policies.routing import Rules, route
from llmcore.serving.joined_engines import RoutedLlm

RULES = Rules((re.compile(r"\b(thanks|goodbye)\b", re.I),), 40, 400, tools=False)
SYSTEM = Message("system", "You keep the desk.")


def ask(text: str, *tools: Tool) -> Request:
    return Request((SYSTEM, Message("user", text)), tools)


def test_a_simple_turn_goes_to_the_small_model():
    assert route(ask("Thanks a lot."), RULES, overloaded=False) == "small"
    assert route(ask("Why is the sky blue?"), RULES, overloaded=False) == "large"


@pytest.mark.parametrize("overloaded", [False, True])
@pytest.mark.parametrize(
    "request_",
    [
        ask("Thanks, and could you tell me what you have for a family of five in July?"),
        ask("Thanks.", Tool("book", "Books a room.")),
        Request((Message("system", "facts " * 100), Message("user", "Thanks."))),
    ],
    ids=["a long turn", "tools", "a long prompt"],
)
def test_what_the_small_model_may_not_answer_goes_to_the_large(request_, overloaded):
    assert route(request_, RULES, overloaded) == "large"


def test_under_pressure_every_short_turn_goes_to_the_small_model():
    assert route(ask("Why is the sky blue?"), RULES, overloaded=True) == "small"


def test_a_prompt_without_a_turn_goes_to_the_large_model():
    assert route(Request((SYSTEM,)), RULES, overloaded=True) == "large"


async def test_both_models_are_one_engine():
    large, small = ScriptedLlm(["large"]), ScriptedLlm(["small"])
    llm = RoutedLlm(large, small, lambda request: route(request, RULES, overloaded=False))
    await llm.start()
    for text, expected in (("Thanks.", "small"), ("Why?", "large")):
        async with aclosing(llm.generate(ask(text))) as deltas:
            assert "".join([delta.text async for delta in deltas]) == expected
        await llm.prefill(ask(text))
    await llm.close()
    assert [(e.started, e.closed, len(e.prefills)) for e in (large, small)] == [(1, 1, 1), (1, 1, 1)]


async def test_only_the_large_model_is_heard_on_the_end_of_a_message():
    usage = Usage(end_log_probability=-0.5)
    large, small = ScriptedLlm(usage=usage), ScriptedLlm(usage=usage)
    llm = RoutedLlm(large, small, lambda request: route(request, RULES, overloaded=False))
    assert await llm.prefill(ask("Why?")) == usage
    assert await llm.prefill(ask("Thanks.")) == Usage()
