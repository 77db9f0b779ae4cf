"""A caller who speaks with a configuration's synthesizer, and listens with its recognizer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush
from audio.resample import resample
from llmcore.engine import Llm
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.agents.running import RunningAgent
from voiceagent.config.tables import Config
from voiceagent.engines.engines import Engines
from voiceagent.server.engine_building import build_recognizer, build_synthesizer
from voiceagent.server.startup import compose
from voiceagent.session.agent import Line
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.local_call import FORMAT, Exchange, LocalCall, speak

SILENT_PEAK = 32
"""Peak of inaudible 16-bit samples, -60 dBFS."""


class SpokenCaller:
    """A caller who speaks in a test, by the engines' own voice and recognizer; `call` makes one."""

    def __init__(self, engines: Engines, call: LocalCall, closing: AsyncExitStack) -> None:
        self._engines = engines
        self._call = call
        self._closing = closing
        self.words: list[str] = []
        """Transcripts of the agent: the greeting, then one for each time the caller listened."""
        self.understood: list[str] = []
        """The caller's turns as the agent understood them."""

    @classmethod
    async def call(
        cls, config: Config, llm: Llm, agent: RunningAgent, parameters: Mapping[str, str], line: Line | None
    ) -> SpokenCaller:
        """Start a call and listen to a greeting.

        Args:
            config: The configuration of the engines.
            llm: The model.
            agent: The agent.
            parameters: Metadata of the call.
            line: Capabilities of the line.

        Raises:
            ConfigError: The configuration is invalid.
            RecognizerError: The recognizer cannot start.
            SynthesizerError: The synthesizer cannot start.
        """
        metrics = Metrics()
        recognizer = build_recognizer(config, metrics)
        engines = Engines(recognizer, llm, build_synthesizer(config, metrics))
        async with AsyncExitStack() as opening:
            await engines.start()
            opening.push_async_callback(engines.close)
            services = await compose(config, engines, metrics, LoadShedder())
            if services.hearing.turn_model is not None:
                opening.push_async_callback(services.hearing.turn_model.close)
            call = LocalCall(services, agent)
            call.session.identify(parameters, line)
            await opening.enter_async_context(call)
            caller = cls(engines, call, opening.pop_all())
        await caller._hear(call.greeting)
        return caller

    @property
    def session(self) -> Session:
        """The agent's side."""
        return self._call.session

    @property
    def hung_up(self) -> bool:
        """True if the agent has ended the call."""
        return self._call.over

    async def say(self, text: str) -> None:
        """Speak this, and listen until the agent is idle.

        Raises:
            SynthesizerError: The caller's voice failed.
            CommandFailed: The agent did not become idle.
        """
        sound = await speak(self._engines.synthesizer, text)
        if not _audible(sound):
            raise AssertionError(f"{text!r} cannot be heard: the synthesizer made no sound of it")
        exchange = await self._call.say(sound)
        await self._hear(exchange)
        if not (exchange.decided_s or exchange.answered or self.hung_up):
            raise AssertionError(f"{text!r} was said, and nothing in its sound was taken for a voice")

    async def listen(self, past_questions: bool = False) -> None:
        """Say nothing until the agent is idle. past_questions: also while a tool collects input."""
        await self._hear(await self._call.listen(past_questions))

    async def stay_silent(self) -> None:
        """Let the idle timeout pass without waiting for it, and listen to the reaction."""
        await self._hear(await self._call.stay_silent())

    async def close(self) -> None:
        """Hang up."""
        await self._closing.aclose()

    async def _hear(self, exchange: Exchange) -> None:
        self.understood += exchange.understood
        if failures := exchange.failures:
            raise AssertionError(f"the call went wrong: {'; '.join(failures)}")
        said = [
            text
            for text, played in zip(exchange.answered, exchange.responses, strict=True)
            if text.strip() and not played.cut
        ]
        if said and not _audible(exchange.sound):
            raise AssertionError(
                f"the agent said {' '.join(said)!r}, and the synthesizer made no sound of it"
            )
        if len(exchange.sound):
            self.words.append(await self._words_of(exchange.sound))

    async def _words_of(self, sound: Samples) -> str:
        """Return the transcript of audio [n] at 24 kHz. Raises RecognizerError."""

        async def utterance() -> AsyncIterator[Samples | Flush]:
            yield resample(sound, FORMAT.rate_hz, SAMPLE_RATE_HZ)

        text = ""
        async with aclosing(self._engines.recognizer.recognize(utterance())) as hypotheses:
            async for hypothesis in hypotheses:
                text = hypothesis.text
        return text.strip()


def _audible(sound: Samples) -> bool:
    """Return True if audio [n] holds more than rounding noise."""
    return bool(len(sound)) and int(np.abs(sound.astype(np.int32)).max()) > SILENT_PEAK
