"""A call as the agent's code sees it: `self.call`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from llmcore.text.whole_characters import join_surrogates
from voiceagent.agents.caller_input import CallerInput
from voiceagent.agents.digits import DigitEntry
from voiceagent.conversation.events import DictationBegan, HangUpRequested, ReplyRequested, SpeechRequested
from voiceagent.conversation.history import MessageItem
from voiceagent.session.agent import AgentDoes, ToolFailed

if TYPE_CHECKING:
    from voiceagent.agents.agent import Agent


@dataclass(frozen=True, slots=True)
class Said:
    """Words of one side: of the caller, as they were understood; of the agent, as they were played."""

    role: Literal["user", "assistant", "system"]
    text: str


spoken_for: ContextVar[list[str]] = ContextVar("spoken_for")
"""What the tool that runs has done that leaves the model nothing to say about its result."""


class AgentCall:
    """What an agent can do in its call. call_id: its id in the log. parameters: what a phone line told of
    the call (the caller's number among it, under the provider's name for it): anybody may have written it.

    What is not awaited can be used by tools that run in threads as well.
    """

    def __init__(
        self,
        call_id: str,
        does: Callable[[], AgentDoes | None],
        hand_over: Callable[[Agent], None],
        caller: CallerInput,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self.call_id = call_id
        self.parameters: Mapping[str, str] = {}
        self._caller = caller
        self._does = does
        self._hand_over = hand_over
        self._loop = loop
        self._thread = threading.get_ident()

    @property
    def transcript(self) -> tuple[Said, ...]:
        """What has been said so far; what a phone line told of the call is in `parameters`."""
        does = self._does()
        items = does.items if does is not None else ()
        messages = (item for item in items if isinstance(item, MessageItem) and not item.by_line)
        return tuple(Said(message.role, message.text) for message in messages if message.text)

    def say(self, text: str, *, interruptible: bool = True) -> None:
        """Have these words said as soon as nobody speaks: progress of a tool, say. Raises TypeError.

        interruptible: a caller who speaks cuts them; where not, he is answered when they have been played. An
        upstream (`[upstream]`) cuts by rules of its own.
        """
        _check_text("say", text)
        if text.strip():
            self._do(self._post, SpeechRequested(join_surrogates(text), interruptible))

    def respond(self, guidance: str) -> None:
        """Have the model speak as soon as nobody else does, in words of its own. Raises TypeError.

        guidance: what about ("Ask whether the table was to his liking."): told it this once, behind all that
        was said, so that nothing of the prompt is read again.
        """
        _check_text("respond", guidance)
        if guidance.strip():
            self._do(self._post, ReplyRequested(join_surrogates(guidance)))

    def hand_over(self, agent: Agent | type[Agent]) -> None:
        """Let another agent have the call: its instructions, tools and voice; what was said stays known."""
        agent = agent if not isinstance(agent, type) else agent()
        agent._call = self  # which its greeting may ask
        if agent.greeting:
            _spoken_for("hand_over")
        self._do(self._hand_over, agent)

    def hang_up(self, reason: str = "the agent hung up") -> None:
        """End the call, when what is being said has been played."""
        _spoken_for("hang_up")
        self._do(self._post, HangUpRequested(reason))

    async def transfer(self, destination: str = "", *, number: str = "") -> None:
        """Connect the caller to one of `telephony.transfers`, or to a number, at once, and leave the call.

        For a tool that is `when_played`, so that the caller has heard what is said with it. Raises ToolFailed
        where the line cannot, or does not: uncaught, it tells the model.
        """
        does = self._does()
        if does is None or does.line is None:
            raise ToolFailed("this call cannot be transferred: it comes over no phone line")
        _spoken_for("transfer")
        await does.line.transfer(destination, number)

    async def collect_digits(
        self, prompt: str = "", *, count: int | None = None, finish: str = "#", timeout_s: float = 10.0
    ) -> str:
        """Ask for digits, which the caller presses, or says in groups with pauses between them; meanwhile the
        model answers nothing.

        prompt: what is said first. count: how many there are; None ends the entry with `finish`, or when
        nothing more comes. timeout_s: how long nothing may come. Raises ToolFailed, in words for the model,
        where the caller says something else, or enters too little.
        """
        does = self._does()
        if does is None:
            raise ToolFailed("the call is over")
        return await self._caller.digits(does, prompt, DigitEntry(count, finish, does.language), timeout_s)

    def dictation(self, *digits: int) -> None:
        """What the caller says next is dictated, in groups with pauses in between. digits: how many the
        number has, or each length that it may have; none for a number of any length, a name or an address.
        """
        self._do(self._post, DictationBegan(digits))

    def _post(self, event: SpeechRequested | ReplyRequested | HangUpRequested | DictationBegan) -> None:
        does = self._does()
        if does is not None:
            does.post(event)

    def _do(self, what: Callable[[Any], None], argument: Any) -> None:
        if self._loop is None or threading.get_ident() == self._thread:
            what(argument)
        else:
            self._loop.call_soon_threadsafe(what, argument)


def no_call() -> AgentCall:
    """A call that is none, for an agent whose first prompt is asked for before anybody calls: nothing is
    known of it, nothing is said in it, and what is done in it has no effect.
    """
    return AgentCall("", lambda: None, lambda agent: None, CallerInput(), None)


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what}({text!r:.60}): allowed: a text")


def _spoken_for(what: str) -> None:
    done = spoken_for.get(None)
    if done is not None:
        done.append(what)
