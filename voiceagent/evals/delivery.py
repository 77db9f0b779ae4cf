"""The sound of a caller's lines: voice, pauses, and the line that carries them.

Runs differ as callers do: in loudness, speed, length of pauses, and where frames cut the sound.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from audio.jitter import Gap, JitterBuffer, MediaPacket
from audio.opus import OpusDecoder
from audio.pcm import Samples
from audio.resample import resample
from audio.surroundings import TELEPHONE_HZ, gain, over_telephone, random_noise, samples_of, stretched
from voiceagent.bench.caller import FRAME_S
from voiceagent.bench.webrtc_connection import PERFECT, Line
from voiceagent.bench.wires import WebRtcWire, frames_of
from voiceagent.evals.scenario import PAUSE, LineConfig, Persona
from voiceagent.transports.local_call import FORMAT
from voiceagent.transports.webrtc.media import CALLER_HZ, FRAME_TICKS, RTP_HZ, sound_of

_SILENCE_S = 0.5
"""Silence before and after a recording, so that losses at its ends are concealed too."""


def over_line(sound: Samples, line: Line, seed: str) -> Samples:
    """Return a recording [n] at 24 kHz as received over such a line; `seed` decides on the losses."""
    if line == PERFECT:
        return sound
    silence = np.zeros(round(_SILENCE_S * FORMAT.rate_hz), np.int16)
    wire = WebRtcWire(0.0, line.loss)
    packets = frames_of(wire, np.concatenate([silence, sound, silence]))
    heard = np.concatenate(list(_heard(packets, line, Random(seed))))
    return resample(heard, CALLER_HZ, FORMAT.rate_hz)[len(silence) :][: len(sound)]


def _heard(packets: Sequence[bytes], line: Line, random: Random) -> Iterator[Samples]:
    """Yield the received audio at `CALLER_HZ`; the first packet always arrives, as it starts the clock."""
    buffer, decoder = JitterBuffer(RTP_HZ), OpusDecoder(CALLER_HZ)

    def decoded(ready: list[MediaPacket | Gap]) -> Iterator[Samples]:
        return (sound_of(piece, decoder) for piece in ready)

    for now_s, number in _arrivals(len(packets), line, random):
        while (due_s := buffer.next_due_s()) is not None and due_s <= now_s:
            yield from decoded(buffer.due(due_s))
        packet = MediaPacket(number, number * FRAME_TICKS, packets[number], FRAME_TICKS)
        yield from decoded(buffer.push(packet, now_s))
    while (due_s := buffer.next_due_s()) is not None:
        yield from decoded(buffer.due(due_s))


def _arrivals(count: int, line: Line, random: Random) -> list[tuple[float, int]]:
    """Return arrival time and number of the packets that arrive, in order of arrival."""
    return sorted(
        (number * FRAME_S + random.uniform(0, line.jitter_s), number)
        for number in range(count)
        if random.random() >= line.loss or not number
    )


RATE_HZ = FORMAT.rate_hz
_USUAL_PAUSE_S, _MAX_PAUSE_S = 1.0, 10.0
_HESITATES_S = (0.6, 1.4)
"""Range of the pauses of a caller with that habit."""
_SPEEDS = (0.94, 1.06)
"""Range of the speeds in which runs differ."""
_LEVELS_DB = (-4.0, 2.0)
_MAX_SHIFT_S = 0.032
"""Range of the shifts in which runs differ: a window of voice activity detection."""
_VOICE_LEVEL = 4_000.0
"""RMS of the loudest tenth of a line, in 16-bit samples: -18 dBFS."""
_VOICED = 100
"""Smallest sample that is voice rather than the synthesizer's silence."""
_NOISE_S = 10.0
_ECHO_DELAY_S = 0.08
"""From the loudspeaker to the microphone and back through the line."""
_PIECE_GAP_S = 0.05
Speak = Callable[[str], Awaitable[Samples]]
"""Returns a text as audio [n] at 24 kHz, without silence around it."""


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """A line as it is sent: audio [n] at 24 kHz. begin_s, end_s: its first and last voiced sample."""

    sound: Samples
    begin_s: float
    end_s: float


