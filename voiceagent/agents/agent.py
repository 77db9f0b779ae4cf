"""Base class of agents in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar

from audio.clips import check_sound
from llmcore.text.whole_characters import join_surrogates
from voiceagent.agents.tools import ToolMethod, tools_of
from voiceagent.session.agent import AnsweredBy

if TYPE_CHECKING:
    from voiceagent.agents.call import AgentCall, Said


class Agent:
    """Base class of agents. Each call has its own instance, so attributes hold the state of one call.

    The hooks do nothing by default. They run concurrently with the call: exceptions are logged, and a hook
    that takes longer than 30 s is cancelled.

    Attributes:
        instructions: The system prompt, or a method that returns it; the method runs again after every turn
            and tool call.
        greeting: The agent's first words, in a new call or after a hand-over; "" waits for the caller.
        typing_sound: Played while a tool runs: "typing", another built-in sound, or the path of an audio
            file; "" for none.
        leave_message: Spoken to a voicemail that answers an outbound call; "" hangs up instead.
        voice: A voice of the synthesizer, or a name in its table `voices`; None for the one in use.
    """

    instructions: str | Callable[[], str] = ""
    greeting: str = ""
    voice: str | None = None
    leave_message: str = ""
    typing_sound: str = ""
    tools: ClassVar[tuple[ToolMethod, ...]] = ()
    _call: AgentCall | None = None

    def __init_subclass__(cls) -> None:
        """Register the tools. Raises WrongAgent or WrongTool if the class is invalid."""
        super().__init_subclass__()
        check_agent(cls, Agent)
        cls.tools = tools_of(cls)
        for method in (one.method for one in cls.tools):
            if method in vars(Agent):
                raise WrongAgent(f"{cls.__name__}.{method}: a tool with a hook's name; allowed: another name")

    @property
    def call(self) -> AgentCall:
        """The agent's call.

        Raises:
            RuntimeError: The agent has no call yet.
        """
        if self._call is None:
            raise RuntimeError(f"{type(self).__name__} has no call yet; use self.call in hooks and tools")
        return self._call

    def prompt(self) -> str:
        """Return the current instructions.

        Raises:
            WrongAgent: They are not a text.
        """
        instructions = self.instructions
        prompt = instructions() if callable(instructions) else instructions
        if not isinstance(prompt, str):
            raise WrongAgent(
                f"{type(self).__name__}: its instructions are {type(prompt).__name__}; allowed: text"
            )
        return prompt

    async def on_call_began(self) -> None:
        """Handle the start of the call, or of this agent's part after a hand-over."""

    async def on_answered(self, kind: AnsweredBy) -> None:
        """Handle the answer to an outbound call; until then nothing is said and no turn is answered.

        By default a person is greeted (without `greeting`, the model answers), a voicemail gets
        `leave_message` after its beep, a fax and a voicemail without a message are hung up on, and the model
        answers a screener and a menu.

        Args:
            kind: "person", "voicemail", "screener" (asks for name and reason), "menu" or "fax".
        """
        greeting = greeting_of(self)
        if kind == "voicemail" and self.leave_message:
            await self.call.leave_message(self.leave_message)
        elif kind in ("voicemail", "fax"):
            self.call.hang_up(f"a {kind} answered")
        elif kind == "person" and greeting:
            self.call.say(greeting)
        else:
            self.call.respond_to_greeting()

    async def find_context(self, words: str) -> str | Sequence[str]:
        """Return texts that may help the model to answer; needs `[context]`.

        It is called while the caller still speaks, with more and more of the transcript, and may take
        `context.deadline_s`.

        Args:
            words: The caller's words so far.

        Returns:
            One text or several.
        """
        return ()

    async def on_turn(self, text: str) -> None:
        """Handle a turn of the caller. The response has been requested already.

        Args:
            text: The final transcript.
        """

    async def on_response(self, text: str, interrupted: bool) -> None:
        """Handle the end of a response.

        Args:
            text: The part that was played.
            interrupted: The caller cut it.
        """

    async def on_tool_failed(self, name: str, reason: str) -> None:
        """Handle a failed tool call.

        Args:
            name: The tool's name.
            reason: For the log.
        """

    async def on_call_ended(self, transcript: Sequence[Said]) -> None:
        """Handle the end of the call; nothing can be said any more.

        Runs for each agent that had the call, including those that handed it over, but not if the call
        never began.

        Args:
            transcript: The words of both sides in order, of the agent's those that were played.
        """


