"""The running calls of a process: opening, finding, hanging up, draining."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import structlog

from llmcore.policies.admission import Refusal
from voiceagent.access.slots import Slots
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import Call, CallRefused, Client, OpenCall
from voiceagent.session.call_clients import CallClients

log = structlog.get_logger()

State = Literal["starting", "ready", "draining"]
CallKind = Literal["call", "transcription", "unstored"]

STARTING_S = 5.0
"""Retry-After while engines load, which takes about this long."""
FULL_S = 5.0
"""Retry-After while all slots are taken: of twenty calls of a few minutes, one ends in this time."""
ELSEWHERE_S = 1.0
"""Retry-After while this server drains: another one behind the load balancer takes the call immediately."""

CLOSE_S = 5.0
"""Maximum time for an ended call to stop and to be written to storage."""


class OpenedCall(NamedTuple):
    """A running call. defaults: the settings that it was opened with. opened_at: Unix seconds."""

    call: Call
    clients: CallClients
    defaults: CallSettings
    opened_at: float


class Calls:
    """The running calls of a process; opens new ones while capacity is free.

    slots: capacity, which several processes may share. count: called with the number of calls of this
    process. refusal: returns why another call would not be served in time. Its arguments are the number of
    other calls, and the number of those that the LLM answers; the second is None for a call that only
    transcribes.
    """

    def __init__(
        self,
        slots: Slots,
        count: Callable[[int], None],
        refusal: Callable[[int, int | None], Refusal | None] = lambda calls, answered: None,
    ) -> None:
        self._slots = slots
        self._refusal = refusal
        self._count = count
        self._openers: dict[CallKind, OpenCall] | None = None
        self._calls: dict[str, OpenedCall] = {}
        self._monitoring: set[asyncio.Task[None]] = set()
        self._tools: set[asyncio.Task[None]] = set()  # still running after their call has ended
        self._changed = asyncio.Event()
        self.state: State = "starting"

    def __len__(self) -> int:
        """Return the number of running calls."""
        return len(self._calls)

    @property
    def transcribing(self) -> int:
        """Number of calls that only transcribe."""
        return sum(opened.call.settings.only_transcribes for opened in self._calls.values())

    def ready(
        self, open_call: OpenCall, open_transcription: OpenCall, open_unstored: OpenCall | None = None
    ) -> None:
        """Accept calls from now on. All arguments make a call from its id, its client and the requested
        model. open_unstored: a call that is not kept; left out, no call is kept.
        """
        self._openers = {
            "call": open_call,
            "transcription": open_transcription,
            "unstored": open_unstored or open_call,
        }
        self.state = "ready"

    def check(self) -> None:
        """Raise CallRefused if a new call would be refused now."""
        self._ready_openers()
        if self._slots.taken >= self._slots.max_calls:
            raise self._full()
        if refusal := self._refusal(self._slots.taken, self._slots.answered):
            raise CallRefused(refusal.reason, retry_after_s=refusal.retry_after_s)

    def open(self, call_id: str, client: Client, model: str) -> Call:
        """Open a call. Raise CallRefused while the server starts or drains, or is full or too busy."""
        return self._open(call_id, client, model, "call")

    def open_unstored(self, call_id: str, client: Client, model: str) -> Call:
        """Open a call like `open` that is not kept (`[calls]`)."""
        return self._open(call_id, client, model, "unstored")

    def open_transcription(self, call_id: str, client: Client, model: str) -> Call:
        """Open a call that only transcribes. The LLM's load is not checked. Raise CallRefused like `open`."""
        return self._open(call_id, client, model, "transcription")

    def _open(self, call_id: str, client: Client, model: str, kind: CallKind) -> Call:
        opener = self._ready_openers()[kind]
        if not self._slots.acquire():
            raise self._full()
        try:
            answered = None if kind == "transcription" else self._slots.answered - 1
            if refusal := self._refusal(self._slots.taken - 1, answered):
                raise CallRefused(refusal.reason, retry_after_s=refusal.retry_after_s)
            clients = CallClients(client)
            call = opener(call_id, clients, model)
        except BaseException:
            self._slots.release()
            raise
        self._calls[call_id] = OpenedCall(call, clients, call.settings, time.time())
        self._count(len(self._calls))
        monitoring = asyncio.create_task(self._monitor(call_id, call), name=f"call {call_id}")
        self._monitoring.add(monitoring)
        monitoring.add_done_callback(self._monitoring.discard)
        return call

    def ids(self) -> tuple[str, ...]:
        """Return the ids of the running calls."""
        return tuple(self._calls)

    def find(self, call_id: str) -> OpenedCall | None:
        """Return the call with this id, None if it does not run in this process."""
        return self._calls.get(call_id)

    def hang_up(self, call_id: str) -> bool:
        """Hang up a call on any transport. Return False if it does not run in this process."""
        opened = self._calls.get(call_id)
        if opened is None:
            return False
        ending = asyncio.create_task(
            opened.call.close("the call was hung up by its id", "hung_up_by_id"), name=f"end {call_id}"
        )
        self._monitoring.add(ending)
        ending.add_done_callback(self._monitoring.discard)
        return True

    async def drain(self, patience_s: float) -> None:
        """Refuse new calls. Wait up to `patience_s` for running calls, and tools that outlive theirs; then
        end the calls.
        """
        self.state = "draining"
        try:
            async with asyncio.timeout(patience_s):
                while self._calls:
                    self._changed.clear()
                    await self._changed.wait()
                await self._wait_until_stored()
                if self._tools:  # do not break off a booking halfway
                    log.info("waiting_for_tools", tools=sorted(tool.get_name() for tool in self._tools))
                    await asyncio.wait(self._tools)
        except TimeoutError:
            calls = [opened.call for opened in self._calls.values()]
            reason = "the server is shutting down"
            await asyncio.gather(*(call.close(reason, "server_shutdown") for call in calls))
        await self._wait_until_stored()

    async def _wait_until_stored(self) -> None:
        """Wait until ended calls have been written to storage."""
        if self._monitoring:
            await asyncio.wait(self._monitoring, timeout=CLOSE_S)

    def _ready_openers(self) -> dict[CallKind, OpenCall]:
        if self._openers is None:
            raise CallRefused("the server is starting; try again in a moment", retry_after_s=STARTING_S)
        if self.state == "draining":
            raise CallRefused("the server is shutting down", retry_after_s=ELSEWHERE_S)
        return self._openers

    def _full(self) -> CallRefused:
        text = f"all {self._slots.max_calls} calls are taken; try again later"
        return CallRefused(text, retry_after_s=FULL_S)

    async def _monitor(self, call_id: str, call: Call) -> None:
        await call.ended()
        del self._calls[call_id]
        self._slots.release()
        self._count(len(self._calls))
        self._changed.set()
        await call.stopped()
        for tool in call.tools_at_work:
            self._tools.add(tool)
            tool.add_done_callback(self._tools.discard)
