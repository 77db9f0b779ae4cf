"""Measure how fast the agent yields to a voice, and that it ignores noises."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
import uvloop
from people.conditions import Condition, add_conditions, parse_conditions
from people.offline import DECODING_S, RESPONSE, quick_services
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from yielding.material import Caller, Over, interruptions, noises, read_callers
from yielding.resumptions import Resumed, go_on, print_resumed
from yielding.speakerphone import EchoSuppressor, Speakerphone, Telephone
from yielding.spoken_answers import SpokenAnswers, speak_answers
from yielding.spoken_over import SpokenOver, Turn, speak_over

from audio.pcm import Samples
from voiceagent.bench.commands import add_measurement
from voiceagent.bench.material import Material
from voiceagent.bench.speech import BACKCHANNELS
from voiceagent.cli.main import run_command
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.demo import MATERIAL
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.server.engine_building import build_engines, build_recognizer_alone, build_synthesizer
from voiceagent.server.startup import started
from voiceagent.session.services import Services
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import FRAME_S, Recording
from voiceagent.validation.errors import CommandFailed

FIRST_S = 0.5
LAST_S = 1.5
"""The caller interrupts no earlier than FIRST_S into the call, and no later than this before the
agent's end.
"""
TOLERANCE_S = 0.2
"""Tolerated difference in length when the same text is synthesized again."""
PATIENCE_S = 3.0
"""Time beyond its normal length after which the agent's speech counts as endless."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a measurement.

    material: the agent's speech. recordings: speech to interrupt with; without any, the material's questions
    spoken by the synthesizer of `voice`, which also speaks the backchannels. interruptions, noises: numbers
    of each. calls: concurrent ones. telephone: the callers'; None for handsets. resumed: callers who continue
    just after their turn was ended. seed: of all random choices. conditions: applied to the callers' audio.
    by_sound: use a virtual clock, with an LLM and a voice that take no time, instead of real time. Its
    answers are spoken before, by the configured voice: an echo canceller treats a tone otherwise.
    """

    material: Material
    recordings: tuple[Path, ...] = ()
    voice: Config | None = None
    interruptions: int = 50
    noises: int = 20
    calls: int = 1
    telephone: Telephone | None = None
    resumed: int = 0
    seed: int = 1
    conditions: tuple[Condition, ...] = ()
    by_sound: bool = False


@dataclass(slots=True)
class Yielding:
    """Reactions to interruptions and noises; times in milliseconds after the voice began.

    stopped: noises that stopped the agent for good. missed: voices that did not. held, held_backchannels: the
    longest silence of the agent in each noise, and in each backchannel, that did not stop it.
    """

    ducked: list[float] = field(default_factory=list)
    silent: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    noises: int = 0
    stopped: list[str] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    held_backchannels: list[float] = field(default_factory=list)

    def add_voice(self, name: str, over: SpokenOver, undisturbed: list[Samples]) -> None:
        """Count a voice that was an interruption."""
        ducked_s = over.loudspeaker.lowered_s(over.voice_s, undisturbed)
        silent_s = over.loudspeaker.silent_s(over.voice_s)
        if over.status != "cancelled" or ducked_s is None or silent_s is None:
            self.missed.append(name)
            return
        self.ducked.append((ducked_s - over.voice_s) * 1000)
        self.silent.append((silent_s - over.voice_s) * 1000)

    def add_noise(self, name: str, over: SpokenOver, undisturbed: list[Samples]) -> None:
        """Count a noise that was not."""
        self.noises += 1
        min_frames = len(undisturbed) - TOLERANCE_S / FRAME_S
        if over.status != "completed" or len(over.loudspeaker.frames) < min_frames:
            self.stopped.append(name)
            return
        held = self.held_backchannels if name in BACKCHANNELS else self.held
        held.append(over.loudspeaker.longest_gap_s(over.voice_s) * 1000)


_Of = TypeVar("_Of")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    _add_options(parser)
    return run_command(parser.parse_args(arguments))


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_measurement(parser, MATERIAL)
    parser.add_argument("--calls", type=int, default=1, help="so many calls at once (1)")
    parser.add_argument("--interruptions", type=int, default=50, help="how many (50)")
    parser.add_argument(
        "--noises",
        type=int,
        default=20,
        help="backchannels, and coughs, laughs, typing, music and others in turn (20)",
    )
    parser.add_argument(
        "--resumed",
        type=int,
        default=0,
        help="callers who go on just after their turn was taken to be over (0)",
    )
    add_conditions(parser)
    parser.add_argument(
        "--by-sound",
        action="store_true",
        help="in virtual time, with an LLM and a voice that take no time (default: real time)",
    )
    telephones = parser.add_mutually_exclusive_group()
    telephones.add_argument(
        "--speakerphone", action="store_true", help="the callers' telephones hear the agent, as [echo] is for"
    )
    telephones.add_argument(
        "--suppressed",
        type=float,
        metavar="DB",
        help="they cancel its echo, and lower all that they hear by so much while it sounds",
    )
    parser.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> None:
    telephone: Telephone | None = Speakerphone if options.speakerphone else None
    if options.suppressed is not None:
        telephone = partial(EchoSuppressor, lower_db=options.suppressed)
    plan = Plan(
        material=Material(options.material),
        recordings=tuple(options.recordings),
        voice=load(options.voice) if options.voice else None,
        conditions=parse_conditions(options.conditions),
        by_sound=options.by_sound,
        interruptions=options.interruptions,
        telephone=telephone,
        noises=options.noises,
        resumed=options.resumed,
        calls=options.calls,
        seed=options.seed,
    )
    bench_interruptions(load(options.config), plan, as_json=options.json)


def bench_interruptions(config: Config, plan: Plan, as_json: bool) -> None:
    """Run a plan and print the results.

    Raises CommandFailed, ConfigError.
    """
    configure_log(config.log.format, "warning")
    config = config.model_copy(update={"agent": config.agent.model_copy(update={"greeting": ""})})
    material = read_callers(plan.voice or config, plan.material, plan.recordings, plan.conditions)
    callers, hums = uvloop.run(material)
    voice = uvloop.run(_speak_answers(config, plan.material.speech())) if plan.by_sound else None
    yielding = _run(plan, _measure(config, plan, callers, hums, voice))
    resumed = _run(plan, _measure_resumed(config, plan, callers, voice)) if plan.resumed else None
    if as_json:
        print(json.dumps(_as_json(yielding) | ({"resumed": asdict(resumed)} if resumed else {}), indent=2))
    else:
        _print(yielding)
        if resumed is not None:
            print_resumed(resumed)


async def _measure(
    config: Config,
    plan: Plan,
    callers: Sequence[Caller],
    hums: Sequence[Recording],
    voice: SpokenAnswers | None,
) -> Yielding:
    random, yielding = Random(plan.seed), Yielding()
    voices = interruptions(callers, plan.interruptions, random)
    sounds = noises(callers, hums, plan.noises, random)
    async with _services(config, voice) as services:
        says, phone = plan.material.speech(), plan.telephone
        undisturbed = await _hear_out(services, says)
        length_s = len(undisturbed) * FRAME_S
        if phone is not None:
            turn = Turn(np.zeros(0, np.int16), says)
            over = await speak_over(services, turn.sound, 0.0, length_s + PATIENCE_S, phone, turn)
            yielding.add_noise("its own voice", over, undisturbed)

        async def speak(one: Over) -> SpokenOver:
            at_s = random.uniform(FIRST_S, length_s - LAST_S)
            turn = Turn(one.before, says)
            return await speak_over(services, one.sound, at_s, length_s + PATIENCE_S, phone, turn)

        async def interruption(one: Over) -> None:
            yielding.add_voice(one.name, await speak(one), undisturbed)

        async def noise(one: Over) -> None:
            yielding.add_noise(one.name, await speak(one), undisturbed)

        await _one_by_one(
            [(interruption, one) for one in voices] + [(noise, one) for one in sounds], plan.calls
        )
    return yielding


async def _measure_resumed(
    config: Config, plan: Plan, callers: Sequence[Caller], voice: SpokenAnswers | None
) -> Resumed:
    """Have each caller speak one recording and continue with the next."""
    random, resumed = Random(plan.seed), Resumed()
    voices = [Recording(one.name, one.sound) for one in random.choices(callers, k=plan.resumed + 1)]
    async with _services(config, voice) as services:

        async def both(number: int) -> None:
            await go_on(services, voices[number], voices[number + 1], random, resumed)

        await _one_by_one([(both, number) for number in range(plan.resumed)], plan.calls)
    return resumed


@asynccontextmanager
async def _services(config: Config, voice: SpokenAnswers | None) -> AsyncIterator[Services]:
    """Yield the services of the configuration. voice: for a virtual clock, with an LLM that takes no time."""
    if voice is None:
        async with started(config, build_engines(config), Metrics()) as (services, _):
            yield services
        return
    async with quick_services(config, build_recognizer_alone(config), voice=voice) as quick:
        yield quick


async def _speak_answers(config: Config, says: str) -> SpokenAnswers:
    """Return the configured voice, with the answers of these calls. Raises ConfigError, SynthesizerError."""
    synthesizer = build_synthesizer(config, Metrics())
    await synthesizer.start()
    try:
        return await speak_answers(synthesizer, (says, RESPONSE))
    finally:
        await synthesizer.close()


def _run(plan: Plan, main: Coroutine[Any, Any, _Of]) -> _Of:
    return run_virtually(main, DECODING_S) if plan.by_sound else uvloop.run(main)


async def _hear_out(services: Services, says: str) -> list[Samples]:
    """Return the agent's speech without interruptions. Raises CommandFailed if it does not end."""
    silence = np.zeros(0, np.int16)
    over = await speak_over(services, silence, 0.0, 60.0, turn=Turn(silence, says))
    if over.status != "completed":
        raise CommandFailed(f"the agent's speech ended {over.status or 'not at all'}, undisturbed")
    return over.loudspeaker.frames


