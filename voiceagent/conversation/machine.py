"""The turn machine: what happens in a call goes in as events, what is to be done comes out as commands.

Pure: no clock, no I/O, no tasks. At most one response exists at a time, and everything it produces carries
its id, so what comes late from a dead response is nothing. The history holds what the caller said and what
was played.

Every event makes one pass: the event itself, then the response that ended with it, then the response that is
wanted now, then what is done between two turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import interruption
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.answering import Answering
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History
from voiceagent.conversation.input_requests import clear_input, commit_input
from voiceagent.conversation.interruption import InterruptionPolicy, Meaning
from voiceagent.conversation.item_requests import ItemRequests
from voiceagent.conversation.mcp_lists import McpLists
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.response.phases import Over, Response
from voiceagent.conversation.settings import CallSettings, TurnDetection
from voiceagent.conversation.tool_calls import ToolCalls
from voiceagent.conversation.turn.caller import Caller, limit_pause
from voiceagent.conversation.turn.caller_turn import CallerTurn, Standing
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.voice_over_agent import VoiceOverAgent
from voiceagent.conversation.words import words_of


class Conversation:
    """One call's turns. `rate_hz`: rate of the synthesizer's sound. `new_id`: makes ids with a prefix."""

    def __init__(
        self, settings: CallSettings, policy: TurnPolicy, rate_hz: int, new_id: Callable[[str], str]
    ) -> None:
        self.settings = settings
        self.history = History()
        self._started = self._claimed = False
        self._policy = policy
        self._caller = Caller(self.history, new_id)
        self._tools = ToolCalls(self.history, new_id)
        self._mcp_lists = McpLists(self.history, new_id)
        self._responses = CurrentResponse(self.history, rate_hz, new_id, self._tools)
        self._voice = VoiceOverAgent(InterruptionPolicy(policy), self._caller, self._responses)
        self._items = ItemRequests(self.history, self._responses, self._tools, policy.limits)
        self._prompts = Prompts(self.history, policy)
        self._answering = Answering(
            policy, self._caller, self._responses, self._prompts, self._tools, self._mcp_lists, new_id
        )

    @property
    def idle(self) -> bool:
        """Nobody speaks, and nothing is being made or awaited."""
        waiting = self._answering.waiting or self._tools.awaited
        return self._caller.silent and not waiting and self._responses.current is None

    @property
    def quiet(self) -> bool:
        """Nobody speaks; a tool may run, and be waited for."""
        return self._caller.silent and self._responses.current is None

    def handle(self, event: ev.Event) -> list[Command]:
        """Take one event in; returns what is to be done now, in order."""
        commands = self._take(event)
        if isinstance(event, ev.CallerGone):
            return commands  # nobody is there for what would follow
        commands += self._follow(self._responses.collect())
        while over := self._responses.collect():  # a text that was made in the pause is over as it begins
            commands += self._follow(over)
        if isinstance(event, ev.ResponseGenerated | ev.ResponseFailed):
            commands += self._prompts.summarise(self.settings)  # the LLM is free while the sound is played
        if self.idle:
            commands += self._prompts.replace_old_turns(self.settings)
        return commands

    def _take(self, event: ev.Event) -> list[Command]:
        match event:
            case ev.VoiceNoticed() | ev.VoiceFaded() | ev.SpeechStarted():
                return self._voice_begins(event)
            case ev.TranscriptChanged():
                return self._transcript_changed(event)
            case ev.RecognitionFailed(item_id, reason):
                return self._recognition_failed(item_id, reason)
            case ev.CallStarted(greeting):
                return self._call_started(greeting)
            case ev.CallerIdle(at_s):
                return self._answering.ask_again(at_s, self.settings) if self.idle else []
            case ev.CallerGone():
                self._responses.abandon(event)
            case ev.PreemptiveAllowed(allowed):
                self._answering.allow_preemptive(allowed)
            case ev.HistorySummarised(text):
                self._prompts.take_summary(text)
            case ev.UpstreamTold():  # of a call that has no such conversation
                pass
            case _ if isinstance(event, ev.ResponseEvent):
                return self._response_made(event)
            case _ if isinstance(event, ev.AgentEvent):
                return self._agent_acts(event)
            case _ if isinstance(event, ev.ClientRequest):
                return self._client_asks(event)
            case _ if self._caller.open is not None:
                return self._turn_goes_on(self._caller.open, event)
        return []

    def _call_started(self, greeting: str) -> list[Command]:
        self._started = True
        asked = self._mcp_lists.ask(self.settings.mcp_servers)
        created = [notify.NotifySettings(self.settings, created=True), *asked]
        if not greeting or self._responses.current is not None:  # a client was quicker, and asked for one
            return created
        return created + self._answering.greet(greeting, self.settings)

    # ---- the caller

    @property
    def _detection(self) -> TurnDetection | None:
        return self.settings.turn_detection

    @property
    def _semantic(self) -> TurnDetection | None:
        detection = self._detection
        return detection if detection is not None and detection.kind == "semantic_vad" else None

    def _voice_begins(self, event: ev.VoiceNoticed | ev.VoiceFaded | ev.SpeechStarted) -> list[Command]:
        """Of a turn in progress it is nothing new."""
        if self._caller.open is not None:
            return []
        if isinstance(event, ev.SpeechStarted):
            return self._speech_started(event.at_s, event.level_db)
        return self._voice.notice(event, self._detection)

    def _speech_started(self, at_s: float, level_db: float | None) -> list[Command]:
        if self._caller.silent:
            self._prompts.begin_turn()
        detection = self._detection
        respond = detection is not None and detection.create_response and not self._claimed
        turn, recognize = self._caller.start(at_s, respond, self._voice.resumed(at_s))
        over_agent = self._voice.begin(turn, level_db, detection)
        if over_agent is not None:
            return [recognize, *over_agent]
        return [recognize, *self._announce(turn), *self._prompts.prefill(turn, self.settings)]

    def _announce(self, turn: CallerTurn) -> list[Command]:
        return self._caller.announce(turn, by_voice=self._detection is not None)

    def _turn_goes_on(self, turn: CallerTurn, event: ev.VoiceEvent | ev.TurnEvent) -> list[Command]:
        match event:
            case ev.InterruptionCandidate() | ev.InterruptionConfirmed() | ev.VoiceLouder():
                return self._voice.go_on(turn, event, self._detection)
            case ev.SpeechPaused(at_s):
                return self._caller.pause(turn, at_s, judge=self._semantic is not None)
            case ev.SpeechResumed(at_s):
                self._caller.resume(turn, at_s)
                return self._responses.cancel_preemptive()
            case ev.TurnDue():
                return self._responses.hurry(turn.item_id, words_of(turn.text))
            case ev.TurnEnded(at_s, level_db):
                return self._turn_ended(turn, at_s, level_db)
            case ev.TurnJudged() if turn.item_id == event.item_id:
                # before the words are settled it is only kept: both are weighed together
                self._caller.judge(turn, event)
                return self._limit_pause(turn)
            case ev.TurnEndTold() if turn.item_id == event.item_id:
                self._caller.take_end(turn, event)
                return self._limit_pause(turn)
        return []

    def _turn_ended(self, turn: CallerTurn, at_s: float, level_db: float | None) -> list[Command]:
        commands = self._caller.end(turn, at_s, level_db)
        if turn.announced:
            commands += self._caller.commit(turn, by_voice=True)
        return commands + (self._conclude(turn) if turn.settled else [])

    def _transcript_changed(self, event: ev.TranscriptChanged) -> list[Command]:
        turn = self._caller.turn_of(event.item_id)
        if turn is None:
            return []
        self._caller.understand(turn, event)
        commands = self._voice.understand(turn, self._detection)
        if turn.announced:
            if self.settings.transcribe:
                commands += self._caller.notify_stable(turn)
            if turn.speaking:
                commands += self._prompts.prefill_more(turn, self.settings)
        if turn.settled and turn.ended:
            return commands + self._conclude(turn)
        if turn.settled:
            if self._semantic is not None:
                commands += self._prompts.ask_end(turn, self.settings)
            commands += self._answering.prepare(turn, self.settings)
            commands += self._limit_pause(turn)
        return commands

    def _limit_pause(self, turn: CallerTurn) -> list[Command]:
        if self._semantic is None or not turn.settled:
            return []
        said = self.history.last_words_of("assistant")
        awaited = self._is_answer_awaited(turn)
        return limit_pause(turn, said, self._semantic.eagerness, self._policy, awaited)

    def _recognition_failed(self, item_id: str, reason: str) -> list[Command]:
        turn = self._caller.turn_of(item_id)
        if turn is None or turn.recognized.failure is not None:
            return []
        self._caller.fail(turn, reason)
        return self._conclude(turn) if turn.ended else []

    def _conclude(self, turn: CallerTurn) -> list[Command]:
        """The turn is over and its words are settled."""
        commands = self._caller.forget(turn)
        if turn.standing is not Standing.COMMITTED:
            meaning = self._voice.meaning(turn)
            if meaning is Meaning.BACKCHANNEL:
                return [*commands, interruption.let_go_on()]
            commands += self._announce(turn)
            commands += self._caller.commit(turn, by_voice=True)
            commands += self._voice.end(turn, meaning)
        commands += self._caller.conclude(turn, self.settings.transcribe)
        kept = turn.item_id in self.history
        if self.settings.agent and turn.text:
            commands.append(do.TurnConcluded(turn.text))
        return commands + self._answering.turn_over(turn, kept, self.settings)

    # ---- the response

    def _response_made(self, event: ev.ResponseEvent) -> list[Command]:
        """With the first that there is to hear, a turn that went on for the sake of its answer may end."""
        turn = self._caller.open
        awaited = turn is not None and self._is_answer_awaited(turn)
        commands = self._responses.take(event, self.settings)
        if turn is not None and awaited and not self._is_answer_awaited(turn):
            commands += self._limit_pause(turn)
        return commands

    def _is_answer_awaited(self, turn: CallerTurn) -> bool:
        return self._responses.is_awaited(turn.item_id, words_of(turn.text))

    def _follow(self, over: list[Response]) -> list[Command]:
        """The next step: what waited for the end of these responses, then the response that is wanted."""
        waited = [command for response in over for command in self._response_over(response)]
        return waited + self._answering.begin_next(self.settings)

    def _response_over(self, response: Response) -> list[Command]:
        """A voice over it is a turn now, and may be answered ahead."""
        commands = self._answering.response_over(response)
        if self.settings.agent and response.wanted.in_conversation and isinstance(response.phase, Over):
            commands.append(do.ResponseConcluded(response.phase.played, response.phase.stop_reason != ""))
        turn = self._caller.open
        if turn is not None and not turn.announced:
            commands += [interruption.let_go_on(), *self._announce(turn)]
        return commands + (self._answering.prepare(turn, self.settings) if turn is not None else [])

    # ---- what the agent's code does

    def _agent_acts(self, event: ev.AgentEvent) -> list[Command]:
        match event:
            case ev.ToolFinished():
                # a response that was begun ahead does not know of it
                return self._responses.cancel_preemptive() + self._tools.finish(event)
            case ev.ToolSlow(call_id):
                tool = self._tools.is_running(call_id)
                return self._answering.fill(tool.filler, self.settings) if tool is not None else []
            case ev.McpListed():
                return self._mcp_listed(event)
            case ev.AgentChanged():
                return self._agent_changed(event)
            case ev.SpeechRequested(text):
                self._answering.say(text)
            case ev.TurnsClaimed(claimed):
                self._claimed = claimed
                if not claimed:  # what was asked for is not awaited any more
                    self._caller.dictation = None
            case ev.HangUpRequested(reason):
                self._answering.leave(reason)
            case ev.DictationBegan(digits):
                self._caller.dictation = digits
        return []

    def _mcp_listed(self, event: ev.McpListed) -> list[Command]:
        """Prompts begin otherwise where it is for the whole call: as where the agent changes."""
        commands = self._mcp_lists.finish(event)
        changed = self._mcp_lists.settled(self.settings)
        if changed == self.settings:
            return commands
        self.settings = changed
        return commands + self._responses.cancel_preemptive() + self._prompts.prefill_history(changed)

    def _agent_changed(self, event: ev.AgentChanged) -> list[Command]:
        """Its prompt begins otherwise: it is read before it is needed."""
        settings = self.settings
        changed = replace(
            settings,
            agent=event.agent,
            agent_tools=event.tools,
            instructions=settings.instructions if event.instructions is None else event.instructions,
            voice=settings.voice if event.voice is None else event.voice,
        )
        if changed == settings:
            return []
        dropped = self._responses.cancel_preemptive()
        read = self._prompts.prefill_history(changed) if self._started else []
        return [*dropped, *self._settings_changed(changed), *read]

    # ---- what the client asks for

    def _client_asks(self, event: ev.ClientRequest) -> list[Command]:
        match event:
            case ev.SettingsChanged(settings):
                return self._settings_changed(settings)
            case ev.ResponseRequested():
                return self._answering.request(event, self.settings)
            case ev.ResponseCancelled():
                return self._answering.cancel(event)
            case ev.InputCommitted():
                return self._input_committed(event)
            case ev.InputCleared():
                return clear_input(self._caller, self._responses)
            case ev.OutputCleared():
                return self._responses.stop("client_cancelled")
            case ev.KeyPressed(digit, received_at):
                return [notify.NotifyKeyPressed(digit, received_at)]
            case ev.PlayoutMeasured():
                return []  # it is for whoever reads the log
            case _:
                return self._items.take(event, self.settings if self._started else None)

    def _settings_changed(self, settings: CallSettings) -> list[Command]:
        self.settings = settings = self._mcp_lists.settled(settings)
        changed: list[Command] = []
        if self._started:  # before that, the client is notified when the call starts
            changed = [notify.NotifySettings(settings), *self._mcp_lists.ask(settings.mcp_servers)]
        return [*changed, do.ConfigureListening(settings), do.ConfigureSpeaking(settings)]

    def _input_committed(self, event: ev.InputCommitted) -> list[Command]:
        turn = self._caller.open
        commands = commit_input(event, self._caller, self._responses)
        return commands + (self._conclude(turn) if turn is not None and turn.settled else [])
