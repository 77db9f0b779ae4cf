"""A Pipecat server with engines of fixed cost: a peer, measured with the callers that measure ours.

python tests/bench/pipecat_server.py

It prints its address and takes calls in the protocol of Twilio Media Streams at /telephony/twilio until it
receives a signal. Needs, in the environment of the tests: pip install pipecat-ai==1.14.0 fastapi

Everything is Pipecat's own, put together as its documentation does it, except the engines: they wait as long
as those of fixed_engines.py and say the same. What would slow it down and can be switched off is off.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import AsyncGenerator
from dataclasses import fields
from functools import cache
from typing import Any

os.environ["LOGURU_LEVEL"] = "WARNING"  # read when Pipecat, whose log it is, is imported

import numpy as np
import uvicorn
from fastapi import FastAPI, WebSocket
from fixed_engines import RESPONSE
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.frames import frames
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.services.llm_service import LLMService
from pipecat.services.settings import LLMSettings, STTSettings, TTSSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.services.tts_service import TTSService
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.turns.user_start import VADUserTurnStartStrategy
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.time import time_now_iso8601
from pipecat.workers.runner import WorkerRunner

RATE_HZ = 8_000
"""The rate of the telephone line, in all of the pipeline: nothing is resampled."""
SILENCE_S = 0.2
"""Ends a turn."""
RECOGNITION_S = 0.05
QUESTION = "Could you help me with something?"
TTFT_S = 0.1
WORD_S = 0.01
SYNTHESIS_S = 0.05
CHARACTER_S = 0.06
TONE_HZ = 440.0

app = FastAPI()


class FixedSTT(SegmentedSTTService):
    """Understands the same question, whatever it hears, some time after the voice has stopped."""

    def __init__(self) -> None:
        super().__init__(
            trailing_silence_secs=0.0,
            ttfs_p99_latency=SILENCE_S + RECOGNITION_S,
            settings=STTSettings(model=None, language=None),
        )

    @property
    def wants_wav_segments(self) -> bool:
        """Samples are enough."""
        return False

    async def run_stt(self, audio: bytes) -> AsyncGenerator[frames.Frame | None, None]:
        """The question; Pipecat takes the only transcript of a segment for final."""
        await asyncio.sleep(RECOGNITION_S)
        yield frames.TranscriptionFrame(QUESTION, self._user_id, time_now_iso8601())


class FixedLLM(LLMService):
    """Answers the same, word by word, each at a time of its own: no delay adds to the next."""

    def __init__(self) -> None:
        names = [field.name for field in fields(LLMSettings) if field.name != "extra"]
        unset: dict[str, Any] = dict.fromkeys(names)  # Pipecat wants each to be said, be it None
        super().__init__(settings=LLMSettings(**unset))
        self._words = [word if index == 0 else f" {word}" for index, word in enumerate(RESPONSE.split())]

    async def process_frame(self, frame: frames.Frame, direction: FrameDirection) -> None:
        """Answer a context, pass on what else comes; an interruption cancels this in the middle."""
        await super().process_frame(frame, direction)
        if not isinstance(frame, frames.LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        now_s = asyncio.get_running_loop().time
        due_s = now_s() + TTFT_S
        await self.push_frame(frames.LLMFullResponseStartFrame())
        try:
            for word in self._words:
                await asyncio.sleep(max(0.0, due_s - now_s()))
                await self.push_frame(frames.LLMTextFrame(word))
                due_s += WORD_S
        finally:
            await self.push_frame(frames.LLMFullResponseEndFrame())


class FixedTTS(TTSService):
    """A tone for each sentence, as long as its text, that comes whole after a while."""

    def __init__(self) -> None:
        settings = TTSSettings(model=None, voice=None, language=None)
        super().__init__(push_start_frame=True, push_stop_frames=True, settings=settings)

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[frames.Frame | None, None]:
        """The tone, at a quarter of full scale."""
        await asyncio.sleep(SYNTHESIS_S)
        tone = _tone(round(len(text) * CHARACTER_S * self.sample_rate), self.sample_rate)
        yield frames.TTSAudioRawFrame(tone, self.sample_rate, 1, context_id=context_id)


class CompactTwilioSerializer(TwilioFrameSerializer):
    """Begins messages without a space, as Twilio's own do: that is how the callers know sound."""

    async def serialize(self, frame: frames.Frame) -> str | bytes | None:
        """A message of Pipecat's."""
        message = await super().serialize(frame)
        return message.replace('{"event": ', '{"event":', 1) if isinstance(message, str) else message


class Server(uvicorn.Server):
    """Reports its address."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and print the address."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what lives until the end is not to be searched again and again
        host, port = self.servers[0].sockets[0].getsockname()
        print(f"http://{host}:{port}", flush=True)


@app.websocket("/telephony/twilio")
async def take_call(websocket: WebSocket) -> None:
    """One call, until its caller hangs up."""
    await websocket.accept()
    _, call = await parse_telephony_websocket(websocket)
    # Each call has a model of its own; loading it must not stop the other calls.
    vad = await asyncio.to_thread(SileroVADAnalyzer, params=VADParams(stop_secs=SILENCE_S))
    serializer = CompactTwilioSerializer(
        call["stream_id"], params=TwilioFrameSerializer.InputParams(auto_hang_up=False)
    )
    transport = FastAPIWebsocketTransport(
        websocket,
        FastAPIWebsocketParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            serializer=serializer,
        ),
    )
    # A turn is over with the transcript of what was said before the silence: no smart-turn model, and none
    # of the 0.6 s of patience that this strategy has by default.
    strategies = UserTurnStrategies(
        start=[VADUserTurnStartStrategy()], stop=[SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=0.0)]
    )
    context = LLMContext([{"role": "system", "content": "You are a helpful assistant."}])
    user, assistant = LLMContextAggregatorPair(
        context, user_params=LLMUserAggregatorParams(user_turn_strategies=strategies, vad_analyzer=vad)
    )
    stages = [transport.input(), FixedSTT(), user, FixedLLM(), FixedTTS(), transport.output(), assistant]
    worker = PipelineWorker(
        Pipeline(stages),
        params=PipelineParams(audio_in_sample_rate=RATE_HZ, audio_out_sample_rate=RATE_HZ),
        enable_rtvi=False,
        enable_turn_tracking=False,
        idle_timeout_secs=None,  # which would take an observer
    )
    # A call that is over is held by cycles of references, and a model of 10 MB with it: the collector leaves
    # dozens of them lying unless it is forced.
    runner = WorkerRunner(handle_sigint=False, force_gc=True)
    await runner.add_workers(worker)

    async def hang_up(*_: object) -> None:
        await runner.cancel()

    transport.add_event_handler("on_client_disconnected", hang_up)
    await runner.run()


def main() -> None:
    """Serve on a free port, whatever the arguments are."""
    FixedLLM(), SileroVADAnalyzer()  # else the first call waits while what they need is imported
    Server(uvicorn.Config(app, host="127.0.0.1", port=0, loop="uvloop", log_level="warning")).run()


@cache
def _tone(samples: int, rate_hz: int) -> bytes:
    wave = 0.25 * 32_767 * np.sin(2 * np.pi * TONE_HZ * np.arange(samples) / rate_hz)
    return wave.astype(np.int16).tobytes()


if __name__ == "__main__":
    main()
