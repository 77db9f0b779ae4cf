"""The caller's voice in a call that is run again: he speaks as he did, and his turns end anew. Pure."""

from __future__ import annotations

from audio.endpoint import EndpointConfig
from voiceagent.calls.log.event_log import CallLog
from voiceagent.calls.replaying.logged_pauses import LoggedPauses
from voiceagent.conversation import events as ev

WINDOW_S = 0.032
"""The length of a window of voice activity, to which a silence is exact."""


class CallersVoice:
    """The turn in progress as it is found again. endpoint: what counted as speech in the call."""

    def __init__(self, log: CallLog, endpoint: EndpointConfig) -> None:
        self._pauses = LoggedPauses(log)
        self._endpoint = endpoint
        self._state = "silent"
        self._paused_at_s = 0.0
        self._silent_since_s = 0.0  # by the clock, in a pause
        self._stretch = 0
        self._told: set[type[ev.Event]] = set()

    @property
    def paused(self) -> bool:
        """The caller pauses in a turn."""
        return self._state == "paused"

    @property
    def speaking(self) -> bool:
        """The caller speaks, and does not pause."""
        return self._state == "speaking"

    @property
    def stretch(self) -> int:
        """A number that grows where the voice begins, pauses or goes on, and where a pause is to end
        otherwise.
        """
        return self._stretch

    def follow(self, event: ev.Event, now_s: float) -> None:
        """It happens, as in the call."""
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
        self._stretch += 1

    def meaning(self, event: ev.Event, now_s: float) -> ev.Event | None:
        """What it means now: a voice that goes on may be a new turn, or the reverse; None for nothing."""
        spoken = isinstance(event, ev.SpeechPaused | ev.VoiceLouder | ev.InterruptionConfirmed)
        of_a_turn = isinstance(event, ev.InterruptionCandidate)  # in a pause too, where it is loud
        if (spoken and not self.speaking) or (of_a_turn and self._state == "silent"):
            return None
        if type(event) in self._told:
            return None
        if isinstance(event, ev.SpeechStarted | ev.SpeechResumed):
            kind = ev.SpeechStarted if self._state == "silent" else ev.SpeechResumed
            event = kind(event.at_s)
        self.follow(event, now_s)
        return event

    def interruptions(self, started: ev.SpeechStarted) -> list[tuple[float, ev.Event]]:
        """What the length of a voice that is a new turn now brings about, and from where on it counts."""
        return [
            (after_s, kind(started.at_s + after_s))
            for kind, after_s in (
                (ev.InterruptionCandidate, self._endpoint.interruption_candidate_s),
                (ev.InterruptionConfirmed, self._endpoint.interruption_confirmed_s),
            )
        ]

    def end_after(self, silence_s: float, now_s: float) -> tuple[float, ev.TurnEnded]:
        """Let the pause in progress end the turn after so much silence: when that is, and the end."""
        self._stretch += 1
        whole_s = max(1, round(silence_s / WINDOW_S)) * WINDOW_S
        at_s = max(now_s, self._pauses.at_least_s(self._paused_at_s, silence_s))
        return max(at_s, self._silent_since_s + whole_s), ev.TurnEnded(self._paused_at_s)
