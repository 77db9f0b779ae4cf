"""Single runs: those that cannot be made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from llmcore.engine import Delta, Request, ServerError, Usage
from voiceagent.agents import Agent
from voiceagent.config.tables import load
from voiceagent.evals.callable_agent import callable_agent
from voiceagent.evals.results import Run
from voiceagent.evals.runs import run_once
from voiceagent.evals.scenario import EvalFile, Scenario
from voiceagent.evals.virtual_time import run_virtually

CONFIG = f"""
[agent]
instructions = "You sell pizza."
[recognizer]
engine = "people.offline:NoWords"
[llm]
engine = "{__name__}:Failing"
[synthesizer]
engine = "espeak"
"""


class Failing:
    """A model that fails."""

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def prefill(self, request: Request) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        raise ServerError("broken")
        yield Delta("")  # a generator


def test_a_typed_call_that_fails_is_a_failed_run_and_leaves_no_task(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(CONFIG)

    async def run() -> tuple[Run, set[asyncio.Task[object]]]:
        async with callable_agent(load(path), EvalFile(), tmp_path, typed=True) as agent:
            before = asyncio.all_tasks()
            made = await run_once(agent, Scenario.of("order", {"script": ["Hello."]}), 1)
            return made, asyncio.all_tasks() - before

    made, left = run_virtually(run())
    assert made.failures[0].reason.startswith("the call could not be made")
    assert left == set()


class Busy(Agent):
    """An agent that cannot be made in each second call."""

    instructions = "You sell pizza."
    made = 0

    def __init__(self) -> None:
        Busy.made += 1
        if Busy.made % 2 == 0:
            raise KeyError("no free line to the kitchen")


def test_an_agent_that_cannot_be_made_fails_its_own_run_only(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(CONFIG.replace('instructions = "You sell pizza."', f'python = "{__name__}:Busy"'))

    async def runs() -> list[Run]:
        async with callable_agent(load(path), EvalFile(), tmp_path, typed=True) as agent:
            return [await run_once(agent, Scenario.of("order", {"script": ["Hi."]}), seed) for seed in (1, 2)]

    reasons = [run.failures[0].reason for run in run_virtually(runs())]
    assert sum("KeyError: 'no free line to the kitchen'" in reason for reason in reasons) == 1


class Chats(Failing):
    """A model that talks for ever, as agent and as caller."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        yield Delta("And then?")
        yield Delta(finish_reason="stop", usage=Usage(1, 0, 1))


def test_a_persona_that_never_ends_fails_its_run(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(CONFIG.replace(":Failing", ":Chats"))
    scenario = Scenario.of("order", {"persona": {"goal": "pizza"}, "max_turns": 3})

    async def run() -> Run:
        async with callable_agent(load(path), EvalFile(), tmp_path, typed=True) as agent:
            return await run_once(agent, scenario, 1)

    (failure,) = run_virtually(run()).failures
    assert failure.reason.startswith("the caller was cut by max_turns = 3")
