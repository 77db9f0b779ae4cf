"""Output of a listener, for any framing of its sound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
from call_services import call_monitor, hearing
from call_settings import call_settings, turn_detection
from sounds import said

from audio.detection.front_end import FrontEnd
from audio.pcm import AudioFormat, Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis
from audio.resample import resample
from audio.speech_events import (
    SpeechPaused,
    SpeechStarted,
    TurnEnded,
    VoiceLouder,
    VoiceNoticed,
)
from voiceagent.bench.speech import voice_end_s
from voiceagent.conversation.events import Event
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.listening import Listener
from voiceagent.session.turn_detection import OVER_AGENT_S

SETTINGS = call_settings()
PATIENT = call_settings(turn_detection=turn_detection("semantic_vad"))
"""A turn ends after a second and a half of silence, as nobody says what it is about."""
RATE_HZ = SETTINGS.input_format.rate_hz
FRAME = RATE_HZ // 50


class Ears:
    """Keeps the audio that it should recognize."""

    def __init__(self) -> None:
        self.utterances = 0
        self.heard: list[Samples] = []
        self.flushes: list[Flush] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        self.utterances += 1
        async for item in sound:
            if isinstance(item, Flush):
                self.flushes.append(item)
            else:
                self.heard.append(item)
        yield Hypothesis("")


@pytest.fixture(name="voice", scope="module")
def a_voice() -> Samples:
    """A voice with half a second of silence around it, at the rate of a call."""
    spoken = asyncio.run(said("Go forward ten meters."))
    return np.pad(resample(spoken, SAMPLE_RATE_HZ, RATE_HZ), RATE_HZ // 2)


def listening(settings: CallSettings = SETTINGS) -> tuple[Listener, list[Event], Ears]:
    """A listener, what it posts, and what it recognizes with."""
    front_end, events, ears = FrontEnd(tick_s=0.0), list[Event](), Ears()
    front_end.start()
    heard = hearing(ears, front_end, input_buffer_s=60.0)
    return Listener(heard, time.monotonic, settings, events.append, call_monitor()), events, ears


async def hear(listener: Listener, sound: Samples, frame: int = FRAME, plays: bool = False) -> None:
    """Push the sound frame by frame. plays: with a frame of the agent's each."""
    for begin in range(0, len(sound), frame):
        listener.hear(sound[begin : begin + frame])
        if plays:
            listener.on_output_frame(np.zeros(frame, np.int16))
        await asyncio.sleep(0.001)  # voice activity is judged


