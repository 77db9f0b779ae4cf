"""Agreement with tau-voice's own program on the same calls, where it is installed.

The program is not on PyPI: put `src` of https://github.com/sierra-research/tau2-bench on PYTHONPATH, with its
dependencies. Its calls are lists of ticks; each side speaks in a tick or does not.
"""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.scores.interaction import TAU_VOICE_TICK_S, CallerSpeech, SpeechKind
from voiceagent.scores.scorecard import CallSpeech, scorecard
from voiceagent.scores.spans import Span, on_ticks

metrics: Any = pytest.importorskip("tau2.metrics.voice_interaction_metrics")

CALL_S = 60.0
OURS = {
    "response_latency_mean": "response latency, mean",
    "yield_latency_mean": "yield latency, mean",
    "response_rate": "turns answered",
    "yield_rate": "interruptions yielded to",
    "agent_interruption_rate": "interruptions by the agent",
    "selectivity_backchannel": "backchannels talked through",
    "selectivity_vocal_tic": "noises ignored",
    "selectivity_non_directed": "asides ignored",
}

SOUNDS = ("selectivity_vocal_tic", "selectivity_non_directed")


def spans(longest_s: float = 6.0) -> st.SearchStrategy[list[Span]]:
    """Spans of one side, in order, with gaps."""
    pieces = st.lists(st.tuples(st.floats(0.05, 5.0), st.floats(0.05, longest_s)), min_size=1, max_size=8)

    def placed(pieces: list[tuple[float, float]]) -> list[Span]:
        at_s, found = 0.0, []
        for gap_s, seconds in pieces:
            found.append(Span(at_s + gap_s, at_s + gap_s + seconds))
            at_s += gap_s + seconds
        return [span for span in found if span.end_s < CALL_S - 3 * TAU_VOICE_TICK_S]

    return pieces.map(placed)


def calls(*kinds: SpeechKind) -> st.SearchStrategy[CallSpeech]:
    """Calls whose caller makes sounds of these kinds."""

    def call(sounds: list[Span], agent: list[Span], chosen: list[SpeechKind]) -> CallSpeech:
        caller = [CallerSpeech(span, kind) for span, kind in zip(sounds, chosen, strict=False)]
        return CallSpeech("call", CALL_S, tuple(caller), tuple(agent))

    return st.builds(call, spans(), spans(), st.lists(st.sampled_from(kinds), min_size=8, max_size=8))


def ticks_of(call: CallSpeech) -> list[Any]:
    """The call as the simulator would have recorded it."""
    total = round(CALL_S / TAU_VOICE_TICK_S)
    agent = {tick for span in call.agent for tick in range(*on_ticks(span, TAU_VOICE_TICK_S))}
    caller: dict[int, SpeechKind] = {}
    for speech in call.caller:
        for tick in range(*on_ticks(speech.span, TAU_VOICE_TICK_S)):
            caller.setdefault(tick, speech.kind)
    return [tick_of(number, caller.get(number), number in agent) for number in range(total)]


def tick_of(number: int, kind: SpeechKind | None, agent_speaks: bool) -> Any:
    """One tick."""
    action = SimpleNamespace(action="backchannel") if kind == "backchannel" else None
    effect = {"noise": "vocal_tic", "aside": "non_directed_phrase"}.get(kind or "")
    spoken = SimpleNamespace(type=effect, text="", is_muffled=False)
    insert = SimpleNamespace(speech_insert=spoken, dynamic_muffling_enabled=False) if effect else None
    user = SimpleNamespace(
        content="",
        contains_speech=kind is not None,
        turn_taking_action=action,
        utterance_ids=None,
        source_effects=None,
        speech_effects=insert,
    )
    agent = SimpleNamespace(content="", contains_speech=agent_speaks, raw_data=None, utterance_ids=None)
    return SimpleNamespace(tick_id=number, user_chunk=user, agent_chunk=agent)


def theirs(call: CallSpeech) -> dict[str, float | None]:
    """The panel by their program; {} where it has no events, of which it makes no panel."""

    class Simulation:
        id, task_id, ticks = "1", "1", ticks_of(call)

    class Results:
        simulations = (Simulation,)

    try:
        return dict(metrics.compute_interaction_metrics_for_experiment(Results))
    except RuntimeError:
        return {}


def assert_same(call: CallSpeech, *fields: str) -> None:
    ours = {figure.name: figure.on_ticks for figure in scorecard([call])}
    panel = theirs(call)
    for field in fields if panel else ():
        our, their = ours[OURS[field]], panel[field]
        assert (our is None) == (their is None), (field, our, their)
        assert our is None or math.isclose(our, their or 0.0, abs_tol=1e-6), (field, our, their)


@settings(deadline=None, max_examples=100)
@given(calls("turn", "turn", "backchannel"))
def test_the_panel_of_turns_and_backchannels_is_theirs(call: CallSpeech) -> None:
    assert_same(
        call, *[field for field in OURS if field not in ("selectivity_vocal_tic", "selectivity_non_directed")]
    )


@settings(deadline=None, max_examples=100)
@given(calls("noise", "aside"))
def test_selectivity_on_noises_and_asides_is_theirs(call: CallSpeech) -> None:
    separate = [on_ticks(speech.span, TAU_VOICE_TICK_S) for speech in call.caller]
    if all(one.end < other.begin for one, other in pairwise(separate)):
        assert_same(call, *SOUNDS)
