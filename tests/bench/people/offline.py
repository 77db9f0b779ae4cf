"""Recordings through a whole session in virtual time: the results of calls in less time.

Voice activity detection, endpointing, recognizer, decisions and playout are the server's; the LLM and the
synthesizer answer at once, or after a given time. The results are reproducible.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis, Recognizer
from audio.synthesizers import Speech, Synthesizer
from llmcore.engine import Delta, Request, Usage
from llmcore.policies.load_shedding import LoadShedder
from people.material import Clip
from people.outcome import AgentSound, Outcome
from voiceagent.config.tables import Config
from voiceagent.engines.engines import Engines
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.server.engine_building import build_recognizer_alone
from voiceagent.server.startup import compose
from voiceagent.session.services import Services
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import FORMAT, Exchange, LocalCall

RESPONSE = "Sure, I can help you with that. Let me look it up for you right now."
_CHARACTER_S = 0.06
_TONE_HZ = 440.0


class NoWords:
    """A recognizer that returns a fixed transcript."""

    _WORDS = "Could you help me with something?"

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Answer each flush."""
        async for piece in sound:
            if isinstance(piece, Flush):
                yield Hypothesis(self._WORDS, self._WORDS, settled=True)
        yield Hypothesis(self._WORDS, self._WORDS, settled=True)


class QuickLlm:
    """An LLM that returns a fixed response after some seconds."""

    def __init__(self, answer_s: float = 0.0) -> None:
        self._answer_s = answer_s

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the response."""
        await asyncio.sleep(self._answer_s)
        yield Delta(RESPONSE)
        yield Delta(finish_reason="stop", usage=Usage(prompt_tokens=1, completion_tokens=1))

    async def prefill(self, request: Request) -> None:
        """Do nothing: there is no cache."""


class QuickSynthesizer:
    """A synthesizer of a tone as long as the spoken text."""

    rate_hz = 24_000

    async def start(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """Yield the tone, at a quarter of full scale."""
        at_s = np.arange(round(len(text) * _CHARACTER_S * self.rate_hz)) / self.rate_hz
        yield Speech((8_000 * np.sin(2 * np.pi * _TONE_HZ * at_s)).astype(np.int16))


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
    config: Config, recognizer: Recognizer, answer_s: float = 0.0, voice: Synthesizer | None = None
) -> AsyncIterator[Services]:
    """Yield the services of a server whose LLM answers after `answer_s`, in virtual time.

    voice: its synthesizer, by default a tone.
    """
    engines = Engines(recognizer, QuickLlm(answer_s), voice or QuickSynthesizer())
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