class Delivery:
    """The way in which the caller of one run speaks. speak: the synthesizer."""

    def __init__(self, persona: Persona, line: LineConfig, random: Random, speak: Speak) -> None:
        self._persona = persona
        self._line = line
        self._random = random
        self._speak = speak
        self._speed = persona.speed * random.uniform(*_SPEEDS)
        self._gain = gain(random.uniform(*_LEVELS_DB))

    @property
    def backchannels(self) -> bool:
        """True if the caller says "mm-hmm" while the agent speaks."""
        return "backchannels" in self._persona.habits

    async def say(self, text: str) -> SpokenLine:
        """Return a line as the agent's server receives it, without noise and echo."""
        sounds: list[Samples] = [_silence(self._random.uniform(0, _MAX_SHIFT_S))]
        parts = parts_of(text)
        if "pauses" in self._persona.habits and len(parts) == 1:
            parts = hesitating(text, self._random)
        for words, pause_s in parts:
            if words:
                sounds.append(self._at_speed(_voiced(await self._speak(words))))
            sounds.append(_silence(pause_s))
        sound = np.concatenate(sounds)
        voiced = np.flatnonzero(np.abs(sound.astype(np.int32)) >= _VOICED)
        if not len(voiced):
            return SpokenLine(sound, 0.0, len(sound) / RATE_HZ)
        begin_s, end_s = float(voiced[0]) / RATE_HZ, float(voiced[-1] + 1) / RATE_HZ
        return SpokenLine(self._over_line(self._level(sound), text), begin_s, end_s)

    def _at_speed(self, sound: Samples) -> Samples:
        return samples_of(stretched(sound.astype(np.float64), min(2.0, max(0.5, self._speed))))

    def _level(self, sound: Samples) -> Samples:
        window = RATE_HZ // 100
        padded = np.pad(sound, (0, -len(sound) % window)).astype(np.float64)
        loudest = np.sqrt(np.percentile(np.mean(padded.reshape(-1, window) ** 2, axis=1), 90))
        return samples_of(sound.astype(np.float64) * (_VOICE_LEVEL * self._gain / max(1.0, float(loudest))))

    def _over_line(self, sound: Samples, text: str) -> Samples:
        if self._line.kind == "telephone":
            return over_telephone(sound.astype(np.float64), RATE_HZ, *TELEPHONE_HZ)
        if self._line.kind == "loss":
            padded = np.concatenate([sound, _silence(0.1)])
            return over_line(padded, Line(self._line.loss, 0.0), f"{text} {self._gain}")[: len(sound)]
        return sound


class Microphone:
    """The caller's microphone: adds noise, and on a speakerphone the agent's voice."""

    def __init__(self, line: LineConfig, seed: int) -> None:
        self._noise: Samples | None = None
        self._echo_gain = gain(-line.echo_db) if line.kind == "speakerphone" else 0.0
        if line.kind == "noise":
            generator = np.random.default_rng(seed)
            wave = random_noise(round(_NOISE_S * RATE_HZ), generator, RATE_HZ)
            self._noise = samples_of(wave * _VOICE_LEVEL * gain(-line.noise_db))
        self._loudspeaker = np.zeros(round(_NOISE_S * RATE_HZ), np.int16)

    def play(self, sound: Samples, begin_s: float) -> None:
        """Play audio of the agent [n] from this second of the call on."""
        if not self._echo_gain:
            return
        begin = round((begin_s + _ECHO_DELAY_S) * RATE_HZ)
        while begin + len(sound) > len(self._loudspeaker):
            self._loudspeaker = np.concatenate([self._loudspeaker, np.zeros_like(self._loudspeaker)])
        self._loudspeaker[begin : begin + len(sound)] = sound

    def clear(self, now_s: float) -> None:
        """Drop audio that was not played by then."""
        self._loudspeaker[round((now_s + _ECHO_DELAY_S) * RATE_HZ) :] = 0

    def mix(self, voice: Samples, begin: int) -> Samples:
        """Return a frame of the caller's voice [n] as it is sent. begin: its first sample's number."""
        if self._noise is None and not self._echo_gain:
            return voice
        mixed = voice.astype(np.float64)
        if self._noise is not None:
            mixed += np.take(self._noise, np.arange(begin, begin + len(voice)), mode="wrap")
        if self._echo_gain:
            echo = self._loudspeaker[begin : begin + len(voice)] * self._echo_gain
            mixed[: len(echo)] += echo
        return samples_of(mixed)


def parts_of(text: str) -> list[tuple[str, float]]:
    """Return the words of a line and the pause after each part, in seconds."""
    pieces = PAUSE.split(text)
    words = [" ".join(piece.split()) for piece in pieces[::2]]
    pauses = [min(_MAX_PAUSE_S, float(pause or _USUAL_PAUSE_S)) for pause in pieces[1::2]]
    return list(zip(words, [*pauses, 0.0], strict=True))


def words_in(text: str) -> str:
    """Return a line without its marks."""
    return " ".join(words for words, _ in parts_of(text) if words)


def hesitating(text: str, random: Random) -> list[tuple[str, float]]:
    """Return a line with a pause before one of its later words; a short line without one."""
    words = text.split()
    if len(words) < 6:
        return [(text, 0.0)]
    at = random.randrange(2, len(words) - 2)
    return [(" ".join(words[:at]), random.uniform(*_HESITATES_S)), (" ".join(words[at:]), 0.0)]


def _voiced(sound: Samples) -> Samples:
    """Return audio without the silence around it."""
    voiced = np.flatnonzero(np.abs(sound.astype(np.int32)) >= _VOICED)
    if not len(voiced):
        return sound
    gap = round(_PIECE_GAP_S * RATE_HZ)
    return sound[max(0, int(voiced[0]) - gap) : int(voiced[-1]) + gap]


def _silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE_HZ), np.int16)
