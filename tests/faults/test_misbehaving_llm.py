"""Many calls with an LLM server that behaves like real ones: failing and hanging tools, endless tool
rounds.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from chat_server import serve
from fault_calls import FaultCaller, calling
from faulty_server import FaultyServer, faulty_server_beside
from misbehaving_llm import (
    AFTER_TOOL,
    ANSWERED,
    APOLOGISED,
    HABITS,
    TOOL_ANSWERED,
    WORDS,
    MisbehavingLlm,
)

CALLS = 500 if "VOICEAGENT_LONG_TESTS" in os.environ else 2 * len(HABITS)
"""Number of calls; with 500, each habit occurs about twelve times."""
AT_ONCE = 12
ANSWER_WITHIN_S = 5.0
MAX_TOOL_ROUNDS = 8
MAX_REQUESTS = MAX_TOOL_ROUNDS + 4
"""Maximum LLM requests in one turn: its rounds of tools, one without tools, and two retries of an empty
reply.
"""
APOLOGY = "Sorry, something went wrong."
REFUSAL = "I am not able to answer that."
AGENT = '''import asyncio
from voiceagent.agents import Agent, ToolFailed, tool

class Tables(Agent):
    def instructions(self):
        return "You book tables."

    @tool
    def look(self) -> str:
        """Look up the time."""
        return "at eight"

    @tool
    def fail(self) -> str:
        """Fail."""
        raise ToolFailed("the book of tables is closed")

    @tool(timeout_s=0.5)
    async def hang(self) -> str:
        """Hang."""
        await asyncio.sleep(3600)
        return ""
'''


def with_llm(config: str, base_url: str) -> str:
    """Return the configuration with the LLM at `base_url` and the agent above."""
    agent = f'python = "tables:Tables"\napology = "{APOLOGY}"\nrefusal = "{REFUSAL}"'
    before, after = config.replace('instructions = "You are a helpful assistant."', agent).split("[llm]")
    llm = f'engine = "openai"\nmodel = "m"\nbase_url = "{base_url}"\napi_key_env = ""\nbackoff_s = 0.05'
    return f"{before}[llm]\n{llm}\n\n[synthesizer]{after.split('[synthesizer]')[1]}"


async def answer(caller: FaultCaller, habit: str, number: int) -> tuple[str, str]:
    """Ask one question. Return the status of the last response and all spoken text, once both are right.

    A tool call ends a response; the answer is in the next one.
    """
    await caller.type(f"[{habit}] {number}: a table please")
    await caller.ask()
    said, status = "", "no answer"
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S * (2 if habit == "circle" else 1)):
            while not is_right(habit, status, said):
                status = (await caller.until("response.done"))["response"]["status"]
                said, caller.said = " ".join(f"{said} {caller.said}".split()), ""
    except TimeoutError:
        return f"no more after {status}", said
    return status, said


async def one_call(server: FaultyServer, habit: str, number: int) -> dict[str, Any]:
    """Ask twice. Return the answers of both turns."""
    async with calling(server.address) as caller:
        turns = [await answer(caller, habit, number) for _ in range(2)]
        return {"habit": habit, "number": number, "turns": turns}


def is_right(habit: str, status: str, said: str) -> bool:
    """Return True if a turn with this habit ended as it should."""
    if habit in ANSWERED:
        ended = "incomplete" if habit == "finish MAX_TOKENS" else "completed"
        return status == ended and said == WORDS
    if habit in TOOL_ANSWERED:
        return status == "completed" and said.endswith(AFTER_TOOL)
    if habit == "filtered":
        return said == REFUSAL
    if habit in APOLOGISED:
        return said in (APOLOGY, REFUSAL)
    return said.endswith((AFTER_TOOL, APOLOGY))


def prompt_words(messages: list[dict[str, Any]]) -> list[str]:
    """Return the words of the assistant's messages in a prompt."""
    return [str(message["content"]) for message in messages if message["role"] == "assistant"]


async def test_each_call_is_answered_or_hears_an_apology_and_costs_no_other_call_a_turn(
    tmp_path: Path,
) -> None:
    (tmp_path / "tables.py").write_text(AGENT)
    llm, random = MisbehavingLlm(), Random(48)
    habits = [HABITS[number % len(HABITS)] for number in range(CALLS)]
    random.shuffle(habits)
    async with (
        serve(llm.app()) as base_url,
        faulty_server_beside(
            tmp_path,
            f"max_calls = {2 * AT_ONCE}\nmax_loop_lag_ms = 10_000",
            change=lambda text: with_llm(text, base_url),
        ) as server,
    ):
        room = asyncio.Semaphore(AT_ONCE)

        async def in_turn(habit: str, number: int) -> dict[str, Any]:
            async with room:
                return await one_call(server, habit, number)

        calls = await asyncio.gather(*(in_turn(habit, number) for number, habit in enumerate(habits)))
        log = server.log

    wrong = Counter(
        (call["habit"], status, said)
        for call in calls
        for status, said in call["turns"]
        if not is_right(call["habit"], status, said)
    )
    assert not wrong
    assert all(len(asked) <= 2 * MAX_REQUESTS for asked in llm.requests.values())
    assert "circuit" not in log, "habits of one caller's requests are no failures of the server"
    for call in calls:
        (status, said), last_prompt = call["turns"][0], llm.requests[str(call["number"])][-1]
        if status == "completed":  # the second turn's prompt holds the words heard in the first
            assert said.split() in [
                " ".join(prompt_words(last_prompt["messages"])[:count]).split() for count in range(1, 20)
            ], (call, last_prompt["messages"])
