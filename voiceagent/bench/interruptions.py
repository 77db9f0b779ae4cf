"""`voiceagent bench interruptions`: how soon the agent yields to a voice, and that it does not to noises."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from audio.pcm import Samples
from voiceagent.bench.loudspeaker import Loudspeaker
from voiceagent.bench.material import Material
from voiceagent.bench.noises import MADE, others
from voiceagent.bench.resumptions import Resumed, go_on, print_resumed
from voiceagent.bench.speakerphone import Speakerphone
from voiceagent.bench.speech import (
    BACKCHANNELS,
    find_recordings,
    running_synthesizer,
    speak_questions,
)
from voiceagent.bench.voiced import trimmed
from voiceagent.config.tables import Config
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport, percentile
from voiceagent.server.startup import build_engines, started
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import FORMAT, FRAME_S, PacedSound, Recording, read_recordings, speak
from voiceagent.validation.errors import CommandFailed

FIRST_S = 0.5
LAST_S = 1.5
"""The caller speaks so long after the call began at the earliest, and so long before the agent's end at the
latest."""
TOLERANCE_S = 0.2
"""By so much the same words may be shorter another time: synthesizers are not exact."""
PATIENCE_S = 3.0
"""Beyond the agent's whole speech: after that it counts as one that never ended."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: so many `interruptions` and `noises`, `calls` of them at once.

    material: what the agent says. recordings: speech to interrupt with; without any, the material's questions
    spoken by the synthesizer of the configuration `voice`, which speaks the backchannels as well.
    speakerphone: the callers' telephones hear the agent. resumed: so many callers who go on just after their
    turn was taken to be over. seed: of all that is random.
    """

    material: Material
    recordings: tuple[Path, ...] = ()
    voice: Config | None = None
    interruptions: int = 50
    noises: int = 20
    calls: int = 1
    speakerphone: bool = False
    resumed: int = 0
    seed: int = 1


@dataclass(slots=True)
class Yielding:
    """How the agent took what was said over it; times in milliseconds after the voice began.

    stopped: the voices, and the noises, that stopped the agent for good. missed: voices that did not.
    """

    ducked: list[float] = field(default_factory=list)
    silent: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    noises: int = 0
    stopped: list[str] = field(default_factory=list)

    def add_voice(self, name: str, over: SpokenOver, undisturbed: list[Samples]) -> None:
        """Count a voice that was meant as an interruption."""
        ducked_s = over.loudspeaker.lowered_s(over.voice_s, undisturbed)
        silent_s = over.loudspeaker.silent_s(over.voice_s)
        if over.status != "cancelled" or ducked_s is None or silent_s is None:
            self.missed.append(name)
            return
        self.ducked.append((ducked_s - over.voice_s) * 1000)
        self.silent.append((silent_s - over.voice_s) * 1000)

    def add_noise(self, name: str, over: SpokenOver, undisturbed: list[Samples]) -> None:
        """Count a noise, which was not."""
        self.noises += 1
        min_frames = len(undisturbed) - TOLERANCE_S / FRAME_S
        if over.status != "completed" or len(over.loudspeaker.frames) < min_frames:
            self.stopped.append(name)


_Of = TypeVar("_Of")


class _Client:
    """Hears the first response of a call."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._response_id = ""
        self.loudspeaker = Loudspeaker(FRAME_S)
        self.status = ""

    def notify(self, notification: notify.Notification) -> None:
        match notification:
            case notify.NotifyResponseStarted(response_id) if not self._response_id:
                self._response_id = response_id
            case notify.NotifyResponseEnded(response_id, status) if response_id == self._response_id:
                self.status = status
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        if response_id == self._response_id:
            self.loudspeaker.play(frame, self._clock())

    def clear(self) -> None:
        if not self.status:
            self.loudspeaker.clear(self._clock())

    def report(self, turn: TurnReport) -> None:
        pass


@dataclass(frozen=True, slots=True)
class SpokenOver:
    """What became of the agent's speech: `voice_s` is when the caller's voice began, by the call's clock."""

    voice_s: float
    status: str
    loudspeaker: Loudspeaker


async def speak_over(
    services: Services, sound: Samples, after_s: float, longest_s: float, speakerphone: bool = False
) -> SpokenOver:
    """In a call of its own, speak `sound` [n], which begins with voice, `after_s` after the agent began.

    The call ends with the agent's speech, or after `longest_s`.
    """
    settings = replace(services.settings, input_format=FORMAT, output_format=FORMAT)
    client = _Client(services.measuring.clock)
    session = Session("bench", services, settings, client)
    microphone = Speakerphone(client.loudspeaker, FORMAT.rate_hz)

    def hear(frame: Samples) -> None:
        begins_s = line.at_s - len(frame) / FORMAT.rate_hz
        session.hear(microphone.hear(frame, begins_s) if speakerphone else frame)

    line = PacedSound(hear, services.measuring.clock)
    session.begin()
    try:
        await line.send(np.zeros(round(after_s * FORMAT.rate_hz), np.int16))
        voice_s = line.at_s
        ends_s = voice_s + longest_s
        await line.send(sound)
        silence = np.zeros(round(FRAME_S * FORMAT.rate_hz), np.int16)
        while not client.status and line.at_s < ends_s:
            await line.send(silence)
    finally:
        await session.close("measured")
    return SpokenOver(voice_s, client.status, client.loudspeaker)


