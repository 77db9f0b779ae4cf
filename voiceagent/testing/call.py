"""A call to an agent for its tests, typed or spoken, with the model's scripted answers.

    async with TestCall(Orders) as call:
        call.model_will("One moment.", Calls("add", pizza="tuna", number=2), "Two tuna, anything else?")
        await call.says("two tuna please")
        call.expect_tool("add", pizza="tuna", number=2)
        call.expect_words("two tuna")

With `llm=` a model such as `OpenAILlm` answers, and `model_will` is not needed. With `voice=True` the
caller speaks and the agent's audio is recognized, in real time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal, Protocol

from llmcore.engine import Llm
from voiceagent.agents.agent import Agent
from voiceagent.agents.running import RunningAgent
from voiceagent.config import default_config
from voiceagent.config.tables import load
from voiceagent.conversation.history import ToolCallItem, ToolOutputItem
from voiceagent.session.agent import OutboundDetails, Pressed, ToolFailed, check_keys
from voiceagent.session.session import Session
from voiceagent.testing.mocks import Mocks
from voiceagent.testing.scripted_model import ScriptedModel, Step, check_step, responses
from voiceagent.testing.spoken_caller import SpokenCaller
from voiceagent.testing.typed_caller import VIRTUAL_ANSWER_TIMEOUT_S, TypedCaller
from voiceagent.testing.virtual_clock import VirtualClock
from voiceagent.testing.words import says

_NOT_BEGUN = "the call has not begun; use: async with TestCall(...) as call"
ONE_ANSWER = {"turn.preemptive_attempts": "0"}
"""A script has one answer per turn, which a dropped preemptive response must not use up."""


class Caller(Protocol):
    """The caller's side; see `TypedCaller`."""

    @property
    def words(self) -> Sequence[str]:
        """The agent's words so far."""

    @property
    def understood(self) -> Sequence[str]:
        """The caller's words as the agent understood them."""

    @property
    def session(self) -> Session:
        """The agent's side."""

    @property
    def hung_up(self) -> bool:
        """True if the agent has ended the call."""

    async def say(self, text: str) -> None:
        """Say this, and wait until the agent is idle."""

    async def listen(self, past_questions: bool = False) -> None:
        """Say nothing until the agent is idle."""

    async def stay_silent(self) -> None:
        """Let the idle timeout pass without waiting for it, and listen to the reaction."""

    async def close(self) -> None:
        """Hang up."""


