"""`voiceagent talk --mic` with a simulated device; the error where there is none."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from fixed_config import write_config
from served import served
from sounds import voice_like
from websockets.asyncio.client import ClientConnection

from audio.pcm import Samples
from audio.resample import resample
from voiceagent.cli.main import main
from voiceagent.cli.microphone import BLOCK, Exchange, run_call, sound_card
from voiceagent.cli.remote_call import OVERFLOW, connected
from voiceagent.validation.errors import CommandFailed

BLOCK_S = 0.02


class Person:
    """At a microphone: says something once, and listens. played: what the loudspeaker had to play."""

    def __init__(self, words: Samples) -> None:
        self._words = words
        self.played: list[Samples] = []

    @contextmanager
    def device(self, exchange: Exchange) -> Iterator[None]:
        """The person's microphone and loudspeaker, in a thread of their own as a sound card's are."""
        over = threading.Event()
        thread = threading.Thread(target=self._run, args=(exchange, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _run(self, exchange: Exchange, over: threading.Event) -> None:
        at, due_s = 0, time.monotonic()
        while not over.is_set():
            block = self._words[at : at + BLOCK]
            at += BLOCK
            self.played.append(exchange(np.pad(block, (0, BLOCK - len(block)))))
            due_s += BLOCK_S
            time.sleep(max(0.0, due_s - time.monotonic()))


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with served(write_config(tmp_path, "")) as address:
        yield address


async def test_who_speaks_into_the_microphone_hears_the_answer(address: str) -> None:
    person, shown, answered = Person(resample(voice_like(60), 16_000, 24_000)), [], asyncio.Event()

    def show(line: str) -> None:
        shown.append(line)
        if line.startswith("agent:"):
            answered.set()

    async with connected(f"http://{address}", "voiceagent", "") as connection, asyncio.timeout(20):
        call = asyncio.create_task(run_call(person.device, connection, show))
        await answered.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    assert shown[0].startswith("Speak; Ctrl-C hangs up.")
    assert shown[1] == "you:    Could you help me with something?"
    assert shown[2].startswith("agent:  Sure, I can help you with that.")
    assert np.abs(np.concatenate(person.played)).max() > 1_000, "the loudspeaker was not silent"


class ToldOfAPause:
    """A connection over which the server reports dropped sound, and continues."""

    close_reason = "the agent hung up"

    async def send(self, message: str) -> None: ...

    async def __aiter__(self) -> AsyncIterator[str]:
        yield json.dumps({"type": "error", "error": {"code": OVERFLOW, "message": "sound is dropped"}})
        heard = {"type": "conversation.item.input_audio_transcription.completed", "transcript": "Hello?"}
        yield json.dumps(heard)


async def test_sound_that_was_dropped_after_a_pause_is_told_and_the_call_goes_on() -> None:
    shown: list[str] = []
    person = Person(np.zeros(0, np.int16))
    await run_call(person.device, cast("ClientConnection", ToldOfAPause()), shown.append)
    assert shown[1:] == ["error:  sound is dropped", "you:    Hello?", "The call is over: the agent hung up."]


def library(**parts: Any) -> SimpleNamespace:
    return SimpleNamespace(PortAudioError=type("PortAudioError", (Exception,), {}), **parts)


def test_a_machine_without_a_microphone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def stream(**_: object) -> None:
        raise made.PortAudioError("Error querying device -1")

    made = library(Stream=stream)
    monkeypatch.setitem(sys.modules, "sounddevice", made)
    told = "no microphone and loudspeaker at 24 kHz: Error querying device -1; python -m sounddevice lists"
    with pytest.raises(CommandFailed, match=told), sound_card(lambda block: block):
        pass


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    told = r"--mic needs sounddevice: pip install 'voiceagent-server\[mic\]'"
    with pytest.raises(CommandFailed, match=told), sound_card(lambda block: block):
        pass


def test_without_portaudio_what_brings_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    told = "--mic needs PortAudio: PortAudio library not found: .* apt install libportaudio2"
    with pytest.raises(CommandFailed, match=told), sound_card(lambda block: block):
        pass


def test_sound_goes_through_the_card_as_one_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    @contextmanager
    def stream(**options: Any) -> Iterator[None]:
        made.append(options)
        yield

    monkeypatch.setitem(sys.modules, "sounddevice", library(Stream=stream))
    with sound_card(lambda block: block + 1):
        played = np.zeros((3, 1), np.int16)
        made[0]["callback"](np.array([[1], [2], [3]], np.int16), played, 3, None, None)
    assert played[:, 0].tolist() == [2, 3, 4]
    assert (made[0]["samplerate"], made[0]["blocksize"], made[0]["channels"]) == (24_000, BLOCK, 1)


def test_a_microphone_without_a_server_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["talk", "--mic"]) == 1
    assert "--mic needs --url" in capsys.readouterr().err
