"""The description of wire shapes, which other tests check events against, is strict."""

from __future__ import annotations

from typing import Any

import pytest
from wire_shape import check_shape

ADDED: dict[str, Any] = {
    "type": "conversation.item.added",
    "event_id": "event_1",
    "previous_item_id": None,
    "item": {"id": "item_1", "type": "function_call_output", "call_id": "call_1", "output": "sunny"},
}


def test_an_event_as_openai_sends_it_is_taken() -> None:
    check_shape(ADDED)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"previous_item_id": 3}, "previous_item_id is 3"),
        ({"object": "realtime.item"}, r"has \['object'\]"),
        ({"item": ADDED["item"] | {"status": "completed"}}, r"item has \['status'\]"),
        ({"item": {"id": "item_1", "type": "function_call_output"}}, r"item lacks \['call_id', 'output'\]"),
        ({"type": "rate_limits.updated"}, "OpenAI sends no rate_limits.updated"),
    ],
)
def test_an_event_of_another_shape_is_not(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_shape(ADDED | changes)


def test_seconds_of_a_transcript_are_whole() -> None:
    event = {
        "type": "conversation.item.input_audio_transcription.completed",
        "event_id": "event_1",
        "item_id": "item_1",
        "content_index": 0,
        "transcript": "Hello.",
        "usage": {"type": "duration", "seconds": 2.796},
    }
    with pytest.raises(AssertionError, match=r"seconds is 2\.796"):
        check_shape(event)
