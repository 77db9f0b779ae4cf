"""Recordings through a whole session in virtual time: the results of calls in less time.

Voice activity detection, endpointing, recognizer, decisions and playout are the server's; the LLM and the
synthesizer answer at once, or after a given time. The results are reproducible.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Recognizer
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.bench.people.material import Clip
from voiceagent.bench.people.outcome import AgentSound, Outcome
from voiceagent.bench.people.quick_engines import NoWords, QuickLlm, QuickSynthesizer
from voiceagent.bench.people.virtual_time import run_virtually
from voiceagent.config.tables import Config
from voiceagent.engines.engines import Engines
from voiceagent.server.startup import build_recognizer_alone, compose
from voiceagent.session.services import Services
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import FORMAT, Exchange, LocalCall

DECODING_S = 0.05
"""Virtual duration of a decoding, whatever it takes."""
Done = Callable[[Clip], None]
LEAD_S = 0.5
"""Silence before each recording."""


def run_offline(config: Config, clips: Sequence[Clip], done: Done, answer_s: float = 0.0) -> list[Outcome]:
    """Call with each recording and return the outcomes. done: called after each. answer_s: time of an answer
    to its first audio.

    Raises CommandFailed, ConfigError, RecognizerError.
    """
    recognizer = build_recognizer_alone(config)
    return run_virtually(_run(config, recognizer, clips, done, answer_s), DECODING_S)


def run_silence_alone(config: Config, silence_s: float, clips: Sequence[Clip], done: Done) -> list[Outcome]:
    """Do the same with turns that end after a fixed silence: nothing is recognized."""
    turn = config.turn.model_copy(update={"detection": "server_vad", "silence_s": silence_s, "resume_s": 0.0})
    config = config.model_copy(update={"turn": turn})
    return run_virtually(_run(config, NoWords(), clips, done), DECODING_S)


async def _run(
    config: Config, recognizer: Recognizer, clips: Sequence[Clip], done: Done, answer_s: float = 0.0
) -> list[Outcome]:
    outcomes = []
    async with quick_services(config, recognizer, answer_s) as services:
        for clip in clips:
            outcomes.append(await _call(services, clip))
            done(clip)
    return outcomes


@asynccontextmanager
async def quick_services(
    config: Config, recognizer: Recognizer, answer_s: float = 0.0
) -> AsyncIterator[Services]:
    """Yield the services of a server whose LLM and synthesizer answer after `answer_s`, in virtual time."""
    engines = Engines(recognizer, QuickLlm(answer_s), QuickSynthesizer())
    await engines.start()
    try:
        yield await compose(config, engines, Metrics(), LoadShedder(), asyncio.get_running_loop().time)
    finally:
        await engines.close()


async def _call(services: Services, clip: Clip) -> Outcome:
    async with LocalCall(services) as call:
        exchange = await call.say(np.concatenate([_silence(LEAD_S), clip.sound]))
    return _outcome(clip, exchange)


def _silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * FORMAT.rate_hz), np.int16)


def _outcome(clip: Clip, exchange: Exchange) -> Outcome:
    """Return the outcome; its times are relative to the start of the recording."""
    begin_s = exchange.spoken_from_s + LEAD_S
    sounds = [
        AgentSound(response.first_frame_s - begin_s, response.sound_s)
        for response in exchange.responses
        if response.first_frame_s is not None
    ]
    return Outcome(
        clip,
        decided_s=tuple(at_s - begin_s for at_s in exchange.decided_s),
        sounds=tuple(sounds),
        texts=tuple(exchange.understood),
        failures=tuple(exchange.failures),
    )
