"""`voiceagent talk`: a call from recordings, one turn a file, with the latency of each turn."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from audio.synthesizers import SynthesizerError
from audio.wav import write_wav
from voiceagent.agents.load import load_agents
from voiceagent.agents.running import RunningAgent
from voiceagent.bench.speech import running_synthesizer
from voiceagent.cli.live_output import live_output
from voiceagent.cli.microphone import run_call, sound_card
from voiceagent.cli.phone_call import phone_call
from voiceagent.cli.remote_call import connected, remote_call
from voiceagent.cli.transcribe import transcripts
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import TurnReport
from voiceagent.server.engine_building import build_engines, build_recognizer_alone
from voiceagent.server.startup import started
from voiceagent.telemetry.log import configure_log, printable
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import (
    FORMAT,
    IGNORED,
    CallListener,
    Exchange,
    LocalCall,
    Recording,
    read_recordings,
    speak,
)
from voiceagent.validation.errors import CommandFailed, reason_of

QUESTION = "When is breakfast?"
"""Default turn of the caller."""
DEFAULT_MODEL = "voiceagent"
"""Model name of a server's only agent."""
TOOL_CHARACTERS = 300
"""Maximum characters of a tool's arguments and result to print; `--json` prints all."""


@dataclass(frozen=True, slots=True)
class CallScript:
    """The caller's turns, in this order, and the server.

    recordings: WAV files. say: spoken by the configured synthesizer. text: typed; requires a running server.
    url: of that server, "" for the configured engines in this process. model: names the agent there. key: API
    key, "" for none. over: protocol, the Realtime API or Twilio's.
    """

    recordings: Sequence[Path] = ()
    say: Sequence[str] = ()
    text: Sequence[str] = ()
    url: str = ""
    model: str = DEFAULT_MODEL
    key: str = ""
    over: Literal["realtime", "twilio"] = "realtime"


def talk(config: Config, script: CallScript, out: Path | None, as_json: bool) -> None:
    """Call the agent and print the results. Raises CommandFailed, ConfigError."""
    configure_log(config.log.format, "warning")
    if script.text and not script.url:
        raise CommandFailed("--text needs --url: a running server reads, the engines here listen")
    if script.over == "twilio" and (script.text or not script.url):
        raise CommandFailed("--over twilio needs --url, and what is said: nobody types to a phone")
    questions = read_recordings(script.recordings)
    if not questions and not script.say and not script.text:
        script = replace(script, say=(QUESTION,))
    questions += asyncio.run(_synthesize(config, script.say)) if script.say else []
    live = not as_json and sys.stdout.isatty()
    if script.over == "twilio":
        exchanges = asyncio.run(_call_by_phone(config, script, questions))
    elif script.url:
        exchanges = asyncio.run(_call_remote(script, questions, live))
        questions += [Recording(text, np.zeros(0, np.int16)) for text in script.text]
    else:
        exchanges = uvloop.run(_call_in_process(config, questions, live))
    if out is not None:
        _write(out, np.concatenate([exchange.sound for exchange in exchanges]))
    if as_json:
        turns = [
            _as_json(question, exchange) for question, exchange in zip(questions, exchanges, strict=True)
        ]
        print(json.dumps({"turns": turns}, indent=2))
    else:
        console = Console()
        for question, exchange in zip(questions, exchanges, strict=True):
            shows_understood = script.over != "twilio" and len(question.sound) > 0
            printed = live and script.over != "twilio"
            _print(console, question, exchange, shows_understood, printed)
    for question, exchange in zip(questions, exchanges, strict=True):
        if exchange.failures:
            raise CommandFailed(f"{question.name}: {exchange.failures[0]}")


def talk_aloud(script: CallScript) -> None:
    """Call a running server by microphone, until Ctrl-C or its end of the call. Raises CommandFailed."""
    if not script.url:
        raise CommandFailed("--mic needs --url: it is a running server that is called")

    async def call() -> None:
        async with connected(script.url, script.model, script.key) as connection:
            await run_call(sound_card, connection, lambda line: print(line, flush=True))

    with suppress(KeyboardInterrupt):
        asyncio.run(call())


async def _synthesize(config: Config, texts: Sequence[str]) -> list[Recording]:
    """Synthesize the texts. Raises CommandFailed, ConfigError."""
    try:
        async with running_synthesizer(config) as synthesizer:
            return [Recording(text, await speak(synthesizer, text)) for text in texts]
    except SynthesizerError as error:
        raise CommandFailed(f"cannot speak: {error}") from error


def _listening(live: bool) -> AbstractAsyncContextManager[CallListener]:
    """Return a listener that prints and plays the call if `live`, for people at a terminal."""
    return live_output(_write_text) if live else nullcontext(IGNORED)


def _write_text(text: str) -> None:
    print(text, end="", flush=True)


async def _call_remote(script: CallScript, questions: Sequence[Recording], live: bool) -> list[Exchange]:
    async with (
        _listening(live) as listener,
        remote_call(script.url, script.model, script.key, listener) as call,
    ):
        spoken = [await call.say(question.sound) for question in questions]
        return spoken + [await call.type(text) for text in script.text]


