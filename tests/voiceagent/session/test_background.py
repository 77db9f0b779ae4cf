"""Background sounds in a call: they fill what speech leaves free, and cost calls without them nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import numpy as np
import pytest
import structlog
from call_services import speaking
from call_settings import call_settings
from structlog.testing import capture_logs

from audio.mixer import DUCKED_GAIN
from audio.pcm import AudioFormat, Samples
from audio.synthesizers import Speech
from audio.wav import write_wav
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.events import Event, PlayoutPlayed
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.session.background import Background
from voiceagent.session.speaking import Speaker
from voiceagent.session.timers import Pacer

RATE_HZ = 8_000
LEVEL = 8_000
SPEECH = np.full(RATE_HZ // 2, 1_000, np.int16)
"""Half a second."""


class Mouth:
    rate_hz = RATE_HZ

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(SPEECH)


class Line:
    """One call's output. heard: what the client plays, each sample at its time since the line began."""

    def __init__(self, services, can_play: bool = True) -> None:
        self.loop = asyncio.get_running_loop()
        self.began_s = self.loop.time()
        self.names: list[str] = []
        self.heard = np.zeros(0, np.int16)
        self.posted: list[Event] = []
        log = structlog.get_logger()
        self.background = Background(lambda frame, _: self.play("", frame), services, log, can_play)
        self.speaker = Speaker(
            lambda name, frame, _: self.play(name, frame),
            self.clear,
            services,
            self.posted.append,
            lambda name, at_s: None,
            self.background,
        )
        for part in (self.background, self.speaker):
            part.configure(call_settings(output_format=AudioFormat.PCM_8K))

    @property
    def now(self) -> int:
        return round((self.loop.time() - self.began_s) * RATE_HZ)

    def play(self, name: str, frame: Samples) -> None:
        self.names.append(name)
        gap = max(0, self.now - len(self.heard))
        self.heard = np.concatenate((self.heard, np.zeros(gap, np.int16), frame))

    def clear(self) -> None:
        self.heard = self.heard[: self.now]

    async def start(self, path) -> int:
        number = self.background.start(str(path), 1.0)
        while not self.background.active:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return number


@pytest.fixture(name="hum")
def a_hum(tmp_path):
    """A file that is the same at each sample, so that its level can be read from each."""
    write_wav(tmp_path / "hum.wav", np.full(RATE_HZ, LEVEL, np.int16), RATE_HZ)
    return tmp_path / "hum.wav"


def in_line(play, can_play: bool = True) -> Line:
    """Run `play(line)` in virtual time and return the line."""

    async def run() -> Line:
        loop = asyncio.get_running_loop()
        line = Line(await speaking(Mouth(), AgentConfig(filler=""), Pacer(loop.time)), can_play)
        await play(line)
        line.speaker.close()
        line.background.close()
        return line

    return run_virtually(run())


def test_a_sound_fills_the_line_without_a_gap_until_it_is_stopped(hum):
    async def play(line: Line) -> None:
        number = await line.start(hum)
        await asyncio.sleep(1.0)
        line.background.stop(number)
        await asyncio.sleep(0.5)
        assert not line.background.active
        await asyncio.sleep(0.5)

    heard = in_line(play).heard
    sounding = heard[np.flatnonzero(heard)[0] : np.flatnonzero(heard)[-1]]
    assert 1.0 <= len(sounding) / RATE_HZ < 1.1
    assert (sounding[200:-200] == LEVEL).all()


def test_speech_follows_the_sound_that_was_sent_and_ducks_it(hum):
    async def play(line: Line) -> None:
        await line.start(hum)
        await asyncio.sleep(0.5)
        line.speaker.play("r1", SPEECH)
        line.speaker.finish("r1")
        await asyncio.sleep(1.0)
        assert line.posted[-1] == PlayoutPlayed("r1")

    line = in_line(play)
    spoken = [index for index, name in enumerate(line.names) if name == "r1"]
    assert spoken == list(range(spoken[0], spoken[0] + 25)), (
        "no frame of the sound is between those of speech"
    )
    begin = spoken[0] * 160 + (len(line.heard) - len(line.names) * 160)
    under = line.heard[begin + 400 : begin + len(SPEECH)]
    assert (under == 1_000 + round(LEVEL * DUCKED_GAIN)).all()
    assert line.heard[begin - 1] == LEVEL


def test_the_sound_fills_the_time_in_which_speech_is_held_and_what_was_played_stays_exact(hum):
    async def play(line: Line) -> None:
        await line.start(hum)
        line.speaker.play("r1", SPEECH)
        await asyncio.sleep(0.2)
        line.speaker.hold()
        await asyncio.sleep(0.3)
        held_s = line.speaker.position[1]
        await asyncio.sleep(0.1)
        assert line.speaker.position == ("r1", held_s)
        line.speaker.restore()
        await asyncio.sleep(0.1)
        played_s = line.speaker.stop("r1")
        speech = [name for name in line.names if name == "r1"]
        # of what the client got, the part that it kept is what counts as played
        kept = line.heard[: line.now]
        assert played_s < len(speech) * 0.02
        assert held_s < played_s <= held_s + 0.1
        assert line.background.pop_dropped_s() == pytest.approx(0.06, abs=0.025)
        assert len(kept) == line.now, "the client never ran dry"
        line.background.close()

    in_line(play)


def test_after_an_interruption_the_sound_goes_on(hum):
    async def play(line: Line) -> None:
        await line.start(hum)
        line.speaker.play("r1", SPEECH)
        await asyncio.sleep(0.2)
        line.speaker.stop("r1")
        line.names.clear()
        await asyncio.sleep(0.2)

    assert set(in_line(play).names) == {""}


def test_without_a_sound_frames_pass_as_they_are_and_no_timer_runs():
    async def play(line: Line) -> None:
        line.speaker.play("r1", SPEECH)
        line.speaker.finish("r1")
        await asyncio.sleep(1.0)
        assert not line.background.active

    line = in_line(play)
    assert line.heard.tobytes() == SPEECH.tobytes()
    assert line.background.pop_dropped_s() is None


def test_a_client_that_plays_speech_only_gets_no_sound(hum):
    async def play(line: Line) -> None:
        line.background.start(str(hum), 1.0)
        line.speaker.play("r1", SPEECH)
        line.speaker.finish("r1")
        await asyncio.sleep(1.0)
        assert line.background.sounds == (str(hum),)

    assert in_line(play, can_play=False).heard.tobytes() == SPEECH.tobytes()


def test_a_file_that_cannot_be_read_is_logged_and_plays_nothing(tmp_path):
    (tmp_path / "broken.wav").write_bytes(b"no audio")

    async def play(line: Line) -> None:
        line.background.start(str(tmp_path / "broken.wav"), 1.0)
        while line.background.sounds:  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    with capture_logs() as logs:
        assert not len(in_line(play).heard)
    assert [entry["event"] for entry in logs] == ["background_failed"]
    assert "broken.wav" in logs[0]["reason"]


def test_a_change_of_the_clients_rate_keeps_the_sound(hum):
    async def play(line: Line) -> None:
        await line.start(hum)
        await asyncio.sleep(0.1)
        line.background.configure(call_settings(output_format=AudioFormat.PCM_24K))
        while line.names.clear() or len(line.heard) < 4_000:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    assert in_line(play).heard[-1] == pytest.approx(LEVEL, abs=2)
