"""Measure costs and gains of speculation in processor time and steps, which other load changes little.

.venv/bin/python tests/bench/speculation_cost.py off,draft_model,ngram,suffix,eagle3 [QUESTIONS]

One engine after the other in this process, the first of which is what the others are compared with: the
demo's questions (100), four at once behind the system prompt; then one token for each of twenty of them, read
before. Prints a row for each: how many answers are the same, processor time of an answer and of a first
token, the part of proposals that was right, by position, and what a step writes. The methods are those of
`speculation.py`, but nothing of ours decides for which responses there are proposals.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path
from typing import Any

from llm_load.calls import MAX_TOKENS
from speculation import METHODS
from tokenizers import Tokenizer

from examples.hotel_model.chat import render
from llmcore.engines.vllm_settings import thread_environment
from voiceagent.bench.material import Material
from voiceagent.config.tables import load
from voiceagent.demo import MATERIAL
from voiceagent.validation.references import resolve_paths

CALLS, FIRST_TOKENS = 4, 20
CONFIG = Path(__file__).parents[2] / "configs/vllm-cpu.toml"
IN_THIS_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "ERROR"}
KEYS = ("model", "dtype", "max_model_len", "block_size", "max_num_batched_tokens")
COUNTED = ("drafts", "draft_tokens", "accepted_tokens", "accepted_tokens_per_pos")


def main(methods: list[str], questions: int) -> None:
    """Print a row for each method."""
    os.environ.update(IN_THIS_PROCESS | thread_environment(1))
    options = resolve_paths(load(CONFIG).llm.options, CONFIG.parent)
    prompts = read_prompts(Path(options["model"]), questions)
    wanted: list[list[int]] = []
    for method in methods:
        speculative = None
        if method != "off":
            speculative = {"method": method, **resolve_paths(METHODS[method], CONFIG.parent)}
        answers, row = measure(options, speculative, prompts)
        wanted = wanted or answers
        same = sum(one == other for one, other in zip(wanted, answers, strict=True))
        print(f"{method:12}  {same} of {len(answers)} the same; {row}", flush=True)


def read_prompts(model: Path, questions: int) -> list[list[int]]:
    """Tokens of the demo's first questions of calls, behind the system prompt."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    system = {"role": "system", "content": load(CONFIG).instructions()}
    asked = [one.questions[0] for one in Material(MATERIAL).conversations()]
    asked = list(dict.fromkeys(asked))[:questions]
    return [tokenizer.encode(render([system, {"role": "user", "content": text}])).ids for text in asked]


def measure(
    options: dict[str, Any], speculative: dict[str, Any] | None, prompts: list[list[int]]
) -> tuple[list[list[int]], str]:
    """The tokens of the answers of one engine, and its figures."""
    from vllm import LLM  # noqa: PLC0415 - after the environment
    from vllm.distributed import cleanup_dist_env_and_memory  # noqa: PLC0415

    sizes: dict[str, Any] = {"max_num_seqs": CALLS, "enforce_eager": True, "disable_log_stats": False}
    cache: dict[str, Any] = {"kv_cache_memory_bytes": 1 << 28, "enable_prefix_caching": True}
    known = {key: options[key] for key in KEYS}
    llm = LLM(**known, **sizes, **cache, speculative_config=speculative)

    found = answer_all(llm, prompts)
    del llm
    cleanup_dist_env_and_memory()
    gc.collect()
    return found


def answer_all(llm: Any, prompts: list[list[int]]) -> tuple[list[list[int]], str]:
    """The tokens of the answers, and the figures."""
    ask(llm, prompts[:CALLS], 8)  # warms up, and reads the system prompt
    before = counts(llm)
    answers, took_s = ask(llm, prompts, MAX_TOKENS)
    after = counts(llm)
    firsts = [ask(llm, [one], 1)[1] for one in prompts[:FIRST_TOKENS]]
    answer_ms, first_ms = took_s / len(answers) * 1000, sum(firsts) / len(firsts) * 1000
    cells = (
        f"{sum(map(len, answers)) / len(answers):.1f} tokens each",
        f"processor {answer_ms:.0f} ms an answer, {first_ms:.0f} ms a first token",
        right(before, after),
    )
    return answers, "; ".join(cells)


def ask(llm: Any, prompts: list[list[int]], tokens: int) -> tuple[list[list[int]], float]:
    """At most so many tokens for each prompt, and the seconds of the processor that all took."""
    from vllm import SamplingParams  # noqa: PLC0415

    began_s = time.process_time()
    params = SamplingParams(temperature=0.0, max_tokens=tokens)
    outputs = llm.generate([{"prompt_token_ids": one} for one in prompts], params, use_tqdm=False)
    return [list(one.outputs[0].token_ids) for one in outputs], time.process_time() - began_s


def counts(llm: Any) -> dict[str, list[int]]:
    """Return the numbers of tokens proposed and accepted so far; the accepted ones by position."""
    found = {metric.name.removeprefix("vllm:spec_decode_num_"): metric for metric in llm.get_metrics()}
    return {
        name: list(getattr(found[name], "values", None) or [found[name].value])
        for name in COUNTED
        if name in found
    }


def right(before: dict[str, list[int]], after: dict[str, list[int]]) -> str:
    """The part of the proposals that was right, by position, and tokens written a step of a response."""
    news = {name: [now - then for now, then in zip(after[name], before[name], strict=True)] for name in after}
    if not news or not news["drafts"][0]:
        return "nothing proposed"
    drafts = news["drafts"][0]
    parts = ", ".join(f"{count / drafts:.2f}" for count in news["accepted_tokens_per_pos"])
    return f"right {parts}; {1 + news['accepted_tokens'][0] / drafts:.2f} tokens a step with proposals"


if __name__ == "__main__":
    main(sys.argv[1].split(","), int((sys.argv[2:] or ["100"])[0]))
