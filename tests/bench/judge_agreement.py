"""Agreement of a judge with labels made by hand: `python tests/bench/judge_agreement.py [MODEL]`.

MODEL is a GGUF file that llama.cpp runs, as in `configs/chat.toml`; that one by default. The calls and labels
are in `judgements.toml`. Prints each wrong or discarded verdict, and the counts.
"""

from __future__ import annotations

import asyncio
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voiceagent.config.tables import load
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig
from voiceagent.evals.exact_tests import kappa
from voiceagent.evals.judge import ask
from voiceagent.evals.record import CallRecord, Said, ToolUse

HERE = Path(__file__).parent
CHAT = HERE.parents[1] / "configs/chat.toml"


def record(call: dict[str, Any]) -> CallRecord:
    """Return the record of a call in the file."""
    said = [line.partition(": ") for line in call["said"]]
    tools = [tool.partition(": ") for tool in call.get("tools", [])]
    return CallRecord(
        tuple(Said("agent" if role == "agent" else "caller", text) for role, _, text in said),
        tuple(ToolUse(name, {}, output) for name, _, output in tools),
    )


def questions() -> Iterator[tuple[CallRecord, str, str]]:
    """Yield each call, question and right answer."""
    for call in tomllib.loads((HERE / "judgements.toml").read_text("utf-8"))["calls"]:
        for label in ("yes", "no"):
            for question in call.get(label, []):
                yield record(call), question, label


async def main() -> None:
    """Ask all questions."""
    model = sys.argv[1] if len(sys.argv) > 1 else load(CHAT).llm.options["model"]
    judge = build_engine("llm", EngineConfig.model_validate({"engine": "llamacpp", "model": model}), CHAT)
    await judge.start()
    counts: Counter[tuple[str, str]] = Counter()
    pairs = []
    began_s = time.monotonic()
    for call, question, label in questions():
        verdict = await ask(judge, question, call)
        answer: str = verdict.answer or "discarded"
        counts[label, answer] += 1
        if verdict.answer is not None:
            pairs.append((label, answer))
        if answer != label:
            print(f"{label}, judged {answer}: {question} {verdict.problem or verdict.evidence!r}", flush=True)
    await judge.close()
    agreed = sum(count for (label, answer), count in counts.items() if label == answer)
    beyond = kappa(pairs)
    print(f"{agreed} of {sum(counts.values())} as labelled, {time.monotonic() - began_s:.0f} s")
    print(f"kappa of those with an answer: {'none' if beyond is None else f'{beyond:.2f}'}")
    for (label, judged), count in sorted(counts.items()):
        print(f"label {label}, judge {judged}: {count}")


if __name__ == "__main__":
    asyncio.run(main())
