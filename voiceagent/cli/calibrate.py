"""`voiceagent calibrate [CONFIG]`: measures how well the configured LLM detects the end of turns.

It is asked as in calls: after the transcript of turns, whole and cut at pauses, whether the message ends
there. The turns are those of `end_of_turn/turns.jsonl`, in the agent's language, or the user's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from llmcore.engine import Llm, LlmError, Message, Request, Tool
from voiceagent.agents.load import beginning_of
from voiceagent.bench.json_lines import JsonLine, read_lines
from voiceagent.config.tables import Config
from voiceagent.conversation.end_of_turn import probability
from voiceagent.conversation.end_of_turn.calibration import Calibrated, Heard, Quality, calibrate
from voiceagent.conversation.end_of_turn.evidence import TurnEvidence, observe
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.llm_end import bare
from voiceagent.engines.build import build_engine
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed

TURNS = Path(probability.__file__).parent / "turns.jsonl"


class SpokenTurn(JsonLine):
    """A line of the file: a caller's turn in parts. After each part but the last the caller continues.

    language: ISO 639; defaults to the agent's. agent: the agent's words before the turn.
    """

    parts: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    agent: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class _Pause:
    """A pause in a turn. turn: its index in the file. text: the transcript up to the pause."""

    turn: int
    text: str
    agent: str
    over: bool


def calibrate_llm(config: Config, turns: Path | None) -> None:
    """Ask the LLM, and print the results with the lines for the configuration. turns: replaces the shipped
    ones.

    Raises CommandFailed if the LLM fails or its answers do not help; ConfigError.
    """
    language = config.agent.language
    lines = read_lines(turns or TURNS, SpokenTurn)
    pauses = list(_pauses(one for one in lines if one.language in ("", language)))
    if not pauses:
        known = ", ".join(sorted({one.language for one in lines}))
        raise CommandFailed(f"no turns of {language!r} (agent.language); there are: {known}; or give --turns")
    configure_log(config.log.format, "error")
    log_probabilities = asyncio.run(_ask(config, pauses))
    samples = [
        Heard(pause.turn, pause.over, value, _text_log_odds(pause, language))
        for pause, value in zip(pauses, log_probabilities, strict=True)
    ]
    try:
        found = calibrate(samples)
    except ValueError as error:
        raise CommandFailed(f"{turns or TURNS}: {error}") from error
    _print(found, len(samples))
    if found.why_off:
        raise CommandFailed(f"{found.why_off}; leave [turn.llm_end] out")
    end = found.end
    print(f'[turn.llm_end]\nmodel = "{config.llm.model_name}"')
    print(f"scale = {end.scale}\noffset = {end.offset}\nweight = {end.weight}")


def _pauses(turns: Iterator[SpokenTurn]) -> Iterator[_Pause]:
    for number, turn in enumerate(turns):
        for length in range(1, len(turn.parts) + 1):
            text = " ".join(turn.parts[:length])
            yield _Pause(number, text, turn.agent, length == len(turn.parts))


def _text_log_odds(pause: _Pause, language: str) -> float:
    """Return the log-odds of the other text features; a recognizer's punctuation and pauses are not known."""
    evidence = TurnEvidence(bare(pause.text).lower(), pause.agent)
    return sum(nats for _, nats in probability.contributions(observe(evidence, language_of(language))))


async def _ask(config: Config, pauses: Sequence[_Pause]) -> list[float]:
    llm = cast("Llm", build_engine("llm", config.llm, config.source))
    instructions, tools = beginning_of(config.agent, config.instructions(), config.source)
    system = (Message("system", instructions),) if instructions else ()
    log_probabilities = []
    try:
        await llm.start()
        with Progress(console=Console(stderr=True), transient=True) as progress:
            for pause in progress.track(pauses, description="asking"):
                said = (Message("assistant", pause.agent),) if pause.agent else ()
                prompt = (*system, *said, Message("user", bare(pause.text)))
                log_probabilities.append(await _log_probability_of_end(llm, prompt, tools, config.llm.engine))
    except LlmError as error:
        raise CommandFailed(f"the LLM failed: {error}") from error
    finally:
        await llm.close()
    return log_probabilities


async def _log_probability_of_end(
    llm: Llm, prompt: tuple[Message, ...], tools: tuple[Tool, ...], engine: str
) -> float:
    usage = await llm.prefill(Request(prompt, tools, priority_class="prefill", asks_end=True))
    if usage is None or usage.end_log_probability is None:
        allowed = "vllm, ctranslate2, llamacpp"
        raise CommandFailed(f"[llm] {engine} does not tell whether a message ends; allowed: {allowed}")
    return usage.end_log_probability


def _print(found: Calibrated, count: int) -> None:
    table = Table("", "AUC", "Brier", "ECE", title=f"{count} pauses in turns, whole and cut")
    rows: tuple[tuple[str, Quality], ...] = (
        ("the LLM as it is", found.raw),
        ("the LLM, scaled", found.fitted),
        ("the other witnesses of words", found.others),
        (f"all of them, the LLM by {found.end.weight}", found.together),
    )
    for name, one in rows:
        table.add_row(name, f"{one.auc:.3f}", f"{one.brier:.3f}", f"{one.ece:.3f}")
    Console().print(table)