def bench_interruptions(config: Config, plan: Plan, as_json: bool) -> None:
    """Measure the interruptions and the noises of a plan and print what they came to.

    Raises CommandFailed, ConfigError.
    """
    configure_log(config.log.format, "warning")
    agent = config.agent.model_copy(update={"greeting": plan.material.speech()})
    yielding = uvloop.run(_measure(config.model_copy(update={"agent": agent}), plan))
    resumed = uvloop.run(_measure_resumed(config, plan)) if plan.resumed else None
    if as_json:
        print(json.dumps(_as_json(yielding) | ({"resumed": asdict(resumed)} if resumed else {}), indent=2))
    else:
        _print(yielding)
        if resumed is not None:
            print_resumed(resumed)


async def _measure(config: Config, plan: Plan) -> Yielding:
    random, yielding = Random(plan.seed), Yielding()
    voices, noises = await _material(config, plan, random)
    async with started(config, build_engines(config), Metrics()) as (services, _):
        undisturbed = await _hear_out(services)
        length_s = len(undisturbed) * FRAME_S
        phone = plan.speakerphone
        if phone:
            over = await speak_over(services, np.zeros(0, np.int16), 0.0, length_s + PATIENCE_S, phone)
            yielding.add_noise("its own voice", over, undisturbed)

        async def voice(one: Recording) -> None:
            at_s = random.uniform(FIRST_S, length_s - LAST_S)
            over = await speak_over(services, one.sound, at_s, length_s + PATIENCE_S, phone)
            yielding.add_voice(one.name, over, undisturbed)

        async def noise(one: Recording) -> None:
            at_s = random.uniform(FIRST_S, length_s - LAST_S)
            over = await speak_over(services, one.sound, at_s, length_s + PATIENCE_S, phone)
            yielding.add_noise(one.name, over, undisturbed)

        await _one_by_one([(voice, one) for one in voices] + [(noise, one) for one in noises], plan.calls)
    return yielding


async def _measure_resumed(config: Config, plan: Plan) -> Resumed:
    """Each caller says one recording, and goes on with the next."""
    random, resumed = Random(plan.seed), Resumed()
    voices, _ = await _material(config, replace(plan, interruptions=plan.resumed + 1, noises=0), random)
    async with started(config, build_engines(config), Metrics()) as (services, _):

        async def both(number: int) -> None:
            await go_on(services, voices[number], voices[number + 1], random, resumed)

        await _one_by_one([(both, number) for number in range(plan.resumed)], plan.calls)
    return resumed


async def _hear_out(services: Services) -> list[Samples]:
    """The agent's speech when nobody speaks over it. Raises CommandFailed where it does not end."""
    over = await speak_over(services, np.zeros(0, np.int16), 0.0, 60.0)
    if over.status != "completed":
        raise CommandFailed(f"the agent's speech ended {over.status or 'not at all'}, undisturbed")
    return over.loudspeaker.frames


async def _one_by_one(cases: Sequence[tuple[Callable[[_Of], Awaitable[None]], _Of]], calls: int) -> None:
    """`calls` at once."""
    waiting = iter(cases)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("calls", total=len(cases))

        async def one_after_the_other() -> None:
            for measure, one in waiting:
                await measure(one)
                progress.advance(task)

        await asyncio.gather(*(one_after_the_other() for _ in range(calls)))


async def _material(config: Config, plan: Plan, random: Random) -> tuple[list[Recording], list[Recording]]:
    """What is said to interrupt the agent, and the noises and backchannels."""
    questions = read_recordings(find_recordings(plan.recordings))
    async with running_synthesizer(plan.voice or config) as synthesizer:
        if not questions:
            questions = await speak_questions(plan.material, synthesizer)
        spoken = [Recording(text, await speak(synthesizer, text)) for text in BACKCHANNELS]
    questions = [replace(one, sound=trimmed(one.sound, FORMAT.rate_hz)) for one in questions]
    noises = [_noise(number, spoken, questions, random) for number in range(plan.noises)]
    return random.choices(questions, k=plan.interruptions), noises


def _noise(
    number: int, spoken: Sequence[Recording], questions: Sequence[Recording], random: Random
) -> Recording:
    """Every other noise is a backchannel; the rest are of each kind in turn."""
    if number % 2:
        return spoken[number // 2 % len(spoken)]
    kind = (*MADE, "others")[number // 2 % (len(MADE) + 1)]
    make = MADE.get(kind)
    rate_hz = FORMAT.rate_hz
    sound = make(random, rate_hz) if make else others(random, rate_hz, [one.sound for one in questions])
    return Recording(f"{kind} of {len(sound) / rate_hz * 1000:.0f} ms", sound)


def _print(yielding: Yielding) -> None:
    said = len(yielding.silent) + len(yielding.missed)
    title = f"{len(yielding.silent)} of {said} interruptions stopped the agent"
    caption = f"{len(yielding.stopped)} of {yielding.noises} noises and backchannels stopped it for good"
    table = Table("voice start to", "p50 ms", "p95 ms", "max ms", title=title, caption=caption)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, values in (("ducked", yielding.ducked), ("silence", yielding.silent)):
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
            for name, values in (("to_ducked", yielding.ducked), ("to_silence", yielding.silent))
            if values
        },
    }
