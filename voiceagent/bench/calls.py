"""`voiceagent bench calls`: capacity of a server, with many concurrent calls and engines of any cost."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal

import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

from voiceagent.bench.caller import Caller, Saying
from voiceagent.bench.crowd import Connection, Crowd
from voiceagent.bench.material import Material, shuffled
from voiceagent.bench.server_process import ServerProcess, serve_command, served
from voiceagent.bench.speech import (
    find_recordings,
    running_synthesizer,
    speak_questions,
    voice_end_s,
    voice_start_s,
)
from voiceagent.bench.tally import Tally
from voiceagent.bench.webrtc_connection import connect_webrtc
from voiceagent.bench.websocket_connection import connect_websocket
from voiceagent.bench.wires import RealtimeWire, TwilioWire, WebRtcWire, Wire, frames_of
from voiceagent.config.tables import Config
from voiceagent.conversation.latency import percentile
from voiceagent.telemetry.log import configure_log
from voiceagent.transports.local_call import FORMAT, Recording, read_recordings
from voiceagent.validation.errors import CommandFailed, reason_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TURNS_A_CALL = 6
"""Turns after which a caller hangs up and is replaced."""
RAMP_S = 10.0
"""Time in which the first calls begin; measuring begins after it."""
NOISE_RMS = 10.0
"""Noise of the line during silence, of 32,768: 70 dB below full scale."""
PERCENTILES = (50, 95, 99)
Figures = dict[str, float]


Protocol = Literal["realtime", "twilio", "webrtc"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a measurement.

    recordings: files or folders; without any, the questions of the material are spoken by the synthesizer of
    `voice`. calls: numbers of concurrent calls, one measurement each, each with a fresh server. seconds:
    length of each. server_core: core reserved for the server; None leaves it to the scheduler. workers:
    processes that take calls. server: command that starts another server, which prints its address once it is
    ready. over: the protocol. plot: a PNG file.
    """

    material: Material
    recordings: tuple[Path, ...]
    voice: Config | None
    calls: tuple[int, ...]
    seconds: float
    server_core: int | None
    workers: int
    server: tuple[str, ...]
    over: Protocol
    plot: Path | None
    seed: int


def parse_calls(text: str) -> tuple[int, ...]:
    """Parse numbers of calls, separated by commas. Raises CommandFailed."""
    numbers = tuple(int(number) if number.strip().isdecimal() else 0 for number in text.split(","))
    if min(numbers) < 1:
        raise CommandFailed(f"--calls is {text!r}; allowed: whole numbers from 1 on, separated by commas")
    return numbers


def parse_server(text: str, workers: int) -> tuple[str, ...]:
    """Split a command line; () for an empty one. Raises CommandFailed."""
    if text and workers != 1:
        raise CommandFailed(f"--workers is {workers}: only our own server takes it, not the one of --server")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise CommandFailed(f"--server is {text!r}: {error}") from error


def bench_calls(config: Config, plan: Plan, as_json: bool) -> None:
    """Measure and print. Raises CommandFailed, ConfigError."""
    configure_log(config.log.format, "warning")
    results = uvloop.run(_measure_all(config, plan))
    if as_json:
        print(json.dumps({"measurements": results}, indent=2))
    else:
        _print(results)
    if plan.plot is not None:
        plot_calls(results, plan.plot)


async def _measure_all(config: Config, plan: Plan) -> list[Figures]:
    wire = wire_of(config, plan.over)
    questions = await find_questions(plan.recordings, plan.voice or config, plan.material)
    noise = np.random.default_rng(plan.seed).normal(0, NOISE_RMS, FORMAT.rate_hz).astype(np.int16)
    silence = frames_of(wire, noise)
    sayings = [saying_of(wire, question) for question in questions]
    results = []
    for calls in plan.calls:
        command = plan.server or serve_command(config.source, calls, plan.workers)
        async with served(command, plan.server_core) as server:
            results.append(await _measure(server, wire, calls, sayings, silence, plan))
    return results


def wire_of(config: Config, over: Protocol, loss: float = 0.0) -> Wire:
    """Return the wire protocol of callers. loss: share of WebRTC packets to lose."""
    if over == "twilio":
        return TwilioWire()
    silence_s = config.turn.silence_s if config.turn.detection == "server_vad" else 0.0
    return WebRtcWire(silence_s, loss) if over == "webrtc" else RealtimeWire(silence_s)


async def find_questions(recordings: Sequence[Path], voice: Config, material: Material) -> list[Recording]:
    """Return the recordings or, without any, the material's questions spoken by the synthesizer of `voice`.

    Raises CommandFailed, ConfigError, SynthesizerError.
    """
    if recordings:
        return read_recordings(find_recordings(recordings))
    async with running_synthesizer(voice) as synthesizer:
        return await speak_questions(material, synthesizer)


def saying_of(wire: Wire, question: Recording) -> Saying:
    """Return a question as sent on the wire."""
    sound, rate_hz = question.sound, FORMAT.rate_hz
    return Saying(frames_of(wire, sound), voice_start_s(sound, rate_hz), voice_end_s(sound, rate_hz))


