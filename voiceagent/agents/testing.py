"""A call to an agent without sound, for its tests: what the caller types, and what the model is to answer.

    async with TestCall(Orders()) as call:
        call.model_will(Calls("add", pizza="tuna", number=2), "Two tuna, anything else?")
        await call.says("two tuna please")
        call.expect_tool("add", pizza="tuna", number=2)
        call.expect_words("two tuna")

With `llm=` it is a model that answers, such as `OpenAILlm`, and `model_will` has no use.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

import numpy as np

from audio.detection.front_end import FrontEnd
from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Llm, Request, ToolCall, Usage
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.agents.agent import Agent
from voiceagent.agents.running import RunningAgent
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.config import AgentConfig, BudgetConfig, HistoryConfig, TurnConfig
from voiceagent.conversation.history import MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import new_id
from voiceagent.session.config import EchoConfig
from voiceagent.session.services import Answering, Hearing, Measuring, Services, Speaking, make_phrase
from voiceagent.session.session import Session
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.metrics import Metrics

PATIENCE_S = 30.0
"""How long an answer may take, tools included."""


class Calls:
    """The model calls a tool: its name, and the arguments."""

    def __init__(self, tool: str, **arguments: Any) -> None:
        self.tool = tool
        self.arguments = arguments


class ScriptedModel:
    """Answers as it is told, one response a step: words, or calls of tools. Then "Okay." to everything."""

    def __init__(self) -> None:
        self.steps: deque[str | Calls] = deque()
        self.requests: list[Request] = []

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The next step; steps that call tools, one after the other, are one response."""
        self.requests.append(request)
        calls: list[ToolCall] = []
        while self.steps and isinstance(step := self.steps[0], Calls):
            self.steps.popleft()
            calls.append(ToolCall(new_id("call"), step.tool, json.dumps(step.arguments)))
        if calls:
            yield Delta(tool_calls=tuple(calls))
        else:
            yield Delta(str(self.steps.popleft()) if self.steps else "Okay.")
        yield Delta(finish_reason="tool_calls" if calls else "stop", usage=Usage())

    async def prefill(self, request: Request) -> None:
        """There is no cache."""


class TestCall:
    """One call of a caller who types, as an asynchronous context manager. Raises AssertionError.

    phone: the call comes over a phone line, which can transfer it. parameters: what that tells of the call.
    words: what the agent has said, response by response. tools: what it called, with the arguments as they
    came and what was answered. hung_up: the agent has ended the call. transferred_to: whom the caller was
    connected to, a name or a number.
    """

    __test__ = False  # pytest takes it for a class of tests

    def __init__(
        self,
        agent: Agent | type[Agent],
        llm: Llm | None = None,
        parameters: Mapping[str, str] | None = None,
        phone: bool = True,
    ) -> None:
        self._make = agent if isinstance(agent, type) else lambda: agent
        self.model = ScriptedModel()
        self._llm: Llm = llm or self.model
        self._parameters = parameters or {}
        self._client = _Client()
        self._line = _Line()
        self._phone = phone
        self._session: _TestSession | None = None
        self._ended: asyncio.Task[None] | None = None
        self._running: RunningAgent | None = None

    async def __aenter__(self) -> TestCall:
        """Call; a greeting is listened to."""
        running = self._running = RunningAgent("test", self._make)
        services = await _services(self._llm)
        session = self._session = _TestSession(services, self._client, running)
        self._ended = asyncio.create_task(session.ended())
        self._ended.add_done_callback(lambda _: self._client.happened.set())
        session.identify(self._parameters, self._line if self._phone else None)
        session.begin()
        await self._until_idle()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Hang up."""
        await self._call.close("the caller hung up")
        await self._hooks_over()

    def model_will(self, *steps: str | Calls) -> None:
        """What the model answers next, one response a step."""
        self.model.steps.extend(steps)

    async def says(self, text: str) -> str:
        """The caller says this; the agent's answer, when tools have run and nothing more comes."""
        before = len(self.words)
        self._call.handle(ev.ItemCreated(MessageItem(new_id("item"), "user", text)))
        if self._running is None or not self._running.caller.wanted:
            self._call.handle(ev.ResponseRequested())
        await self._until_idle()
        await self._hooks_over()
        return " ".join(self.words[before:])

    async def presses(self, keys: str) -> str:
        """The caller presses these keys, where the agent asks for digits; its answer, as of `says`."""
        before = len(self.words)
        for key in keys:
            if not self._call.press(key, 0):
                raise AssertionError(f"key {key!r} was pressed, and no tool asks for digits")
        await self._until_idle()
        return " ".join(self.words[before:])

    async def waits(self) -> str:
        """The caller says nothing until all tools have ended; what the agent says meanwhile."""
        before = len(self.words)
        async with asyncio.timeout(PATIENCE_S):
            while not self._call.idle and not self.hung_up:
                self._client.happened.clear()
                await self._client.happened.wait()
        return " ".join(self.words[before:])

    @property
    def words(self) -> list[str]:
        """What the agent has said, response by response."""
        return [text for text in self._client.words if text]

    @property
    def tools(self) -> list[tuple[str, dict[str, Any], str]]:
        """The tools that were called: name, arguments, and the answer ("" while there is none)."""
        items = self._call.items
        answers = {item.call_id: item.output for item in items if isinstance(item, ToolOutputItem)}
        calls = [item.call for item in items if isinstance(item, ToolCallItem)]
        return [
            (call.name, json.loads(call.arguments or "{}"), answers.get(call.call_id, "")) for call in calls
        ]

    @property
    def hung_up(self) -> bool:
        """Whether the agent has ended the call."""
        return self._ended is not None and self._ended.done()

    @property
    def transferred_to(self) -> str:
        """Whom the caller was connected to, "" for nobody."""
        return self._line.transferred_to

    def expect_tool(self, name: str, **arguments: Any) -> str:
        """A tool was called with these arguments, among others; what it answered. Raises AssertionError."""
        for called, given, answer in reversed(self.tools):
            if called == name and arguments.items() <= given.items():
                return str(answer)
        raise AssertionError(f"no call {name}({arguments}); there were: {self.tools or 'none'}")

    def expect_words(self, words: str) -> None:
        """The agent has said these words, whatever their case, at some time. Raises AssertionError."""
        if not any(words.lower() in said.lower() for said in self.words):
            raise AssertionError(f"nobody said {words!r}; the agent said: {self.words}")

    @property
    def _call(self) -> _TestSession:
        if self._session is None:
            raise RuntimeError("the call has not begun; use: async with TestCall(...) as call")
        return self._session

    async def _hooks_over(self) -> None:
        if self._running is not None:
            await self._running.hooks_over()

    async def _until_idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not await self._waits():
                self._client.happened.clear()
                await self._client.happened.wait()

    async def _waits(self) -> bool:
        """Whether nothing more comes before the caller does something."""
        if self._running is not None:
            await self._running.caller.settled()
            if self._running.caller.wanted and self._call.quiet:
                return True
        return self._call.idle or self.hung_up


