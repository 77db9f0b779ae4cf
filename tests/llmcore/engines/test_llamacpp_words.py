"""Replies of llama.cpp that may call no tool, and its reports while it reads a prompt."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from llmcore.engine import READING, Message, Request, Tool
from llmcore.engines.llamacpp_engine import LlamaCppLlm

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


def called_back(choice: str) -> Request:
    """Return a request to which the model's likeliest reply begins with the mark of a call."""
    return Request((Message("user", "broken"),), (Tool("door", ""),), tool_choice=choice, max_tokens=6)


async def beginning(llm: LlamaCppLlm, choice: str) -> str:
    """Return the first text that llama.cpp writes, before any of it is read as a call."""
    body, _ = llm._prepare(called_back(choice))
    async with aclosing(llm._complete(body)) as events:
        return "".join([event["content"] async for event in events]).lstrip()


async def test_a_reply_that_may_call_no_tool_begins_with_words(llamacpp: LlamaCppLlm) -> None:
    assert (await beginning(llamacpp, "auto")).startswith("<tool_call")
    assert not (await beginning(llamacpp, "none")).startswith(("<tool_call", "{", "["))


async def test_words_before_a_call_stay_as_they_are(llamacpp: LlamaCppLlm) -> None:
    request = Request((Message("user", "open"),), (Tool("door", ""),), tool_choice="none")
    async with aclosing(llamacpp.generate(request)) as deltas:
        assert "".join([delta.text async for delta in deltas]) == "Right."


async def test_a_long_prompt_is_reported_while_it_is_read(llamacpp: LlamaCppLlm) -> None:
    request = Request((Message("user", "open " * 200),), max_tokens=2)
    async with aclosing(llamacpp.generate(request)) as deltas:
        told = [delta async for delta in deltas]
    begins = next(at for at, delta in enumerate(told) if delta.text or delta.finish_reason is not None)
    assert told[:begins] == [READING] * begins
    assert begins >= 3
