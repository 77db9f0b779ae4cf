"""What the agent owes the caller: which response is made, when, and from which prompt. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.caller import Caller
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, Item, MessageItem
from voiceagent.conversation.prompt_history import PromptHistory
from voiceagent.conversation.prompting import make_prompt
from voiceagent.conversation.responses import Responses
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.turns import CallerTurn, Response
from voiceagent.conversation.words import words_of


class Answers:
    """Decides which response is made when. Commands go to `emit`.

    settings: of the call, as they are now. preemptive_allowed: whether the server has room for responses that
    may be dropped.
    """

    def __init__(
        self,
        settings: CallSettings,
        policy: TurnPolicy,
        history: History,
        caller: Caller,
        rate_hz: int,
        new_id: Callable[[str], str],
        emit: Callable[[Command], None],
    ) -> None:
        self.settings = settings
        self.preemptive_allowed = True
        self.prompts = PromptHistory(policy.history)
        self.responses = Responses(history, self.prompts, rate_hz, new_id, emit)
        self._policy = policy
        self._history = history
        self._caller = caller
        self._new_id = new_id
        self._do = emit
        self._requested: ev.ResponseRequested | None = None
        self._owed = False
        self._idled = 0
        self._leaving = False

    @property
    def idle(self) -> bool:
        """Nobody speaks, and nothing is being made or awaited."""
        return self._caller.silent and self._requested is None and self.responses.current is None

    def caller_idle(self, at_s: float) -> None:
        """Ask again, with the next of the prompts; when there are no more, say goodbye and hang up."""
        if not self.idle:
            return
        self._do(notify.NotifyIdle(self._new_id("item"), at_s))
        prompts = self._policy.idle_prompts
        self._leaving = self._idled >= len(prompts)
        phrase = self._policy.goodbye if self._leaving else prompts[self._idled]
        self.start(ev.ResponseRequested(), say=phrase)
        self._idled += 1

    def request(self, event: ev.ResponseRequested) -> None:
        """The client wants a response: at once, or when the caller's words are settled."""
        response = self.responses.active
        if (response is not None and not response.told_end) or self._requested is not None:
            message = "a response is in progress; wait for response.done or cancel it first"
            code = "conversation_already_has_active_response"
            self._do(notify.NotifyError(code, message, client_event_id=event.client_event_id))
            return
        self.responses.cancel_preemptive()
        if self._caller.awaiting or response is not None:  # told to be over, but not yet heard to its end
            self._requested = event
        else:
            self.start(event)

    def cancel(self, event: ev.ResponseCancelled) -> None:
        """The client wants the response in progress no longer."""
        response = self.responses.active
        if response is None or response.told_end or event.response_id not in (None, response.response_id):
            which = "response" if event.response_id is None else f"response {event.response_id!r}"
            message = f"there is no {which} in progress to cancel"
            error = notify.NotifyError(
                "response_cancel_not_active", message, "response_id", event.client_event_id
            )
            self._do(error)
            return
        self.stop("client_cancelled")

    def prepare(self, turn: CallerTurn) -> None:
        """Have a preemptive response made to a turn that may be over, if nothing stands in its way."""
        allowed = turn.preemptive_attempts < self._policy.preemptive_attempts and not self._caller.awaiting
        wanted = turn.announced and turn.respond and words_of(turn.text)
        if self.responses.current is None and self.preemptive_allowed and allowed and wanted:
            turn.preemptive_attempts += 1
            self.start(ev.ResponseRequested(), turn, preemptive=True)

    def turn_over(self, turn: CallerTurn, kept: bool) -> None:
        """The turn is over and its words are settled. kept: it is in the history."""
        self._idled = 0
        self._owed = self._owed or (kept and turn.respond and bool(words_of(turn.text)))
        if turn.failure is not None and turn.respond and self.responses.active is None:
            self.responses.cancel_preemptive()
            self.over(self.responses.apologise_for(turn, self.settings))
        else:
            self.answer(turn)

    def answer(self, turn: CallerTurn | None = None) -> None:
        """Start or release the response that is wanted, if nothing stands in its way."""
        if not self._caller.silent or self.responses.active is not None:
            return
        held = self.responses.current
        fits = held is not None and turn is not None and held.turn_id == turn.item_id and held.fits(turn.text)
        if self._requested is None and self._owed and fits:
            self._owed = False
            self.responses.release()
            return
        self.responses.cancel_preemptive()
        if self._requested is not None:
            request, self._requested = self._requested, None
            self.start(request, turn)
        elif self._owed:
            self.start(ev.ResponseRequested(), turn)

    def start(
        self,
        request: ev.ResponseRequested,
        turn: CallerTurn | None = None,
        preemptive: bool = False,
        say: str = "",
    ) -> None:
        """Start a response now. say: these words, and not the LLM's."""
        if request.in_conversation and not preemptive:
            self._owed = False
        self.prompts.give_up()  # a summary in the making would only be in the response's way
        self.responses.start(request, self.settings, self._policy, turn, preemptive, say)

    def stop(self, reason: str, played_s: float | None = None) -> None:
        """Stop the response in progress. played_s: what the client says was heard of it."""
        self.over(self.responses.stop(reason, played_s))

    def over(self, response: Response | None) -> None:
        """A response is over, if one is: what waited for that comes now."""
        if response is None:
            return
        if not response.made_by.own_prompt:
            self.prompts.observe(response.made_by.request.messages, response.usage)
        if self._leaving and not response.stop_reason:
            self._do(do.HangUp("the caller has been silent"))
        self._leaving = False
        if response.stop_reason == "turn_detected" and response.in_conversation and not response.said:
            self._owed = True
        turn = self._caller.open
        if turn is not None and not turn.announced:
            self._do(do.RestorePlayout())
            self._caller.announce(turn, by_voice=self.settings.turn_detection is not None)
        if turn is not None and turn.settled:
            self.prepare(turn)
        self.answer()

    def prefill_while_speaking(self, turn: CallerTurn, words: str) -> None:
        """Let the LLM read the history, and the words that are certain, while the caller speaks."""
        if turn.respond and self._policy.prefill_while_speaking:
            turn.read = words
            self._read([*self._history.items, MessageItem(turn.item_id, "user", words, spoken=True)], words)

    def _read(self, items: Sequence[Item], words: str = "") -> None:
        """Let the LLM read these items, which end in `words` of an unfinished turn."""
        unfinished = () if words else (Message("user", ""),)
        prompt = make_prompt(self.settings.instructions, self.prompts.messages(items) + unfinished)
        self._do(do.Prefill(prompt, self.settings.tools))

    def summarise(self) -> None:
        """Have the oldest turns summarised if the history has outgrown its budget."""
        old = self.prompts.overdue(self._history.items)
        if old is not None:
            prompt = make_prompt(self.settings.instructions, old.prompt)
            self._do(do.Summarise(prompt, self.settings.tools, old.said, old.earlier, old.tokens))

    def replace_old_turns(self) -> None:
        """Between two turns: a summary that has come takes its place, and is read before it is needed."""
        if self.prompts.replace() and self._policy.prefill_while_speaking:
            self._read(self._history.items)
