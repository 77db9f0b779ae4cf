"""A kept call by sound, and results of evals around it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from voiceagent.config.tables import load
from voiceagent.evals.callable_agent import callable_agent
from voiceagent.evals.record import CallRecord, Failure
from voiceagent.evals.results import Results, Run, run_of
from voiceagent.evals.scenario import EvalFile, Scenario, Times
from voiceagent.evals.virtual_time import run_virtually

SCENARIO = "two tunas"
CONFIG = """
[agent]
[recognizer]
engine = "people.offline:NoWords"
[llm]
engine = "voiceagent.testing:RehearsedModel"
script = [["Two tuna pizzas and they will be with you soon."]]
[synthesizer]
engine = "espeak"
"""
TIMES = Times(recognition_s=0.05, first_token_s=0.2, first_audio_s=0.1)


def kept_call(folder: Path, calls: Path, seed: int = 1) -> CallRecord:
    """Make one call and keep it. folder: for the configuration. calls: of the kept calls."""
    path = folder / "shop.toml"
    path.write_text(CONFIG)
    scenario = Scenario.of(SCENARIO, {"script": ["I would like two tuna pizzas"]})

    async def run() -> CallRecord:
        async with callable_agent(load(path), EvalFile(times=TIMES), folder, False, calls) as agent:
            return await agent.call(scenario, seed)

    return run_virtually(run(), TIMES.recognition_s)


async def kept_call_elsewhere(folder: Path, calls: Path) -> CallRecord:
    """Make one call from within an event loop."""
    return await asyncio.to_thread(kept_call, folder, calls)


def results(began_at: float, runs: tuple[Run, ...], name: str = "shop.toml") -> Results:
    """Return results of an eval of the pizza shop."""
    return Results(name, runs, 12.0, began_at=began_at, folder="pizza", revision="0a1b2c3d")


def failed(call: CallRecord, seed: int, *failures: Failure) -> Run:
    """Return the run of a call with these failures."""
    return run_of(SCENARIO, seed, call, failures)
