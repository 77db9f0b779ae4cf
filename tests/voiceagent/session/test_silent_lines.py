"""Lines that stop sending during a call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from call_services import call_services
from call_settings import call_settings, turn_detection
from fake_client import FakeClient
from sounds import said

from audio.pcm import AudioFormat, Samples
from audio.recognizers import SAMPLE_RATE_HZ
from tests.voiceagent.session.test_session import Brain, Ears, Mouth
from voiceagent.bench.speech import voice_end_s
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.call_events import CallEvent, EventHandled
from voiceagent.conversation.settings import CallSettings
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.session import Session

HZ = SAMPLE_RATE_HZ
FRAME_S = 0.02
SERVER_VAD = call_settings(input_format=AudioFormat.PCM_16K)
SEMANTIC_VAD = call_settings(input_format=AudioFormat.PCM_16K, turn_detection=turn_detection("semantic_vad"))
Sound = tuple[float, Samples]
"""Time of arrival in seconds, and the sound."""


@dataclass
class Kept:
    """Recorder of a call's events with the clock, and of the caller's sound."""

    events: list[tuple[float, ev.Event]] = field(default_factory=list)
    sound: list[Sound] = field(default_factory=list)

    def on_event(self, event: CallEvent) -> None:
        if isinstance(event, EventHandled):
            self.events.append((asyncio.get_running_loop().time(), event.event))

    def on_input_audio(self, samples: Samples, rate_hz: int, begins_ago_s: float = 0.0) -> None:
        self.sound.append((asyncio.get_running_loop().time() - begins_ago_s, samples))

    def on_output_audio(self, response_id: str, frame: Samples, rate_hz: int) -> None:
        pass

    def of(self, *kinds: type) -> list[tuple[float, ev.Event]]:
        return [(at_s, event) for at_s, event in self.events if isinstance(event, kinds)]

    @property
    def whole(self) -> Samples:
        return np.concatenate([samples for _, samples in self.sound])


def call(
    sound: Sequence[Sound], until_s: float, settings: CallSettings = SERVER_VAD
) -> tuple[Kept, FakeClient]:
    """Run a whole call in which this sound arrives."""

    async def run() -> tuple[Kept, FakeClient]:
        loop, kept, client = asyncio.get_running_loop(), Kept(), FakeClient()
        services = await call_services(Ears(), Brain(), Mouth(), clock=loop.time)
        session = Session("call_1", services, settings, client, Subscriptions((kept,), kept))
        for at_s, samples in sound:
            await asyncio.sleep(max(0.0, at_s - loop.time()))
            session.hear(samples)
        await asyncio.sleep(until_s - loop.time())
        await session.close("test over")
        return kept, client

    return run_virtually(run(), 0.0)


def frames(sound: Samples, frame_s: float = FRAME_S, from_s: float = 0.0) -> list[Sound]:
    """Return sound in real time: each piece arrives when its last sample was spoken."""
    length = round(frame_s * HZ)
    pieces = [sound[begin : begin + length] for begin in range(0, len(sound), length)]
    return [(from_s + (number + 1) * frame_s, piece) for number, piece in enumerate(pieces)]


@pytest.fixture(name="voice", scope="module")
def a_voice() -> Samples:
    """Return half a second of silence and a sentence, up to its last voiced sample."""
    spoken = asyncio.run(said("Go forward ten meters."))
    voice = np.pad(spoken, (HZ // 2, 0))
    return voice[: round(voice_end_s(voice, HZ) * HZ)]


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * HZ), np.int16)


@pytest.mark.parametrize("settings", [SERVER_VAD, SEMANTIC_VAD], ids=["server_vad", "semantic_vad"])
@pytest.mark.parametrize("behind_s", [0.0, 0.1])
@pytest.mark.parametrize("frame_s", [0.02, 0.1])
def test_a_turn_whose_line_stops_is_answered_as_after_silence(
    voice: Samples, settings: CallSettings, behind_s: float, frame_s: float
) -> None:
    stopped, _ = call(frames(np.append(voice, silence(behind_s)), frame_s), 8.0, settings)
    whole, _ = call(frames(np.append(voice, silence(3.0)), frame_s), 8.0, settings)
    ((ended_s, ended),) = stopped.of(ev.TurnEnded)
    ((wanted_s, wanted),) = whole.of(ev.TurnEnded)
    # inserted silence comes in pieces of 20 ms, silence of the line in its own frames
    assert wanted_s - frame_s - 0.05 < ended_s < wanted_s + 0.05
    assert ended.at_s == pytest.approx(wanted.at_s, abs=0.05)
    assert stopped.of(ev.ResponseGenerated)


@pytest.mark.parametrize("frame_s", [0.02, 0.17, 0.5, 1.0])
def test_no_silence_is_put_into_the_words_of_a_client_that_sends_in_long_pieces(
    voice: Samples, frame_s: float
) -> None:
    kept, _ = call(frames(voice, frame_s), len(voice) / HZ, SEMANTIC_VAD)
    assert np.array_equal(kept.whole[: len(voice) - HZ], voice[: len(kept.whole)][: len(voice) - HZ])


def test_packets_now_and_then_in_a_silence_do_not_delay_the_turns_end(voice: Samples) -> None:
    """Opus sends such packets, 0.4 s apart, with discontinuous transmission; the line reports the gaps."""
    speaks_s = len(voice) / HZ
    now_and_then = [(speaks_s + 0.4 * number, silence(FRAME_S)) for number in range(1, 8)]
    kept, _ = call([*frames(voice), *now_and_then], 8.0)
    whole, _ = call(frames(np.append(voice, silence(3.0))), 8.0)
    ((ended_s, _),), ((wanted_s, _),) = kept.of(ev.TurnEnded), whole.of(ev.TurnEnded)
    assert ended_s == pytest.approx(wanted_s, abs=0.05)


def test_late_sound_is_neither_cut_nor_taken_twice_and_resumes_the_turn(voice: Samples) -> None:
    """The network stalls for 0.8 s within a sentence, and then delivers everything at once."""
    cut_s, back_s = 1.2, 2.0
    sound = [(back_s if cut_s < at_s < back_s else at_s, piece) for at_s, piece in frames(voice)]
    kept, client = call(sound, 8.0)
    cut, put_in = round(cut_s * HZ), round((back_s - cut_s) * HZ)
    assert np.array_equal(kept.whole[:cut], voice[:cut])
    assert not kept.whole[cut : cut + put_in].any(), "silence stood in for what was late"
    assert np.array_equal(kept.whole[cut + put_in :][: len(voice) - cut], voice[cut:]), (
        "and then it is all there"
    )
    assert kept.of(ev.SpeechStarted, ev.SpeechResumed)[1:]
    ended = client.of(notify.NotifyResponseEnded)
    assert [response.status for response in ended][-1] == "completed"


def test_silence_ends_with_what_may_be_resumed_and_then_nothing_is_put_in(voice: Samples) -> None:
    kept, _ = call(frames(voice), 60.0)
    ((_, ended),) = kept.of(ev.TurnEnded)
    assert len(kept.whole) / HZ == pytest.approx(ended.at_s + 1.5, abs=0.1), "turn.resume_s"


def test_a_caller_who_was_mute_for_longer_begins_a_new_turn(voice: Samples) -> None:
    again_s = len(voice) / HZ + 5.0
    kept, client = call([*frames(voice), *frames(voice, from_s=again_s)], 16.0)
    assert len(kept.of(ev.TurnEnded)) == 2
    assert not any(response.false_end for response in client.of(notify.NotifyResponseEnded))


def test_an_idle_caller_who_sends_nothing_is_asked_again(voice: Samples) -> None:
    detection = turn_detection(idle_timeout_s=6.0)
    settings = call_settings(input_format=AudioFormat.PCM_16K, turn_detection=detection)
    kept, client = call(frames(voice), 15.0, settings)
    assert kept.of(ev.CallerIdle)
    assert client.of(notify.NotifyIdle)


def test_nothing_is_put_into_turns_that_the_client_takes_by_hand(voice: Samples) -> None:
    settings = call_settings(input_format=AudioFormat.PCM_16K, turn_detection=None)
    kept, _ = call(frames(voice), 10.0, settings)
    assert len(kept.whole) == len(voice)


def test_silence_is_kept_where_the_clock_has_it(voice: Samples) -> None:
    """A recording that places sound by the clock is as long as the call."""
    kept, _ = call(frames(voice), 8.0)
    put_in = kept.sound[len(frames(voice)) :]
    until_s = len(voice) / HZ
    assert put_in
    for at_s, piece in put_in:
        assert at_s == pytest.approx(until_s, abs=1e-3)
        until_s += len(piece) / HZ
