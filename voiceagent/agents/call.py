"""The call of an agent: `self.call`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from audio.clips import check_sound
from llmcore.text.whole_characters import join_surrogates
from voiceagent.agents.agent import Agent
from voiceagent.agents.background_sound import BackgroundSound
from voiceagent.agents.caller_input import CallerInput
from voiceagent.agents.capture.dialogue import Dialogue
from voiceagent.agents.capture.task import Circumstances, Task
from voiceagent.agents.digits import DigitEntry
from voiceagent.conversation.events import (
    DictationBegan,
    GuidanceRequested,
    HangUpRequested,
    LanguageSet,
    ReplyRequested,
    SpeechRequested,
    UpdateRequested,
)
from voiceagent.conversation.history import MessageItem
from voiceagent.session.agent import AgentSession, Answer, OutboundDetails, ToolFailed, current_call_id

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Said:
    """Words of one side.

    Attributes:
        role: "user" for the caller, "assistant" for the agent.
        text: The caller's transcript, or the part of the agent's text that was played.
    """

    role: Literal["user", "assistant", "system"]
    text: str


@dataclass(slots=True)
class ToolActions:
    """Actions of a running tool. done: those after which the model need not report its result.

    speaks_result: its words come once it has ended, so hang-up and hand-over wait for them. waiting: those
    that wait.
    """

    speaks_result: bool = False
    done: list[str] = field(default_factory=list)
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def finish(self) -> None:
        """Do what waited for the tool's words. What the tool left running waits for nothing any more."""
        self.speaks_result = False
        for act in self.waiting:
            act()


tool_actions: ContextVar[ToolActions] = ContextVar("tool_actions")
"""Actions of the running tool."""


