"""Decides which response starts, and when: requested, pending, about tool results, or preemptive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from llmcore.engine import Generation
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import BARGE_IN, cause_of
from voiceagent.conversation.commands import Command
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.moment import asks_for_moment
from voiceagent.conversation.mcp_lists import McpLists
from voiceagent.conversation.preemptive_responses import PreemptiveResponses
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.reports import Reports
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.response.phases import Over, Response
from voiceagent.conversation.response_starter import ResponseQueue, ResponseStarter
from voiceagent.conversation.reviews import Reviews
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.silent_caller import SilentCaller
from voiceagent.conversation.tool_calls import ToolCalls
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import CallerTurn
from voiceagent.conversation.turn_policy import CurrentPolicy
from voiceagent.conversation.words import sentences_of, words_of


class Answering:
    """Decides which response starts, and when. Its methods return the commands that follow."""

    def __init__(
        self,
        policy: CurrentPolicy,
        caller: Caller,
        responses: CurrentResponse,
        prompts: Prompts,
        tools: ToolCalls,
        lists: McpLists,
        reviews: Reviews,
        new_id: Callable[[str], str],
    ) -> None:
        self._policy = policy
        self._caller = caller
        self._responses = responses
        self._prompts = prompts
        self._tools = tools
        self._lists = lists
        self._reviews = reviews
        self._new_id = new_id
        self._queue = ResponseQueue()
        self._silence = SilentCaller(policy)
        self._reports = Reports()
        self._starter = ResponseStarter(responses, prompts, tools, lists, self._queue, new_id)
        self._preemptive = PreemptiveResponses(
            policy, caller, responses, prompts, tools, self._reports, self._queue, self._starter
        )

    @property
    def has_pending(self) -> bool:
        """True if a requested response has not started."""
        queue = self._queue
        return (
            queue.clip is not None
            or queue.client_request is not None
            or bool(queue.speech)
            or self._reports.pending
            or self._tools.speech.has_update
        )

    def allow_preemptive(self, allowed: bool) -> None:
        """Set whether the LLM has capacity for responses that may be dropped."""
        self._preemptive.allowed = allowed

    # ---- what is wanted

    def greet(self, greeting: str, settings: CallSettings) -> list[Command]:
        return self._starter.start(ev.ResponseRequested(), settings, say=greeting)

    def prompt_silent_caller(self, at_s: float, settings: CallSettings) -> list[Command]:
        """Prompt a caller who has been silent up to `at_s`, and say goodbye after the last prompt. A caller
        who asked for a moment gets one more idle timeout first.
        """
        if self._silence.pop_moment():
            return []
        idle = self._caller.on_idle(at_s)
        return [idle, *self._starter.start(ev.ResponseRequested(), settings, say=self._silence.next_phrase())]

    def on_caller_input(self) -> list[Command]:
        """Record that the caller typed something or pressed a key."""
        self._silence.on_caller_input()
        return self._reviews.on_caller_input()

    def request(self, event: ev.ResponseRequested, settings: CallSettings) -> list[Command]:
        """Start the response that the client requested, or queue it until all transcripts are final and the
        current response has been played.
        """
        response = self._responses.active
        if (response is not None and not response.end_notified) or self._queue.client_request is not None:
            return [notify.response_in_progress(event.client_event_id)]
        # a preemptive response answers a turn that has not ended
        commands = self._responses.cancel_preemptive() + self._lists.request(event.mcp_servers)
        waits = self._caller.awaiting or response is not None or self._waits_for_tool(event)
        if waits or self._lists.is_awaited(event.mcp_servers):
            self._queue.client_request = event
            return commands
        return commands + self._starter.start(self._pop_guidance(event), settings, answers=True)

    def play_clip(self, clip: ev.ClipRequested) -> list[Command]:
        """Cut the response in progress. The clip starts once that has stopped."""
        dropped = self._drop_clip()
        self._queue.clip = clip
        return dropped + self._responses.cancel_preemptive() + self._responses.stop(cause_of(clip))

    def stop(self) -> list[Command]:
        """Stop making responses, as a client requests: clear pending requests, cancel the one in progress."""
        dropped = self._drop_clip() + self._reviews.drop()
        self._queue.clear()
        self._reports.drop()
        return dropped + self._responses.cancel_preemptive() + self._responses.stop("client")

    def _drop_clip(self) -> list[Command]:
        """Drop the clip that waits for its start, if any."""
        clip, self._queue.clip = self._queue.clip, None
        return [] if clip is None else [notify.NotifyClipEnded(clip.response_id, completed=False)]

    def cancel(self, event: ev.ResponseCancelled) -> list[Command]:
        """Cancel the response in progress on the client's request."""
        response = self._responses.active
        in_progress = None if response is None or response.end_notified else response.response_id
        if in_progress is not None and event.response_id in (None, in_progress):
            return self._responses.stop(cause_of(event))
        if self._responses.was_truncated(event.response_id):  # OpenAI's clients truncate before they cancel
            return []
        return [notify.nothing_to_cancel(event.response_id, event.client_event_id)]

    def queue_speech(self, event: ev.SpeechRequested | ev.ReplyRequested) -> list[Command]:
        """Queue speech of the agent's code until neither side speaks. A request for words only is dropped if
        the same one waits already: that one's prompt, built when it starts, has everything until then.
        """
        match event:
            case ev.SpeechRequested(text, interruptible, answers=answers):
                saying = ev.ResponseRequested(interruptible=interruptible, answers=answers), text
            case ev.ReplyRequested(is_report=True):
                self._reports.request(event)
                return self._responses.cancel_preemptive()  # its prompt has no report
            case ev.ReplyRequested(guidance, words_only):
                choice = "none" if words_only else None
                saying = ev.ResponseRequested(guidance=guidance, tool_choice=choice), ""
                if words_only and saying in self._queue.speech:
                    return []
        self._queue.speech.append(saying)
        return []

    def hang_up_after_speech(self, reason: str) -> None:
        """Hang up once the agent's pending speech has been played."""
        self._queue.hang_up_reason = reason

    def speak_filler(self, filler: str, settings: CallSettings) -> list[Command]:
        """Speak the filler of a slow tool if neither side speaks. It does not join the conversation."""
        if not filler or not self._caller.silent or not self._responses.idle:
            return []
        if self._queue.client_request is not None and self._policy.now.joins_results:
            return []  # its response waited for this tool, and starts now
        return self._starter.start(ev.ResponseRequested(in_conversation=False), settings, say=filler)

    def on_turn_over(self, turn: CallerTurn, kept: bool, settings: CallSettings) -> list[Command]:
        """Record a turn that is over, with a final transcript. kept: it is in the history."""
        self._tools.begin_answer()
        self._queue.ended_turn = turn
        failure = turn.recognition.failure
        # a cough or noise becomes a turn without words: it needs no answer and does not prove that the caller
        # is present
        words = bool(words_of(turn.text))
        dropped = self._reviews.on_caller_input() if words else []
        if kept and turn.respond and words:
            self._queue.answer_due = True
        if words or failure is not None:
            said, language = sentences_of(turn.whole_text), language_of(self._policy.now.language)
            self._silence.on_caller_input(asks_for_moment(said, language))
        if failure is None or not turn.respond or self._responses.active is not None:
            return dropped
        cancelled = self._responses.cancel_preemptive()
        start = do.StartResponse(
            self._new_id("resp"), Generation(()), settings.output_modality, turn_id=turn.item_id
        )
        return dropped + cancelled + self._responses.apologise(start, f"recognizer: {failure}")

    def on_response_over(self, response: Response) -> list[Command]:
        """Record the end of a response, and run what waited for it."""
        assert isinstance(response.phase, Over)
        self._prompts.observe(response.start, response.phase.usage)
        withdrawn = self._tools.withdraw(response.response_id) if response.played.false_end else []
        response.tool_calls -= len(withdrawn)
        cut, interrupted = response.phase.interrupted_by != "", response.phase.interrupted_by in BARGE_IN
        answer = response.played.without_filler(response.phase.played)
        unheard = not answer and not response.tool_calls
        # the caller heard no answer; a turn of theirs that follows replaces the pending one
        if interrupted and response.wanted.in_conversation and unheard:
            self._queue.answer_due = True
        answered = not (cut or response.tool_calls or response.start.say or response.is_clip)
        if answered and not self._policy.now.tools_as_logged:
            self._tools.begin_answer()
        self._reports.on_response_over(response, cut, answer)
        commands = self._tools.on_response_over(response.response_id, cut)
        commands += self._reviews.on_response_over(response)
        return withdrawn + commands + self._silence.on_response_over(cut)

    # ---- what is begun

    def start_preemptive(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Start a preemptive response to a turn that may be over, if nothing prevents it."""
        return self._preemptive.start_for_turn(turn, settings)

    def start_next(self, settings: CallSettings) -> list[Command]:
        """Begin or release the response that is wanted, if nothing stands in its way."""
        turn, self._queue.ended_turn = self._queue.ended_turn, None
        if self._responses.active is not None:
            return self._preemptive.start_for_results(settings)
        if self._queue.clip is not None:
            clip, self._queue.clip = self._queue.clip, None
            return self._responses.cancel_preemptive() + self._responses.play_clip(clip)
        if self._caller.silent and (reviewed := self._speak_review(settings)):
            return reviewed
        # not after the check for silence: a caller who keeps talking would keep the call open
        speech_due = self._queue.speech or self._reports.pending or self._tools.speech.guidance_due
        if self._queue.hang_up_reason is not None and not speech_due:
            reason, self._queue.hang_up_reason = self._queue.hang_up_reason, None
            return [do.HangUp(reason)]
        if settings.only_transcribes:
            return []
        requested = self._queue.client_request
        if requested and self._waits_for_tool(requested):
            requested = None
        # a client's request answers what it has committed, and waits for no audio after that
        may_start = self._caller.all_committed if requested else self._caller.silent
        if not may_start or (requested and self._lists.is_awaited(requested.mcp_servers)):
            return []
        # not earlier: more results may come while the caller speaks, and one response reports them all
        if self._tools.pop_reply_due():
            self._queue.answer_due = self._queue.about_results = True
        if self._queue.speech:
            wanted, say = self._queue.speech.popleft()
            return self._speak(wanted, say, settings)
        if words := self._reports.words:
            return self._speak_report(words, settings)
        if self._reports.pending and not (self._queue.answer_due or requested):
            dropped = self._responses.cancel_preemptive()
            return dropped + self._on_report_started(
                self._starter.start(self._reports.own_request(), settings)
            )
        return self._start_answer(requested, turn, settings)

    def _waits_for_tool(self, requested: ev.ResponseRequested) -> bool:
        """Return True if the response that the client requested waits for a tool of the agent, whose result
        it reports too.
        """
        may_wait = self._tools.delay_client_request and not self._queue.answer_due
        return may_wait and _reports_results(requested)

    def _pop_guidance(self, requested: ev.ResponseRequested) -> ev.ResponseRequested:
        """Return the client's request, with the instruction of ended tools, whose results it reports."""
        if not _reports_results(requested) or not self._policy.now.joins_results:
            return requested
        guidance = self._tools.speech.pop_guidance()
        return replace(requested, guidance=guidance) if guidance else requested

    def _speak_review(self, settings: CallSettings) -> list[Command]:
        """Say what the back LLM corrects or adds, if anything."""
        say, concluded = self._reviews.pop_speech()
        return concluded + self._speak(ev.ResponseRequested(), say, settings) if say else []

    def _speak(self, wanted: ev.ResponseRequested, say: str, settings: CallSettings) -> list[Command]:
        """Start speech that does not answer the turn, though `_start` marks the turn as answered."""
        answer_due = self._queue.answer_due
        commands = self._responses.cancel_preemptive() + self._starter.start(wanted, settings, say=say)
        self._queue.answer_due = answer_due
        return commands

    def _speak_report(self, words: str, settings: CallSettings) -> list[Command]:
        """Speak a report as it is: the model had no words for it."""
        started = self._speak(ev.ResponseRequested(), words, settings)
        if self._responses.active is not None:
            self._reports.on_words_started(self._responses.active.response_id)
        return started

    def _start_answer(
        self, requested: ev.ResponseRequested | None, turn: CallerTurn | None, settings: CallSettings
    ) -> list[Command]:
        if requested is not None:
            requested, self._queue.client_request = self._pop_guidance(requested), None
        results, self._queue.about_results = self._queue.about_results, False
        wanted = requested or self._reports.add_to(self._starter.own_request(results, settings))
        if requested is None and self._queue.answer_due:
            self._tools.speech.guidance = ""
        if requested is None and self._queue.answer_due and self._preemptive.fits(turn, wanted, settings):
            self._queue.answer_due = False
            self._starter.results_attempts = 0
            left = self._tools.detach()  # before the release, which may start tools of its own
            released = self._responses.release(settings, turn.acts_after_s if turn else 0.0)
            return left + self._on_report_started(released)
        cancelled = self._responses.cancel_preemptive()
        if requested is None and not self._queue.answer_due:
            # last of all: the news of a tool must not delay an answer
            update = self._tools.speech.pop_update()
            return cancelled + (self._starter.start(wanted, settings, say=update) if update else [])
        started = self._starter.start(wanted, settings, turn, answers=True)
        if requested is None:
            started = self._on_report_started(started)
        return cancelled + started + (self._responses.hold_calls(turn.acts_after_s) if turn else [])

    def _on_report_started(self, started: list[Command]) -> list[Command]:
        """Record that the response of these commands speaks of the pending report, if any."""
        if self._responses.active is not None:
            self._reports.on_started(self._responses.active.response_id)
        return started


def _reports_results(requested: ev.ResponseRequested) -> bool:
    """Return True if the response that a client requests has the results of tools in its prompt."""
    return requested.in_conversation and requested.messages is None
