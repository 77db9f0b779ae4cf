"""Scores of overlapping speech in a running call, by tau-voice's definitions as far as a call knows them.

A recording shows more: `voiceagent score` finds voices that the call did not notice, and backchannels that
it took for interruptions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.causes import BARGE_IN
from voiceagent.conversation.notifications import NotifyInputCommitted
from voiceagent.telemetry.metrics import Metrics

UTTERANCE_GAP_S = 0.7
"""Longest pause within an utterance of the caller, as `voiceagent score` has it."""
_COUNTED_COMMANDS = frozenset((do.Play, do.HoldPlayout, do.RestorePlayout, do.StopPlayout))
_COUNTED = frozenset(
    (
        ev.EchoMeasured,
        ev.VoiceNoticed,
        ev.VoiceFaded,
        ev.SpeechStarted,
        ev.SpeechPaused,
        ev.SpeechResumed,
        ev.TurnEnded,
        ev.PlayoutPlayed,
        ev.PlayoutStopped,
    )
)


class OverlapScores:
    """Measures yield latency, interruptions by the agent, and how long backchannels hold the agent.

    All times are seconds of the caller's audio. received_s: returns those received so far.
    """

    def __init__(self, metrics: Metrics, received_s: Callable[[], float]) -> None:
        self._metrics = metrics
        self._received_s = received_s
        self._playing = ""
        self._agent_began_s = -1.0
        self._began_s: float | None = None  # start of the caller's voice, None while there is none
        self._ended_s = -1.0  # end of the last voice
        self._speaks = False
        self._turn_over = False
        self._over_agent = False
        self._held_since_s: float | None = None
        self._held_s = 0.0

    def on_event(self, event: ev.Event, commands: Sequence[do.Command]) -> None:
        """Handle an event of the call, and the commands that it led to."""
        if type(event) in _COUNTED:
            self._on_counted(event)
        for command in commands:
            if type(command) in _COUNTED_COMMANDS:
                self._on_command(command, commands)

    def _on_counted(self, event: ev.Event) -> None:
        match event:
            case ev.VoiceNoticed(at_s):
                if self._began_s is None:
                    self._begin(at_s)
            case ev.EchoMeasured():
                self._began_s, self._speaks = None, False
            case ev.VoiceFaded():
                self._began_s = None
            case ev.SpeechStarted(at_s):
                self._begin(at_s)
                self._on_voice(at_s)
            case ev.SpeechResumed(at_s):
                self._on_voice(at_s)
            case ev.SpeechPaused(at_s):
                self._speaks, self._ended_s = False, at_s
            case ev.TurnEnded(at_s):
                self._speaks, self._ended_s, self._turn_over = False, at_s, True
            case ev.PlayoutPlayed(response_id) | ev.PlayoutStopped(response_id):
                if response_id == self._playing:
                    self._playing = ""

    def _begin(self, at_s: float) -> None:
        """Begin to follow a voice. The playout may have been held since it was noticed."""
        if self._began_s is None or not self._over_agent:
            self._over_agent = self._playing != ""
            self._held_s, self._held_since_s = 0.0, None
        self._began_s, self._turn_over = at_s, False

    def _on_voice(self, at_s: float) -> None:
        """Count an interruption if the agent began in a pause within the caller's utterance."""
        self._speaks = True
        if self._ended_s <= self._agent_began_s and at_s - self._ended_s <= UTTERANCE_GAP_S:
            self._count_interruption()

    def _on_command(self, command: do.Command, commands: Sequence[do.Command]) -> None:
        match command:
            case do.Play(response_id):
                if response_id != self._playing:
                    self._playing, self._agent_began_s = response_id, self._received_s()
                    if self._speaks:
                        self._count_interruption()
            case do.HoldPlayout():
                if self._held_since_s is None:
                    self._held_since_s = self._received_s()
            case do.RestorePlayout():
                self._on_restored(any(isinstance(one, NotifyInputCommitted) for one in commands))
            case do.StopPlayout(_, interrupted_by):
                if interrupted_by in BARGE_IN and self._began_s is not None and self._over_agent:
                    silent_s = self._received_s() if self._held_since_s is None else self._held_since_s
                    self._metrics.yield_seconds.observe(max(0.0, silent_s - self._began_s))
                self._began_s, self._held_since_s = None, None

    def _on_restored(self, is_turn: bool) -> None:
        if self._held_since_s is not None:
            self._held_s += self._received_s() - self._held_since_s
            self._held_since_s = None
        if self._turn_over and self._began_s is not None:
            if self._over_agent and not is_turn:
                self._metrics.backchannel_hold_seconds.observe(self._held_s)
            self._began_s = None

    def _count_interruption(self) -> None:
        self._metrics.agent_interruptions.inc()
        self._agent_began_s = -1.0  # once for each response
