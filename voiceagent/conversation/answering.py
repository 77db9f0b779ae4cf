"""What the agent owes the caller: which response is made, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from llmcore.engine import Generation
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.moment import asks_for_moment
from voiceagent.conversation.history import PlannedWords
from voiceagent.conversation.mcp_lists import McpLists
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.prompting.request import has_own_prompt
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.response.phases import Over, Response
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.silent_caller import SilentCaller
from voiceagent.conversation.tool_calls import ToolCalls
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import CallerTurn
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.words import sentences_of, words_of


@dataclass(slots=True)
class Outstanding:
    """What is wanted of the agent, and not begun yet. Changed by `Answering`.

    requested: a response that the client asked for. owed: one to what the caller said. turn: the turn that
    ended with the event in hand: only a response that begins with the same event is the answer to this turn.
    sayings: what the agent's code wants said, in order, each with its words, "" where the model finds them.
    leaving: why the agent's code ends the call after that; None where it does not. results: the response that
    is owed is to speak of what tools gave.
    """

    requested: ev.ResponseRequested | None = None
    owed: bool = False
    turn: CallerTurn | None = None
    sayings: deque[tuple[ev.ResponseRequested, str]] = field(default_factory=deque)
    leaving: str | None = None
    results: bool = False


class Answering:
    """Decides which response is made when. What it does returns the commands that follow."""

    def __init__(
        self,
        policy: TurnPolicy,
        caller: Caller,
        responses: CurrentResponse,
        prompts: Prompts,
        tools: ToolCalls,
        lists: McpLists,
        new_id: Callable[[str], str],
    ) -> None:
        self._policy = policy
        self._caller = caller
        self._responses = responses
        self._prompts = prompts
        self._tools = tools
        self._lists = lists
        self._new_id = new_id
        self._outstanding = Outstanding()
        self._attempts: tuple[str, int] = ("", 0)  # a turn, and the preemptive responses begun to it
        self._results_attempts = 0  # preemptive responses started for the results that are due
        self._preemptive_allowed = True
        self._silence = SilentCaller(policy)

    @property
    def waiting(self) -> bool:
        """Whether a response that was asked for is still to be begun."""
        return self._outstanding.requested is not None or bool(self._outstanding.sayings)

    def allow_preemptive(self, allowed: bool) -> None:
        """Take in whether the server has room for responses that may be dropped."""
        self._preemptive_allowed = allowed

    # ---- what is wanted

    def greet(self, greeting: str, settings: CallSettings) -> list[Command]:
        """The agent speaks first."""
        return self._start(ev.ResponseRequested(), settings, say=greeting)

    def ask_again(self, at_s: float, settings: CallSettings) -> list[Command]:
        """The caller has been silent up to `at_s`: ask again, and say goodbye when that has been in vain. A
        caller who has asked for a moment is first given that time once more.
        """
        if self._silence.take_moment():
            return []
        idle = notify.NotifyIdle(self._new_id("item"), at_s)
        return [idle, *self._start(ev.ResponseRequested(), settings, say=self._silence.next_phrase())]

    def caller_is_there(self) -> None:
        """The caller has typed something, or pressed a key."""
        self._silence.caller_acted()

    def request(self, event: ev.ResponseRequested, settings: CallSettings) -> list[Command]:
        """The client wants a response: at once, or when the caller's words are settled and nothing is
        listened to any more.
        """
        response = self._responses.active
        if (response is not None and not response.end_notified) or self._outstanding.requested is not None:
            return [notify.response_in_progress(event.client_event_id)]
        # one that was begun ahead answers a turn that nobody has ended
        commands = self._responses.cancel_preemptive() + self._lists.ask(event.mcp_servers)
        if self._caller.awaiting or response is not None or self._lists.awaited(event.mcp_servers):
            self._outstanding.requested = event
            return commands
        return commands + self._start(event, settings)

    def end(self) -> list[Command]:
        """Stop making responses: clear pending requests and cancel the response in progress."""
        self._outstanding = Outstanding()
        return self._responses.cancel_preemptive() + self._responses.stop("client_cancelled")

    def cancel(self, event: ev.ResponseCancelled) -> list[Command]:
        """The client wants the response in progress no longer."""
        response = self._responses.active
        if (
            response is not None
            and not response.end_notified
            and event.response_id in (None, response.response_id)
        ):
            return self._responses.stop("client_cancelled")
        if self._responses.was_truncated(event.response_id):  # OpenAI's clients truncate, and then cancel
            return []
        return [notify.nothing_to_cancel(event.response_id, event.client_event_id)]

    def say(self, event: ev.SpeechRequested | ev.ReplyRequested) -> None:
        """The agent's code has this said as soon as nobody speaks."""
        match event:
            case ev.SpeechRequested(text, interruptible):
                saying = ev.ResponseRequested(interruptible=interruptible), text
            case ev.ReplyRequested(guidance):
                saying = ev.ResponseRequested(guidance=guidance), ""
        self._outstanding.sayings.append(saying)

    def leave(self, reason: str) -> None:
        """The agent's code ends the call when what it says has been played."""
        self._outstanding.leaving = reason

    def fill(self, filler: str, settings: CallSettings) -> list[Command]:
        """A tool is slow: say so, if nobody speaks. It is no part of the conversation."""
        if not filler or not self._caller.silent or not self._responses.none:
            return []
        return self._start(ev.ResponseRequested(in_conversation=False), settings, say=filler)

    def turn_over(self, turn: CallerTurn, kept: bool, settings: CallSettings) -> list[Command]:
        """The turn is over and its words are settled. kept: it is in the history."""
        self._tools.begin_answer()
        self._outstanding.turn = turn
        failure = turn.recognized.failure
        # a cough, or a noise, becomes a turn without words: it wants no answer, and does not show anybody
        # to be there
        words = bool(words_of(turn.text))
        if kept and turn.respond and words:
            self._outstanding.owed = True
        if words or failure is not None:
            said, language = sentences_of(turn.whole_text), language_of(self._policy.language)
            self._silence.caller_acted(asks_for_moment(said, language))
        if failure is None or not turn.respond or self._responses.active is not None:
            return []
        cancelled = self._responses.cancel_preemptive()
        start = do.StartResponse(
            self._new_id("resp"), Generation(()), settings.output_modality, turn_id=turn.item_id
        )
        return cancelled + self._responses.apologise(start, f"recognizer: {failure}")

    def response_over(self, response: Response) -> list[Command]:
        """A response is over: what it leaves behind."""
        assert isinstance(response.phase, Over)
        self._prompts.observe(response.start, response.phase.usage)
        interrupted, cut = response.phase.stop_reason == "turn_detected", response.phase.stop_reason != ""
        unheard = not response.phase.played and not response.called_tools
        # the caller has not heard that he was answered; words of his that follow replace what is owed
        if interrupted and response.wanted.in_conversation and unheard:
            self._outstanding.owed = True
        answered = not (cut or response.called_tools or response.start.say)
        if answered and not self._policy.tools_as_logged:
            self._tools.begin_answer()
        commands = self._tools.response_over(response.response_id, cut)
        return commands + self._silence.response_over(cut)

    # ---- what is begun

    def prepare(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Have a preemptive response made to a turn that may be over, if nothing stands in its way; one that
        was foreseen is kept if it was begun for these words, and dropped if not.
        """
        return self._begin_ahead(turn, settings, spared=0) if turn.settled else []

    def foresee(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Have a preemptive response made before the turn's words are settled, as if those known now were
        right; only where another one may be begun in case they are not.
        """
        return self._begin_ahead(turn, settings, spared=1)

    def _begin_ahead(self, turn: CallerTurn, settings: CallSettings, spared: int) -> list[Command]:
        words = words_of(turn.text)
        room = self._responses.active is None and self._preemptive_allowed and not self._caller.awaiting
        wanted = turn.announced and turn.respond and words
        if not room or not wanted or self._responses.is_begun_for(turn.item_id, words):
            return []
        dropped = self._responses.cancel_preemptive()
        attempts = self._attempts[1] if self._attempts[0] == turn.item_id else 0
        if attempts + spared >= self._policy.preemptive_attempts:
            return dropped
        self._attempts = (turn.item_id, attempts + 1)
        return dropped + self._start(ev.ResponseRequested(), settings, turn, preemptive=True)

    def begin_next(self, settings: CallSettings) -> list[Command]:
        """Begin or release the response that is wanted, if nothing stands in its way."""
        turn, self._outstanding.turn = self._outstanding.turn, None
        if self._responses.active is not None:
            return self._prepare_results(settings)
        # before anybody's silence is waited for: a caller who talks on would keep the line open
        if self._outstanding.leaving is not None and not self._outstanding.sayings:
            reason, self._outstanding.leaving = self._outstanding.leaving, None
            return [do.HangUp(reason)]
        if settings.only_transcribes:
            return []
        requested = self._outstanding.requested
        if not self._caller.silent or (requested and self._lists.awaited(requested.mcp_servers)):
            return []
        # not before: while the caller speaks, more results may come, and one response tells all
        if self._tools.take_reply_due():
            self._outstanding.owed = self._outstanding.results = True
        if self._outstanding.sayings:
            wanted, say = self._outstanding.sayings.popleft()
            # it answers no question, and `_start` takes what it starts for the answer
            owed = self._outstanding.owed
            commands = self._responses.cancel_preemptive() + self._start(wanted, settings, say=say)
            self._outstanding.owed = owed
            return commands
        return self._begin_response(turn, settings)

    def _begin_response(self, turn: CallerTurn | None, settings: CallSettings) -> list[Command]:
        requested, self._outstanding.requested = self._outstanding.requested, None
        results, self._outstanding.results = self._outstanding.results, False
        wanted = requested or self._wanted(results, settings)
        if requested is None and self._outstanding.owed and self._held_fits(turn, wanted, settings):
            self._outstanding.owed = False
            self._results_attempts = 0
            return self._tools.leave_behind() + self._responses.release(settings)
        cancelled = self._responses.cancel_preemptive()
        if requested is None and not self._outstanding.owed:
            return cancelled
        return cancelled + self._start(wanted, settings, turn)

    def _wanted(self, results: bool, settings: CallSettings) -> ev.ResponseRequested:
        """Return the request for a response that the call itself wants. results: it is about tool results."""
        # a choice that forces a call is met: it would be made again and again
        forced = results and settings.tool_choice not in ("auto", "none")
        return ev.ResponseRequested(tool_choice="auto" if forced else None)

    def _held_fits(
        self, turn: CallerTurn | None, wanted: ev.ResponseRequested, settings: CallSettings
    ) -> bool:
        """Return True if the preemptive response matches the wanted one."""
        held = self._responses.preemptive
        if held is None:
            return False
        if held.start.turn_id is None:  # a response about results: its assumptions about the history held
            wanted = self._within_rounds(wanted)
            return turn is None and held.start.request == self._prompts.for_response(wanted, settings)
        # compare words only: a comma of the final transcript must not restart the response
        return turn is not None and held.was_made_for(turn.item_id, words_of(turn.text))

    def _within_rounds(self, wanted: ev.ResponseRequested) -> ev.ResponseRequested:
        """Return the request, without tools if the answer has used all its rounds of tool calls."""
        return replace(wanted, tool_choice="none") if self._tools.rounds_are_spent() else wanted

    def _prepare_results(self, settings: CallSettings) -> list[Command]:
        """Start a preemptive response about tool results while the agent still speaks. It assumes that all
        planned words will be played. Drop it if something else must come first.
        """
        held, planned = self._responses.preemptive, self._responses.planned_words
        outstanding = self._outstanding
        wanted = (
            self._tools.reply_due
            and self._caller.silent
            and not (outstanding.sayings or outstanding.requested or outstanding.leaving is not None)
        )
        if held is not None:
            return [] if wanted and planned is not None else self._responses.cancel_preemptive()
        attempts = self._policy.preemptive_attempts if self._preemptive_allowed else 0
        if not wanted or planned is None or self._results_attempts >= attempts:
            return []
        if self._policy.tools_as_logged or not planned.message.spoken:
            return []
        self._results_attempts += 1
        response = self._wanted(True, settings)
        return self._start(response, settings, preemptive=True, planned=planned)

    def _start(
        self,
        wanted: ev.ResponseRequested,
        settings: CallSettings,
        turn: CallerTurn | None = None,
        preemptive: bool = False,
        say: str = "",
        planned: PlannedWords | None = None,
    ) -> list[Command]:
        """Start a response now. say: fixed words, spoken without the LLM. planned: words that count as
        played.
        """
        left: list[Command] = []
        if wanted.in_conversation:
            wanted = self._within_rounds(wanted)
        if wanted.in_conversation and not preemptive:
            self._outstanding.owed = False
            self._results_attempts = 0
            # not for one begun ahead: where it is dropped, the tools are still waited for
            if say or wanted.guidance:  # asked for by the agent's code: the caller has not gone on
                self._tools.overtake(told=not say)
            else:
                left = self._tools.leave_behind()
        self._prompts.give_up_summary()
        response_id = self._new_id("resp")
        if wanted.mcp_servers:
            wanted = replace(wanted, mcp_tools=self._lists.tools(wanted.mcp_servers, wanted.tools or ()))
        unfinished = turn if preemptive else None
        request = self._prompts.for_response(wanted, settings, unfinished, planned)
        start = do.StartResponse(
            response_id,
            request,
            wanted.modality or settings.output_modality,
            turn.item_id if turn else None,
            preemptive,
            say,
            has_own_prompt(wanted),
            self._prompts.replacements,
            self._prompts.edits,
        )
        return left + self._responses.start(start, wanted, words_of(turn.text) if turn else ())
