"""A call to a running server by microphone and loudspeaker: `voiceagent talk --mic`."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from audio.pcm import Samples
from voiceagent.cli.remote_call import OVERFLOW
from voiceagent.transports.local_call import FORMAT
from voiceagent.validation.errors import CommandFailed

MAX_WAITING_S = 10.0
"""Maximum microphone audio to buffer for a slow network; the oldest is dropped."""


class SoundLoop:
    """Microphone to call, and call to loudspeaker.

    rate_hz: of both. block: samples per callback of the device. `exchange` runs on the device's thread, the
    rest on the call's. Each side appends at one end of a deque and pops from the other, which needs no lock;
    a cut may leave the chunk that is being played.
    """

    def __init__(self, rate_hz: int, block: int) -> None:
        self._captured: deque[Samples] = deque(maxlen=round(MAX_WAITING_S * rate_hz / block))
        self._playing: deque[Samples] = deque()

    def exchange(self, captured: Samples) -> Samples:
        """Add [n] captured samples; return [n] to play, silence if there are none."""
        self._captured.append(captured.copy())  # the device reuses its buffer
        played = np.zeros(len(captured), np.int16)
        at = 0
        while at < len(played):
            try:
                piece = self._playing.popleft()
            except IndexError:
                break
            now = piece[: len(played) - at]
            played[at : at + len(now)] = now
            at += len(now)
            if len(now) < len(piece):
                self._playing.appendleft(piece[len(now) :])
        return played

    def pop_captured(self) -> Samples | None:
        """Remove and return the oldest captured chunk; None if there is none."""
        return self._captured.popleft() if self._captured else None

    def play(self, sound: Samples) -> None:
        """Queue [n] samples of the agent."""
        self._playing.append(sound)

    def clear_playback(self) -> None:
        """Drop queued audio: the agent was interrupted."""
        self._playing.clear()


BLOCK = round(FORMAT.rate_hz * 0.02)
"""Samples per callback of the device: 20 ms."""

Exchange = Callable[[Samples], Samples]
"""Called on the device's thread with [BLOCK] captured samples; returns as many to play."""
Device = Callable[[Exchange], AbstractContextManager[None]]
"""Microphone and loudspeaker, int16 mono at 24 kHz, active while the context lasts."""


@contextmanager
def sound_card(exchange: Exchange) -> Iterator[None]:
    """Open the default microphone and loudspeaker. Raises CommandFailed."""
    try:
        import sounddevice  # type: ignore[import-untyped]  # noqa: PLC0415  only this needs it
    except ImportError as error:
        raise CommandFailed("--mic needs sounddevice: pip install 'voiceagent-server[mic]'") from error
    except OSError as error:
        hint = "its library is not installed; on Debian: apt install libportaudio2"
        raise CommandFailed(f"--mic needs PortAudio: {error}: {hint}") from error

    def callback(captured: Any, played: Any, *_: object) -> None:
        played[:, 0] = exchange(captured[:, 0])

    try:
        stream = sounddevice.Stream(
            samplerate=FORMAT.rate_hz, blocksize=BLOCK, channels=1, dtype="int16", callback=callback
        )
    except (sounddevice.PortAudioError, ValueError) as error:
        raise CommandFailed(
            f"no microphone and loudspeaker at 24 kHz: {error}; python -m sounddevice lists what there is"
        ) from error
    with stream:
        yield


async def run_call(device: Device, connection: ClientConnection, show: Callable[[str], None]) -> None:
    """Run the call until the server ends it or this is cancelled.

    show: receives the start, each turn as it is said, and the reason of the end. Raises CommandFailed.
    """
    sound, captured, loop = SoundLoop(FORMAT.rate_hz, BLOCK), asyncio.Event(), asyncio.get_running_loop()

    def exchange(block: Samples) -> Samples:
        played = sound.exchange(block)
        loop.call_soon_threadsafe(captured.set)
        return played

    with device(exchange):
        show("Speak; Ctrl-C hangs up. With headphones the agent does not hear itself.")
        sending = asyncio.create_task(_send(sound, captured, connection))
        try:
            await _receive(sound, connection, show)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


async def _send(sound: SoundLoop, captured: asyncio.Event, connection: ClientConnection) -> None:
    while True:
        await captured.wait()
        captured.clear()
        while (block := sound.pop_captured()) is not None:
            audio = b64encode(block.astype("<i2").tobytes()).decode("ascii")
            await connection.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))


async def _receive(sound: SoundLoop, connection: ClientConnection, show: Callable[[str], None]) -> None:
    said = ""
    try:
        async for message in connection:
            event: Mapping[str, Any] = json.loads(message)
            match event["type"]:
                case "response.output_audio.delta":
                    sound.play(np.frombuffer(b64decode(event["delta"]), "<i2").astype(np.int16))
                case "conversation.item.input_audio_transcription.completed":
                    show(f"you:    {event['transcript'].strip()}")
                case "response.output_audio_transcript.delta":
                    said += event["delta"]
                case "response.done":
                    cancelled = event["response"]["status"] == "cancelled"
                    if cancelled:
                        sound.clear_playback()
                    if said.strip():
                        show(f"agent:  {said.strip()}{' ...' if cancelled else ''}")
                    said = ""
                case "error" if event["error"]["code"] == OVERFLOW:
                    show(f"error:  {event['error']['message']}")
                case "error":
                    raise CommandFailed(str(event["error"]["message"]))
        show(f"The call is over: {connection.close_reason}.")
    except ConnectionClosed as error:
        raise CommandFailed(f"the server ended the call: {error}") from error
