from __future__ import annotations

import numpy as np
import pytest

from voiceagent.conversation import notices as tell
from voiceagent.local_call import LocalCaller

FRAME = np.ones(480, np.int16)


@pytest.fixture
def caller() -> LocalCaller:
    times = iter(range(100))
    return LocalCaller(lambda: float(next(times)))


def test_a_caller_waits_while_words_are_being_recognized(caller):
    assert caller.quiet
    caller.tell(tell.TellSpeechStarted("item_1", 0.0))
    assert not caller.quiet
    caller.tell(tell.TellTranscript("item_1", "hel", final=False))
    assert not caller.quiet
    caller.tell(tell.TellTranscript("item_1", "hello", final=True))
    assert caller.quiet
    assert caller.exchange.understood == ["hello"]


def test_a_turn_that_cannot_be_recognized_is_a_failure_and_over(caller):
    caller.tell(tell.TellSpeechStarted("item_1", 0.0))
    caller.tell(tell.TellTranscriptFailed("item_1", "broken"))
    assert caller.quiet
    assert caller.exchange.failures == ["broken"]


def test_a_caller_waits_for_the_end_of_the_reply_and_takes_down_its_words_and_sound(caller):
    caller.tell(tell.TellReplyStarted("resp_1", "audio"))
    assert not caller.quiet
    caller.tell(tell.TellReplyText("resp_1", "item_2", None, "Hello, "))
    caller.play("resp_1", FRAME)
    caller.tell(tell.TellReplyText("resp_1", "item_2", None, "you."))
    caller.play("resp_1", FRAME)
    caller.tell(tell.TellReplyEnded("resp_1", "completed"))
    assert caller.quiet
    assert caller.exchange.answered == ["Hello, you."]
    assert caller.exchange.first_frame_s == 0.0
    assert len(caller.exchange.sound) == 960


def test_the_first_frame_is_that_of_the_last_reply(caller):
    for number in (1, 2):
        caller.tell(tell.TellReplyStarted(f"resp_{number}", "audio"))
        caller.play(f"resp_{number}", FRAME)
        caller.tell(tell.TellReplyEnded(f"resp_{number}", "cancelled", "turn_detected"))
    assert caller.exchange.first_frame_s == 1.0
    assert caller.exchange.interrupted == 2


def test_what_goes_wrong_is_taken_down(caller):
    caller.tell(tell.TellReplyStarted("resp_1", "audio"))
    caller.tell(tell.TellReplyEnded("resp_1", "failed", "llm: gone"))
    caller.tell(tell.TellError("some_code", "not now"))
    assert caller.exchange.failures == ["llm: gone", "not now"]
