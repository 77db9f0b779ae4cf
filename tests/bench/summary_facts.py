"""Facts that survive when old turns are replaced by a summary, and answers from it, beside the turns themselves.

python tests/bench/summary_facts.py RESULTS [--config configs/chat.toml] [--model weights:...] [--threads 1] [--extract]

Twenty conversations; in each a name, a number and a fact in plain words are planted in six turns of small talk. All but the
last turn are replaced by a summary, as in calls: the model's, checked and completed, or with --extract the sentences
with facts. The model is then asked for the three, behind the summary and behind the turns themselves. RESULTS gets a line a
conversation; those that it has are not made again, so that a run may be broken off.
"""  # noqa: E501  a command

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tomllib
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from llmcore.compression.history_budget import HistoryBudget
from llmcore.engine import Llm, Message, Request
from voiceagent.agents.load import beginning_of
from voiceagent.config.tables import Config, load
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Summarise
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.prompting.prompt_history import PromptHistory
from voiceagent.conversation.prompting.request import make_prompt
from voiceagent.engines.build import build_engine
from voiceagent.session.summarising import Summarising
from voiceagent.telemetry.llm_metrics import LlmMetrics

PLANTED = Path(__file__).with_name("summary_facts.toml")
BUDGET = HistoryBudget(max_tokens=100, kept_tokens=10)
ANSWER_TOKENS = 24


@dataclass(frozen=True)
class Fact:
    """A fact: the turn that states it, the answer, the question for it, and a pattern of what is right."""

    say: str
    reply: str
    ask: str
    answer: str


def conversation(number: int) -> tuple[list[Fact], list[tuple[str, str]]]:
    """Return the facts of a conversation, and its turns with the answers."""
    planted = tomllib.loads(PLANTED.read_text())
    name, order, plain = (planted[key][number] for key in ("names", "numbers", "plain"))
    facts = [
        Fact(f"Hello, my name is {name}.", f"Hello {name}, how can I help you?", "What is my name?", name),
        Fact(
            f"I have an order with the number {order}.",
            "Thank you, I have written that down.",
            "What is the number of my order?",
            r"\W?".join(order),
        ),
        Fact(plain["say"], "I see, thank you for telling me.", plain["ask"], plain["answer"]),
    ]
    talk = planted["small_talk"]
    small = [
        (one["say"], one["reply"]) for one in (talk[(3 * number + step) % len(talk)] for step in range(4))
    ]
    first, second, third = ((fact.say, fact.reply) for fact in facts)
    return facts, [first, small[0], second, small[1], third, small[2], small[3]]


async def answer_to(llm: Llm, prompt: tuple[Message, ...]) -> str:
    """Return the model's answer."""
    text = ""
    async with aclosing(llm.generate(Request(prompt, max_tokens=ANSWER_TOKENS))) as deltas:
        async for delta in deltas:
            text += delta.text
    return text.strip()


async def measure(config: Config, llm: Llm, number: int) -> dict[str, Any]:
    """Summarise one conversation and ask for its facts."""
    system, _ = beginning_of(config.agent, config.instructions(), config.source)
    facts, turns = conversation(number)
    items = [
        MessageItem(f"{role}{at}", role, text)  # type: ignore[arg-type]
        for at, said in enumerate(turns)
        for role, text in zip(("user", "assistant"), said, strict=True)
    ]
    history, done, registry = PromptHistory(BUDGET), asyncio.Queue[ev.Event](), CollectorRegistry()
    summarising = Summarising("bench", llm, config.history, "en", LlmMetrics(registry), done.put_nowait)
    verbatim = make_prompt(system, history.messages(items))
    old = history.overdue(items)
    assert old is not None
    summarising.summarise(Summarise(make_prompt(system, old.prompt), (), old.said, old.earlier, old.tokens))
    summary = await done.get()
    assert isinstance(summary, ev.HistorySummarised)
    history.set_summary(summary.text)
    history.apply_summary()
    replaced = make_prompt(system, history.messages(items))

    def has(fact: Fact, text: str) -> bool:
        return re.search(fact.answer, text, re.IGNORECASE) is not None

    result: dict[str, Any] = {"number": number, "summary": summary.text}
    result["in_summary"] = [has(fact, summary.text) for fact in facts]
    for kind, prompt in (("off", verbatim), ("on", replaced)):
        answers = [await answer_to(llm, (*prompt, Message("user", fact.ask))) for fact in facts]
        result[kind] = [has(fact, text) for fact, text in zip(facts, answers, strict=True)]
        result[f"answers_{kind}"] = answers
    result["by"] = [
        next(iter(sample.labels.values()))
        for family in registry.collect()
        for sample in family.samples
        if sample.name.endswith("llm_summaries_total") and sample.value
    ]
    return result


async def run(options: argparse.Namespace) -> None:
    """Measure the conversations that are left, and print the counts."""
    config = load(options.config)
    if options.extract:
        config = config.model_copy(
            update={"history": config.history.model_copy(update={"summaries": "extract"})}
        )
    changed: dict[str, Any] = {"threads": options.threads} if options.threads else {}
    changed |= {"model": options.model} if options.model else {}
    engine = build_engine("llm", config.llm.model_copy(update=changed), config.source)
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    done = [json.loads(line) for line in lines]
    await engine.start()
    try:
        for number in range(len(done), len(tomllib.loads(PLANTED.read_text())["names"])):
            done.append(await measure(config, engine, number))
            with options.results.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    finally:
        await engine.close()
        for key in ("in_summary", "off", "on"):
            counts = [sum(one[key][kind] for one in done) for kind in range(3)]
            print(f"{key}: of {len(done)}: name {counts[0]}, number {counts[1]}, plain words {counts[2]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--config", type=Path, default=Path("configs/chat.toml"))
    parser.add_argument("--model", help="another file of weights")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--extract", action="store_true")
    asyncio.run(run(parser.parse_args()))
