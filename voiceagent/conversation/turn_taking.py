"""Turn-taking: a caller's turn from its first sound to the request for an answer.

Dispatches the events of a turn: `turn/` holds its state, `voice_over_agent` handles one over the agent,
`answering` starts responses.
"""

from __future__ import annotations

from dataclasses import replace

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.answering import Answering
from voiceagent.conversation.backchannels import Backchannels
from voiceagent.conversation.causes import TurnEndCode
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History
from voiceagent.conversation.interruption import Meaning
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.settings import CallSettings, TurnDetection
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import AnswerSoFar, CallerTurn, Paused, TurnVisibility
from voiceagent.conversation.turn.endpointing_delay import (
    decide_end_of_turn,
    set_endpointing_delay,
    shorten_backchannel_delay,
    silence_before_acting_s,
)
from voiceagent.conversation.turn.own_voice import Overlap
from voiceagent.conversation.turn_policy import CurrentPolicy
from voiceagent.conversation.voice_over_agent import VoiceOverAgent

MIN_PREEMPTIVE_PROBABILITY = 0.6
"""Minimum probability of an end for a preemptive response from the interim transcript; about half of these
transcripts turn out to be final.
"""


class TurnTaking:
    """The turns of one call. settings: always the call's current ones."""

    def __init__(
        self,
        history: History,
        policy: CurrentPolicy,
        caller: Caller,
        voice: VoiceOverAgent,
        prompts: Prompts,
        responses: CurrentResponse,
        answering: Answering,
    ) -> None:
        self._history, self._policy = history, policy
        self._caller, self._voice, self._prompts = caller, voice, prompts
        self._responses, self._answering = responses, answering
        self._backchannels = Backchannels(policy.now.language, policy.now.backchannel_after_s)
        self.claimed = False
        """True while the agent's code takes the caller's turns, so that they are not answered."""
        self.private = False
        """True while nothing else may have their words."""
        self._max_silence_s: float | None = None

    def claim(self, event: ev.TurnsClaimed) -> None:
        """Give the caller's turns to the agent's code, or take them back."""
        claimed = event.claimed
        self.claimed, self.private = claimed, claimed and event.private
        self._max_silence_s = event.max_silence_s
        if self.private and self._caller.open is not None:  # the answer began before the question
            self._caller.open.private, self._caller.open.respond = True, False
        if not claimed:  # the dictation is over
            self._caller.dictation = None
            self._caller.spelling = ""

    def on_voice(
        self, event: ev.VoiceNoticed | ev.VoiceFaded | ev.SpeechStarted, settings: CallSettings
    ) -> list[Command]:
        """Handle the start or end of a possible voice. Ignored while a turn is in progress."""
        if self._caller.open is not None:
            return []
        if isinstance(event, ev.SpeechStarted):
            return self._on_speech_started(event.at_s, event.level_db, settings)
        return self._voice.on_possible_voice(event, settings.turn_detection)

    def _on_speech_started(
        self, at_s: float, level_db: float | None, settings: CallSettings
    ) -> list[Command]:
        if self._caller.silent:
            self._prompts.apply_summary()
        detection = settings.turn_detection
        respond = detection is not None and detection.create_response and not self.claimed
        padding_s = 0.0 if detection is None else detection.prefix_padding_s
        turn, recognize = self._caller.start(
            at_s, padding_s, respond, self._voice.resumed_turn(at_s), self.private
        )
        turn.by_hand = detection is None
        over_agent = self._voice.on_turn_started(turn, level_db, detection)
        if over_agent is not None:
            return [recognize, *over_agent]
        return [recognize, *self.announce(turn, settings), *self._prompts.prefill(turn, settings)]

    def announce(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Notify the client of a turn, unless it knows it."""
        return self._caller.announce(turn, by_voice=settings.turn_detection is not None)

    def on_turn_event(
        self, turn: CallerTurn, event: ev.VoiceEvent | ev.TurnEvent, settings: CallSettings
    ) -> list[Command]:
        """Handle an event of the turn in progress."""
        match event:
            case ev.InterruptionCandidate() | ev.InterruptionConfirmed() | ev.VoiceLouder():
                return self._voice.on_voice_event(turn, event, settings.turn_detection)
            case ev.SpeechPaused(at_s):
                paused = self._caller.pause(turn, at_s, judge=_semantic(settings) is not None)
                return paused + self._start_preemptive_early(turn, settings)
            case ev.SpeechResumed(at_s):
                self._caller.resume(turn, at_s)
                return self._backchannels.on_speech(at_s) + self._responses.cancel_preemptive()
            case ev.TurnDue():
                return self._responses.raise_priority(turn.item_id, turn.whole_words)
            case ev.TurnEnded():
                return self._on_turn_ended(turn, event, settings)
            case ev.TurnJudged() if turn.item_id == event.item_id:
                # before the transcript is final it is only stored: both are weighed together
                self._caller.set_turn_model_result(turn, event)
                return self.set_endpointing_delay(turn, settings)
            case ev.TurnEndScored() if turn.item_id == event.item_id:
                self._caller.set_llm_score(turn, event)
                return self.set_endpointing_delay(turn, settings)
        return []

    def _on_turn_ended(self, turn: CallerTurn, event: ev.TurnEnded, settings: CallSettings) -> list[Command]:
        # the protocol includes the silence that ends a turn in its item if clients may set that silence
        detection = _semantic(settings)
        semantic = detection is not None
        silent_to_s = None if semantic else event.silent_to_s
        if detection is not None:
            said = self._history.last_agent_words()
            turn.acts_after_s = silence_before_acting_s(
                turn, event.silent_to_s, said, detection.eagerness, self._policy.now
            )
        rule = turn.phase.rule if isinstance(turn.phase, Paused) else ""
        code: TurnEndCode = (rule or "longest_silence") if semantic else "silence"
        commands = self._backchannels.on_turn_ended(event.at_s)
        commands += self._caller.end(turn, event.at_s, code, event.level_db, silent_to_s)
        if turn.announced:
            commands += self._caller.commit(turn, by_voice=True)
        return commands + (self.conclude(turn, settings) if turn.settled else [])

    def on_echo_event(self, event: ev.EchoEvent) -> list[Command]:
        """Handle an echo of the agent, or what it may be an echo of."""
        turn = self._caller.open
        match event:
            case ev.SpokeOverAgent(response_id, played_s):
                played = self._responses.find_played(response_id)
                if turn is not None and played is not None:
                    turn.overlap = Overlap(played, played_s, self._caller.echo_delay_s)
            case ev.EchoMeasured(delay_s):
                self._caller.echo_delay_s = delay_s
                if turn is not None and turn.overlap is not None:
                    turn.overlap = replace(turn.overlap, delay_s=delay_s)
                if turn is None:
                    return [do.RestartDetection(), do.RestorePlayout()]
                if not turn.announced:
                    dropped = [*self._caller.drop(turn), do.RestartDetection()]
                    return [*dropped, do.RestorePlayout()]
        return []

    def on_transcript(self, event: ev.TranscriptChanged, settings: CallSettings) -> list[Command]:
        """Handle a new hypothesis of a turn."""
        turn = self._caller.find(event.item_id)
        if turn is None:
            return []
        self._caller.set_hypothesis(turn, event)
        commands = self._voice.on_transcript(turn, settings.turn_detection)
        if turn.announced:
            if settings.transcribe:
                commands += self._caller.notify_stable(turn)
            if turn.speaking:
                commands += self._prompts.prefill_more(turn, settings)
        if turn.settled and turn.ended:
            return commands + self.conclude(turn, settings)
        if turn.settled:
            if _semantic(settings) is not None:
                commands += self._prompts.score_turn_end(turn, settings)
            commands += self._answering.start_preemptive(turn, settings)
            commands += self.set_endpointing_delay(turn, settings)
        elif not turn.ended and not turn.speaking:
            commands += self._start_preemptive_early(turn, settings)
        return commands

    def _start_preemptive_early(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Start a preemptive response during a pause if the interim transcript looks like a complete turn."""
        detection = _semantic(settings)
        if detection is None or turn.settled:
            return []
        said = self._history.last_agent_words()
        ends = decide_end_of_turn(turn, said, detection.eagerness, self._policy.now)
        if ends.probability < MIN_PREEMPTIVE_PROBABILITY:
            return []
        return self._answering.start_preemptive(turn, settings)

    def set_endpointing_delay(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Set the endpointing delay of the pause in progress: longer while the turn's answer has no audio,
        or if it runs a tool with effects, but short after a backchannel over the agent, whatever the kind of
        turn detection.
        """
        if settings.turn_detection is None or not turn.settled:
            return []
        said = self._history.last_agent_words()
        if self._voice.is_backchannel(turn):
            return shorten_backchannel_delay(turn, said, settings.turn_detection.eagerness, self._policy.now)
        detection = _semantic(settings)
        if detection is None:
            return []
        answer = self.answer_so_far(turn, settings)
        delay = set_endpointing_delay(
            turn, said, detection.eagerness, self._policy.now, answer, self._max_silence_s
        )
        return delay + self._backchannel(turn, delay, settings)

    def _backchannel(
        self, turn: CallerTurn, delay: list[do.RequireSilence], settings: CallSettings
    ) -> list[Command]:
        """Return a backchannel if the agent may say one in this pause. delay: the pause's, if it has one."""
        quiet = self._responses.active is None and not self.claimed
        if settings.backchannels != "all" or not delay or not quiet:
            return []
        return self._backchannels.on_pause(turn, delay[0].decision)

    def on_recognition_failed(self, item_id: str, reason: str, settings: CallSettings) -> list[Command]:
        """Handle a failure of the recognizer in a turn."""
        turn = self._caller.find(item_id)
        if turn is None or turn.recognition.failure is not None:
            return []
        self._caller.set_failure(turn, reason)
        return self.conclude(turn, settings) if turn.ended else []

    def conclude(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Answer a turn that is over and whose transcript is final; drop one that was only a backchannel."""
        meaning = None if turn.visibility is TurnVisibility.COMMITTED else self._voice.meaning(turn)
        if meaning is Meaning.BACKCHANNEL:
            return [*self._caller.drop(turn), do.RestorePlayout()]
        committed: list[Command] = []
        if meaning is not None:
            committed = self.announce(turn, settings) + self._caller.commit(turn, by_voice=True)
        # after the commit: a turn that was committed may be resumed
        commands = self._caller.drop(turn) + committed
        if meaning is not None:
            commands += self._voice.on_turn_over(turn, meaning)
        commands += self._caller.conclude(turn, settings.transcribe)
        kept = turn.item_id in self._history
        if settings.agent and turn.text:
            commands.append(do.TurnConcluded(turn.text))
        return commands + self._answering.on_turn_over(turn, kept, settings)

    def answer_so_far(self, turn: CallerTurn, settings: CallSettings) -> AnswerSoFar:
        """Return what is known of a preemptive response to exactly these words."""
        item_id, words = turn.item_id, turn.whole_words
        acts = self._policy.now.acting_s > 0 and self._responses.will_act(item_id, words, settings)
        return AnswerSoFar(self._responses.is_awaited(item_id, words), acts)


def _semantic(settings: CallSettings) -> TurnDetection | None:
    detection = settings.turn_detection
    return detection if detection is not None and detection.kind == "semantic_vad" else None