class _TestSession(Session):
    """A session whose every event is told to the test that waits for one."""

    def __init__(self, services: Services, client: _Client, agent: RunningAgent) -> None:
        self._happened = client.happened
        super().__init__("test", services, services.settings, client, None, agent)

    def post(self, event: ev.Event) -> None:
        super().post(event)
        self._happened.set()


class _Line:
    """A phone line that transfers to whom it is told."""

    def __init__(self) -> None:
        self.transferred_to = ""

    async def transfer(self, destination: str = "", number: str = "") -> None:
        self.transferred_to = destination or number


class _Client:
    """The caller's end: keeps what the agent says."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.happened = asyncio.Event()

    def notify(self, notification: notify.Notification) -> None:
        if isinstance(notification, notify.NotifyResponseStarted):
            self.words.append("")
        elif isinstance(notification, notify.NotifyResponseText):
            self.words[-1] += notification.text
        self.happened.set()

    def play(self, response_id: str, frame: Samples) -> None:
        """Nothing is spoken."""

    def clear(self) -> None:
        """Nothing is spoken."""

    def report(self, turn: TurnReport) -> None:
        """Times of a test mean nothing."""


class _Silent:
    """A recognizer and a synthesizer of a call without sound."""

    rate_hz = 24_000

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Nothing is said."""
        async for piece in sound:
            if isinstance(piece, Flush):
                yield Hypothesis("", settled=True)

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        """A moment of silence."""
        yield Speech(np.zeros(240, np.int16))


async def _services(llm: Llm) -> Services:
    agent, history, turn, silent = AgentConfig(), HistoryConfig(), TurnConfig(), _Silent()
    apology = await make_phrase(agent.apology, agent.language, silent)
    return Services(
        Hearing(FrontEnd(), silent, None, turn.to_endpointing(), EchoConfig(), 10.0),
        Speaking(
            silent, agent.language, 0.06, Pacer(time.monotonic), "", apology, None, agent.filler_after_s
        ),
        Answering(llm, turn.to_policy(agent, history), 0, history),
        Measuring(Metrics(), BudgetConfig().to_budget(), time.monotonic),
        CallSettings("", agent.temperature, None, output_modality="text"),
        LoadShedder(),
    )
