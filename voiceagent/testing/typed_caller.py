"""A caller who types to an agent without audio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from audio.detection.front_end import FrontEnd
from audio.pcm import Samples
from audio.playout import LEAD_S
from llmcore.engine import Llm
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.agents.running import RunningAgent
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.config import BudgetConfig, HistoryConfig, TurnConfig
from voiceagent.conversation.history import MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.engines.silent import SilentRecognizer, SilentSynthesizer
from voiceagent.session.agent import Line
from voiceagent.session.call import new_id
from voiceagent.session.config import EchoConfig
from voiceagent.session.services import Answering, Hearing, Measuring, Services, Speaking
from voiceagent.session.session import Session
from voiceagent.session.set_phrases import make_phrase
from voiceagent.session.timers import Pacer
from voiceagent.telemetry.metrics import Metrics

ANSWER_TIMEOUT_S = 30.0
"""Maximum time of an answer, tools included."""
VIRTUAL_ANSWER_TIMEOUT_S = 3600.0
"""The same on a virtual clock, which costs no real time: longer than any tool takes."""


class TypedCaller:
    """The caller of a test without audio, who types. Created by `call`."""

    def __init__(self, services: Services, agent: RunningAgent, patience_s: float | None) -> None:
        self._agent = agent
        self._patience_s = ANSWER_TIMEOUT_S if patience_s is None else patience_s
        self._client = _Client()
        self.session: Session = _TestSession(services, self._client, agent)
        self._ended = asyncio.create_task(self.session.ended())
        self._ended.add_done_callback(lambda _: self._client.happened.set())

    @classmethod
    async def call(
        cls,
        llm: Llm,
        agent: RunningAgent,
        parameters: Mapping[str, str],
        line: Line | None,
        language: str,
        clock: Callable[[], float] = time.monotonic,
        patience_s: float | None = None,
    ) -> TypedCaller:
        """Start a call, and wait for a greeting to end.

        Args:
            llm: The model.
            agent: The agent.
            parameters: Metadata of the call.
            line: Capabilities of the line.
            language: ISO 639 code of the typed text.
            clock: Clock of the event loop.
            patience_s: Maximum time of an answer on that clock; None for `ANSWER_TIMEOUT_S`.
        """
        caller = cls(await _services(llm, language, clock), agent, patience_s)
        caller.session.identify(parameters, line)
        caller.session.begin()
        await caller.listen()
        return caller

    @property
    def words(self) -> list[str]:
        """The agent's words, one entry per response."""
        return [text for text in self._client.words if text]

    @property
    def understood(self) -> list[str]:
        """The caller's typed turns."""
        items = self.session.items
        return [item.text for item in items if isinstance(item, MessageItem) and item.role == "user"]

    @property
    def hung_up(self) -> bool:
        """True if the agent has ended the call."""
        return self._ended.done()

    async def say(self, text: str) -> None:
        """Type this, and read until the agent is idle."""
        self.session.handle(ev.ItemCreated(MessageItem(new_id("item"), "user", text)))
        if not self._agent.caller.wanted:
            self.session.handle(ev.ResponseRequested())
        await self.listen()

    async def listen(self, past_questions: bool = False) -> None:
        """Wait until the agent is idle. past_questions: also while a tool collects input.

        Raises:
            AssertionError: A response failed, or it takes too long.
        """
        try:
            async with asyncio.timeout(self._patience_s):
                while not await self._is_idle(past_questions):
                    self._client.happened.clear()
                    await self._client.happened.wait()
        except TimeoutError:
            running = ", ".join(self._running_tools()) or "none"
            message = (
                f"something goes on for {self._patience_s:g} s; tools that have no answer yet: {running}"
            )
            raise AssertionError(message) from None
        failures, self._client.failures = self._client.failures, []
        if failures:
            raise AssertionError(f"the call went wrong: {'; '.join(failures)}")

    def _running_tools(self) -> list[str]:
        items = self.session.items
        answered = {item.call_id for item in items if isinstance(item, ToolOutputItem)}
        calls = [item.call for item in items if isinstance(item, ToolCallItem)]
        return [call.name for call in calls if call.call_id not in answered]

    async def stay_silent(self) -> None:
        """Let the idle timeout pass without waiting for it, and read the reaction."""
        self.session.post(ev.CallerIdle(0.0))
        await self.listen()

    async def close(self) -> None:
        """Hang up."""
        await self.session.close("the caller hung up", "caller_hung_up")

    async def _is_idle(self, past_questions: bool) -> bool:
        """Return True if nothing happens before the caller acts."""
        if not past_questions:
            await self._agent.caller.settled()
            if self._agent.caller.wanted and self.session.quiet:
                return True
        return self.session.idle or self.hung_up


class _TestSession(Session):
    """A session that wakes the waiting test at every event."""

    def __init__(self, services: Services, client: _Client, agent: RunningAgent) -> None:
        self._happened = client.happened
        super().__init__("test", services, services.settings, client, agent=agent)

    def post(self, event: ev.Event) -> None:
        super().post(event)
        self._happened.set()


class _Client:
    """The caller's client: records the agent's text."""

    only_speech = True

    def __init__(self) -> None:
        self.words: list[str] = []
        self.failures: list[str] = []
        self.happened = asyncio.Event()

    def notify(self, notification: notify.Notification) -> None:
        if isinstance(notification, notify.NotifyResponseStarted):
            self.words.append("")
        elif isinstance(notification, notify.NotifyResponseText):
            self.words[-1] += notification.text
        elif isinstance(notification, notify.NotifyResponseEnded) and notification.status == "failed":
            self.failures.append(notification.reason)
        self.happened.set()

    def play(self, response_id: str, frame: Samples) -> None:
        """Ignore audio: there is none."""

    def clear(self) -> None:
        """Ignore: there is no audio."""

    def report(self, turn: TurnReport) -> None:
        """Ignore: durations of a test carry no information."""


async def _services(llm: Llm, language: str, clock: Callable[[], float]) -> Services:
    agent, history, turn = AgentConfig(language=language), HistoryConfig(), TurnConfig()
    silent = SilentSynthesizer()
    apology = await make_phrase(agent.apology, agent.language, silent)
    refusal = await make_phrase(agent.refusal, agent.language, silent)
    return Services(
        Hearing(FrontEnd(), SilentRecognizer(), None, turn.to_endpointing(), EchoConfig(), 10.0),
        Speaking(
            *(silent, agent.language, LEAD_S, Pacer(clock), "", apology, None, agent.filler_after_s),
            refusal=refusal,
        ),
        Answering(llm, turn.to_policy(agent, history), 0, history),
        Measuring(Metrics(), BudgetConfig().to_budget(), clock),
        CallSettings("", agent.temperature, None, output_modality="text"),
        LoadShedder(),
    )
