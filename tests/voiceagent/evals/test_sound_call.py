"""Calls by sound in virtual time, with espeak's voice, a rehearsed model and a recognizer of fixed words."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voiceagent.agents import Agent, tool
from voiceagent.config.tables import load
from voiceagent.evals import sound_call
from voiceagent.evals.callable_agent import callable_agent
from voiceagent.evals.delivery import Microphone
from voiceagent.evals.record import CallRecord
from voiceagent.evals.scenario import EvalFile, LineConfig, Scenario, Times
from voiceagent.evals.sound_call import MAX_ANSWER_S, _Ear
from voiceagent.evals.virtual_engines import EngineThread
from voiceagent.evals.virtual_time import frozen, run_virtually

CONFIG = """
[agent]
python = "{module}:{kind}"
[recognizer]
engine = "people.offline:NoWords"
[llm]
engine = "voiceagent.testing:RehearsedModel"
script = [[
  {{ tool = "add", arguments = {{ number = 2 }} }},
  "Two tuna pizzas and they will be with you soon.",
]]
[synthesizer]
engine = "espeak"
"""
TIMES = Times(recognition_s=0.05, first_token_s=0.2, first_audio_s=0.1)
needs_espeak = pytest.mark.skipif(find_spec("espeakng_loader") is None, reason="make install")


class Shop(Agent):
    """An agent with a plain tool, which runs in a thread."""

    instructions = "You sell pizza."

    @tool
    def add(self, number: int) -> str:
        """Add pizzas. number: how many."""
        time.sleep(0.01)
        return f"added {number}"


class Greeter(Shop):
    """An agent with a long greeting."""

    greeting = "Welcome to the best pizza shop of this town, where each pizza is made by hand."


class Talker(Agent):
    """An agent that never stops, as one does that hears itself and answers."""

    instructions = "You talk."

    async def on_response(self, text: str, interrupted: bool) -> None:
        self.call.say("And another thing that you should know about our pizzas.")


def calls(
    tmp_path: Path,
    table: dict[str, Any],
    seeds: tuple[int, ...],
    times: Times = TIMES,
    kind: type[Agent] = Shop,
) -> list[CallRecord]:
    """Return the records of calls with a script."""
    path = tmp_path / "shop.toml"
    path.write_text(CONFIG.format(module=__name__, kind=kind.__name__))
    scenario = Scenario.of("order", table)

    async def run() -> list[CallRecord]:
        async with callable_agent(load(path), EvalFile(times=times), tmp_path, typed=False) as agent:
            return [await agent.call(scenario, seed) for seed in seeds]

    return run_virtually(run(), times.recognition_s)


@needs_espeak
def test_a_call_has_lines_answers_and_tools_with_their_seconds(tmp_path: Path) -> None:
    [call] = calls(tmp_path, {"script": ["I would like two tuna pizzas"]}, (1,))
    assert [(one.role, one.text) for one in call.said] == [
        ("caller", "I would like two tuna pizzas"),
        ("agent", "Two tuna pizzas and they will be with you soon."),
    ]
    assert [(one.name, one.output) for one in call.tools] == [("add", "added 2")]
    assert call.failures == ()
    assert call.ended_by == "caller"
    line, answer = call.said
    assert 0 < line.begin_s < line.end_s < answer.begin_s < answer.end_s < call.seconds


@needs_espeak
def test_the_wait_grows_by_the_given_time_of_the_llm(tmp_path: Path) -> None:
    table = {"script": ["Could you help me with something"]}
    slower = TIMES.model_copy(update={"first_token_s": 1.2})
    [[wait], [longer]] = [
        [wait for _, wait in calls(tmp_path, table, (1,), times)[0].waits()] for times in (TIMES, slower)
    ]
    assert wait is not None
    assert longer is not None
    assert longer > wait + 1.0  # a second request follows the tool


@needs_espeak
def test_a_line_over_the_agent_is_an_interruption(tmp_path: Path) -> None:
    lines = [
        "I would like two tuna pizzas",
        {"say": "Stop I want three of them", "over_agent_s": 1.7},
    ]
    [call] = calls(tmp_path, {"script": lines}, (1,))
    assert [one.manner for one in call.lines] == ["turn", "interruption"]
    [(line, yield_s)] = call.yields()
    assert line.text == "Stop I want three of them"
    assert yield_s < 1.5


@needs_espeak
def test_the_first_line_may_be_spoken_over_the_greeting(tmp_path: Path) -> None:
    table = {"script": [{"say": "Stop I want three of them", "over_agent_s": 1.5}]}
    [call] = calls(tmp_path, table, (1,), kind=Greeter)
    assert [one.manner for one in call.lines] == ["interruption"]


@needs_espeak
@pytest.mark.parametrize(("max_turns", "limit"), [(1, "max_turns"), (2, "")])
def test_a_caller_with_lines_left_is_cut_by_the_limit(tmp_path: Path, max_turns: int, limit: str) -> None:
    table = {"script": ["I would like two pizzas", "Goodbye"], "max_turns": max_turns}
    [call] = calls(tmp_path, table, (1,))
    assert (call.cut_by, len(call.lines)) == (limit, max_turns)


@needs_espeak
def test_a_call_that_lasts_too_long_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sound_call, "MAX_CALL_S", 5.0)
    [call] = calls(tmp_path, {"script": ["I would like two pizzas", "Goodbye", "Goodbye"]}, (1,))
    assert call.cut_by == "time"


@needs_espeak
def test_a_run_is_the_same_each_time_and_another_one_differs(tmp_path: Path) -> None:
    table = {"script": ["I would like [pause 0.4] two, please."], "line": {"kind": "noise"}}
    first, second, other = calls(tmp_path, table, (1, 1, 2))
    lengths = [[one.end_s - one.begin_s for one in call.lines] for call in (first, second)]
    assert lengths[0] == pytest.approx(lengths[1])
    assert [wait for _, wait in first.waits()] == pytest.approx([wait for _, wait in second.waits()])
    assert other.lines[0].end_s - other.lines[0].begin_s != first.lines[0].end_s - first.lines[0].begin_s


@needs_espeak
@pytest.mark.parametrize("kind", ["telephone", "loss", "speakerphone"])
def test_lines_carry_the_call(tmp_path: Path, kind: str) -> None:
    table = {"script": ["I would like two tuna pizzas"], "line": {"kind": kind}}
    [call] = calls(tmp_path, table, (1,))
    assert [tool.name for tool in call.tools] == ["add"]


@needs_espeak
def test_a_caller_goes_on_though_the_agent_never_stops(tmp_path: Path) -> None:
    table = {"script": ["I would like two tuna pizzas", "Goodbye"]}
    [call] = calls(tmp_path, table, (1,), kind=Talker)
    assert [line.text for line in call.lines] == table["script"]
    assert call.ended_by == "caller"
    assert call.seconds < 3 * MAX_ANSWER_S


async def test_backchannel_of_the_agent_is_no_answer() -> None:
    ear = _Ear(Microphone(LineConfig(), 1), asyncio.get_running_loop().time())
    loud = np.full(480, 5_000, np.int16)
    ear.play("", loud)
    assert not ear.quiet
    assert ear.responses == {}
    ear.play("resp_1", loud)
    assert list(ear.responses) == ["resp_1"]


def test_the_clock_stands_still_while_an_engine_works_and_its_times_are_given() -> None:
    async def items() -> AsyncGenerator[int, None]:
        for number in range(3):
            await asyncio.sleep(0.01)  # real time, of another event loop
            yield number

    async def receive() -> list[tuple[int, float]]:
        clock = asyncio.get_running_loop().time
        with EngineThread() as thread:
            return [(one, clock()) async for one in thread.stream(items(), lambda index, _: 1.0 + index)]

    assert run_virtually(receive()) == [(0, 1.0), (1, 2.0), (2, 3.0)]


def test_an_error_of_an_engine_reaches_the_call() -> None:
    async def fails() -> AsyncGenerator[int, None]:
        yield 1
        raise ValueError("broken")

    async def receive() -> None:
        with EngineThread() as thread:
            async for _ in thread.stream(fails(), lambda index, measured_s: 0.0):
                pass

    with pytest.raises(ValueError, match="broken"):
        run_virtually(receive())


def test_frozen_changes_nothing_on_another_event_loop() -> None:
    async def wait() -> None:
        with frozen():
            await asyncio.sleep(0)

    asyncio.run(wait())