@pytest.mark.parametrize("frame", [FRAME // 2, FRAME, RATE_HZ // 10])
async def test_the_size_of_frames_does_not_move_a_voice(voice: Samples, frame: int) -> None:
    whole, whole_events, _ = listening()
    whole.hear(voice)
    await asyncio.sleep(0.5)
    listener, events, _ = listening()
    await hear(listener, voice, frame)
    told = [event for event in events if isinstance(event, SpeechStarted | SpeechPaused | TurnEnded)]
    assert len(told) >= 3
    assert told == [event for event in whole_events if type(event) in map(type, told)]


async def test_a_window_is_judged_with_its_last_frame() -> None:
    """Of frames of 20 ms it takes the windows of 32 ms two at first, then two, one, two, one."""
    listener, _, ears = listening()
    listener.start_recognition("item_1", 0.0)
    await hear(listener, np.zeros(16 * FRAME, np.int16))
    await asyncio.sleep(0.01)
    taken_in = np.cumsum([len(sound) for sound in ears.heard if len(sound)])
    windows = [sound // 512 for sound in taken_in]
    assert windows == list(range(1, len(windows) + 1))
    assert len(windows) >= 9  # of the ten that sixteen frames are; the filter holds some samples back
    await listener.close()


async def test_what_was_received_counts_every_frame() -> None:
    listener, _, _ = listening()
    await hear(listener, np.zeros(3 * FRAME, np.int16))
    assert listener.received_s == pytest.approx(0.06, abs=0.002)


async def test_what_is_taken_by_hand_is_taken_at_once() -> None:
    listener, events, _ = listening(replace(SETTINGS, turn_detection=None))
    listener.hear(np.zeros(FRAME, np.int16))
    assert events == [SpeechStarted(0.0)]
    assert listener.buffered_s > 0


async def test_a_turn_taken_by_hand_is_recognized_to_its_last_sample() -> None:
    listener, _, ears = listening(replace(SETTINGS, turn_detection=None))
    sound = np.arange(10 * FRAME + 7, dtype=np.int16)
    listener.hear(sound)
    listener.start_recognition("item_1", 0.0)
    listener.flush_recognition("item_1", number=False)
    await asyncio.sleep(0.01)
    recognized = np.concatenate(ears.heard)
    assert len(recognized) == len(sound) * SAMPLE_RATE_HZ // RATE_HZ
    assert (
        np.abs(recognized[:-32] - resample(sound, RATE_HZ, SAMPLE_RATE_HZ)[: len(recognized) - 32]).max() <= 1
    )
    await listener.close()


async def test_the_recognizer_is_told_how_long_it_is_silent_where_words_are_asked_for(voice: Samples) -> None:
    listener, events, ears = listening(PATIENT)
    listener.start_recognition("item_1", 0.0)
    await hear(listener, voice)
    listener.flush_recognition("item_1", number=False)
    await asyncio.sleep(0.01)
    *_, paused = (event for event in events if isinstance(event, SpeechPaused))
    heard_s = sum(map(len, ears.heard)) / SAMPLE_RATE_HZ
    assert heard_s - ears.flushes[0].silence_s == pytest.approx(paused.at_s, abs=0.001)
    await listener.close()


async def test_no_sound_of_the_item_before_is_recognized_again() -> None:
    listener, _, ears = listening()
    await hear(listener, np.full(50 * FRAME, 1, np.int16))  # a second
    listener.start_recognition("item_1", 0.8, not_before_s=0.7)
    await asyncio.sleep(0.01)
    assert sum(map(len, ears.heard)) / SAMPLE_RATE_HZ == pytest.approx(listener.received_s - 0.7, abs=0.033)
    await listener.close()


async def test_resumed_turn_is_recognized_with_the_pause_and_the_turn_before(voice: Samples) -> None:
    listener, events, ears = listening()
    listener.start_recognition("item_1", 0.0)
    await hear(listener, voice)
    (ended,) = (event for event in events if isinstance(event, TurnEnded))
    listener.recognitions.stop("item_1", "item_1", ended.at_s + 1.5)
    listener.start_recognition("item_2", listener.received_s - 0.1, ended.at_s, continues="item_1")
    await hear(listener, voice[: RATE_HZ // 2])
    await asyncio.sleep(0.01)
    assert ears.utterances == 1
    assert sum(map(len, ears.heard)) / SAMPLE_RATE_HZ == pytest.approx(listener.received_s, abs=0.033)
    await listener.close()


async def test_recognition_closes_once_no_voice_resumes_its_turn(voice: Samples) -> None:
    listener, events, ears = listening()
    listener.start_recognition("item_1", 0.0)
    await hear(listener, voice)
    (ended,) = (event for event in events if isinstance(event, TurnEnded))
    listener.recognitions.stop("item_1", "item_1", ended.at_s + 0.1)
    await hear(listener, np.zeros(RATE_HZ, np.int16))
    listener.start_recognition("item_2", listener.received_s, continues="item_1")
    await asyncio.sleep(0.01)
    assert ears.utterances == 2
    await listener.close()


async def test_where_a_turn_is_taken_by_hand_nobody_says_that_its_end_is_silent() -> None:
    listener, _, ears = listening(replace(SETTINGS, turn_detection=None))
    listener.hear(np.zeros(10 * FRAME, np.int16))
    listener.start_recognition("item_1", 0.0)
    listener.flush_recognition("item_1", number=False)
    await asyncio.sleep(0.01)
    assert ears.flushes == [Flush()]
    await listener.close()


@pytest.mark.parametrize("begin", [AudioFormat.PCMU, AudioFormat.PCM_16K])
async def test_a_change_of_format_does_not_move_a_voice(voice: Samples, begin: AudioFormat) -> None:
    same, same_events, _ = listening()
    await hear(same, voice)
    listener, events, _ = listening(replace(SETTINGS, input_format=begin))
    silence = begin.rate_hz // 5 + 11  # which is no whole number of windows
    listener.hear(np.zeros(silence, np.int16))
    listener.configure(SETTINGS)
    await hear(listener, voice[RATE_HZ // 5 + 11 * RATE_HZ // begin.rate_hz :])
    for kind in (SpeechStarted, SpeechPaused, TurnEnded):
        at_s, before_s = (
            [event.at_s for event in told if type(event) is kind][-1] for told in (events, same_events)
        )
        assert at_s == pytest.approx(before_s, abs=0.04)  # its windows are not the same


async def test_sound_that_grows_loud_is_noticed_over_the_agent_only() -> None:
    """Only then is there something to duck."""
    thud = np.zeros(RATE_HZ, np.int16)
    thud[RATE_HZ // 2 : RATE_HZ // 2 + RATE_HZ // 20] = 8_000
    noticed = []
    for plays in (True, False):
        listener, events, _ = listening()
        await hear(listener, thud, plays=plays)
        noticed.append(any(isinstance(event, VoiceNoticed) for event in events))
    assert noticed == [True, False]


async def test_a_lower_voice_is_told_to_be_lower(voice: Samples) -> None:
    levels_db = []
    for sound in (voice, voice // 10):
        listener, events, _ = listening()
        await hear(listener, sound)
        levels_db.append([event.level_db for event in events if isinstance(event, TurnEnded)][-1])
    assert levels_db[0] - levels_db[1] == pytest.approx(20.0, abs=1.0)


async def test_how_loud_a_voice_grows_is_told_over_the_agent_only(voice: Samples) -> None:
    told = []
    for plays in (True, False):
        listener, events, _ = listening()
        await hear(listener, voice, plays=plays)
        told.append([event.level_db for event in events if isinstance(event, VoiceLouder)])
    assert told[0] == sorted(told[0]) and told[0]
    assert told[1] == []


async def test_that_a_voice_grows_louder_when_the_agent_is_silent_is_told(voice: Samples) -> None:
    listener, events, _ = listening()
    begun, later = round(0.8 * RATE_HZ), round((0.85 + OVER_AGENT_S) * RATE_HZ)
    await hear(listener, voice[:begun] // 8, plays=True)
    await hear(listener, voice[begun:later] // 8)
    events.clear()
    await hear(listener, voice[later:])
    assert any(isinstance(event, VoiceLouder) for event in events)


async def test_the_agent_can_be_spoken_over_after_its_last_frame() -> None:
    """Sent audio still has to be played."""
    listener, events, _ = listening()
    await hear(listener, np.zeros(RATE_HZ // 2, np.int16), plays=True)
    await hear(listener, np.zeros(round(OVER_AGENT_S * RATE_HZ / 2), np.int16))
    await hear(listener, np.full(RATE_HZ // 10, 8_000, np.int16))
    assert any(isinstance(event, VoiceNoticed) for event in events)


async def test_a_pause_is_reported_before_the_model_hears_it(
    voice: Samples,
) -> None:
    listener, events, _ = listening()
    ends_s = voice_end_s(voice, RATE_HZ)
    await hear(listener, voice)
    paused = [event.at_s for event in events if isinstance(event, SpeechPaused)]
    assert ends_s - 0.1 <= paused[-1] <= ends_s + 0.016  # it fades for 0.08 s
    await listener.close()


async def test_a_turn_ends_with_the_frame_that_makes_its_silence_long_enough(voice: Samples) -> None:
    beyond_s = []
    for begins in range(0, 640, 64):  # of the voice, among windows and frames
        listener, events, _ = listening(PATIENT)
        sound = np.pad(voice, (begins, 0))
        for begin in range(0, len(sound), FRAME):
            await hear(listener, sound[begin : begin + FRAME])
            if events and isinstance(events[-1], SpeechPaused):
                listener.require_silence(0.25)
            if events and isinstance(ended := events[-1], TurnEnded):
                beyond_s.append(listener.received_s - ended.at_s - 0.25)
                break
    assert len(beyond_s) == 10
    assert all(-1e-6 < seconds < FRAME / RATE_HZ for seconds in beyond_s)


async def test_words_end_a_turn_by_all_the_silence_that_was_received(voice: Samples) -> None:
    ended = 0
    for begins in range(0, 640, 64):
        listener, events, _ = listening(PATIENT)
        sound = np.pad(voice, (begins, 0))
        for begin in range(0, len(sound), FRAME):
            await hear(listener, sound[begin : begin + FRAME])
            if events and isinstance(paused := events[-1], SpeechPaused):
                silent_s = listener.received_s - paused.at_s
                if silent_s > 0.2:
                    listener.require_silence(silent_s - 0.001)
                    ended += isinstance(events[-1], TurnEnded)
                    break
    assert ended == 10


async def recognized(sound: Samples, settings: CallSettings = PATIENT) -> Samples:
    """Return the audio of this sound that reaches the recognizer in the turn that begins with it."""
    listener, _, ears = listening(settings)
    listener.hear(sound[:FRAME])
    listener.start_recognition("item_1", 0.0)
    await hear(listener, sound[FRAME:])
    await asyncio.sleep(0.01)
    await listener.close()
    return np.concatenate(ears.heard)


async def test_a_pause_is_not_recognized_while_it_lasts(voice: Samples) -> None:
    short, long = (np.pad(voice, (0, round(seconds * RATE_HZ))) for seconds in (0.0, 0.8))
    assert len(await recognized(long)) == len(await recognized(short)) > 0


async def test_who_goes_on_after_a_pause_is_recognized_without_a_gap(voice: Samples) -> None:
    ends = round(voice_end_s(voice, RATE_HZ) * RATE_HZ)
    spoken = np.concatenate([voice[: ends + RATE_HZ // 4], voice[RATE_HZ // 2 : ends]])
    everything = await recognized(spoken, replace(SETTINGS, turn_detection=None))
    heard = await recognized(spoken)
    assert len(heard) > len(everything) - SAMPLE_RATE_HZ // 10
    assert np.array_equal(heard, everything[: len(heard)])


@pytest.mark.parametrize(("backchannels", "calls"), [("all", 1), ("off", 0)])
async def test_first_loud_frame_after_a_pause_is_reported_where_the_agent_nods(
    backchannels: str, calls: int
) -> None:
    """A backchannel stops with the very frame in which the caller continues."""
    settings = replace(SETTINGS, backchannels=backchannels)
    listener = Listener(hearing(Ears()), time.monotonic, settings, lambda event: None, call_monitor())
    reported: list[float] = []
    listener.on_voice_return = lambda: reported.append(listener.received_s)
    for _ in range(20):
        listener.hear(np.zeros(FRAME, np.int16))
    assert not reported
    listener.hear(np.full(FRAME, 3_000, np.int16))
    assert len(reported) == calls
    await listener.close()