class TestCall:
    """One call, as an asynchronous context manager. Expectations raise AssertionError.

    Args:
        agent: The agent, or its class.
        llm: Model that answers instead of the script.
        parameters: Metadata from the telephony provider.
        phone: The call comes over a phone line, which can transfer it; `OutboundDetails` for a call that the
            server placed.
        voice: The caller speaks, through the engines of the demo's configuration or of the given file; the
            agent gets the recognizer's transcript. Only the file's speech engines, turns and language are
            used: agent and model are the test's, and there are no MCP servers.
        language: ISO 639 code of typed text, for the words of digits and numbers.
        clock: "virtual" for a typed call that does not wait for time; see `VirtualClock`.

    Raises:
        TypeError: `agent` is no agent.
        ValueError: `clock` is unknown, or virtual with `voice`.
    """

    __test__ = False  # pytest would collect it as a test class

    def __init__(
        self,
        agent: Agent | type[Agent],
        llm: Llm | None = None,
        parameters: Mapping[str, str] | None = None,
        phone: bool | OutboundDetails = True,
        voice: bool | str | Path = False,
        language: str = "en",
        clock: Literal["real", "virtual"] = "real",
    ) -> None:
        if clock not in ("real", "virtual") or (clock == "virtual" and voice is not False):
            allowed = "allowed: 'real', and 'virtual' without voice, as engines take real time"
            raise ValueError(f"TestCall(clock={clock!r}); {allowed}")
        kind = agent if isinstance(agent, type) else type(agent)
        if not issubclass(kind, Agent):
            raise TypeError(
                f"TestCall({agent!r}): allowed: a class derived from Agent, or an instance of one"
            )
        self._make = agent if isinstance(agent, type) else lambda: agent
        self.model = ScriptedModel()
        self._llm = llm
        self._parameters = parameters or {}
        self._line = _RecordingLine(phone if isinstance(phone, OutboundDetails) else None)
        self._phone = bool(phone)
        self._voice = voice
        self._language = language
        self._clock = VirtualClock() if clock == "virtual" else None
        self._mocks = Mocks()
        self._closing = AsyncExitStack()
        self._caller: Caller | None = None
        self._running: RunningAgent | None = None

    async def __aenter__(self) -> TestCall:
        """Start the call and listen to a greeting. With `voice`, raises ConfigError and the errors of
        engines.
        """
        running = self._running = RunningAgent("test", self._make, run_method=self._mocks.run)
        if self._clock is not None:
            self._closing.enter_context(self._clock)
        llm, known = self._llm or self.model, (self._parameters, self._line if self._phone else None)
        if self._clock is not None:
            patience = self._clock.time, VIRTUAL_ANSWER_TIMEOUT_S
            self._caller = await TypedCaller.call(llm, running, *known, self._language, *patience)
        elif self._voice is False:
            self._caller = await TypedCaller.call(llm, running, *known, self._language)
        else:
            path = default_config() if self._voice is True else Path(self._voice)
            config = load(path, ONE_ANSWER if self._llm is None else None)
            self._caller = await SpokenCaller.call(config, llm, running, *known)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Hang up.

        Raises:
            AssertionError: Scripted answers are left, or a mocked tool belongs to no agent of the call.
        """
        async with self._closing:
            await self._call.close()
            await self._hooks_over()
        if kind is not None:
            return
        if self.model.steps:
            left = list(self.model.steps)
            raise AssertionError(f"the model was asked {len(self.model.requests)} times, not for {left}")
        if self._running is not None:
            self._mocks.check(tool for agent in self._running.agents for tool in agent.tools)

    @property
    def sounds(self) -> tuple[str, ...]:
        """The background sounds that play now, in the order in which they began."""
        return self._call.session.background.sounds

    def model_will(self, *steps: Step) -> None:
        """Set the model's next answers, one response per step. The call must use all. After them the model
        answers "Okay.".

        Args:
            *steps: Text, a tool call, or a list of calls that run concurrently. Text directly before calls is
                part of the same response, as models do ("Let me look.").

        Raises:
            TypeError: A step is invalid.
        """
        for step in steps:
            check_step(step)
        self.model.steps.extend(responses(steps))

    def mock(self, tool: str, *, returns: Any = None, raises: Exception | None = None) -> None:
        """Mock a tool of the agent from now on. Arguments are still validated.

        Args:
            tool: The tool's name.
            returns: Result of the tool.
            raises: Exception that it raises instead.

        Raises:
            TypeError: Both are given.
        """
        self._mocks.set(tool, returns, raises)

    async def says(self, text: str) -> str:
        """Say this as the caller.

        Returns:
            The agent's answer, once tools have run and the agent is idle.

        Raises:
            AssertionError: The agent has ended the call, or failed.
        """
        if self.hung_up:
            raise AssertionError(f"nobody hears {text!r}: the agent has ended the call")
        before = len(self.words)
        await self._call.say(text)
        await self._hooks_over()
        return " ".join(self.words[before:])

    async def presses(self, keys: str) -> str:
        """Press these keys as the caller, while the agent collects digits.

        Returns:
            The agent's answer.

        Raises:
            AssertionError: The agent is not collecting digits.
        """
        before = len(self.words)
        for key in keys:
            if self._call.session.press(key, 0) is Pressed.UNASKED:
                raise AssertionError(f"key {key!r} was pressed, and no tool asks for digits")
        await self._call.listen()
        return " ".join(self.words[before:])

    async def stays_silent(self) -> str:
        """Say nothing for `turn.idle_timeout_s`, without waiting for it.

        Returns:
            The agent's prompt or goodbye; "" while a tool is awaited.

        Raises:
            AssertionError: The agent has ended the call.
        """
        if self.hung_up:
            raise AssertionError("nobody waits for the caller: the agent has ended the call")
        before = len(self.words)
        await self._call.stay_silent()
        await self._hooks_over()
        return " ".join(self.words[before:])

    async def waits(self) -> str:
        """Say nothing until all tools have ended.

        Returns:
            The agent's words meanwhile.
        """
        before = len(self.words)
        await self._call.listen(past_questions=True)
        return " ".join(self.words[before:])

    @property
    def agent(self) -> Agent:
        """The agent that has the call now; a hand-over changes it."""
        if self._running is None:
            raise RuntimeError(_NOT_BEGUN)
        return self._running.agent

    @property
    def words(self) -> list[str]:
        """The agent's words: typed, one entry per response; spoken, the recognized ones, one entry for the
        greeting and for each time the caller listened.
        """
        return list(self._call.words)

    @property
    def understood(self) -> list[str]:
        """The caller's turns as the agent understood them."""
        return list(self._call.understood)

    @property
    def tools(self) -> list[tuple[str, dict[str, Any], str]]:
        """The tool calls: name, arguments, and result, "" while there is none. Invalid arguments of a
        model stand as the one argument `arguments`.
        """
        items = self._call.session.items
        answers = {item.call_id: item.output for item in items if isinstance(item, ToolOutputItem)}
        calls = [item.call for item in items if isinstance(item, ToolCallItem)]
        return [(call.name, arguments_of(call.arguments), answers.get(call.call_id, "")) for call in calls]

    @property
    def hung_up(self) -> bool:
        """True if the agent has ended the call."""
        return self._call.hung_up

    @property
    def sent_digits(self) -> str:
        """The keys that the agent has pressed on the line."""
        return self._line.sent_digits

    @property
    def transferred_to(self) -> str:
        """Destination of a transfer, a name or a number, "" for none."""
        return self._line.transferred_to

    def expect_tool(self, name: str, /, **arguments: Any) -> str:
        """Assert that a tool was called with these arguments, among others.

        Returns:
            Its result.

        Raises:
            AssertionError: There was no such call.
        """
        for called, given, answer in reversed(self.tools):
            if called == name and arguments.items() <= given.items():
                return str(answer)
        raise AssertionError(f"no call {name}({arguments}); there were: {self.tools or 'none'}")

    def expect_words(self, words: str) -> None:
        """Assert that the agent has said these words at some time. "2" equals "two"; if spoken, one word
        of four may be misheard.

        Raises:
            AssertionError: They were not said.
        """
        language, heard = self._call.session.language, self._voice is not False
        if not any(says(said, words, language, heard) for said in self.words):
            raise AssertionError(f"nobody said {words!r}; the agent said: {self.words}")

    @property
    def _call(self) -> Caller:
        if self._caller is None:
            raise RuntimeError(_NOT_BEGUN)
        return self._caller

    async def _hooks_over(self) -> None:
        if self._running is not None:
            await self._running.hooks_over()


def arguments_of(arguments: str) -> dict[str, Any]:
    """Return a tool call's arguments from JSON; all text as "arguments" if it is no object."""
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = None
    return given if isinstance(given, dict) else {"arguments": arguments}


class _RecordingLine:
    """A phone line that only records transfers and keys. It refuses what every line refuses."""

    def __init__(self, outbound: OutboundDetails | None) -> None:
        self.outbound = outbound
        self.transferred_to = ""
        self.sent_digits = ""

    async def transfer(self, destination: str = "", number: str = "", brief: str = "") -> None:
        if not (destination or number):
            raise ToolFailed("destination is ''; allowed: a name of `telephony.transfers`, or a number")
        self.transferred_to = destination or number

    async def send_digits(self, digits: str) -> None:
        check_keys(digits)
        self.sent_digits += digits
