from __future__ import annotations

import numpy as np
import pytest

from llmcore.engine import ToolCall
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import ToolCallItem, ToolOutputItem
from voiceagent.transports.local_call import LocalCaller, read_recordings
from voiceagent.validation.errors import CommandFailed

FRAME = np.ones(480, np.int16)


@pytest.fixture
def caller() -> LocalCaller:
    times = iter(range(100))
    return LocalCaller(lambda: float(next(times)))


def test_a_caller_waits_while_words_are_being_recognized(caller):
    assert caller.quiet
    caller.notify(notify.NotifySpeechStarted("item_1", 0.0))
    assert not caller.quiet
    caller.notify(notify.NotifyTranscript("item_1", "hel", final=False))
    assert not caller.quiet
    caller.notify(notify.NotifyTranscript("item_1", "hello", final=True))
    assert caller.quiet
    assert caller.exchange.understood == ["hello"]


def test_a_turn_that_cannot_be_recognized_is_a_failure_and_over(caller):
    caller.notify(notify.NotifySpeechStarted("item_1", 0.0))
    caller.notify(notify.NotifyTranscriptFailed("item_1", "broken"))
    assert caller.quiet
    assert caller.exchange.failures == ["broken"]


def test_a_caller_takes_down_the_words_and_sound_of_a_response(caller):
    caller.notify(notify.NotifyResponseStarted("resp_1", "audio"))
    assert not caller.quiet
    caller.notify(notify.NotifyResponseText("resp_1", "item_2", None, "Hello, "))
    caller.play("resp_1", FRAME)
    caller.notify(notify.NotifyResponseText("resp_1", "item_2", None, "you."))
    caller.play("resp_1", FRAME)
    caller.notify(notify.NotifyResponseEnded("resp_1", "completed"))
    assert caller.quiet
    assert caller.exchange.answered == ["Hello, you."]
    assert caller.exchange.first_frame_s == 0.0
    assert len(caller.exchange.sound) == 960


def test_the_first_frame_is_that_of_the_last_response(caller):
    for number in (1, 2):
        caller.notify(notify.NotifyResponseStarted(f"resp_{number}", "audio"))
        caller.play(f"resp_{number}", FRAME)
        caller.notify(notify.NotifyResponseEnded(f"resp_{number}", "cancelled", "turn_detected"))
    assert caller.exchange.first_frame_s == 1.0
    assert caller.exchange.interrupted == 2


def test_the_agents_tools_are_taken_down_with_what_they_gave(caller):
    call = ToolCall("call_1", "add", '{"pizza": "tuna"}')
    caller.notify(notify.NotifyItemDone(ToolCallItem("item_1", call), None))
    caller.notify(notify.NotifyItemDone(ToolOutputItem("item_2", "call_1", "added"), "item_1"))
    assert caller.exchange.tools == ['add({"pizza": "tuna"})', "-> added"]


def test_what_goes_wrong_is_taken_down(caller):
    caller.notify(notify.NotifyResponseStarted("resp_1", "audio"))
    caller.notify(notify.NotifyResponseEnded("resp_1", "failed", "llm: gone"))
    caller.notify(notify.NotifyError("some_code", "not now"))
    assert caller.exchange.failures == ["llm: gone", "not now"]


def test_a_recording_that_is_missing_is_named_with_what_is_allowed(tmp_path):
    with pytest.raises(CommandFailed, match=r"nope\.wav: no such file or directory; allowed: \.wav, \.mp3"):
        read_recordings([tmp_path / "nope.wav"])
