"""A session that records its input and produces the events that a test chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from call_settings import call_settings

from audio.pcm import Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.agent import Line, OfferedTool, Pressed
from voiceagent.session.call import Client, InputOverflow


@dataclass
class ScriptedCall:
    """One call; `answer` is run for every request after it was kept."""

    call_id: str
    client: Client
    model: str
    settings: CallSettings = field(default_factory=call_settings)
    answer: Callable[[ScriptedCall, ev.ClientRequest], None] = lambda call, request: None
    room_samples: int | None = None
    requests: list[ev.ClientRequest] = field(default_factory=list)
    heard: list[Samples] = field(default_factory=list)
    reports: list[tuple[str, float]] = field(default_factory=list)
    greeted: bool | None = None
    closed: str | None = None
    hung_up: str = ""
    traceparents: list[str] = field(default_factory=list)
    offered: tuple[OfferedTool, ...] = ()
    refusal: str | None = None
    pressed: Pressed = Pressed.UNASKED
    posted: list[ev.AgentEvent] = field(default_factory=list)
    items: Sequence[Item] = ()
    identified: dict[str, str] = field(default_factory=dict)
    line: Line | None = None
    private: bool = False
    background_sounds: tuple[str, ...] = ()
    stored: bool = True
    pauses: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.over = asyncio.Event()
        self.happened = asyncio.Event()
        self.gone = asyncio.Event()

    def join_trace(self, traceparent: str) -> None:
        self.traceparents.append(traceparent)

    def begin(self, greet: bool = True) -> None:
        self.greeted = greet
        self.client.notify(notify.NotifySettings(self.settings, created=True))

    def hear(self, samples: Samples, filler: bool = False) -> None:
        if filler:
            self.happened.set()
            return
        if self.room_samples is not None and self.taken_samples + len(samples) > self.room_samples:
            raise InputOverflow(1.5, 1.0)
        self.heard.append(samples)
        self.happened.set()

    def played(self, response_id: str, played_s: float, all_along: bool = False) -> None:
        self.reports.append((response_id, played_s))
        self.happened.set()

    def handle(self, request: ev.ClientRequest) -> None:
        self.requests.append(request)
        self.happened.set()
        if isinstance(request, ev.SettingsChanged):
            self.settings = request.settings
            self.client.notify(notify.NotifySettings(self.settings))
        self.answer(self, request)

    def identify(self, parameters: Mapping[str, str], line: Line | None = None, line_call: str = "") -> None:
        self.identified = dict(parameters)
        self.use_line(line)

    def use_line(self, line: Line | None) -> None:
        self.line = line

    def press(self, digit: str, received_at: int) -> Pressed:
        self.handle(ev.KeyPressed(digit, received_at))
        return self.pressed

    def offer(self, tools: Sequence[OfferedTool]) -> None:
        self.offered = tuple(tools)

    def mcp_refusal(self, server: McpServer) -> str | None:
        return self.refusal

    def post(self, event: ev.AgentEvent) -> None:
        self.posted.append(event)
        self.happened.set()

    async def ended(self) -> str:
        await self.over.wait()
        return self.hung_up

    def pause_output(self, paused: bool) -> None:
        self.pauses.append(paused)
        self.happened.set()

    async def stopped(self) -> None:
        await self.gone.wait()

    @property
    def tools_at_work(self) -> Set[asyncio.Task[None]]:
        return frozenset()

    async def close(self, reason: str, end_code: str = "") -> None:
        self.closed = self.closed or reason
        self.gone.set()

    @property
    def taken_samples(self) -> int:
        """All samples taken."""
        return sum(len(samples) for samples in self.heard)

    async def until(self, condition: Callable[[ScriptedCall], bool]) -> None:
        """Wait until the call has come to a state."""
        while not condition(self):
            self.happened.clear()
            await self.happened.wait()
