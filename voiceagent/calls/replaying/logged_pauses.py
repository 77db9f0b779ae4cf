"""Pauses in a logged call's turns, and the earliest time at which each could have ended its turn."""

from __future__ import annotations

import math
from dataclasses import dataclass

from voiceagent.calls.log.event_log import CallLog
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn.probability import SILENCES
from voiceagent.conversation.settings import TurnDetection

AGREED_S = 0.16
"""Time after a pause's event at which the VAD mostly agrees: it reports voice 95 ms longer."""


@dataclass(slots=True)
class LoggedPause:
    """A pause. told_s, over_s: clock times of its event and of its end, by the turn's end or by speech.
    required_s: newest silence that would end the turn.
    """

    told_s: float
    required_s: float
    over_s: float = -math.inf


class LoggedPauses:
    """Pauses of a call. A turn ends only once the VAD reports no voice, which the log does not have; but the
    log has the time of that, or that it had not happened yet.
    """

    def __init__(self, log: CallLog) -> None:
        self._pauses: dict[float, LoggedPause] = {}
        self._soonest_s = AGREED_S
        pause: LoggedPause | None = None
        detection = log.header.settings.turn_detection
        for record in log.records:
            event = record.event
            if isinstance(event, ev.SettingsChanged):
                detection = event.settings.turn_detection
            elif isinstance(event, ev.SpeechPaused) and detection is not None:
                pause = LoggedPause(record.clock_s, first_silence(detection))
                self._pauses[event.at_s] = pause
            elif isinstance(event, ev.SpeechResumed | ev.TurnEnded) and pause is not None:
                pause.over_s = record.clock_s
                if isinstance(event, ev.TurnEnded):
                    self._soonest_s = min(self._soonest_s, record.clock_s - pause.told_s)
                pause = None
            for command in record.commands:
                if command["type"] == "RequireSilence" and pause is not None:
                    more_s = command.get("more_s", 0.0)  # missing in old logs
                    pause.required_s = command["decision"]["silence_s"] + more_s

    def at_least_s(self, paused_at_s: float, silence_s: float) -> float:
        """Return the earliest clock time at which this silence can have ended the turn that paused at this
        position.
        """
        pause = self._pauses.get(paused_at_s)
        if pause is None:
            return -math.inf
        if silence_s >= pause.required_s:
            return pause.over_s
        return pause.told_s + self._soonest_s


def first_silence(detection: TurnDetection) -> float:
    """Return the silence that ends the turn while its transcript is unknown."""
    if detection.kind == "semantic_vad":
        return SILENCES[detection.eagerness].open_s
    return detection.silence_s