async def _call_by_phone(
    config: Config, script: CallScript, questions: Sequence[Recording]
) -> list[Exchange]:
    """Call by phone. Only audio is available, so the configured recognizer transcribes the answers."""
    recognizer = build_recognizer_alone(config)
    async with phone_call(script.url, "" if script.model == DEFAULT_MODEL else script.model) as call:
        exchanges = [await call.say(question.sound) for question in questions]
    heard = [
        Recording(question.name, resample(exchange.sound, FORMAT.rate_hz, SAMPLE_RATE_HZ))
        for question, exchange in zip(questions, exchanges, strict=True)
    ]
    for exchange, words in zip(exchanges, await transcripts(recognizer, heard), strict=True):
        exchange.answered.append(words)
    return exchanges


async def _call_in_process(config: Config, questions: Sequence[Recording], live: bool) -> list[Exchange]:
    make = load_agents(config.agent, config.instructions(), config.source).usual
    async with (
        started(config, build_engines(config), Metrics()) as (services, _),
        _listening(live) as listener,
        LocalCall(services, None if make is None else RunningAgent("local", make), listener) as call,
    ):
        return [await call.say(question.sound) for question in questions]


def _write(out: Path, sound: Samples) -> None:
    try:
        write_wav(out, sound, FORMAT.rate_hz)
    except OSError as error:
        raise CommandFailed(f"cannot write {out}: {reason_of(error)}") from error


def _print(
    console: Console, question: Recording, exchange: Exchange, shows_understood: bool, printed: bool
) -> None:
    """Print an exchange. shows_understood: the server reports what it understood. printed: the transcripts
    were printed during the call.
    """
    console.print(f"\n{question.name}", style="bold", markup=False)
    if shows_understood and not printed:
        console.print("understood:", _joined_texts(exchange.understood), markup=False)
    if not printed:
        console.print("answered:  ", _joined_texts(exchange.answered), markup=False)
    if exchange.tools:
        tools = (
            f"{tool_line[:TOOL_CHARACTERS]}{'...' * (len(tool_line) > TOOL_CHARACTERS)}"
            for tool_line in exchange.tools
        )
        console.print("tools:     ", printable(" ".join(tools)), markup=False)
    for notice in exchange.notices:
        console.print(f"error:      {printable(notice)}", markup=False)
    for failure in exchange.failures:
        console.print(f"failed:     {printable(failure)}", markup=False)
    for report in exchange.reports:
        console.print(_outcome(report))
        console.print(_stages(report))


def _joined_texts(texts: Sequence[str]) -> str:
    """Join the texts of one side; a response with tool calls may have none."""
    return printable(" | ".join(filter(None, (text.strip() for text in texts)))) or "(nothing)"


def _stages(report: TurnReport) -> Table:
    """Return a table of a turn's stages and their budgets. The last row is the caller's wait, or the sum
    of the stages if the response answers no speech.
    """
    table = Table("stage", "ms", "budget")
    for column in table.columns[1:]:
        column.justify = "right"
    for stage in report.stages:
        budget = "" if stage.budget_s is None else f"{stage.budget_s * 1000:.0f}"
        style = "red" if stage.over_budget else None
        table.add_row(stage.name, f"{stage.duration_s * 1000:.1f}", budget, style=style)
    table.add_section()
    style = "bold red" if "total" in report.over_budget else "bold"
    budget = "" if report.budget_s is None else f"{report.budget_s * 1000:.0f}"
    label = "sum" if report.wait_us is None else "wait"
    table.add_row(label, f"{report.total_s * 1000:.1f}", budget, style=style)
    return table


def _outcome(report: TurnReport) -> str:
    words: list[str] = [report.outcome]
    if report.wait_us is None and any(stage.name == "endpointing" for stage in report.stages):
        words.append("it had no audio")  # it called a tool: the next response is what the caller waited for
    if report.hidden_us:
        words.append(f"{report.hidden_s * 1000:.0f} ms of the response were made before the turn was decided")
    return "; ".join(words)


def _as_json(question: Recording, exchange: Exchange) -> dict[str, Any]:
    return {
        "question": question.name,
        "understood": exchange.understood,
        "answered": exchange.answered,
        "tools": exchange.tools,
        "failures": exchange.failures,
        "notices": exchange.notices,
        "interrupted": exchange.interrupted,
        "responses": [report_as_json(report) for report in exchange.reports],
    }


def report_as_json(report: TurnReport) -> dict[str, Any]:
    """Return the caller's wait, if any, and the stages of a turn in milliseconds."""
    wait = report.wait_us
    return {
        "outcome": report.outcome,
        "stages_ms": {stage.name: stage.duration_us / 1000 for stage in report.stages},
        "budgets_ms": {
            stage.name: stage.budget_s * 1000 for stage in report.stages if stage.budget_s is not None
        },
        "wait_ms": None if wait is None else wait / 1000,
        "total_ms": report.total_us / 1000,
        "hidden_ms": report.hidden_us / 1000,
        "over_budget": list(report.over_budget),
    }
