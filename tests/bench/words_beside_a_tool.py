"""The silence between the words beside a tool's call and the answer about its result.

python tests/bench/words_beside_a_tool.py [--before CHECKOUT] [--answers 20]

The LLM takes 400 ms to its first token, the tool nothing, a fragment's sound 50 ms. The silence is measured
from the end of the words, as the caller hears them, to the first sound of the answer. It is compared with the
same build where no response is made ahead (`turn.preemptive_attempts = 0`), and with another checkout, answer
by answer in turn.
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
    """Looks up whether there is a table."""

    @tool
    async def look(self) -> str:
        """Look for a table."""
        return "a table at eight"


class Llm:
    """Says words beside a call, and then answers about its result."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Return the words and the call for the caller, the answer for a result."""
        calls = request.messages[-1].role == "user"
        await asyncio.sleep(TTFT_S)
        for word in (WORDS if calls else ANSWER).split():
            yield Delta(f"{word} ")
            await asyncio.sleep(WORD_S)
        if calls:
            yield Delta(tool_calls=(ToolCall(new_id("call"), "look", "{}"),))
        yield Delta(finish_reason="tool_calls" if calls else "stop", usage=Usage())


class Listener:
    """The caller's end: when sound of which response came, and for how long it lasts."""

    def __init__(self) -> None:
        self.began_s: dict[str, float] = {}
        self.sound_s: dict[str, float] = {}

    def play(self, response_id: str, frame: Samples) -> None:
        """Keep when the response's first frame came."""
        self.began_s.setdefault(response_id, time.monotonic())
        self.sound_s[response_id] = self.sound_s.get(response_id, 0.0) + len(frame) / 24_000

    def notify(self, notification: object) -> None:
        """Do nothing: only sound is measured."""

    clear = report = notify


async def silence_ms(ahead: bool) -> float:
    """Return the silence of one answer, in ms. ahead: responses may be made ahead."""
    services = await call_services(FixedRecognizer(), Llm(), FixedSynthesizer())
    if not ahead:
        policy = replace(services.answering.policy, preemptive_attempts=0)
        services = replace(services, answering=replace(services.answering, policy=policy))
    listener, agent = Listener(), RunningAgent("measured", Waiter)
    session = Session("measured", services, services.settings, listener, None, agent)
    session.begin()
    session.handle(ev.ItemCreated(MessageItem(new_id("item"), "user", "Is there a table?")))
    session.handle(ev.ResponseRequested())
    while len(listener.began_s) < 2:  # noqa: ASYNC110 - frames are counted, nothing else happens
        await asyncio.sleep(0.005)
    await session.close("measured")
    words, answer = listener.began_s
    heard_s = listener.began_s[words] + listener.sound_s[words]
    return (listener.began_s[answer] - heard_s) * 1000


def measured_ms(checkout: Path, ahead: bool) -> float:
    """Return one silence of another process, which runs a checkout."""
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
