"""The turn machine: handles the events of a call and returns commands.

Pure: no clock, no I/O, no tasks. The client knows at most one response of the conversation at a time, in
addition to out-of-band text responses. At most one response is preemptive. All output of a response carries
its id, so late output of a cancelled response is ignored. The history holds the caller's transcripts and the
part of the agent's text that was played.

Each event is handled in this order: the event itself, the response that it ended, the next response, work
between two turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation import privacy
from voiceagent.conversation.answering import Answering
from voiceagent.conversation.call_language import LanguageFollowing
from voiceagent.conversation.causes import cause_of
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, MessageItem
from voiceagent.conversation.item_requests import ItemRequest, ItemRequests, clear_input, commit_input
from voiceagent.conversation.mcp_lists import McpLists
from voiceagent.conversation.out_of_band import OutOfBandResponses, runs_out_of_band
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.response.phases import Over, Response
from voiceagent.conversation.reviews import Reviews
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.tool_calls import ToolCalls
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn_policy import CurrentPolicy, TurnPolicy
from voiceagent.conversation.turn_taking import TurnTaking
from voiceagent.conversation.voice_over_agent import VoiceOverAgent

_SPEECH_EVENTS = (
    ev.AgentChanged,
    ev.SpeechRequested,
    ev.ReplyRequested,
    ev.ToolSlow,
    ev.UpdateRequested,
    ev.GuidanceRequested,
)
"""Events by which the agent's code requests speech. Ignored in sessions that only transcribe."""


