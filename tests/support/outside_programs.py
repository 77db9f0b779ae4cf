"""Calls as outside programs take them, and these programs' scores.

tau-voice: `src` of https://github.com/sierra-research/tau2-bench with its dependencies on PYTHONPATH.
eot-bench: https://github.com/livekit/eot-bench on PYTHONPATH, and pandas. Neither is on PyPI.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from voiceagent.scores.end_of_turn import Pause
from voiceagent.scores.interaction import SOUNDS, SPEECH, TAU_VOICE_TICK_S, SpeechKind
from voiceagent.scores.scorecard import CallSpeech
from voiceagent.scores.spans import Span, on_ticks

TAU_VOICE_SPEECH = {
    "response latency, mean": "response_latency_mean",
    "yield latency, mean": "yield_latency_mean",
    "turns answered": "response_rate",
    "interruptions yielded to": "yield_rate",
    "interruptions by the agent": "agent_interruption_rate",
    "backchannels talked through": "selectivity_backchannel",
}
TAU_VOICE_SOUNDS = {
    "noises ignored": "selectivity_vocal_tic",
    "asides ignored": "selectivity_non_directed",
}
"""Our names of tau-voice's panel, and its own: of speech, and of sounds that are none."""
EOT_BENCH = {
    "false cut-offs within 300 ms": ("mean_latency", 0.3),
    "false cut-offs within 600 ms": ("mean_latency", 0.6),
    "latency at 5 % false cut-offs": ("cutoff_rate", 0.05),
    "latency at 10 % false cut-offs": ("cutoff_rate", 0.1),
}
"""Our names of eot-bench's operating points, with its column of the budget and the budget."""


def tau_voice_panel(metrics: Any, calls: Sequence[CallSpeech]) -> dict[str, float | None]:
    """Return tau-voice's panel of calls by our names; {} where it has no events. metrics: its module.

    Noises and asides are given to it alone: in its calls they are the caller's speech, with an effect, and an
    agent that begins to speak over a cough would have interrupted a turn.
    """
    speech = [_with_only(call, SPEECH) for call in calls]
    sounds = [_with_only(call, SOUNDS) for call in calls]
    panel: dict[str, float | None] = {}
    for part, names in ((speech, TAU_VOICE_SPEECH), (sounds, TAU_VOICE_SOUNDS)):
        simulations = [
            SimpleNamespace(id=str(at), task_id="1", ticks=_ticks(call)) for at, call in enumerate(part)
        ]
        with suppress(RuntimeError):  # it has no events
            found = metrics.compute_interaction_metrics_for_experiment(
                SimpleNamespace(simulations=simulations)
            )
            panel |= {ours: found[theirs] for ours, theirs in names.items()}
    return panel


def _with_only(call: CallSpeech, kinds: Collection[str]) -> CallSpeech:
    return replace(call, caller=tuple(one for one in call.caller if one.kind in kinds))


def eot_bench_points(metrics: Any, pandas: Any, pauses: Iterable[Pause]) -> dict[str, float | None]:
    """Return eot-bench's operating points by our names; None if no policy is within a budget.

    metrics: its module. It needs pauses within turns and at their ends.
    """
    rows = [row for number, pause in enumerate(pauses) for row in _predictions(number, pause)]
    tradeoff = metrics.compute_tradeoff(pandas.DataFrame(rows))
    points = {}
    for name, (column, budget) in EOT_BENCH.items():
        value = float(metrics.get_pareto_operating_points(tradeoff, column, [budget])["value"].iloc[0])
        points[name] = None if math.isnan(value) else value
    return points


def _predictions(number: int, pause: Pause) -> list[dict[str, Any]]:
    """Return the rows of a pause. The last one, without a probability, is at its end: it gives its length."""
    known = {"id": str(number), "span_index": 0, "label": "eot" if pause.ends_turn else "hold"}
    judged = [(at_s, probability) for at_s, probability in pause.judgements if at_s < pause.seconds]
    return [
        known | {"silence_dur": at_s, "timestamp": at_s, "p_eot": probability}
        for at_s, probability in [*judged, (pause.seconds, math.nan)]
    ]


def separate(call: CallSpeech) -> bool:
    """Return True if the caller's sounds lie in ticks apart from each other, so that a tick has one kind."""
    ticks = sorted(on_ticks(speech.span, TAU_VOICE_TICK_S) for speech in call.caller)
    return all(one.end < other.begin for one, other in pairwise(ticks))


def _ticks(call: CallSpeech) -> list[Any]:
    """Return the call as the simulator would have recorded it."""
    total = on_ticks(Span(0.0, call.seconds), TAU_VOICE_TICK_S).end
    agent = {tick for span in call.agent for tick in range(*on_ticks(span, TAU_VOICE_TICK_S))}
    caller: dict[int, SpeechKind] = {}
    for speech in call.caller:
        for tick in range(*on_ticks(speech.span, TAU_VOICE_TICK_S)):
            caller.setdefault(tick, speech.kind)
    return [_tick(number, caller.get(number), number in agent) for number in range(total)]


def _tick(number: int, kind: SpeechKind | None, agent_speaks: bool) -> Any:
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
