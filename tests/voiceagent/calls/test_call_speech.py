from __future__ import annotations

import io
import wave
from collections.abc import Sequence

import numpy as np
import pytest
from call_world import RATE_HZ, CallWorld

from audio.detection.vad import SileroVad
from voiceagent.calls.call_speech import Reference, call_speech
from voiceagent.calls.log.entries import (
    CallEnded,
    Entry,
    Header,
    Record,
    RecordingBegan,
    SilentSpan,
    SoundSpan,
)
from voiceagent.calls.log.event_log import LogError, LogWriter
from voiceagent.calls.log.logged_speech import LoggedSpeech, logged_speech
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.scores.end_of_turn import Judgement
from voiceagent.scores.scorecard import CallSpeech
from voiceagent.scores.spans import Span

HZ = 8_000
CLOCK_S = 100.0


def at(heard_s: float, event: ev.Event, *commands: do.Command) -> Record:
    """An event when so much of the caller's audio had been received."""
    return Record(1, CLOCK_S + heard_s, heard_s, event, (), commands)


def judged(probability: float) -> do.RequireSilence:
    return do.RequireSilence("item_1", EndOfTurn(probability, 0.4, ()))


def committed() -> notify.NotifyInputCommitted:
    return notify.NotifyInputCommitted("item_1", None)


def spans(since_s: float, until_s: float) -> SoundSpan:
    return SoundSpan("resp_1", round(since_s * HZ), round(until_s * HZ))


def speech_of(*entries: Entry, clock_s: float = 20.0) -> LoggedSpeech:
    world = CallWorld()
    header = Header("call_1", 1.8e9, CLOCK_S, world.settings, world.policy, RATE_HZ)
    writer = LogWriter()
    every = [RecordingBegan(HZ), *entries, CallEnded("over", CLOCK_S + clock_s)]
    return logged_speech(b"".join([writer.header(header), *(writer.entry(entry) for entry in every)]))


TURN = (
    at(1.1, ev.SpeechStarted(1.0), do.StartRecognition("item_1", 1.0)),
    at(2.1, ev.SpeechPaused(2.0)),
    at(2.3, ev.TranscriptChanged("item_1", "is there")),
    at(2.4, ev.TurnJudged("item_1", 0.2), judged(0.2)),
    at(2.6, ev.SpeechResumed(2.5)),
    at(3.1, ev.SpeechPaused(3.0)),
    at(3.3, ev.TranscriptChanged("item_1", "is there a pool"), judged(0.9)),
    at(3.4, ev.TurnEnded(3.0), committed(), notify.NotifyTranscript("item_1", "is there a pool", final=True)),
)


def scored(logged: LoggedSpeech, references: Sequence[Reference] | None = None) -> CallSpeech:
    return call_speech(logged, None, SileroVad(), references, "en")


def test_pauses_have_what_was_judged_in_them_and_the_decision():
    within, after = scored(speech_of(*TURN), [Reference(1.0, 3.0)]).pauses
    assert (within.seconds, within.ends_turn, within.decided_s) == (pytest.approx(0.5), False, None)
    assert within.judgements == (Judgement(pytest.approx(0.4), 0.2),)
    assert (after.ends_turn, after.decided_s) == (True, pytest.approx(0.4))
    assert after.judgements == (Judgement(pytest.approx(0.3), 0.9),)


def test_a_turn_that_was_ended_though_the_caller_went_on_is_a_decision_in_a_pause_within_it():
    again = at(3.6, ev.SpeechStarted(3.5), do.StartRecognition("item_2", 3.5))
    pauses = scored(speech_of(*TURN, again, at(5.1, ev.SpeechPaused(5.0))), [Reference(1.0, 5.0)]).pauses
    assert [(pause.ends_turn, pause.decided_s) for pause in pauses] == [
        (False, None),
        (False, pytest.approx(0.4)),
        (True, None),
    ]


def test_words_are_compared_with_the_transcripts_within_an_utterance():
    errors = scored(speech_of(*TURN), [Reference(1.0, 3.0, text="is there no pool")]).words
    assert (errors.errors, errors.words) == (1, 4)


def test_without_references_a_turn_is_where_the_log_has_it():
    (speech,) = scored(speech_of(*TURN)).caller
    assert (speech.kind, speech.span) == ("turn", Span(pytest.approx(1.0), pytest.approx(3.0)))


def test_a_listeners_word_over_the_agent_is_a_backchannel_and_in_silence_a_turn():
    word = (
        at(1.1, ev.SpeechStarted(1.0), do.StartRecognition("item_1", 1.0)),
        at(1.5, ev.TranscriptChanged("item_1", "Okay.")),
    )
    over, silent = speech_of(*word, spans(0.5, 4.0)), speech_of(*word)
    assert [speech.kind for speech in scored(over).caller] == ["backchannel"]
    assert [speech.kind for speech in scored(silent).caller] == ["turn"]


def test_a_voice_without_words_is_a_noise():
    voice = at(1.1, ev.SpeechStarted(1.0), do.StartRecognition("item_1", 1.0))
    assert [speech.kind for speech in scored(speech_of(voice)).caller] == ["noise"]


def test_gaps_of_playout_that_nobody_would_notice_are_no_silence_of_the_agent():
    agent = scored(speech_of(spans(1.0, 2.0), spans(2.1, 3.0), spans(3.5, 4.0))).agent
    assert list(agent) == [Span(1.0, 3.0), Span(3.5, 4.0)]


def test_silence_that_a_caller_did_not_send_moves_what_was_said_later():
    silent = SilentSpan(2 * HZ, 4 * HZ)
    early, late = scored(speech_of(silent), [Reference(1.0, 1.5), Reference(3.0, 3.5)]).caller
    assert early.span == Span(pytest.approx(1.0), pytest.approx(1.5))
    assert late.span == Span(pytest.approx(5.0), pytest.approx(5.5))


def test_of_the_agents_speech_what_is_audible_in_the_recording_counts():
    both = np.zeros((6 * HZ, 2), np.int16)
    both[2 * HZ : 3 * HZ, 1] = 1_000
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(HZ)
        sound.writeframes(both.tobytes())
    logged = speech_of(spans(1.5, 3.5), spans(4.0, 5.0))
    agent = call_speech(logged, file.getvalue(), SileroVad(), [], "en").agent
    assert list(agent) == [Span(2.0, 3.0)]


@pytest.mark.parametrize("data", [b"", b'{"log": 1}\n', b"[]\n", b'"a"\n'])
def test_what_is_no_log_is_an_error_that_names_it(data: bytes):
    with pytest.raises(LogError, match=r"some\.jsonl"):
        logged_speech(data, "some.jsonl")