def greeting_of(agent: Agent) -> str:
    """Return the current greeting.

    Raises:
        WrongAgent: It is not a text.
        Exception: What a property of the agent's class raises.
    """
    greeting: object = agent.greeting
    if not isinstance(greeting, str):
        raise WrongAgent(f"{type(agent).__name__}: its greeting is {type(greeting).__name__}; allowed: text")
    return join_surrogates(greeting)


_OWN = ("call", "prompt", "tools")
"""Attributes of `Agent` that subclasses must not override."""

_ELSEWHERE = {
    "on_enter": "on_call_began",
    "on_exit": "on_call_ended",
    "on_user_turn_completed": "on_turn",
    "on_client_connected": "on_call_began",
    "on_client_disconnected": "on_call_ended",
}
"""Hooks of LiveKit Agents and Pipecat, and the nearest ones here."""


_TEXTS = {
    "instructions": "a text, or a method that returns one",
    "greeting": "a text, or a property that gives one",
    "leave_message": 'a text, "" for none',
    "voice": "the name of a voice, or None",
}
"""Attributes of `Agent` that are texts, and what is allowed."""


class WrongAgent(TypeError):
    """A class cannot be an agent; the message names the fault and what is allowed."""


def check_agent(kind: type, base: type) -> None:
    """Raise WrongAgent if the class `kind` violates the contract of `base`, which is `Agent`."""
    for name in _OWN:
        if name in vars(kind):
            hint = "its tools are its methods with @tool" if name == "tools" else "allowed: another name"
            raise WrongAgent(f"{kind.__name__}.{name}: every agent has this from Agent; {hint}")
    hooks = [name for name, value in vars(base).items() if inspect.iscoroutinefunction(value)]
    for name in hooks:
        _check_hook(kind, name, getattr(base, name))
    for name in vars(kind):
        _check_name(kind, name, hooks)
    for name, allowed in _TEXTS.items():
        given = inspect.getattr_static(kind, name)
        if isinstance(given, Field):  # of a dataclass, which is made after this check
            given = "" if given.default is MISSING else given.default
        fits = isinstance(given, str) or hasattr(given, "__get__") or callable(given)
        if not (fits or (given is None and name == "voice")):
            raise WrongAgent(f"{kind.__name__}.{name}: {given!r:.60}; allowed: {allowed}")
    if inspect.iscoroutinefunction(getattr(kind, "instructions", "")):
        raise WrongAgent(
            f"{kind.__name__}.instructions: async; allowed: a text or a plain method, which is asked "
            "again after on_call_began: what has to be waited for belongs there"
        )
    if sound := getattr(kind, "typing_sound", ""):
        try:
            check_sound(sound)
        except ValueError as error:
            raise WrongAgent(f"{kind.__name__}.typing_sound: {error}") from error
    if inspect.isroutine(getattr(kind, "greeting", "")):
        raise WrongAgent(f"{kind.__name__}.greeting: a method; allowed: a text, or a property that gives one")


def _check_hook(kind: type, name: str, own: Callable[..., Any]) -> None:
    hook = getattr(kind, name)
    if hook is own:
        return
    takes = list(inspect.signature(own).parameters)
    written = f"async def {name}({', '.join(takes)})"
    if not inspect.iscoroutinefunction(hook):
        raise WrongAgent(f"{kind.__name__}.{name}: not asynchronous; allowed: {written}")
    try:
        inspect.signature(hook).bind(*takes)
    except TypeError as error:
        raise WrongAgent(f"{kind.__name__}.{name}: {error}; allowed: {written}") from error


def _check_name(kind: type, name: str, hooks: Sequence[str]) -> None:
    """Raise WrongAgent for a misspelt hook, which would never be called."""
    if name in hooks or not name.startswith("on_") or not inspect.iscoroutinefunction(getattr(kind, name)):
        return
    meant = _ELSEWHERE.get(name, "")
    if meant or get_close_matches(name, hooks, 1, 0.65):
        allowed = meant or f"another name, or of a hook: {', '.join(hooks)}"
        raise WrongAgent(f"{kind.__name__}.{name}: there is no such hook; allowed: {allowed}")
