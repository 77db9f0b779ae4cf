"""Techniques of the LLM that a benchmark can turn off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from voiceagent.bench.gate.load import alone
from voiceagent.config.tables import Config
from voiceagent.llm.config import LlmEngineConfig
from voiceagent.validation.errors import CommandFailed

Technique = Literal[
    "prefix_caching", "chunked_prefill", "speculation", "prefill_while_speaking", "priority", "policies"
]
"""A technique. "policies" means all decisions about requests outside the engine, and in its scheduler."""
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)
NO_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class LlmVariant:
    """A configuration with one technique off. prefill_while_speaking: whether prompts are
    prefilled while callers speak.
    """

    name: str
    config: Config
    prefill_while_speaking: bool = True


def parse_techniques(text: str) -> tuple[Technique, ...]:
    """Parse names of techniques, separated by commas. Raises CommandFailed for an unknown one."""
    known = {str(technique): technique for technique in TECHNIQUES}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise CommandFailed(f"{name!r} is no technique of the LLM; allowed: {', '.join(TECHNIQUES)}")
    return tuple(known[name] for name in names)


def llm_variants(
    config: Config, techniques: Sequence[Technique], bad_draft: Path | None = None
) -> list[LlmVariant]:
    """Return the configuration, then a variant for each technique with that one off. Raises CommandFailed.

    bad_draft: folder of a draft model; speculation is then also measured with it, with and without the policy
    that disables it.
    """
    variants = [LlmVariant("as configured", config)]
    for technique in techniques:
        name = f"{technique} off"
        if technique == "prefill_while_speaking":
            variants.append(LlmVariant(name, config, prefill_while_speaking=False))
        elif technique == "priority":
            variants.append(LlmVariant(name, _unordered(config)))
        elif technique == "policies":
            off = _unordered(_without(config, technique))
            variants.append(LlmVariant(name, off, prefill_while_speaking=False))
        else:
            variants.append(LlmVariant(name, _without(config, technique)))
        if technique == "speculation":
            drafts = _with_drafts(config, bad_draft)
            variants += [LlmVariant(name, drafted) for name, drafted in drafts.items()]
    return variants


def served_elsewhere(config: Config, base_url: str, model: str) -> LlmVariant:
    """Return the baseline: a plain OpenAI-compatible server, without priority classes and prefill
    while speaking.
    """
    table = {"engine": "openai", "model": model, "base_url": base_url, "api_key_env": "", "retries": 0}
    llm = LlmEngineConfig.model_validate(table)
    off = _unordered(config.model_copy(update={"llm": llm}))
    return LlmVariant("baseline", off, prefill_while_speaking=False)


def for_bench(config: Config, load_format: str = "") -> Config:
    """Return a configuration with one LLM: without fallback, small and back LLM.

    load_format: of its weights; "dummy" for random ones, without a download; "" as configured. Raises
    CommandFailed if the engine has no such setting.
    """
    changes: dict[str, Any] = {"small_llm": None, "back_llm": None}
    if load_format:
        if config.llm.engine != "vllm":
            raise CommandFailed(
                f"--load-format is for the engine 'vllm'; that of [llm] is {config.llm.engine!r}"
            )
        table = {"engine": "vllm"} | config.llm.options | {"load_format": load_format}
        changes["llm"] = LlmEngineConfig.model_validate(table)
    return alone(config).model_copy(update=changes)


def _unordered(config: Config) -> Config:
    """Return a configuration that passes requests to the engine in order of arrival."""
    off = config.priority.model_copy(update={"max_running": NO_LIMIT, "long_tokens": NO_LIMIT})
    return config.model_copy(update={"priority": off})


def _with_drafts(config: Config, bad_draft: Path | None) -> dict[str, Config]:
    """Return variants with the cost of useless speculation: an unused draft, and a bad one."""
    never = config.speculation.model_copy(update={"max_streams": 0})
    drafts = {"draft left out": config.model_copy(update={"speculation": never})}
    if bad_draft is not None:
        options = config.llm.options
        speculative = options["speculative"] | {"model": str(bad_draft)}
        table = {"engine": config.llm.engine} | options | {"speculative": speculative}
        bad = config.model_copy(update={"llm": LlmEngineConfig.model_validate(table)})
        always = {"min_acceptance": 0.0, "max_streams": NO_LIMIT, "min_tokens": 0}
        forced = bad.speculation.model_copy(update=always)
        drafts["bad draft"] = bad
        drafts["bad draft, always"] = bad.model_copy(update={"speculation": forced})
    return drafts


def _without(config: Config, technique: Technique) -> Config:
    """Return the configuration with one setting of its engine off."""
    engine, options = config.llm.engine, config.llm.options
    changes: dict[tuple[str, Technique], dict[str, Any]] = {
        ("vllm", "prefix_caching"): {"enable_prefix_caching": False},
        ("ctranslate2", "prefix_caching"): {"kept_tokens": 0},
        # Without chunks a prompt is processed in one step, which must hold the longest one.
        ("vllm", "chunked_prefill"): {
            "enable_chunked_prefill": False,
            "max_num_batched_tokens": max(
                int(options.get("max_model_len", 0)), int(options.get("max_num_batched_tokens", 2048))
            ),
        },
        ("vllm", "speculation"): {"speculative": None},
        ("vllm", "policies"): {"scheduling_policy": "fcfs"},
    }
    change = changes.get((engine, technique))
    if change is None:
        able = sorted(name for name, part in changes if part == technique)
        raise CommandFailed(
            f"the engine {engine!r} cannot do without {technique}; these can: {', '.join(able)}"
        )
    if technique == "speculation" and not options.get("speculative"):
        raise CommandFailed("speculation is off already: there is no [llm.speculative]")
    keys = {key: value for key, value in (options | change).items() if value is not None}
    llm = LlmEngineConfig.model_validate({"engine": engine} | keys)
    return config.model_copy(update={"llm": llm})
