"""Spoken requests for the demo's tools: is the right tool called, with the right arguments, and is it done?

python tests/bench/tool_calls_by_voice.py [--config configs/demo.toml] [--held-back] [--most N]

Each request of `tool_calls_by_voice.toml` is a call of its own, in real time. The voices take turns: Piper's
Joe, two of Kokoro's and one of espeak's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tomllib
from itertools import cycle
from pathlib import Path
from typing import Any

import structlog
from kokoro_voices import stored
from spoken_call import spoken

from audio.pcm import Samples
from audio.resample import resample
from audio.synthesizers import BlockingSynthesizer
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.synthesizers.kokoro import KokoroSynthesizer
from audio.synthesizers.piper_english import PiperEnglishSynthesizer
from voiceagent.agents.load import load_agents
from voiceagent.agents.running import RunningAgent
from voiceagent.config.tables import Config, load
from voiceagent.demo.front_desk import minutes_of
from voiceagent.server.engine_building import build_engines
from voiceagent.server.startup import started
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import FORMAT, Exchange, LocalCall

REQUESTS = Path(__file__).with_suffix(".toml")
HALF_A_DAY = 12 * 60
_DONE_AT = re.compile(r" at (.+?)(?:, table|$)")
REFUSED = "not done"
"""Beginning of the front desk's results that did nothing."""


def voices() -> list[tuple[str, BlockingSynthesizer]]:
    """Return the callers' voices by name."""
    kokoro = stored("kokoro-82m") / "kokoro-v1.0.int8.onnx"
    return [
        ("", PiperEnglishSynthesizer(stored("piper-en_US-joe") / "en_US-joe-medium.onnx")),
        ("af_heart", KokoroSynthesizer(kokoro, "en", "af_heart")),
        ("en-us+f2", EspeakSynthesizer()),
        ("bm_george", KokoroSynthesizer(kokoro, "en", "bm_george")),
    ]


def judge(request: dict[str, Any], tools: list[str]) -> tuple[bool, bool]:
    """Judge the call of a turn (right tool, right arguments), and whether the request was done.

    The front desk corrects times that a model miscopies, so its result may be right behind a wrong argument.
    A call that a false end of the turn has withdrawn has no result.

    tools: lines of an exchange, which are calls and, behind an arrow, their results.
    """
    calls = [line.partition("(") for line in tools if not line.startswith("->")]
    results = [line for line in tools if line.startswith("->")]
    if {name for name, _, _ in calls} != {request["tool"]} or len(results) > 1:
        return False, False
    arguments = json.loads(calls[-1][2].removesuffix(")") or "{}")
    people_right = arguments.get("people") == request.get("people")
    wanted = request.get("time", "")
    done_at = _DONE_AT.search("".join(results))
    done = (
        people_right and _same_time(done_at[1] if done_at else "", wanted) and REFUSED not in "".join(results)
    )
    return people_right and _same_time(arguments.get("time") or "", wanted), done


def _same_time(given: str, wanted: str) -> bool:
    """Compare two times on a 12-hour clock."""
    if not given or not wanted:
        return given == wanted
    minutes, right = minutes_of(given), minutes_of(wanted)
    return minutes is not None and right is not None and (minutes - right) % HALF_A_DAY == 0


async def ask(config: Config, requests: list[dict[str, Any]], sounds: list[Samples]) -> list[Exchange]:
    """Make each request in a call of its own."""
    make = load_agents(config.agent, config.instructions(), config.source).usual
    assert make is not None
    exchanges = []
    async with started(config, build_engines(config), Metrics()) as (services, _):
        for request, sound in zip(requests, sounds, strict=True):
            async with LocalCall(services, RunningAgent("bench", make)) as call:
                exchanges.append(await call.say(sound))
            _show(request, exchanges[-1])
    return exchanges


def _show(request: dict[str, Any], exchange: Exchange) -> None:
    """Print a request and what came of it."""
    called, done = judge(request, exchange.tools)
    verdict = "right" if called and done else "corrected" if done else "WRONG"
    print(f"{verdict:9}  {request['voice'] or 'joe':9}  {request['say']}")
    if not (called and done):
        print(f"       heard {exchange.understood}, called {exchange.tools}")
    print(end="", flush=True)


def main() -> None:
    """Synthesize the requests, make the calls and print the share of right ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path("configs/demo.toml"))
    parser.add_argument("--held-back", action="store_true")
    parser.add_argument("--most", type=int)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    every = tomllib.loads(REQUESTS.read_text())["request"]
    requests = [each for each in every if each.get("held_back", False) == options.held_back][: options.most]
    sounds = []
    for request, (voice, engine) in zip(requests, cycle(voices())):
        request["voice"] = voice
        sounds.append(resample(spoken(engine, voice, request["say"]), engine.rate_hz, FORMAT.rate_hz))
    exchanges = asyncio.run(ask(load(options.config), requests, sounds))
    verdicts = [judge(request, each.tools) for request, each in zip(requests, exchanges, strict=True)]
    called, done = (sum(each) for each in zip(*verdicts, strict=True))
    print(f"called rightly: {called}, done as asked: {done}, of {len(requests)}")


if __name__ == "__main__":
    main()