class Conversation:
    """The turns of one call. rate_hz: of the synthesizer. new_id: returns a new id with the given prefix."""

    def __init__(
        self, settings: CallSettings, policy: TurnPolicy, rate_hz: int, new_id: Callable[[str], str]
    ) -> None:
        self.settings = settings
        self._policy = CurrentPolicy(policy)
        served = [rules.language for rules in policy.languages]
        self._language = LanguageFollowing.among(served) if served else None
        self.history = History(as_logged=policy.tools_as_logged)
        self._started = False
        self.paused = False
        """True while inference is paused, see `InferencePause`."""
        self._caller = Caller(self.history, self._policy, new_id)
        self._tools = ToolCalls(self.history, policy, new_id)
        self._mcp_lists = McpLists(self.history, new_id)
        self._responses = CurrentResponse(self.history, rate_hz, new_id, self._tools)
        voice = VoiceOverAgent(self._policy, self._caller, self._responses)
        self._items = ItemRequests(self.history, self._responses, self._tools, policy.limits, self._caller)
        self._prompts = Prompts(self.history, policy, self._tools.built_in_tools)
        self._out_of_band = OutOfBandResponses(self.history, self._prompts, self._tools, new_id)
        self._reviews = Reviews(self._policy, self._responses)
        self._answering = Answering(
            self._policy,
            self._caller,
            self._responses,
            self._prompts,
            self._tools,
            self._mcp_lists,
            self._reviews,
            new_id,
        )
        self._turns = TurnTaking(
            self.history, self._policy, self._caller, voice, self._prompts, self._responses, self._answering
        )

    @property
    def idle(self) -> bool:
        """True if neither side speaks and no response, review, tool or input of agent code is pending."""
        waiting = self._answering.has_pending or self._tools.awaited or self._turns.claimed
        waiting = waiting or self._reviews.pending
        return self._caller.silent and not waiting and self._responses.idle

    @property
    def private(self) -> bool:
        """True while the caller's words, keys and audio are for the agent's code alone."""
        return self._turns.private or self._caller.private

    @property
    def quiet(self) -> bool:
        """True if neither side speaks, not even into an uncommitted buffer. A tool may be running."""
        return self._caller.open is None and self._caller.silent and self._responses.idle

    def handle(self, event: ev.Event) -> list[Command]:
        """Handle one event. Return the commands to execute, in order."""
        if isinstance(event, ev.ResponseEvent) and event.response_id in self._out_of_band:
            return self._out_of_band.handle(event, self.settings)
        commands = self._follow_language(event) + self._dispatch(event)
        if isinstance(event, ev.CallerGone):
            return commands  # no listener is left
        commands += self._out_of_band.start_queued(self.settings, settled=not self._caller.awaiting)
        commands += self._after_responses(self._responses.pop_ended())
        # again: a preemptive text response can be complete when it starts
        while over := self._responses.pop_ended():
            commands += self._after_responses(over)
        commands += self._reviews.advance(self._caller.silent)
        if isinstance(event, ev.ResponseGenerated | ev.ResponseFailed):
            # the LLM has nothing to do while the audio is played
            commands += self._prompts.summarise(self.settings)
        if self.paused:
            return self._while_paused(event, commands)
        if self.idle:
            commands += self._prompts.replace_old_turns(self.settings)
        return commands

    def _follow_language(self, event: ev.Event) -> list[Command]:
        """Follow the caller, the client or the agent's code to another language, before the event is handled:
        its turn is answered in it.
        """
        if self._language is None:
            return []
        match event:
            case ev.TranscriptChanged(item_id, text, settled=True) if not self._turns.claimed:
                self._language.observe(item_id, text, event.languages)
            case ev.ItemCreated(MessageItem(item_id, "user", text)) if not self._turns.claimed:
                self._language.observe(item_id, text, event.languages)
            case ev.LanguageSet(code) | ev.SettingsChanged(CallSettings(fixed_language=code)):
                self._language.fix(code)
        code = self._language.code
        if code == self.settings.language:
            return []
        self.settings = replace(self.settings, language=code, fixed_language=self._language.fixed)
        self._policy.now = self._policy.now.in_language(code)
        dropped = self._responses.cancel_preemptive()
        return [*dropped, do.ConfigureListening(self.settings), do.ConfigureSpeaking(self.settings)]

    def _pause(self) -> list[Command]:
        """Pause inference, unless something is pending or the client ends turns itself."""
        pause = self.settings.pause
        if self.paused or not self.idle or pause is None or self.settings.turn_detection is None:
            return []
        self.paused = True
        return [do.PauseListening(pause.speech_threshold), notify.NotifyInferencePaused()]

    def _while_paused(self, event: ev.Event, commands: list[Command]) -> list[Command]:
        """Resume inference if the event needs it; otherwise drop work that only prepares later answers."""
        if self.idle and not isinstance(event, ev.CallerWoke):
            return [command for command in commands if not isinstance(command, do.Prefill)]
        self.paused = False
        return [do.ResumeListening(), notify.NotifyInferenceResumed(), *commands]

    def _dispatch(self, event: ev.Event) -> list[Command]:
        match event:
            case ev.VoiceNoticed() | ev.VoiceFaded() | ev.SpeechStarted():
                return self._turns.on_voice(event, self.settings)
            case ev.SpokeOverAgent() | ev.EchoMeasured():
                return self._turns.on_echo_event(event)
            case ev.TranscriptChanged():
                return self._turns.on_transcript(event, self.settings)
            case ev.RecognitionFailed(item_id, reason):
                return self._turns.on_recognition_failed(item_id, reason, self.settings)
            case ev.CallStarted(greeting):
                return self._on_call_started(greeting)
            case ev.CallerIdle(at_s):
                asks = self.idle and not self.settings.only_transcribes
                return self._answering.prompt_silent_caller(at_s, self.settings) if asks else []
            case ev.InferenceIdle():
                return self._pause()
            case ev.CallerGone():
                self._responses.on_call_ended(event)
            case ev.PreemptiveAllowed(allowed):
                self._answering.allow_preemptive(allowed)
            case ev.ResponseReviewed():
                return self._reviews.on_reviewed(event)
            case ev.TranscriptRevised():
                return self._on_transcript_revised(event)
            case ev.HistorySummarised(text):
                self._prompts.set_summary(text)
            case ev.CallerWoke():
                pass  # `handle` resumes inference
            case ev.UpstreamEvent():  # calls with a realtime backend have no turn machine
                pass
            case _ if isinstance(event, ev.ResponseEvent):
                return self._on_response_event(event)
            case _ if isinstance(event, ev.AgentEvent):
                return self._on_agent_event(event)
            case _ if isinstance(event, ev.ClientRequest):
                return self._on_client_request(event)
            case _ if self._caller.open is not None:
                return self._turns.on_turn_event(self._caller.open, event, self.settings)
        return []

    def _on_transcript_revised(self, event: ev.TranscriptRevised) -> list[Command]:
        """Replace the words of turns by the recognizer's second opinion, and prefill them.

        Too late once the LLM reads the old words for a later turn, or will for a tool's result: it would have
        to read all after them again while the caller waits.
        """
        by_tool = any(not isinstance(item, MessageItem) for item in self.history.items[-1:])
        if by_tool or self._answering.has_pending or not self._caller.silent or self._turns.claimed:
            return []
        revised = self._caller.revise(event)
        return [*revised, *(self._prompts.prefill_history(self.settings) if revised else ())]

    def _on_call_started(self, greeting: str) -> list[Command]:
        self._started = True
        asked = self._mcp_lists.request(self.settings.mcp_servers)
        created = [notify.NotifySettings(self.settings, created=True), *asked]
        # a client may have requested a response before the greeting
        if not greeting or self.settings.only_transcribes or not self._responses.idle:
            return created
        return created + self._answering.greet(greeting, self.settings)

    # ---- the response

    def _on_response_event(self, event: ev.ResponseEvent) -> list[Command]:
        """Pass an event to the response. A turn waits longer for its end until its answer has audio, and if
        the answer runs a tool with effects.
        """
        turn = self._caller.open
        if turn is None or self._responses.preemptive is None:
            return self._responses.handle(event, self.settings)
        before = self._turns.answer_so_far(turn, self.settings)
        commands = self._responses.handle(event, self.settings)
        if self._turns.answer_so_far(turn, self.settings) != before:
            commands += self._turns.set_endpointing_delay(turn, self.settings)
        return commands

    def _after_responses(self, over: list[Response]) -> list[Command]:
        """Handle the end of these responses, then start the next one."""
        waited = [command for response in over for command in self._on_response_over(response)]
        return waited + self._answering.start_next(self.settings)

    def _on_response_over(self, response: Response) -> list[Command]:
        """Handle a response's end. A turn begun over it is announced, and may get a preemptive answer."""
        commands = self._answering.on_response_over(response)
        if self.settings.agent and response.wanted.in_conversation and isinstance(response.phase, Over):
            commands.append(do.ResponseConcluded(response.phase.played, response.phase.interrupted_by != ""))
        turn = self._caller.open
        if turn is not None and not turn.announced:
            commands += [do.RestorePlayout(), *self._turns.announce(turn, self.settings)]
        return commands + (
            self._answering.start_preemptive(turn, self.settings) if turn is not None and turn.settled else []
        )

    # ---- what the agent's code does

    def _on_agent_event(self, event: ev.AgentEvent) -> list[Command]:
        match event:
            case _ if self.settings.only_transcribes and isinstance(event, _SPEECH_EVENTS):
                pass
            case ev.ToolFinished():
                # the preemptive response was prompted without this result
                return self._responses.cancel_preemptive() + self._tools.on_finished(event)
            case ev.ToolSlow(call_id):
                if guidance := self._tools.on_slow(call_id):
                    return self._answering.queue_speech(ev.ReplyRequested(guidance))
                tool = self._tools.running_tool(call_id)
                return self._answering.speak_filler(tool.filler, self.settings) if tool is not None else []
            case ev.UpdateRequested(call_id, text):
                self._tools.speech.queue_update(call_id, text)
            case ev.GuidanceRequested(call_id, guidance):
                if not self._tools.speech.hold_guidance(call_id, guidance):
                    return self._answering.queue_speech(ev.ReplyRequested(guidance))
            case ev.McpListed():
                return self._on_mcp_listed(event)
            case ev.AgentChanged():
                return self._speak_before_hand_over(event.agent) + self._on_agent_changed(event)
            case ev.SpeechRequested() | ev.ReplyRequested():
                return self._answering.queue_speech(event)
            case ev.TurnsClaimed():
                self._turns.claim(event)
            case ev.HangUpRequested(reason):
                self._answering.hang_up_after_speech(reason)
            case ev.DictationBegan(digits):
                self._caller.dictation = digits
            case ev.SpellingExpected(expected):
                self._caller.spelling = expected
            case ev.LanguageSet():
                return [*self._prompts.prefill_history(self.settings)] if self._started else []
            case ev.HookFailed():
                pass  # the event exists for the call's log only
        return []

    def _on_mcp_listed(self, event: ev.McpListed) -> list[Command]:
        """Handle an MCP server's tool list. New tools of the call change the beginning of every prompt."""
        commands = self._mcp_lists.on_listed(event)
        changed = self._mcp_lists.with_known_tools(self.settings)
        if changed == self.settings:
            return commands
        self.settings = changed
        return commands + self._responses.cancel_preemptive() + self._prompts.prefill_history(changed)

    def _speak_before_hand_over(self, agent: str) -> list[Command]:
        """Let the agent speak that hands over to another, if a running tool of it holds an instruction."""
        guidance = self._tools.speech.pop_held_guidance() if agent != self.settings.agent else ""
        if not guidance:
            return []
        queued = self._answering.queue_speech(ev.ReplyRequested(guidance))
        return queued + self._answering.start_next(self.settings)

    def _on_agent_changed(self, event: ev.AgentChanged) -> list[Command]:
        """Switch agent, tools or instructions. Prefill the history: every prompt begins differently now."""
        changed = self.settings.handed_to(event.agent, event.tools, event.instructions, event.voice)
        changed = changed.with_free_names()
        if changed == self.settings:
            return []
        dropped = self._responses.cancel_preemptive()
        read = self._prompts.prefill_history(changed) if self._started else []
        return [*dropped, *self._apply_settings(changed), *read]

    # ---- what the client asks for

    def _on_client_request(self, event: ev.ClientRequest) -> list[Command]:
        match event:
            case ev.KeyPressed() | ev.ItemCreated(item=MessageItem(role="user")):
                return self._answering.on_caller_input() + self._carry_out(event)
        return self._carry_out(event)

    def _carry_out(self, event: ev.ClientRequest) -> list[Command]:
        match event:
            case ev.SettingsChanged(settings):
                return self._apply_settings(settings)
            case ev.ResponseRequested() if self.settings.only_transcribes:
                return [notify.no_responses(event.client_event_id)]
            case ev.ResponseRequested() if runs_out_of_band(event, self.settings):
                return self._out_of_band.request(event)
            case ev.ResponseRequested():
                return self._answering.request(event, self.settings)
            case ev.ResponseCancelled(str(response_id)) if response_id in self._out_of_band:
                return self._out_of_band.cancel(response_id, event)
            case ev.ResponseCancelled():
                return self._answering.cancel(event)
            case ev.InputCommitted():
                return self._on_input_committed(event)
            case ev.InputCleared():
                return clear_input(self._caller, self._responses)
            case ev.OutputCleared():
                return self._responses.stop(cause_of(event))
            case ev.ClipRequested() if self.settings.only_transcribes:
                return [notify.NotifyError("not_supported", "a transcription session plays no clips", "type")]
            case ev.ClipRequested():
                return self._answering.play_clip(event)
            case ev.KeyPressed(digit, received_at):
                return [] if self._turns.private else [notify.NotifyKeyPressed(digit, received_at)]
            case ev.PlayoutMeasured():
                return []  # for the call's log only
            case _:
                return self._on_item_request(event)

    def _on_item_request(self, event: ItemRequest) -> list[Command]:
        """Handle a request that changes items. Private input goes to the agent's code alone."""
        settings = self.settings if self._started else None
        if not self._turns.private:
            return self._items.handle(event, settings)
        withheld = event
        if isinstance(event, ev.ItemCreated):
            withheld = privacy.withheld_item(event)
        commands = self._items.handle(withheld, settings)
        if isinstance(event, ev.ItemCreated) and (turn := self._caller.find(event.item.item_id)) is not None:
            turn.private = True  # its audio is recognized
        said = (
            event.item.text
            if isinstance(event, ev.ItemCreated) and isinstance(event.item, MessageItem)
            else ""
        )
        return [do.TurnConcluded(said) if isinstance(one, do.TurnConcluded) else one for one in commands]

    def _apply_settings(self, settings: CallSettings) -> list[Command]:
        ends = settings.only_transcribes and not self.settings.only_transcribes
        if self._language is not None:
            settings = replace(settings, language=self._language.code, fixed_language=self._language.fixed)
        self.settings = settings = self._mcp_lists.with_known_tools(settings.with_free_names())
        if self._caller.open is not None and settings.turn_detection is not None:
            self._caller.open.by_hand = False  # from now on the server ends the turn
        changed: list[Command] = self._answering.stop() if ends else []
        if self._started:  # before the start of the call, `NotifySettings` comes with the start
            changed += [notify.NotifySettings(settings), *self._mcp_lists.request(settings.mcp_servers)]
        return [*changed, do.ConfigureListening(settings), do.ConfigureSpeaking(settings)]

    def _on_input_committed(self, event: ev.InputCommitted) -> list[Command]:
        turn = self._caller.open
        commands = commit_input(event, self._caller, self._responses)
        return commands + (
            self._turns.conclude(turn, self.settings) if turn is not None and turn.settled else []
        )
