"""Silence between the words that accompany a tool call and the answer about its result.

python tests/bench/words_beside_a_tool.py [--before CHECKOUT] [--answers 20]

The LLM takes 400 ms to its first token, the tool 0 ms, and a fragment's audio 50 ms. The silence lasts from
the end of the words, as played to the caller, to the first audio of the answer. It is compared with the same
build without preemptive responses (`turn.preemptive_attempts = 0`), and with another checkout, with answers
of each in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from statistics import median

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

from call_services import call_services
from fixed_engines import FixedRecognizer, FixedSynthesizer

from audio.pcm import Samples
from llmcore.engine import Delta, Request, ToolCall, Usage
from voiceagent.agents import Agent, tool
from voiceagent.agents.running import RunningAgent
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.session.call import new_id
from voiceagent.session.session import Session

TTFT_S = 0.4
WORD_S = 0.01
WORDS, ANSWER = "Let me look that up for you.", "There is a table at eight."


class Waiter(Agent):
    """An agent that looks up free tables."""

    @tool
    async def look(self) -> str:
        """Look for a table."""
        return "a table at eight"


class Llm:
    """An LLM that says words with a tool call, and then answers about its result."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the words and the call for the caller, or the answer for a result."""
        calls = request.messages[-1].role == "user"
        await asyncio.sleep(TTFT_S)
        for word in (WORDS if calls else ANSWER).split():
            yield Delta(f"{word} ")
            await asyncio.sleep(WORD_S)
        if calls:
            yield Delta(tool_calls=(ToolCall(new_id("call"), "look", "{}"),))
        yield Delta(finish_reason="tool_calls" if calls else "stop", usage=Usage())


class Listener:
    """The caller's end: start of each response's audio, and its duration."""

    def __init__(self) -> None:
        self.began_s: dict[str, float] = {}
        self.sound_s: dict[str, float] = {}

    def play(self, response_id: str, frame: Samples) -> None:
        """Record the time of the response's first frame and add up the audio."""
        self.began_s.setdefault(response_id, time.monotonic())
        self.sound_s[response_id] = self.sound_s.get(response_id, 0.0) + len(frame) / 24_000

    def notify(self, notification: object) -> None:
        """Ignore notifications: only audio is measured."""

    report = notify

    def clear(self) -> None:
        """Ignore: nothing is buffered."""


async def silence_ms(ahead: bool) -> float:
    """Return the silence of one answer, in ms. ahead: allow preemptive responses."""
    services = await call_services(FixedRecognizer(), Llm(), FixedSynthesizer())
    if not ahead:
        policy = replace(services.answering.policy, preemptive_attempts=0)
        services = replace(services, answering=replace(services.answering, policy=policy))
    listener, agent = Listener(), RunningAgent("measured", Waiter)
    session = Session("measured", services, services.settings, listener, agent=agent)
    session.begin()
    session.handle(ev.ItemCreated(MessageItem(new_id("item"), "user", "Is there a table?")))
    session.handle(ev.ResponseRequested())
    while len(listener.began_s) < 2:  # noqa: ASYNC110 - polls the number of frames, nothing else happens
        await asyncio.sleep(0.005)
    await session.close("measured")
    words, answer = listener.began_s
    heard_s = listener.began_s[words] + listener.sound_s[words]
    return (listener.began_s[answer] - heard_s) * 1000


def measured_ms(checkout: Path, ahead: bool) -> float:
    """Return one silence in ms, measured in another process that runs a checkout."""
    command = [sys.executable, __file__, "--one", "ahead" if ahead else "behind"]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(checkout)}, capture_output=True, check=True
    )
    return float(ran.stdout.split()[-1])


def main() -> None:
    """Print the silences of each build, and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--one", choices=("ahead", "behind"))
    asked = parser.parse_args()
    if asked.one:
        print(asyncio.run(silence_ms(asked.one == "ahead")))
        return
    here = Path(__file__).parents[2]
    builds = {"now": (here, True), "now, nothing made ahead": (here, False)}
    if asked.before:
        builds["before"] = asked.before.resolve(), True
    found: dict[str, list[float]] = {name: [] for name in builds}
    for _ in range(asked.answers):
        for name, build in builds.items():
            found[name].append(measured_ms(*build))
    now_ms = median(found["now"])
    for name, silences in found.items():
        p50, most = median(silences), max(silences)
        print(f"{name}: p50 {p50:.0f} ms, most {most:.0f} ms; now is {now_ms / p50:.2f} of it")


if __name__ == "__main__":
    main()
