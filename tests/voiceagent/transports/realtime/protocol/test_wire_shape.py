"""The description of wire shapes, which other tests check events against, is strict."""

from __future__ import annotations

from typing import Any

import pytest
from wire_shape import check_shape

SHARED_PROCESSORS: dict[str, Any] = {
    "type": "conversation.item.added",
    "event_id": "event_1",
    "previous_item_id": None,
    "item": {"id": "item_1", "type": "function_call_output", "call_id": "call_1", "output": "sunny"},
}


def test_an_event_as_openai_sends_it_is_taken() -> None:
    check_shape(SHARED_PROCESSORS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"previous_item_id": 3}, "previous_item_id is 3"),
        ({"object": "realtime.item"}, r"has \['object'\]"),
        ({"item": SHARED_PROCESSORS["item"] | {"status": "completed"}}, r"item has \['status'\]"),
        ({"item": {"id": "item_1", "type": "function_call_output"}}, r"item lacks \['call_id', 'output'\]"),
        ({"type": "rate_limits.updated"}, "OpenAI sends no rate_limits.updated"),
    ],
)
def test_an_event_of_another_shape_is_not(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_shape(SHARED_PROCESSORS | changes)


COMPLETED: dict[str, Any] = {
    "type": "conversation.item.input_audio_transcription.completed",
    "event_id": "event_1",
    "item_id": "item_1",
    "content_index": 0,
    "transcript": "Hi.",
    "usage": {"type": "duration", "seconds": 3},
    "logprobs": [{"token": "Hi.", "bytes": [72, 105, 46], "logprob": -0.25}],
}


def test_a_transcript_may_have_logprobs() -> None:
    check_shape(COMPLETED)
    check_shape(COMPLETED | {"logprobs": None})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"usage": {"type": "duration", "seconds": 2.796}}, r"seconds is 2\.796"),
        ({"logprobs": [{"token": "Hi.", "logprob": -0.25}]}, "logprobs is"),
    ],
)
def test_a_transcript_of_another_shape_is_not(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_shape(COMPLETED | changes)


def test_a_transcription_session_has_no_fields_of_responses() -> None:
    audio = {"format": {"type": "audio/pcm", "rate": 24_000}, "transcription": None, "noise_reduction": None}
    session: dict[str, Any] = {
        "type": "transcription",
        "object": "realtime.transcription_session",
        "id": "sess_1",
        "audio": {"input": {**audio, "turn_detection": None}},
        "include": None,
    }
    created = {"type": "session.created", "event_id": "event_1", "session": session}
    check_shape(created)
    with pytest.raises(AssertionError, match=r"has \['instructions'\]"):
        check_shape(created | {"session": session | {"instructions": "Be kind."}})
