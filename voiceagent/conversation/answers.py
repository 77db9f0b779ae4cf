"""What the agent owes the caller: which reply is made, when, and from which prompt. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notices as tell
from voiceagent.conversation.caller import Caller
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, Item, MessageItem
from voiceagent.conversation.prompt_history import PromptHistory
from voiceagent.conversation.replies import Replies
from voiceagent.conversation.reply_plan import make_prompt
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.turns import CallerTurn, Reply
from voiceagent.conversation.words import normalise


class Answers:
    """Decides which reply is made when. Commands go to `emit`.

    settings: of the call, as they are now. provisional_allowed: whether the server has room for replies that
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
        self.provisional_allowed = True
        self.prompts = PromptHistory(policy.history)
        self.replies = Replies(history, self.prompts, rate_hz, new_id, emit)
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
        return self._caller.silent and self._requested is None and self.replies.current is None

    def caller_idle(self, at_s: float) -> None:
        """Ask again, with the next of the prompts; when there are no more, say goodbye and hang up."""
        if not self.idle:
            return
        self._do(tell.TellIdle(self._new_id("item"), at_s))
        prompts = self._policy.idle_prompts
        self._leaving = self._idled >= len(prompts)
        phrase = self._policy.goodbye if self._leaving else prompts[self._idled]
        self.start(ev.ResponseRequested(), say=phrase)
        self._idled += 1

    def request(self, event: ev.ResponseRequested) -> None:
        """The client wants a reply: at once, or when the caller's words are settled."""
        reply = self.replies.active
        if (reply is not None and not reply.told_end) or self._requested is not None:
            message = "a response is in progress; wait for response.done or cancel it first"
            code = "conversation_already_has_active_response"
            self._do(tell.TellError(code, message, client_event_id=event.client_event_id))
            return
        self.replies.cancel_provisional()
        if self._caller.awaiting or reply is not None:  # told to be over, but not yet heard to its end
            self._requested = event
        else:
            self.start(event)

    def cancel(self, event: ev.ResponseCancelled) -> None:
        """The client wants the reply in progress no longer."""
        reply = self.replies.active
        if reply is None or reply.told_end or event.reply_id not in (None, reply.reply_id):
            which = "response" if event.reply_id is None else f"response {event.reply_id!r}"
            message = f"there is no {which} in progress to cancel"
            error = tell.TellError(
                "response_cancel_not_active", message, "response_id", event.client_event_id
            )
            self._do(error)
            return
        self.stop("client_cancelled")

    def prepare(self, turn: CallerTurn) -> None:
        """Have a provisional reply made to a turn that may be over, if nothing stands in its way."""
        allowed = turn.provisional_attempts < self._policy.provisional_attempts and not self._caller.awaiting
        wanted = turn.announced and turn.respond and normalise(turn.text)
        if self.replies.current is None and self.provisional_allowed and allowed and wanted:
            turn.provisional_attempts += 1
            self.start(ev.ResponseRequested(), turn, provisional=True)

    def turn_over(self, turn: CallerTurn, kept: bool) -> None:
        """The turn is over and its words are settled. kept: it is in the history."""
        self._idled = 0
        self._owed = self._owed or (kept and turn.respond and bool(normalise(turn.text)))
        if turn.failure is not None and turn.respond and self.replies.active is None:
            self.replies.cancel_provisional()
            self.over(self.replies.apologise_for(turn, self.settings))
        else:
            self.answer(turn)

    def answer(self, turn: CallerTurn | None = None) -> None:
        """Start or release the reply that is wanted, if nothing stands in its way."""
        if not self._caller.silent or self.replies.active is not None:
            return
        held = self.replies.current
        fits = held is not None and turn is not None and held.turn_id == turn.item_id and held.fits(turn.text)
        if self._requested is None and self._owed and fits:
            self._owed = False
            self.replies.release()
            return
        self.replies.cancel_provisional()
        if self._requested is not None:
            request, self._requested = self._requested, None
            self.start(request, turn)
        elif self._owed:
            self.start(ev.ResponseRequested(), turn)

    def start(
        self,
        request: ev.ResponseRequested,
        turn: CallerTurn | None = None,
        provisional: bool = False,
        say: str = "",
    ) -> None:
        """Start a reply now. say: these words, and not the LLM's."""
        if request.in_conversation and not provisional:
            self._owed = False
        self.prompts.give_up()  # a summary in the making would only be in the reply's way
        self.replies.start(request, self.settings, self._policy, turn, provisional, say)

    def stop(self, reason: str, heard_s: float | None = None) -> None:
        """Stop the reply in progress. heard_s: what the client says was heard of it."""
        self.over(self.replies.stop(reason, heard_s))

    def over(self, reply: Reply | None) -> None:
        """A reply is over, if one is: what waited for that comes now."""
        if reply is None:
            return
        if not reply.plan.own_prompt:
            self.prompts.observe(reply.plan.messages, reply.usage)
        if self._leaving and not reply.stop_reason:
            self._do(do.HangUp("the caller has been silent"))
        self._leaving = False
        if reply.stop_reason == "turn_detected" and reply.in_conversation and not reply.said:
            self._owed = True
        turn = self._caller.open
        if turn is not None and not turn.announced:
            self._do(do.RestorePlayout())
            self._caller.announce(turn, by_voice=self.settings.turn_detection is not None)
        if turn is not None and turn.settled:
            self.prepare(turn)
        self.answer()

    def read_ahead(self, turn: CallerTurn, words: str) -> None:
        """Let the LLM read the history, and the words that are certain, while the caller speaks."""
        if turn.respond and self._policy.read_ahead:
            turn.read = words
            self._read([*self._history.items, MessageItem(turn.item_id, "user", words, spoken=True)], words)

    def _read(self, items: Sequence[Item], words: str = "") -> None:
        """Let the LLM read these items, which end in `words` of an unfinished turn."""
        unfinished = () if words else (Message("user", ""),)
        prompt = make_prompt(self.settings.instructions, self.prompts.messages(items) + unfinished)
        self._do(do.ReadAhead(prompt, self.settings.tools))

    def summarise(self) -> None:
        """Have the oldest turns summarised if the history has outgrown its budget."""
        old = self.prompts.overdue(self._history.items)
        if old is not None:
            prompt = make_prompt(self.settings.instructions, old.prompt)
            self._do(do.Summarise(prompt, self.settings.tools, old.said, old.earlier, old.tokens))

    def replace_old_turns(self) -> None:
        """Between two turns: a summary that has come takes its place, and is read before it is needed."""
        if self.prompts.replace() and self._policy.read_ahead:
            self._read(self._history.items)
