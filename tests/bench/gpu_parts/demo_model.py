"""Measurements with the demo's model, whose answers can be compared: speculation, formats of the KV cache."""

from __future__ import annotations

from kv_cache import QUESTIONS, asked, evicted_between, said
from speculation import Load, Variant, answers, measure, variants

from gpu_parts.engines import CONFIGS, Started
from gpu_parts.results import Rows
from llmcore.engine import FREE_DRAFT, DraftUse, Message
from llmcore.policies.speculation import FIRST_FRAGMENT
from voiceagent.bench.material import Material
from voiceagent.config.tables import load
from voiceagent.demo import MATERIAL


async def speculation(started: Started, *, rounds: int, history_tokens: int) -> Rows:
    """Measure a draft model: on, late and left out, and beside an engine without it where there is one."""
    drafted, plain = started.engines["drafted"], started.engines.get("plain")
    system = Message("system", load(CONFIGS / "vllm-cpu.toml").instructions())
    rows = Rows()
    if plain is not None:
        questions = [one.questions[0] for one in Material(MATERIAL).conversations()[: 5 * rounds]]
        wanted = await answers(plain, system, questions, FREE_DRAFT)
        for draft in (FREE_DRAFT, DraftUse(begins_at=FIRST_FRAGMENT)):
            found = await answers(drafted, system, questions, draft)
            same = sum(one == other for one, other in zip(wanted, found, strict=True))
            rows.append((f"greedy, draft from token {draft.begins_at}", f"{same} of {len(found)} the same"))
    measured = variants("draft_model", plain or drafted, drafted)
    measured = measured if plain is not None else _without_draft_first(measured)
    for line in await measure(measured, Load(started.replay, system, history_tokens), rounds):
        name, _, figures = line.partition("  ")
        rows.append((name, " ".join(figures.split())))
    return rows


def _without_draft_first(measured: list[Variant]) -> list[Variant]:
    """Return the variants of the engine with a draft, compared with the one that leaves it out."""
    *drafted, left_out = measured[1:]
    return [left_out, *drafted]


async def fp8_cache(started: Started) -> Rows:
    """Compare answers from a KV cache in FP8 with those from one in the model's own format."""
    texts, blocks = {}, {}
    for name in ("plain", "fp8"):
        llm = started.engines[name]
        texts[name] = [await said(llm, request) for request in asked()]
        blocks[name] = llm.process.current.engine.vllm_config.cache_config.num_gpu_blocks
    same = sum(one == other for one, other in zip(texts["plain"], texts["fp8"], strict=True))
    return [("answers", f"{same} of {QUESTIONS} the same"), ("blocks", f"{blocks['plain']}, {blocks['fp8']}")]


async def offload(started: Started) -> Rows:
    """Ask twice, with the prompt evicted from the device in between: cached tokens came from host memory."""
    return [("evicted in between", await evicted_between(started.engines["plain"]))]
