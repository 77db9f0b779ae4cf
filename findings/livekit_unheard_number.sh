#!/usr/bin/env bash
# livekit-agents 1.8.9: a caller who interrupts in the middle of a telephone number is, in the agent's history, one who heard
# all of it and the words after it.
#
# After an interruption the history keeps what the caller heard, as `TranscriptSynchronizer` finds it from the time played. That
# it is an estimate is known; one expects a word too many. It counts syllables, and a word of digits is one syllable, however long
# it takes to say: of eleven digits, that last 3.4 s, it is one. A number is where callers interrupt ("wait, let me find a
# pen"), and there the model reads that it has told all of it, and has no reason to say it again. Nothing warns; an order number
# of seven digits is the same. What helps: digits with spaces between them. Not tried here: a voice that gives times, with
# `use_tts_aligned_transcript`, which is off unless asked for.
# Output seen: after 2 s the caller has heard five of eleven digits, and the history has the whole number; after 3 s eight, and
# the history has "and they are", too. With spaces between the digits both agree to two words.
# Seen with livekit-agents 1.8.9, livekit 1.1.21, espeakng-loader 0.2.4, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile livekit-agents==1.8.9 livekit==1.1.21 espeakng-loader==0.2.4
cat > "$folder/number.py" <<'PYTHON'
import asyncio
from ctypes import CDLL, CFUNCTYPE, POINTER, Structure, c_char, c_int, c_short, c_void_p, string_at
from importlib.metadata import version
from itertools import count, takewhile
from types import SimpleNamespace

import espeakng_loader
import livekit.agents.voice.transcription.synchronizer as module
from livekit import rtc
from livekit.agents.voice import io

TOGETHER = "The number is 02079460958, and they are open from nine in the morning until six in the evening."
APART = TOGETHER.replace("02079460958", "0 2 0 7 9 4 6 0 9 5 8")
espeak = CDLL(espeakng_loader.get_library_path())
HZ = espeak.espeak_Initialize(2, 0, str(espeakng_loader.get_data_path()).encode(), 0)
FRAME = HZ // 50
loop, clock = asyncio.SelectorEventLoop(), SimpleNamespace(now=1_000.0)
select = loop._selector.select


def wait(timeout):  # for nothing: only the loop's clock goes on, so that a busy machine changes no figure
    ready = select(0)
    clock.now += 0 if ready else timeout or 0
    return ready


loop._selector.select, loop.time = wait, lambda: clock.now
module.time = SimpleNamespace(time=loop.time)


class Event(Structure):
    _fields_ = [(name, c_int) for name in ("kind", "id", "place", "length", "ms", "sample")]
    _fields_ += [("user", c_void_p), ("name", c_char * 8)]


def speak(text: str) -> tuple[bytes, list[tuple[float, int]]]:
    """Return the sound of a text, and the second at which each word begins, with its place in the text."""
    sound, words = bytearray(), []

    @CFUNCTYPE(c_int, POINTER(c_short), c_int, POINTER(Event))
    def hear(samples, length, events):
        sound.extend(string_at(samples, 2 * length) if samples else b"")
        for event in takewhile(lambda event: event.kind, (events[number] for number in count())):
            words.extend([(event.ms / 1000, event.place - 1)] if event.kind == 1 else [])
        return 0

    espeak.espeak_SetSynthCallback(hear)
    espeak.espeak_Synth(text.encode(), len(text) + 1, 0, 1, 0, 1, None, None)
    return bytes(sound), words


class Player(io.AudioOutput):
    def __init__(self) -> None:
        super().__init__(label="player", capabilities=io.AudioOutputCapabilities(pause=True), sample_rate=HZ)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        await super().capture_frame(frame)

    def flush(self) -> None:
        super().flush()
        self.on_playback_started(created_at=clock.now)

    def clear_buffer(self) -> None:
        self.on_playback_finished(playback_position=second, interrupted=True)


async def history(text: str, sound: bytes) -> str:
    """Return what the history keeps of a text that is interrupted after `second`."""
    synchronizer = module.TranscriptSynchronizer(next_in_chain_audio=Player(), next_in_chain_text=None)
    await synchronizer.text_output.capture_text(text)
    synchronizer.text_output.flush()
    for start in range(0, len(sound), 2 * FRAME):
        part = sound[start : start + 2 * FRAME]
        await synchronizer.audio_output.capture_frame(rtc.AudioFrame(part, HZ, 1, len(part) // 2))
    synchronizer.audio_output.flush()
    await asyncio.sleep(second)
    synchronizer.audio_output.clear_buffer()
    played = await synchronizer.audio_output.wait_for_playout()
    await synchronizer.aclose()
    return played.synchronized_transcript


print(f"livekit-agents {version('livekit-agents')}, livekit {version('livekit')}")
(together, _), (apart, words) = speak(TOGETHER), speak(APART)
assert abs(len(together) - len(apart)) < 0.1 * HZ * 2, "the two texts do not sound alike"
for second in (1, 2, 3):
    heard = APART[: next(place for begins, place in words if begins > second)].strip()
    kept, spaced = (loop.run_until_complete(history(*spoken)) for spoken in ((TOGETHER, together), (APART, apart)))
    print(f"  after {second} s heard: {heard!r}; history: {kept!r}; with spaces: {spaced!r}")
    assert abs(len(spaced.split()) - len(heard.split())) <= 2, "with spaces it is no better"
    assert second == 1 or "02079460958," in kept, "the history no longer has digits that were not heard"
PYTHON
"$folder/venv/bin/python" "$folder/number.py"
