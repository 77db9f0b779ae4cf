from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.scores.interaction import CallerSpeech, EventKind, InteractionEvent, interaction_events
from voiceagent.scores.spans import Span

CALL_S = 100.0


def events_of(
    caller: list[CallerSpeech], agent: list[Span], kind: EventKind, tick_s: float = 0.001
) -> list[InteractionEvent]:
    return [event for event in interaction_events(caller, agent, CALL_S, tick_s) if event.kind == kind]


def says(begin_s: float, end_s: float, kind: str = "turn") -> CallerSpeech:
    return CallerSpeech(Span(begin_s, end_s), kind)  # type: ignore[arg-type]


def test_response_latency_is_from_the_callers_end_to_the_agents_begin() -> None:
    (event,) = events_of([says(1, 3)], [Span(3.45, 6)], "response")
    assert event.success
    assert event.latency_s == pytest.approx(0.45)


def test_ticks_count_a_part_of_a_tick_as_speech() -> None:
    (event,) = events_of([says(1, 3.05)], [Span(3.95, 6)], "response", 0.2)
    assert event.latency_s == pytest.approx(0.6)  # from 3.2 to 3.8


def test_a_turn_is_unanswered_when_the_caller_speaks_again_first() -> None:
    first, second = events_of([says(1, 3), says(5, 6)], [Span(6.5, 8)], "response")
    assert not first.success
    assert second.success


def test_an_answer_to_typed_text_is_none_to_the_turn_before() -> None:
    (event,) = events_of([says(1, 3), says(5, 5, "typed")], [Span(5.5, 8)], "response")
    assert not event.success


def test_a_last_turn_that_nothing_follows_does_not_count() -> None:
    assert events_of([says(10, 12)], [Span(1, 3)], "response") == []


def test_a_turn_at_whose_end_the_agent_speaks_expects_no_answer() -> None:
    assert events_of([says(2, 4)], [Span(1, 6), Span(8, 9)], "response") == []


@pytest.mark.parametrize(("agent_end_s", "yields"), [(3.0, True), (3.999, True), (4.0, False), (9.0, False)])
def test_the_agent_yields_if_it_stops_within_two_seconds(agent_end_s: float, yields: bool) -> None:
    (event,) = events_of([says(2, 4.5)], [Span(1, agent_end_s)], "yield")
    assert event.success == yields
    assert event.latency_s == (pytest.approx(agent_end_s - 2) if yields else None)


def test_an_agent_that_speaks_until_the_call_ends_has_not_yielded() -> None:
    (event,) = events_of([says(CALL_S - 1.5, CALL_S)], [Span(CALL_S - 3, CALL_S)], "yield")
    assert not event.success


@pytest.mark.parametrize("kind", ["backchannel", "noise", "aside"])
@pytest.mark.parametrize(("agent_end_s", "goes_on"), [(2.5, False), (3.0, True), (CALL_S, True)])
def test_sounds_over_the_agent_are_handled_if_it_goes_on_for_a_second(
    kind: EventKind, agent_end_s: float, goes_on: bool
) -> None:
    (event,) = events_of([says(2, 2.4, kind)], [Span(1, agent_end_s)], kind)
    assert event.success == goes_on


@pytest.mark.parametrize("kind", ["noise", "aside"])
@pytest.mark.parametrize(("agent_begin_s", "ignored"), [(2.2, False), (4.4, False), (4.5, True)])
def test_sounds_in_silence_are_ignored_if_the_agent_is_silent_for_two_seconds(
    kind: EventKind, agent_begin_s: float, ignored: bool
) -> None:
    (event,) = events_of([says(2, 2.4, kind)], [Span(agent_begin_s, 9)], kind)
    assert event.success == ignored


def test_noises_and_asides_are_neither_turns_nor_interrupted() -> None:
    caller = [says(2, 4, "noise"), says(6, 8, "aside")]
    agent = [Span(3, 5), Span(7, 9)]
    assert events_of(caller, agent, "response") == []
    assert events_of(caller, agent, "agent_interruption") == []


def test_the_agent_interrupts_when_it_begins_over_the_caller() -> None:
    events = events_of([says(2, 4)], [Span(1, 1.5), Span(3, 5), Span(4.5, 6)], "agent_interruption")
    assert [event.at_s for event in events] == [3]


SPANS = st.lists(
    st.tuples(st.floats(0, CALL_S - 10), st.floats(0.01, 9)).map(lambda pair: Span(pair[0], sum(pair))),
    max_size=10,
)
KINDS = st.sampled_from(["turn", "backchannel", "noise", "aside", "typed"])


@given(SPANS, st.lists(KINDS, min_size=10, max_size=10), SPANS, st.sampled_from([0.001, 0.02, 0.2]))
def test_whatever_is_spoken_each_sound_has_at_most_one_outcome(
    spans: list[Span], kinds: list[EventKind], agent: list[Span], tick_s: float
) -> None:
    caller = [CallerSpeech(span, kind) for span, kind in zip(spans, kinds, strict=False)]  # type: ignore[arg-type]
    events = interaction_events(caller, agent, CALL_S, tick_s)
    for kind in ("response", "yield", "backchannel", "noise", "aside"):
        sounds = sum(
            speech.kind == {"response": "turn", "yield": "turn"}.get(kind, kind) for speech in caller
        )
        assert sum(event.kind == kind for event in events) <= sounds
    assert sum(event.kind == "agent_interruption" for event in events) <= len(agent)
    latencies = [event.latency_s for event in events if event.latency_s is not None]
    assert all(latency_s >= 0 and math.isfinite(latency_s) for latency_s in latencies)


@given(SPANS, SPANS, st.floats(0, 1_000))
def test_a_later_call_has_the_same_latencies(spans: list[Span], agent: list[Span], later_s: float) -> None:
    later_s = round(later_s)
    caller = [CallerSpeech(span) for span in spans]
    moved = [CallerSpeech(Span(span.begin_s + later_s, span.end_s + later_s)) for span in spans]
    moved_agent = [Span(span.begin_s + later_s, span.end_s + later_s) for span in agent]
    before = interaction_events(caller, agent, CALL_S, 0.02)
    after = interaction_events(moved, moved_agent, CALL_S + later_s, 0.02)
    assert [(event.kind, event.success) for event in after] == [(e.kind, e.success) for e in before]
