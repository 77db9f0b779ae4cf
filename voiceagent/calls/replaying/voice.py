"""The caller's voice in a forked call: speech and pauses are logged ones, ends of turns are decided again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from audio.endpoint import EndpointConfig
from voiceagent.calls.log.event_log import CallLog
from voiceagent.conversation import events as ev
from voiceagent.conversation.end_of_turn.probability import SILENCES
from voiceagent.conversation.settings import TurnDetection

AGREED_S = 0.16
"""Time after a pause's event at which the VAD mostly agrees: it reports voice 95 ms longer."""
WINDOW_S = 0.032
"""Length of a VAD window, the resolution of silences."""


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
        """Return the earliest clock time at which this silence can have ended the turn that paused here."""
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


class CallersVoice:
    """State of the current turn. endpoint: the call's endpointing thresholds."""

    def __init__(self, log: CallLog, endpoint: EndpointConfig) -> None:
        self._pauses = LoggedPauses(log)
        self._endpoint = endpoint
        self._state = "silent"
        self._paused_at_s = 0.0
        self._silent_since_s = 0.0  # by the clock, in a pause
        self._generation = 0
        self._told: set[type[ev.Event]] = set()

    @property
    def paused(self) -> bool:
        """True during a pause in a turn."""
        return self._state == "paused"

    @property
    def speaking(self) -> bool:
        return self._state == "speaking"

    @property
    def generation(self) -> int:
        """Number that changes when speech begins, pauses or resumes, and when a pause's end is moved."""
        return self._generation

    def apply(self, event: ev.Event, now_s: float) -> None:
        match event:
            case ev.SpeechStarted():
                self._state, self._told = "speaking", set()
            case ev.SpeechResumed():
                self._state = "speaking"
            case ev.SpeechPaused(at_s):
                self._state, self._paused_at_s = "paused", at_s
                self._silent_since_s = now_s - self._endpoint.pause_s
            case ev.TurnEnded():
                self._state = "silent"
            case ev.InterruptionCandidate() | ev.InterruptionConfirmed():
                self._told.add(type(event))
                return
            case _:
                return
        self._generation += 1

    def translate(self, event: ev.Event, now_s: float) -> ev.Event | None:
        """Translate an event to the current state: resumed speech may be a new turn, or the reverse. Return
        None to ignore it.
        """
        spoken = isinstance(event, ev.SpeechPaused | ev.VoiceLouder | ev.InterruptionConfirmed)
        of_a_turn = isinstance(event, ev.InterruptionCandidate)  # also during a pause, if the voice is loud
        if (spoken and not self.speaking) or (of_a_turn and self._state == "silent"):
            return None
        if type(event) in self._told:
            return None
        if isinstance(event, ev.SpeechStarted | ev.SpeechResumed):
            kind = ev.SpeechStarted if self._state == "silent" else ev.SpeechResumed
            event = kind(event.at_s)
        self.apply(event, now_s)
        return event

    def interruptions(self, started: ev.SpeechStarted) -> list[tuple[float, ev.Event]]:
        """Return interruption events due to the duration of a voice that is now a turn, with the seconds
        after its start.
        """
        return [
            (after_s, kind(started.at_s + after_s))
            for kind, after_s in (
                (ev.InterruptionCandidate, self._endpoint.interruption_candidate_s),
                (ev.InterruptionConfirmed, self._endpoint.interruption_confirmed_s),
            )
        ]

    def schedule_end(self, silence_s: float, now_s: float) -> tuple[float, ev.TurnEnded]:
        """Let the current pause end the turn after this silence. Return the time and the event."""
        self._generation += 1
        whole_s = max(1, round(silence_s / WINDOW_S)) * WINDOW_S
        at_s = max(now_s, self._pauses.at_least_s(self._paused_at_s, silence_s))
        return max(at_s, self._silent_since_s + whole_s), ev.TurnEnded(self._paused_at_s)
