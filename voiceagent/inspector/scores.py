"""Scores of one kept call, as `voiceagent score` computes them."""

from __future__ import annotations

import math
from typing import Any

from audio.detection.vad import SileroVad, VadError
from voiceagent.calls.call_speech import call_speech
from voiceagent.calls.log.event_log import LogError
from voiceagent.calls.log.logged_speech import logged_speech
from voiceagent.calls.places import names_at, read_at, read_log_at, recording_of
from voiceagent.calls.rows import CallRow
from voiceagent.scores.scorecard import scorecard

MAX_SCORED_S = 1_800.0
"""Longest call whose recording is searched for voices; longer ones are scored by their log alone."""


def scored(call: CallRow) -> dict[str, Any]:
    """Return the scores of a call. Blocks for about a second per minute of its recording.

    Raises LogError, PlaceError.
    """
    logged = logged_speech(read_log_at(call.place), call.call_id)
    name = recording_of(names_at(call.place)) if logged.seconds <= MAX_SCORED_S else None
    recording = None if name is None else read_at(call.place, name)
    vad = SileroVad()
    try:
        if recording is not None:
            vad.load()
        speech = call_speech(logged, recording, vad, None, "en")  # only references need the language
    except (ValueError, VadError) as error:
        raise LogError(f"{call.call_id}: {error}") from error
    figures = [
        {"name": one.name, "source": one.source, "unit": one.unit, "value": one.value, "count": one.count}
        for one in scorecard([speech])
        if one.value is not None and math.isfinite(one.value)
    ]
    return {"scores": figures, "by_recording": recording is not None}
