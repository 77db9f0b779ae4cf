"""Renamed keys: errors for old names state the new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from voiceagent.validation.errors import ConfigError, problem

RENAMED_KEYS = {
    "history.most_tokens": "history.max_tokens",
    "lanes.places": "priority.max_running",
    "lanes.long_tokens": "priority.long_tokens",
    "lanes.long": "priority.max_long",
    "lanes.most_busy": "priority.max_utilization",
    "lanes.most_ttft_ms": "priority.max_ttft_ms",
    "resilience.most_retry_s": "resilience.max_retry_s",
    "routing.most_characters": "routing.max_characters",
    "routing.most_context_characters": "routing.max_context_characters",
    "speculation.fewest_tokens": "speculation.min_tokens",
    "speculation.least_acceptance": "speculation.min_acceptance",
    "speculation.most_retry_s": "speculation.max_retry_s",
    "speculation.most_streams": "speculation.max_streams",
    "turn.interrupt_s": "turn.interruption_confirmed_s",
    "turn.interrupt_words": "turn.min_interruption_words",
    "turn.provisional_attempts": "turn.preemptive_attempts",
    "turn.provisional_tokens": "turn.preemptive_tokens",
    "turn.read_ahead": "turn.prefill_while_speaking",
    "turn.sustain_s": "turn.interruption_candidate_s",
}
"""Old names and new ones, with their tables."""
RENAMED_TABLES = {"lanes": "priority"}
"""The same for tables, for those without renamed keys."""
RENAMED_OPTIONS = {
    "ctranslate2": {"most_waiting": "max_waiting", "parallel": "max_running"},
    "openai": {"most_backoff_s": "max_backoff_s"},
}
"""The same for LLM engines' keyword arguments, by the engine's short name: others may use these names."""


def refuse_renamed(document: Mapping[str, Any], source: Path) -> None:
    """Raise ConfigError for the first renamed key or table in the file `source`."""
    for error in _renamed(document, source):
        raise error


def _renamed(document: Mapping[str, Any], source: Path) -> Iterator[ConfigError]:
    for table, keys in document.items():
        if not isinstance(keys, dict):
            continue
        of_llm = table not in ("recognizer", "synthesizer")
        options = RENAMED_OPTIONS.get(str(keys.get("engine")), {}) if of_llm else {}
        for key, value in keys.items():
            old = f"{table}.{key}"
            new = f"{table}.{options[key]}" if key in options else RENAMED_KEYS.get(old)
            if new is not None:
                yield problem(source, old, value, f"this key is now {new}")
        if table in RENAMED_TABLES:
            yield ConfigError(f"{source}: [{table}]: this table is now [{RENAMED_TABLES[table]}]")
