"""Order in which the streams of an engine's process take turns."""

from __future__ import annotations

from voiceagent.processes.engine_process import _ServedStream
from voiceagent.processes.messages import Windows


def stream(last_turn: int, steps: bool = True, has_emitted: bool = True) -> _ServedStream:
    made = _ServedStream(1, Windows())
    made.last_turn, made.has_emitted = last_turn, has_emitted
    made.steps = iter(()) if steps else None
    return made


def test_stream_without_a_value_goes_on_before_the_others() -> None:
    begun, older, newer = stream(7, has_emitted=False), stream(5), stream(6)
    assert min((older, newer, begun), key=lambda one: one.priority) is begun


def test_streams_with_values_take_turns() -> None:
    older, newer = stream(5), stream(6)
    assert min((newer, older), key=lambda one: one.priority) is older


def test_stream_of_items_without_steps_takes_turns_before_its_first_value() -> None:
    older, silent = stream(5), stream(6, steps=False, has_emitted=False)
    assert min((silent, older), key=lambda one: one.priority) is older
