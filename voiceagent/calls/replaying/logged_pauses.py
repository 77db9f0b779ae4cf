"""How long the pauses in a caller's turns were in a call that was logged, and what may end them. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from voiceagent.calls.log.event_log import CallLog
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn.probability import SILENCES
from voiceagent.conversation.settings import TurnDetection

AGREED_S = 0.16
"""How long after a pause was told the voice model mostly agrees: it hears a voice 95 ms longer."""


@dataclass(slots=True)
class LoggedPause:
    """told_s, over_s: by the clock, when it was told, and when it was over, by its turn's end or the voice.
    required_s: silence that would end the turn, the newest.
    """

    told_s: float
    required_s: float
    over_s: float = -math.inf


class LoggedPauses:
    """How long the pauses of a call were. A turn ends only where the voice model agrees that nobody speaks,
    which the log does not have; but it has when that was, or that it was not yet.
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
                    more_s = command.get("more_s", 0.0)  # logs of older versions have none
                    pause.required_s = command["decision"]["silence_s"] + more_s

    def at_least_s(self, paused_at_s: float, silence_s: float) -> float:
        """When, by the clock, this much silence can have ended the turn that paused there at the earliest."""
        pause = self._pauses.get(paused_at_s)
        if pause is None:
            return -math.inf
        if silence_s >= pause.required_s:
            return pause.over_s
        return pause.told_s + self._soonest_s


def first_silence(detection: TurnDetection) -> float:
    """What ends the turn as long as its words are not known."""
    if detection.kind == "semantic_vad":
        return SILENCES[detection.eagerness].open_s
    return detection.silence_s
