"""Conversations of ten turns by voice with the agent of `configs/chat.toml`, in real time.

python tests/bench/spoken_chats.py [--config configs/chat.toml] [--only NAME] [--threads 1] [--out FILE]

Each turn is said once the answer to the one before has ended. Prints for each conversation how many turns
were answered, got the apology, were cut, called the right tool and showed that they were understood, and the
medians of the LLM's time to the first token and of the caller's wait (last voiced sample to first frame).
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import structlog
from spoken_call import spoken, voice_of

from audio.pcm import Samples
from audio.resample import resample
from voiceagent.agents.load import load_agents
from voiceagent.agents.running import RunningAgent
from voiceagent.config.tables import Config, load
from voiceagent.server.engine_building import build_engines
from voiceagent.server.startup import started
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import FORMAT, Exchange, LocalCall

CHATS = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Verdict:
    """Judgement of one turn."""

    answered: bool
    apology: bool
    cut: bool
    tool: bool
    understood: bool


def judge(turn: dict[str, Any], exchange: Exchange, apology: str) -> Verdict:
    """Judge what came of one turn. A response that was dropped for a false end is not cut."""
    answer = " ".join(exchange.answered).strip()
    calls = [line.partition("(") for line in exchange.tools if not line.startswith("->")]
    wanted = [turn["tool"]] if "tool" in turn else []
    right_tool = [name for name, _, _ in calls] == wanted and (
        "arguments" not in turn or re.search(turn["arguments"], calls[0][2], re.IGNORECASE) is not None
    )
    return Verdict(
        answered=bool(answer) and answer != apology,
        apology=apology in answer,
        cut=any(response.cut and not response.false_end for response in exchange.responses),
        tool=right_tool,
        understood=re.search(turn.get("answer", "."), answer, re.IGNORECASE) is not None,
    )


def described(turn: dict[str, Any], exchange: Exchange, verdict: Verdict) -> list[str]:
    """Return the lines of the transcript for one turn."""
    stages = " ".join(
        f"{stage.name} {stage.duration_s:.2f}" for report in exchange.reports for stage in report.stages
    )
    counts = [report.counts for report in exchange.reports]
    read = ", ".join(f"{each.cached_tokens} of {each.prompt_tokens} tokens cached" for each in counts)
    wrong = [name for name in ("answered", "tool", "understood") if not getattr(verdict, name)]
    lines = [f"said:  {turn['say']}", f"heard: {exchange.understood}"]
    lines += [f"       {line}" for line in exchange.tools]
    lines += [f"agent: {text}" for text in exchange.answered]
    lines += [f"       FAILED: {reason}" for reason in exchange.failures]
    return [*lines, f"       {stages}; {read}{'  WRONG: ' + ', '.join(wrong) if wrong else ''}"]


async def converse(
    config: Config, chat: dict[str, Any], sounds: list[Samples], out: Path | None
) -> list[tuple[Verdict, Exchange]]:
    """Hold one conversation in one call."""
    make = load_agents(config.agent, config.instructions(), config.source).usual
    assert make is not None
    results, lines = [], [f"# {chat['name']} ({chat['voice']})"]
    async with (
        started(config, build_engines(config), Metrics()) as (services, _),
        LocalCall(services, RunningAgent("bench", make)) as call,
    ):
        for turn, sound in zip(chat["turns"], sounds, strict=True):
            exchange = await call.say(sound)
            verdict = judge(turn, exchange, config.agent.apology)
            results.append((verdict, exchange))
            said = described(turn, exchange, verdict)
            print("\n".join(said), flush=True)
            lines += said
    if out is not None:
        with out.open("a") as file:
            file.write("\n".join(lines) + "\n\n")
    return results


def summary(results: list[tuple[Verdict, Exchange]]) -> str:
    """Return the counts and medians of conversations."""
    counts = {
        name: sum(getattr(verdict, name) for verdict, _ in results) for name in Verdict.__dataclass_fields__
    }
    reports = [report for _, exchange in results for report in exchange.reports]
    first_tokens = [
        stage.duration_s for report in reports for stage in report.stages if stage.name == "llm_ttft"
    ]
    waits = [wait / 1e6 for report in reports if (wait := report.wait_us) is not None]
    counted = ", ".join(f"{name} {count}" for name, count in counts.items())
    return (
        f"{len(results)} turns: {counted}; TTFT p50 {median(first_tokens or [0]):.2f} s, "
        f"wait p50 {median(waits or [0]):.2f}, longest {max(waits or [0]):.2f} s"
    )


def main() -> None:
    """Synthesize the callers' words, hold the conversations and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path("configs/chat.toml"))
    parser.add_argument("--only", help="the conversation whose name contains this")
    parser.add_argument("--threads", type=int, help="instead of the configuration's threads of the LLM")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    config = load(options.config)
    if options.threads:
        config = config.model_copy(update={"llm": config.llm.model_copy(update={"threads": options.threads})})
    results = []
    for chat in tomllib.loads(CHATS.read_text())["conversation"]:
        if options.only and options.only not in chat["name"]:
            continue
        engine, voice = voice_of(chat["voice"], "en")
        sounds = [
            resample(spoken(engine, voice, turn["say"]), engine.rate_hz, FORMAT.rate_hz)
            for turn in chat["turns"]
        ]
        del engine
        told = asyncio.run(converse(config, chat, sounds, options.out))
        print(f"{chat['name']}: {summary(told)}\n", flush=True)
        results += told
    print(summary(results))


if __name__ == "__main__":
    main()
