"""Answers of `configs/chat.toml` to typed turns: sensible, facts kept, tools called rightly.

python tests/bench/chat_turns.py [--config configs/chat.toml] [--held-back] [--threads 1] [--out FILE]

Without `--held-back` the turns for tuning are asked, with it the others. The limits of a response are the
configuration's; its deadlines are not, so that a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
import tomllib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from audio.detection.front_end import FrontEnd
from llmcore.engine import Delta, Llm, Request, Usage
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.agents.load import load_agents
from voiceagent.agents.running import RunningAgent
from voiceagent.config.tables import Config, load
from voiceagent.conversation.settings import CallSettings
from voiceagent.engines.build import build_engine
from voiceagent.engines.silent import SilentRecognizer, SilentSynthesizer
from voiceagent.session.deadlines import StageLimits
from voiceagent.session.services import Answering, Hearing, Measuring, Services, Speaking
from voiceagent.session.set_phrases import make_phrase
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.metrics import Metrics
from voiceagent.testing.typed_caller import TypedCaller

TURNS = Path(__file__).with_name("chat_turns.toml")
PATIENCE_S = 600.0
MAX_WORDS = 60
_CODE = re.compile(r"[{}`]|<\w|^\s*[-*#] ", re.MULTILINE)


@dataclass
class Cost:
    """Requests of one turn to the LLM."""

    requests: int = 0
    read: int = 0
    written: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)


class CountingLlm:
    """The engine, with the stop strings of spoken responses, and a count of its work."""

    def __init__(self, llm: Llm, stop: tuple[str, ...]) -> None:
        self._llm = llm
        self._stop = stop
        self.cost = Cost()

    async def start(self) -> None:
        """Do nothing: the engine is started once for all calls."""

    async def close(self) -> None:
        """Do nothing."""

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill the engine."""
        return await self._llm.prefill(request)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply and count it."""
        self.cost.requests += 1
        async with aclosing(self._llm.generate(replace(request, stop=self._stop))) as deltas:
            async for delta in deltas:
                self.cost.calls += [(call.name, call.arguments) for call in delta.tool_calls]
                if (usage := delta.usage) is not None:
                    self.cost.read += usage.prompt_tokens - usage.cached_tokens
                    self.cost.written += usage.completion_tokens
                yield delta


@dataclass(frozen=True)
class Score:
    """Judgement of one turn. fact: it asks for something said earlier."""

    answered: bool
    tool: bool
    fact: bool


def judge(turn: dict[str, Any], now: datetime, answer: str, calls: list[tuple[str, str]], last: str) -> Score:
    """Judge an answer and the tool calls before it. last: the answer before."""
    values = {
        "{hour}": str((now.hour + 11) % 12 + 1),
        "{weekday}": f"{now:%A}",
        "{month}": f"{now:%B}",
        "{year}": str(now.year),
    }

    def matches(pattern: str, text: str) -> bool:
        for name, value in values.items():
            pattern = pattern.replace(name, value)
        return re.search(pattern, text, re.IGNORECASE) is not None

    sensible = (
        matches(turn["answer"], answer)
        and not ("never" in turn and matches(turn["never"], answer))
        and len(answer.split()) <= MAX_WORDS
        and not _CODE.search(answer)
        and answer != last
    )
    wanted = [turn["tool"]] if "tool" in turn else []
    right = [name for name, _ in calls] == wanted and (
        "arguments" not in turn or matches(turn["arguments"], calls[0][1])
    )
    return Score(sensible, right, turn.get("fact", False))


async def call_services(config: Config, llm: Llm) -> Services:
    """Return the services of a typed call with the configuration's agent and history."""
    agent, turn, silent = config.agent, config.turn, SilentSynthesizer()
    phrase = await make_phrase(agent.apology, agent.language, silent)
    clock: Callable[[], float] = time.monotonic
    speaking = (silent, agent.language, 0.06, Pacer(clock), "", phrase, None, PATIENCE_S)
    return Services(
        Hearing(FrontEnd(), SilentRecognizer(), None, turn.to_endpointing(), config.echo, 10.0),
        Speaking(*speaking),
        Answering(llm, turn.to_policy(agent, config.history), 0, config.history),
        Measuring(Metrics(), config.budget.to_budget(), clock),
        CallSettings("", agent.temperature, None, output_modality="text"),
        LoadShedder(),
        limits=StageLimits(first_token_s=PATIENCE_S, token_s=PATIENCE_S),
    )


async def converse(config: Config, engine: Llm, talk: dict[str, Any], lines: list[str]) -> list[Score]:
    """Say the turns of one conversation. Return their scores, and append what was said to `lines`."""
    usual = load_agents(config.agent, config.instructions(), config.source).usual
    assert usual is not None
    llm = CountingLlm(engine, tuple(config.agent.stop))
    caller = TypedCaller(await call_services(config, llm), RunningAgent("chat", usual), PATIENCE_S)
    caller.session.begin()
    await caller.listen()
    lines.append(f"# {talk['name']}")
    scores: list[Score] = []
    answer = ""
    for turn in talk["turns"]:
        said, last, llm.cost = len(caller.words), answer, Cost()
        begun_s, now = time.monotonic(), datetime.now().astimezone()
        await caller.say(turn["say"])
        cost, answer = llm.cost, " ".join(caller.words[said:]).strip()
        scores.append(judge(turn, now, answer, cost.calls, last))
        fails = [name for name in ("answered", "tool") if not getattr(scores[-1], name)]
        lines.append(f"> {turn['say']}")
        lines += [f"  {name} {arguments}" for name, arguments in cost.calls]
        lines.append(f"< {answer}   {'WRONG: ' + ', '.join(fails) if fails else ''}")
        work = f"{cost.requests} requests, {cost.read} tokens read, {cost.written} written"
        lines.append(f"  ({work}, {time.monotonic() - begun_s:.1f} s)")
    await caller.close()
    return scores


async def run(options: argparse.Namespace) -> None:
    """Hold the conversations and print the scores."""
    config = load(options.config)
    table = config.llm
    if options.threads:
        table = table.model_copy(update={"threads": options.threads})
    talks = tomllib.loads(TURNS.read_text())["conversation"]
    engine = build_engine("llm", table, config.source)
    lines: list[str] = []
    scores: list[Score] = []
    await engine.start()
    try:
        for talk in talks:
            if talk.get("held_back", False) == options.held_back:
                scores += await converse(config, engine, talk, lines)
                options.out.write_text("\n".join(lines)) if options.out else None
    finally:
        await engine.close()
    facts = [score for score in scores if score.fact]
    print("turns", len(scores))
    print("answered", sum(score.answered for score in scores))
    print("tools right", sum(score.tool for score in scores))
    print("facts kept", sum(score.answered for score in facts), "of", len(facts))
    print("all right", sum(score.answered and score.tool for score in scores))


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path("configs/chat.toml"))
    parser.add_argument("--held-back", action="store_true")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--out", type=Path)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