async def _one_by_one(cases: Sequence[tuple[Callable[[_Of], Awaitable[None]], _Of]], calls: int) -> None:
    """Run the cases, `calls` of them concurrently."""
    waiting = iter(cases)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("calls", total=len(cases))

        async def one_after_the_other() -> None:
            for measure, one in waiting:
                await measure(one)
                progress.advance(task)

        await asyncio.gather(*(one_after_the_other() for _ in range(calls)))


def _print(yielding: Yielding) -> None:
    said = len(yielding.silent) + len(yielding.missed)
    title = f"{len(yielding.silent)} of {said} interruptions stopped the agent"
    caption = f"{len(yielding.stopped)} of {yielding.noises} noises and backchannels stopped it for good"
    table = Table("voice start to, or silence", "p50 ms", "p95 ms", "max ms", title=title, caption=caption)
    for column in table.columns[1:]:
        column.justify = "right"
    rows = (
        ("ducked", yielding.ducked),
        ("silence", yielding.silent),
        ("held by a backchannel", yielding.held_backchannels),
        ("held by a noise", yielding.held),
    )
    for name, values in rows:
        if values:
            p50, p95 = percentile(values, 50), percentile(values, 95)
            table.add_row(name, f"{p50:.0f}", f"{p95:.0f}", f"{max(values):.0f}")
    Console().print(table)
    for name, which in (("did not stop the agent", yielding.missed), ("stopped it", yielding.stopped)):
        if which:
            Console().print(f"{name}: {', '.join(which)}", markup=False)


def _as_json(yielding: Yielding) -> dict[str, Any]:
    return {
        "interruptions": len(yielding.silent) + len(yielding.missed),
        "missed": yielding.missed,
        "noises": yielding.noises,
        "stopped_by_noise": yielding.stopped,
        "milliseconds": {
            name: {"p50": percentile(values, 50), "p95": percentile(values, 95), "max": max(values)}
            for name, values in (
                ("to_ducked", yielding.ducked),
                ("to_silence", yielding.silent),
                ("held_by_backchannel", yielding.held_backchannels),
                ("held_by_noise", yielding.held),
            )
            if values
        },
    }


if __name__ == "__main__":
    sys.exit(main())
