"""Executes a call's commands: dispatches each to recognition, playout, LLM, tools or the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import structlog

from llmcore.engine import Usage
from llmcore.policies.load_shedding import SheddingLevel
from voiceagent.conversation import call_events
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.client_requests import CLIP_HZ
from voiceagent.conversation.filler_delay import AT_ONCE_S, FillerDelay
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.agent import AgentCode
from voiceagent.session.backchannel_player import BackchannelPlayer
from voiceagent.session.background import Background, TypingSound
from voiceagent.session.call import Client, plays_sounds
from voiceagent.session.call_monitor import CallMonitor, EndCall
from voiceagent.session.deadlines import Awaited
from voiceagent.session.listening import Listener
from voiceagent.session.llm_work import LlmWork
from voiceagent.session.mcp import McpInCall
from voiceagent.session.publishing import CallPublisher
from voiceagent.session.references import weak_callback
from voiceagent.session.services import Services
from voiceagent.session.set_phrases import SetPhrase
from voiceagent.session.speaking import FrameOutput, Speaker
from voiceagent.session.timers import EventTimer
from voiceagent.session.tool_running import ToolRunner
from voiceagent.session.turn_stamps import TurnStamps
from voiceagent.telemetry.call_ids import CallIds


class CommandExecutor:
    """The components of one call. ids: for its log lines, kept current. post: handles their events. end: ends
    the call. publisher: receives its output audio and events. agent: its code, None without.
    """

    def __init__(
        self,
        ids: CallIds,
        services: Services,
        settings: CallSettings,
        client: Client,
        post: Callable[[ev.Event], None],
        end: EndCall,
        publisher: CallPublisher,
        agent: AgentCode | None,
    ) -> None:
        call_id = ids.call
        self._log = structlog.get_logger().bind(call=call_id)
        self._shedder = services.shedder
        self._client = client
        self._post = post
        self._end = end
        self._publisher = publisher
        self.monitor = CallMonitor(
            call_id, services.measuring, services.limits, weak_callback(self._give_up), end
        )
        self.listener = Listener(services.hearing, services.measuring.clock, settings, post, self.monitor)
        self.stamps = TurnStamps(services.measuring, self.listener.spoken_at_s, ids)
        self.background, self._speaker, self._backchannels = self._output(services)
        self.listener.on_voice_return = weak_callback(self._backchannels.on_voice_return)
        room, find_context = self._speaker.room, None if agent is None else agent.find_context
        self._llm_work = LlmWork(
            call_id, services, post, self.stamps, room, self.monitor, publisher.traceparent, find_context
        )
        self._voice = self._llm_work.voice
        self._agent = agent
        measuring, filler_after_s = services.measuring, services.speaking.filler_after_s
        ended, began = weak_callback(self._tool_ended), publisher.enter_tool
        self.tools = ToolRunner(call_id, measuring, post, self.monitor, filler_after_s, ended, began)
        self._typing = TypingSound(self.background, agent, self.tools)
        self.mcp = McpInCall(services.mcp, post)
        self._late_timer, self._filler_delay = EventTimer(post), FillerDelay(filler_after_s)
        self._calls_timer = EventTimer(post)
        self._renamed = set[str]()
        self._configure_speaking(settings)

    def _output(self, services: Services) -> tuple[Background, Speaker, BackchannelPlayer]:
        """Return the background sounds, the speaker of responses, and the player of backchannels."""
        client, speaking = self._client, services.speaking
        output = FrameOutput(self.listener, client, self._publisher)
        background = Background(output.play_background, speaking, self._log, plays_sounds(client))
        clear, first_frame = client.clear, self.stamps.first_frame
        speaker = Speaker(output.play, clear, speaking, self._post, first_frame, background)
        return background, speaker, BackchannelPlayer(output.play_backchannel, clear, speaking, background)

    def played(self, response_id: str, played_s: float, all_along: bool = False) -> None:
        """Record how many seconds of the response the client has played."""
        self.stamps.played(response_id, played_s)
        self._speaker.played(response_id, played_s, all_along)

    @property
    def speaker(self) -> Speaker:
        """Speaker of the responses."""
        return self._speaker

    @property
    def playing(self) -> tuple[str, float]:
        """The response that is playing, "" for none, and the seconds of it that were played by now."""
        return self._speaker.position

    def execute(self, command: do.Command) -> None:
        """Execute a command, or start it, without waiting."""
        self.stamps.on_command(command)
        match command:
            case _ if isinstance(command, do.SpeakerCommand):
                self._execute_for_speaker(command)
            case do.StopPlayout(response_id, interrupted_by):
                self._log.info("response_interrupted", response=response_id, interrupted_by=interrupted_by)
                played_s = self._speaker.stop(response_id)
                dropped_s = self.background.pop_dropped_s()
                self._publisher.publish(call_events.ResponseStopped(response_id, played_s, dropped_s))
                self._post(ev.PlayoutStopped(response_id, played_s))
                # dropped audio has no echo
                self.listener.on_output_dropped()
            case do.ConfigureSpeaking(settings):
                self._configure_speaking(settings)
                self.log_renamed(settings)
            case do.Apologise(response_id, refused):
                self._apologise(response_id, refused)
            case do.Fill(response_id):
                if (filler := self._voice.speaking.filler) is not None:
                    self._say(response_id, filler, filler=True)
            case do.HangUp(reason, end_code):
                self._log.info("hanging_up", reason=reason)
                self._end(reason, end_code)
            case _ if isinstance(command, do.ListenerCommand):
                self._execute_for_listener(command)
            case _ if isinstance(command, do.LlmCommand):
                self._execute_for_llm(command)
            case _ if isinstance(command, do.AgentCommand):
                self._execute_for_agent(command)
            case do.ReviewConcluded(response_id, outcome):
                self.monitor.log_review(response_id, outcome)
            case _:
                self._notify(command)

    def _execute_for_speaker(self, command: do.SpeakerCommand) -> None:
        match command:
            case do.Play(response_id, speech):
                self._backchannels.close()
                self._speaker.play(response_id, speech.samples)
            case do.PlayBackchannel(number, not_before_s):
                self._play_backchannel(number, not_before_s)
            case do.StopBackchannel():
                self._backchannels.close()
            case do.PlayClip(response_id, sound):
                self._backchannels.close()
                self._speaker.play(response_id, sound, CLIP_HZ)
            case do.FinishPlayout(response_id):
                self._speaker.finish(response_id)
            case do.DuckPlayout():
                self._speaker.duck()
            case do.HoldPlayout():
                self._speaker.hold()
            case do.RestorePlayout():
                self._speaker.restore()

    def _play_backchannel(self, number: int, not_before_s: float) -> None:
        phrases = self._voice.speaking.backchannels
        if phrases:
            phrase = self._voice.speak(phrases[(number - 1) % len(phrases)])
            at_s = self.listener.spoken_at_s(not_before_s)
            self._backchannels.play(f"backchannel_{number}", phrase.sound, at_s)

    def _apologise(self, response_id: str, refused: bool) -> None:
        speaking = self._voice.speaking
        refusal = speaking.refusal if refused else None
        self._say(response_id, refusal or speaking.apology, apology=refusal is None)
        self._post(ev.ResponseGenerated(response_id, "stop", Usage()))

    def _configure_speaking(self, settings: CallSettings) -> None:
        """Apply the settings of the output from the next response on."""
        self.background.configure(settings)
        self._backchannels.configure(settings)
        self._reports, self._filler_by_s = settings.latency_events, settings.filler_by_s
        self._speaker.configure(settings)
        self._voice.configure(settings)

    async def close(self) -> None:
        """Stop all components and wait until they have stopped."""
        self._late_timer.disarm()
        self._calls_timer.disarm()
        self.monitor.close()
        self._speaker.close()
        self._backchannels.close()
        self.background.close()
        self._typing.close()
        await self._llm_work.close()
        await self.listener.close()
        await self.mcp.close()
        await self.tools.close()

    def _execute_for_agent(self, command: do.AgentCommand) -> None:
        match command:
            case do.RunTool(call, server, name):
                self.tools.run(call, None if server is None else self.mcp.tool(server, name))
                self._typing.on_tool_began()
            case do.ListMcpTools(item_id, server):
                self.mcp.list(item_id, server)
            case do.CancelTool(call_id, by_model):
                self.tools.cancel(call_id, by_model)
            case do.AwaitClientResult(call_id):
                self.tools.await_client(call_id)
            case do.TurnConcluded() | do.ResponseConcluded():
                if self._agent is not None:
                    self._agent.on_concluded(command)

    def log_renamed(self, settings: CallSettings) -> None:
        """Log each renamed tool of the agent and of MCP servers once; the client's tools keep their names."""
        renamed = {tool.name: (tool.own_name, "agent") for tool in settings.agent_tools if tool.own_name}
        for tool in settings.mcp_tools:
            if tool.tool.name != tool.name:
                renamed[tool.tool.name] = tool.name, tool.server.label
        for name in renamed.keys() - self._renamed:
            own, owner = renamed[name]
            self._log.warning("tool_renamed", tool=own, offered_as=name, owner=owner)
        self._renamed = set(renamed)

    def _tool_ended(self, name: str, failure: str) -> None:
        self._typing.on_tool_ended()
        if self._agent is not None:
            self._agent.tool_ended(name, failure)

    def _give_up(self, awaited: Awaited, reason: str) -> None:
        if awaited.stage == "recognizer":
            self.listener.recognitions.fail(awaited.owner, reason)
        else:
            self._llm_work.give_up(awaited.owner, cast("ev.Stage", awaited.stage), reason)

    def _execute_for_listener(self, command: do.ListenerCommand) -> None:
        match command:
            case do.StartRecognition(item_id, at_s, not_before_s, continues):
                self.listener.start_recognition(item_id, at_s, not_before_s, continues)
            case do.RecognizeItem(item_id, sound):
                self.listener.recognitions.recognize_item(item_id, sound)
            case do.FlushRecognition(item_id, number, spelling):
                self.listener.flush_recognition(item_id, number, spelling)
            case do.RequireSilence():
                self.listener.require_silence(command.decision.silence_s, command.more_s)
            case do.JudgeTurn(item_id):
                self.listener.judge_turn(item_id)
            case do.StopRecognition(item_id, resumable_as, until_s):
                self.listener.recognitions.stop(item_id, resumable_as, until_s)
            case do.ClearInput():
                self.listener.clear()
            case do.RestartDetection():
                self.listener.restart_detection()
            case do.PauseListening(speech_threshold):
                self.listener.pause(speech_threshold)
            case do.ResumeListening():
                self.listener.resume()
            case do.ConfigureListening(settings):
                self.listener.configure(settings)

    def _execute_for_llm(self, command: do.LlmCommand) -> None:
        match command:
            case do.Prefill(messages, tools):
                self._llm_work.prefill(messages, tools)
            case do.AskTurnEnd():
                self._llm_work.ask_end(command)
            case do.Summarise():
                self._llm_work.summarise(command)
            case do.StartResponse():
                self._llm_work.start(command)
            case do.HoldCalls(response_id, seconds):
                self._calls_timer.arm(seconds, ev.CallsDue(response_id))
            case do.HurryResponse(response_id):
                self._llm_work.hurry(response_id)
            case do.ReleaseResponse(response_id):
                self._llm_work.release(response_id)
            case do.CancelResponse(response_id):
                self._llm_work.cancel(response_id)
            case do.ReviewResponse():
                self._llm_work.review(command)
            case do.CancelReview(response_id):
                self._llm_work.cancel_review(response_id)

    def _notify(self, notification: notify.Notification) -> None:
        match notification:  # the client gets less detail
            case notify.NotifyResponseEnded(response_id, "failed", reason):
                self._log.warning("response_failed", response=response_id, reason=reason)
            case notify.NotifySpeechStopped(at_s=at_s):
                self._filler_delay.on_speech_stopped(at_s)
            case notify.NotifyTranscriptRevised(item_id):
                self._log.info("transcript_revised", item=item_id)
            case notify.NotifyTranscriptFailed(item_id, reason):
                self._log.warning("transcript_failed", item=item_id, reason=reason)
        # first, because the rest is bookkeeping
        self._client.notify(notification)
        if isinstance(notification, notify.NotifyResponseStarted) and not notification.out_of_band:
            after_s = self._filler_delay.pop_s(self._filler_by_s, self.listener.received_s)
            if self._shedder.level >= SheddingLevel.FILLER_AT_ONCE:
                after_s = AT_ONCE_S
            self._late_timer.arm(after_s, ev.ResponseLate(notification.response_id))
        elif isinstance(notification, notify.NotifyResponseEnded):
            if not notification.out_of_band:
                self._late_timer.disarm()
                self._speaker.reset_hold()
            report = self.stamps.report(notification)
            if report is not None:
                self._publisher.publish(call_events.ResponseDone(report))
                if self._reports:
                    self._client.report(report)

    def _say(self, response_id: str, phrase: SetPhrase, filler: bool = False, apology: bool = False) -> None:
        phrase = self._voice.speak(phrase)
        self._post(ev.FragmentReady(response_id, phrase.fragment, filler, apology))
        for speech in phrase.sound:
            self._post(ev.SpeechReady(response_id, speech))
        self._post(ev.FragmentSpoken(response_id))