class AgentCall:
    """Operations of an agent in its call. Those that are not awaited may be used from threads, too.

    Attributes:
        call_id: The call's id in the log.
        parameters: Metadata from the telephony provider, such as the caller's number, under the provider's
            names. Not trustworthy: anyone can forge it.
        outbound: The outbound call, None for an inbound one. Set by the server, so it is trustworthy.
    """

    def __init__(
        self,
        call_id: str,
        session: Callable[[], AgentSession | None],
        hand_over: Callable[[Agent], None],
        caller: CallerInput,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self.call_id = call_id
        self.parameters: Mapping[str, str] = {}
        self.outbound: OutboundDetails | None = None
        self._caller = caller
        self._session = session
        self._hand_over = hand_over
        self._loop = loop
        self._thread = threading.get_ident()

    @property
    def direction(self) -> Literal["inbound", "outbound"]:
        """ "outbound" if this server placed the call."""
        return "inbound" if self.outbound is None else "outbound"

    @property
    def to(self) -> str:
        """The number that this server called, "" in an inbound call."""
        return "" if self.outbound is None else self.outbound.to

    @property
    def reason(self) -> str:
        """The reason for an outbound call, as the request for it gave it; "" for none."""
        return "" if self.outbound is None else self.outbound.reason

    @property
    def answer(self) -> Answer | None:
        """The listener that decides who answered an outbound call, None if there is none."""
        answer = None if self.outbound is None else self.outbound.answer
        return answer if answer is not None and answer.wanted else None

    @property
    def language(self) -> str:
        """ISO 639 code of the call's language: the caller's where `[languages]` has several; "" before."""
        session = self._session()
        return "" if session is None else session.language

    def set_language(self, code: str) -> None:
        """Set the language of recognition, voice, phrases and answers, in place of the one that the caller
        speaks.

        Args:
            code: `agent.language`, or one of `[languages]`; "" follows the caller again.

        Raises:
            ValueError: The configuration has no such language.
        """
        session = self._session()
        if session is None:
            return
        served = session.languages or (session.language,)
        if code not in ("", *served):
            allowed = ", ".join(served)
            raise ValueError(f'set_language({code!r}); allowed: {allowed}, or "" to follow the caller')
        if session.languages:
            self._do(self._post, LanguageSet(code))

    async def leave_message(self, text: str) -> None:
        """Wait for the beep of a voicemail, or 2 s of silence, then speak this text and hang up.

        Args:
            text: The message. The words of the voicemail do not interrupt it.

        Raises:
            TypeError: `text` is not a str.
        """
        _check_text("leave_message", text)
        if self.answer is not None:
            await self.answer.beep()
        self.say(text, interruptible=False)
        self.hang_up("the agent left a message")

    def respond_to_greeting(self) -> None:
        """Let the model answer the words with which the call was answered."""
        self._do(self._post, ReplyRequested(""))

    @property
    def transcript(self) -> tuple[Said, ...]:
        """The conversation so far, without metadata of the telephony provider."""
        session = self._session()
        items = session.items if session is not None else ()
        messages = (item for item in items if isinstance(item, MessageItem) and not item.by_line)
        return tuple(Said(message.role, message.text) for message in messages if message.text)

    def say(self, text: str, *, interruptible: bool = True) -> None:
        """Speak this text once neither side speaks, such as the progress of a tool.

        Args:
            text: The text.
            interruptible: The caller can interrupt it. Otherwise the caller is answered after it. A realtime
                backend (`[upstream]`) has its own rules.

        Raises:
            TypeError: `text` is not a str.
        """
        _check_text("say", text)
        if text.strip():
            self._do(self._post, SpeechRequested(join_surrogates(text), interruptible))

    def post_result(self, text: str) -> None:
        """Speak the result of the running tool; see `speaks_result` of `@tool`."""
        self._post(SpeechRequested(join_surrogates(text), result_of=current_call_id.get("")))

    def update(self, text: str) -> None:
        """Speak the progress of the running tool, while it runs: "Still looking." It is spoken at the next
        moment in which neither side speaks and no answer is due, and not at all if the tool has ended by
        then. A later update of the same tool replaces one that was not spoken. For tools only; `say` is for
        all other code.

        Args:
            text: The text.

        Raises:
            TypeError: `text` is not a str.
            RuntimeError: No tool is running where it is called.
        """
        _check_text("update", text)
        call_id = current_call_id.get("")
        if not call_id:
            raise RuntimeError("update() was called outside of a tool; allowed: in a tool, or say()")
        if text.strip():
            self._do(self._post, UpdateRequested(call_id, join_surrogates(text)))

    def respond(self, guidance: str) -> None:
        """Let the model speak once neither side does. In a tool this is the response about its result, unless
        the tool takes so long that a filler is due, or hands over after this. A `hang_up` waits for it.

        Args:
            guidance: Instruction for this response ("Ask whether the guest liked the table."). It is
                appended to the prompt of this response only, so that the prefix cache stays valid.

        Raises:
            TypeError: `guidance` is not a str.
        """
        _check_text("respond", guidance)
        if not guidance.strip():
            return
        guidance = join_surrogates(guidance)
        call_id = current_call_id.get("")
        request = GuidanceRequested(call_id, guidance) if call_id else ReplyRequested(guidance)
        self._do(self._post, request)

    def background(self, sound: str | Path, *, volume_db: float = 0.0) -> BackgroundSound:
        """Play a background sound, again and again, until it is stopped or the call ends:

            with self.call.background("hold"):
                order = await self.find_order()

        It is quieter while the agent speaks, does not interrupt or answer anything, and is in the recording.
        A WebSocket of the Realtime API has no audio outside of responses: nothing is heard there.

        Args:
            sound: "hold" (a soft melody), "typing", "room" (the tone of an office), or the path of an audio
                file of up to 10 minutes.
            volume_db: Volume relative to the file's, -60 to 0.

        Returns:
            The sound, which has begun; `stop()`, or the end of a `with`, ends it.

        Raises:
            ValueError: There is no such sound or volume.
        """
        if isinstance(volume_db, bool) or not -60 <= volume_db <= 0:
            raise ValueError(f"background(volume_db={volume_db!r}); allowed: -60 to 0")
        return BackgroundSound(check_sound(sound), 10 ** (volume_db / 20), self._session, self._do)

    def hand_over(self, agent: Agent | type[Agent]) -> None:
        """Hand the call to another agent, with its instructions, tools and voice; in a tool with
        `speaks_result`, once its result is to be spoken.

        Args:
            agent: The agent, or its class if it needs no arguments. It knows the conversation so far.

        Raises:
            TypeError: `agent` is neither.
        """
        if not isinstance(agent, Agent) and not (isinstance(agent, type) and issubclass(agent, Agent)):
            raise TypeError(f"hand_over({agent!r:.60}); allowed: an agent, or a class derived from Agent")
        agent = agent if not isinstance(agent, type) else agent()
        agent._call = self  # its greeting may use it
        if agent.greeting:
            _record_action("hand_over")
        _after_result(partial(self._do, self._hand_over, agent))

    def hang_up(self, reason: str = "the agent hung up") -> None:
        """End the call after pending speech has been played; in a tool with `speaks_result`, its result too.

        Args:
            reason: For the log.
        """
        _record_action("hang_up")
        _after_result(partial(self._do, self._post, HangUpRequested(reason)))

    async def transfer(self, destination: str = "", *, number: str = "", brief: str = "") -> None:
        """Connect the caller to another destination, and leave the call.

        Use it in a tool with `when_played`, so that the caller hears the text before the tool call.

        Args:
            destination: A name of `telephony.transfers`.
            number: A phone number instead.
            brief: Text that a colleague hears before they are connected; the caller waits. The number must be
                in `outbound.allow`. Without it, the caller is connected at once.

        Raises:
            TransferFailed: The colleague was not connected; `reason` is "busy", "declined" (hung up while
                briefed), "no_answer", "voicemail" (a machine answered) or "failed". The caller is still
                there.
            ToolFailed: The line cannot transfer, or failed to. Uncaught, it is reported to the model.
        """
        session = self._session()
        if session is None or session.line is None:
            raise ToolFailed("this call cannot be transferred: it comes over no phone line")
        await session.line.transfer(destination, number, brief)
        _record_action("transfer")

    async def send_digits(self, digits: str) -> None:
        """Press keys on the line, for a phone menu or an extension, and wait until they have sounded.

        Use it in a tool with `when_played`, so that the keys follow the text before the tool call.

        Args:
            digits: 0 to 9, *, #, A to D, and "w" for a pause of half a second, at most 64.

        Raises:
            ToolFailed: The digits are no keys, or the line cannot send them. Uncaught, it is reported to the
                model.
        """
        session = self._session()
        if session is None or session.line is None:
            raise ToolFailed("this call has no line that sends keys")
        await session.line.send_digits(digits)

    async def collect_digits(
        self,
        prompt: str = "",
        *,
        count: int | None = None,
        finish: str = "#",
        timeout_s: float = 10.0,
        private: bool = False,
    ) -> str:
        """Ask for digits, which the caller presses, or says in groups with pauses. The model does not
        answer meanwhile.

        Args:
            prompt: Spoken first.
            count: Number of digits; None ends the entry with `finish`, or after a pause.
            finish: Key that ends the entry.
            timeout_s: Maximum time without input.
            private: The caller's words and keys are neither logged, stored, recorded nor sent to the LLM.

        Returns:
            The digits.

        Raises:
            ToolFailed: The caller said something else or entered too few digits, or private input was asked
                for in a call with a realtime backend. The message is for the model.
        """
        session = self._session()
        if session is None:
            raise ToolFailed("the call is over")
        _check_private(session, private)
        entry = DigitEntry(count, finish, session.language, private)
        return await self._caller.digits(session, prompt, entry, timeout_s)

    async def ask(self, task: Task[T]) -> T | None:
        """Ask the caller for one thing, read it back, and let the caller correct it. The model does not
        answer meanwhile.

        Args:
            task: A task of `voiceagent.agents.capture`, such as `Email("What is your e-mail address?")`.

        Returns:
            The value that the caller confirmed; None if the caller gave up or hung up.

        Raises:
            ToolFailed: Other input is collected at the moment, or private input was asked for in a call
                with a realtime backend, which hears everything. The message is for the model.
            TypeError: `task` is no task.
        """
        if not isinstance(task, Task):
            raise TypeError(f"ask({task!r:.60}); allowed: a task of voiceagent.agents.capture")
        session = self._session()
        if session is None:
            return None
        _check_private(session, task.private)
        # the server's local time: callers say days and times without a zone
        now = Circumstances(session.language, datetime.now())
        return await self._caller.capture(session, task, Dialogue(task, now))

    def dictation(self, *digits: int) -> None:
        """Expect dictation in groups with pauses in the caller's next turn.

        Args:
            *digits: The possible lengths of the number; none for any length, a name or an address.
        """
        self._do(self._post, DictationBegan(digits))

    def _post(
        self,
        event: SpeechRequested
        | UpdateRequested
        | GuidanceRequested
        | ReplyRequested
        | HangUpRequested
        | DictationBegan
        | LanguageSet,
    ) -> None:
        session = self._session()
        if session is not None:
            session.post(event)

    def _do(self, what: Callable[[Any], None], argument: Any) -> None:
        if self._loop is None or threading.get_ident() == self._thread:
            what(argument)
        else:
            self._loop.call_soon_threadsafe(what, argument)


def no_call() -> AgentCall:
    """Return a call without caller, for a first prompt before any call: empty and without effect."""
    return AgentCall("", lambda: None, lambda agent: None, CallerInput(), None)


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what}({text!r:.60}): allowed: a text")


def _check_private(session: AgentSession, private: bool) -> None:
    if private and not session.takes_turns:
        raise ToolFailed("private input cannot be collected: a realtime backend hears this call")


def _record_action(what: str) -> None:
    actions = tool_actions.get(None)
    if actions is not None:
        actions.done.append(what)


def _after_result(act: Callable[[], None]) -> None:
    """Act now; in a tool that speaks its result, once that is to be spoken."""
    actions = tool_actions.get(None)
    if actions is not None and actions.speaks_result:
        actions.waiting.append(act)
    else:
        act()
