"""The LLM requests of one call: responses, prefills while the caller speaks, summaries of old turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llmcore.engine import Generation, Message, Tool, Usage
from voiceagent.conversation.commands import AskTurnEnd, Prefill, StartResponse, Summarise
from voiceagent.conversation.end_of_turn.llm_end import bare
from voiceagent.conversation.events import ResponseRequested
from voiceagent.conversation.history import History, Item, MessageItem, PlannedWords
from voiceagent.conversation.prompting.items import prompt_items
from voiceagent.conversation.prompting.prompt_history import PromptHistory
from voiceagent.conversation.prompting.request import make_generation, make_prompt
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn.caller_turn import CallerTurn
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.words import words_of


class Prompts:
    """Builder of the prompts of one call from its history. built_in: returns the tools that the server itself
    offers at the moment.
    """

    def __init__(
        self,
        history: History,
        policy: TurnPolicy,
        built_in: Callable[[CallSettings], tuple[Tool, ...]] = lambda _: (),
    ) -> None:
        self._history = history
        self._built_in = built_in
        self._policy = policy
        self._old_turns = PromptHistory(policy.history)
        self._prefilled: tuple[str, str] = ("", "")  # (turn id, text of it that the LLM has read)

    @property
    def replacements(self) -> int:
        """Number of replacements of old turns, each of which changed the beginning of prompts."""
        return self._old_turns.replacements

    @property
    def edits(self) -> int:
        """Number of client edits of items in the history, and so in prompts."""
        return self._history.edits

    def for_response(
        self,
        wanted: ResponseRequested,
        settings: CallSettings,
        unfinished: CallerTurn | None = None,
        planned: PlannedWords | None = None,
    ) -> Generation:
        """Return the LLM request for a response. unfinished: the turn that a preemptive response answers.
        planned: text that counts as played.
        """
        if unfinished is not None:
            items = self._items_for(unfinished, unfinished.shown_text)
        else:
            items = prompt_items(self._history, planned=planned)
        messages = self._old_turns.messages(items)
        return make_generation(wanted, settings, messages, self._policy, self._built_in(settings))

    def prefill(self, turn: CallerTurn, settings: CallSettings) -> list[Prefill]:
        """Prefill the LLM with the history and the stable transcript while the caller speaks."""
        words = "" if turn.private else turn.recognition.stable
        # the prompt is unknown if the client requests the response itself
        if not turn.respond or not self._policy.prefill_while_speaking:
            return []
        self._prefilled = (turn.item_id, words)
        return [self._prefill(self._items_for(turn, words), settings, words)]

    def prefill_more(self, turn: CallerTurn, settings: CallSettings) -> list[Prefill]:
        """Prefill the LLM with newly stable words, if any."""
        read = self._prefilled[1] if self._prefilled[0] == turn.item_id else ""
        return self.prefill(turn, settings) if not turn.private and turn.recognition.stable != read else []

    def score_turn_end(self, turn: CallerTurn, settings: CallSettings) -> list[AskTurnEnd]:
        """Ask the LLM whether the turn ends with its transcript, mostly prefilled. Once per text."""
        wanted = self._policy.llm_end is not None and turn.announced and turn.respond and not turn.private
        if not wanted or turn.recognition.ends is not None or not words_of(turn.text):
            return []
        messages = self._old_turns.messages(self._items_for(turn, bare(turn.text)))
        prompt = make_prompt(settings.prompt_instructions, messages)
        return [AskTurnEnd(turn.item_id, turn.text, prompt, self._tools(settings))]

    def observe(self, start: StartResponse, usage: Usage) -> None:
        """Record the token usage of a response's prompt."""
        if not start.own_prompt:
            self._old_turns.observe(start.request.messages, usage)

    def summarise(self, settings: CallSettings) -> list[Summarise]:
        """Summarise the oldest turns if the history exceeds its budget."""
        old = self._old_turns.overdue(prompt_items(self._history))
        if old is None:
            return []
        prompt = make_prompt(settings.prompt_instructions, old.prompt)
        return [Summarise(prompt, self._tools(settings), old.said, old.earlier, old.tokens)]

    def set_summary(self, text: str) -> None:
        """Store the requested summary for `replace_old_turns`."""
        self._old_turns.set_summary(text)

    def cancel_summary(self) -> None:
        """Forget the summary in progress, which would delay a response; it is requested again later."""
        self._old_turns.cancel()

    def apply_summary(self) -> None:
        """Apply a finished summary at the start of a turn."""
        self._old_turns.apply_summary()

    def replace_old_turns(self, settings: CallSettings) -> list[Prefill]:
        """Apply a finished summary between two turns, and prefill the prompt's new beginning."""
        return self.prefill_history(settings) if self._old_turns.apply_summary() else []

    def prefill_history(self, settings: CallSettings) -> list[Prefill]:
        """Prefill the whole history, because prompts begin differently from now on."""
        return (
            [self._prefill(prompt_items(self._history), settings)]
            if self._policy.prefill_while_speaking
            else []
        )

    def _items_for(self, turn: CallerTurn, words: str) -> Sequence[Item]:
        """Return the prompt items for an answer to a turn that may not be over, with this text of it."""
        return *prompt_items(self._history, to_caller=True), MessageItem(
            turn.item_id, "user", words, spoken=True
        )

    def _prefill(self, items: Sequence[Item], settings: CallSettings, words: str = "") -> Prefill:
        """Return a prefill of these items, which end in `words` of an unfinished turn."""
        # also prefills the template's opening of a user turn
        unfinished = () if words else (Message("user", ""),)
        messages = self._old_turns.messages(items) + unfinished
        return Prefill(make_prompt(settings.prompt_instructions, messages), self._tools(settings))

    def _tools(self, settings: CallSettings) -> tuple[Tool, ...]:
        """Return the tools of the conversation's prompts."""
        return settings.all_tools + self._built_in(settings)
