"""Agreement of a judge with labels made by hand: `judge_agreement.py VERDICTS [LABELS [MODEL]]`.

The calls and labels are in LABELS: `judgements.toml` by default; `judgements_later.toml`, by which the
judge's prompt was chosen; or `judgements_unseen.toml`, which were not looked at for it. MODEL is a GGUF file
that llama.cpp runs; that of `configs/chat.toml` by default. Verdicts are added to the file VERDICTS, and
those in it are not asked for again, as a model takes minutes for all.
Prints each wrong or discarded verdict, and the counts.
"""

from __future__ import annotations

import asyncio
import json
import sys
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


def questions(labels: Path) -> Iterator[tuple[CallRecord, str, str]]:
    """Yield each call, question and right answer."""
    for call in tomllib.loads(labels.read_text("utf-8"))["calls"]:
        for label in ("yes", "no"):
            for question in call.get(label, []):
                yield record(call), question, label


async def judge_rest(path: Path, labels: Path, model: str, known: int) -> None:
    """Ask all but the first `known` questions, and add their verdicts to the file."""
    # one thread: more threads than free cores are much slower
    table = EngineConfig.model_validate({"engine": "llamacpp", "model": model, "threads": 1})
    judge = build_engine("llm", table, CHAT)
    await judge.start()
    for call, question, label in list(questions(labels))[known:]:
        verdict = await ask(judge, question, call)
        answer: str = verdict.answer or "discarded"
        reason = verdict.problem or verdict.evidence
        with path.open("a", encoding="utf-8") as file:
            line = {"question": question, "label": label, "answer": answer, "reason": reason}
            file.write(json.dumps(line) + "\n")
    await judge.close()


def verdicts_in(path: Path) -> list[dict[str, str]]:
    """Return the verdicts in a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def main() -> None:
    """Ask the questions that have no verdict, and print the agreement."""
    path = Path(sys.argv[1])
    labels = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "judgements.toml"
    model = sys.argv[3] if len(sys.argv) > 3 else load(CHAT).llm.options["model"]
    asyncio.run(judge_rest(path, labels, model, len(verdicts_in(path))))
    verdicts = verdicts_in(path)
    for one in verdicts:
        if one["answer"] != one["label"]:
            print(f"{one['label']}, judged {one['answer']}: {one['question']} {one['reason']!r}")
    counts = Counter((one["label"], one["answer"]) for one in verdicts)
    agreed = sum(count for (label, answer), count in counts.items() if label == answer)
    beyond = kappa([pair for pair, count in counts.items() if pair[1] != "discarded" for _ in range(count)])
    print(f"{agreed} of {len(verdicts)} as labelled")
    print(f"kappa of those with an answer: {'none' if beyond is None else f'{beyond:.2f}'}")
    for (label, answer), count in sorted(counts.items()):
        print(f"label {label}, judge {answer}: {count}")


if __name__ == "__main__":
    main()