async def _measure(
    server: ServerProcess,
    wire: Wire,
    calls: int,
    sayings: Sequence[Saying],
    silence: tuple[bytes, ...],
    plan: Plan,
) -> Figures:
    random, tally, clock = Random(plan.seed), Tally(), time.monotonic

    def new_caller(now_s: float) -> Caller:
        return Caller(now_s, shuffled(sayings, random), silence, TURNS_A_CALL, random, tally)

    crowd = Crowd(calls, _connecting(wire, (server.host, server.port), clock), new_caller, clock)
    idle_bytes = server.memory_bytes()
    calling = asyncio.create_task(crowd.run(RAMP_S), name="callers")
    try:
        await _unless_over(calling, RAMP_S)
        tally.restart()
        crowd.restart()
        cpu_s = server.cpu_s()
        await _unless_over(calling, plan.seconds)
        cpu_s = server.cpu_s() - cpu_s
        grown_bytes = server.memory_bytes() - idle_bytes
    finally:
        calling.cancel()
        await asyncio.wait([calling])
    _print_refusals(calls, crowd.refused)
    if not tally.from_voice:
        raise CommandFailed(f"none of {tally.turns} turns was answered: is there speech in the recordings?")
    return {
        "calls": calls,
        "calls refused as busy": len(crowd.refused),
        "calls broken off": len(crowd.broken),
        **_counts(tally),
        **_waits(tally),
        "CPU s a call-minute": cpu_s * 60 / crowd.called_s,
        "MB a call": grown_bytes / calls / 1e6,
        "callers late p99 ms": percentile(crowd.lateness_s, 99) * 1000,
    }


def _print_refusals(calls: int, reasons: Sequence[str]) -> None:
    if reasons:
        print(f"{calls} calls: {len(reasons)} times {reasons[-1]}", file=sys.stderr)


def _connecting(
    wire: Wire, address: tuple[str, int], clock: Callable[[], float]
) -> Callable[[], Awaitable[Connection]]:
    if isinstance(wire, WebRtcWire):
        return partial(connect_webrtc, wire, address, clock)
    return partial(connect_websocket, wire, address, clock)


async def _unless_over(calling: asyncio.Task[None], seconds: float) -> None:
    """Run the callers for a while. Raises their failure."""
    await asyncio.wait([calling], timeout=seconds)
    if calling.done():
        calling.result()


def _counts(tally: Tally) -> Figures:
    return {
        "turns": tally.turns,
        "missed": tally.missed,
        "of these answered late": tally.answered_late,
        "cut off": tally.cut_off,
        "interruptions": len(tally.yielded) + tally.ignored,
        "interruptions ignored": tally.ignored,
        "frames": tally.frames.count,
        "late frames": tally.frames.late,
    }


def _waits(tally: Tally) -> Figures:
    return {
        **_percentiles("voice end to audible", tally.from_voice),
        **_percentiles("detected end to audible", tally.from_detected),
        **_percentiles("voice to yield", tally.yielded),
    }


def _percentiles(name: str, times_ms: list[float]) -> Figures:
    return {f"{name} p{rank} ms": percentile(times_ms, rank) for rank in PERCENTILES if times_ms}


def _print(results: Sequence[Figures]) -> None:
    table = Table("", *(f"{measured['calls']} calls" for measured in results))
    for column in table.columns[1:]:
        column.justify = "right"
    for name in [name for name in results[0] if name != "calls"]:
        values = [measured.get(name) for measured in results]
        table.add_row(name, *("" if value is None else _shown(value) for value in values))
    Console().print(table)


def _shown(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}" if value < 10 else f"{value:.0f}"


WIDTH_INCHES, HEIGHT_INCHES, DOTS_PER_INCH = 9.0, 3.6, 120


def plot_calls(results: Sequence[dict[str, float]], path: Path) -> None:
    """Write a PNG: latency, and CPU, over the number of calls. Raises CommandFailed."""
    figure = new_figure()
    results = sorted(results, key=lambda measured: measured["calls"])
    calls = [measured["calls"] for measured in results]
    latency, cost = figure.subplots(1, 2)
    for rank in (50, 95, 99):
        values = [measured[f"voice end to audible p{rank} ms"] for measured in results]
        latency.plot(calls, values, marker="o", label=f"p{rank}")
    latency.set(xlabel="calls at once", ylabel="end of voice to sound, ms", ylim=(0, None))
    latency.legend()
    cost.plot(calls, [measured["CPU s a call-minute"] for measured in results], marker="o")
    cost.set(xlabel="calls at once", ylabel="CPU seconds a call-minute", ylim=(0, None))
    write_plot(figure, path)


def new_figure() -> Figure:
    """Return an empty figure. Raises CommandFailed without matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    except ImportError as error:
        raise CommandFailed("a plot needs matplotlib: pip install 'voiceagent-server[bench]'") from error
    return Figure(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")


def write_plot(figure: Figure, path: Path) -> None:
    """Write a figure as SVG or PNG, by the file's name. Raises CommandFailed."""
    from matplotlib import rc_context  # noqa: PLC0415  an extra

    try:
        with rc_context({"svg.fonttype": "none"}):  # letters as text: a tenth of the size
            figure.savefig(path, dpi=DOTS_PER_INCH, format="svg" if path.suffix == ".svg" else "png")
    except OSError as error:
        raise CommandFailed(f"cannot write {path}: {reason_of(error)}") from error
