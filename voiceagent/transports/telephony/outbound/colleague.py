"""The colleague of a warm transfer: found behind whatever answers the call, and then briefed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from audio.pcm import Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.session.agent import AnsweredBy
from voiceagent.transports.telephony.outbound.greeting_listener import GreetingListener
from voiceagent.transports.telephony.outbound.warm_transfer import Briefing

GREETING_S = 15.0
"""Longest greeting of a colleague. A voice that speaks on for longer without a turn's end is a recording."""
SCREENED_S = 40.0
"""Longest wait for the person behind a screener, from its question on. Phones let a screened call ring for
about half a minute.
"""
BRIEFED = "the colleague was briefed"
"""Reason with which a colleague's call hangs up after the brief. No other end connects the colleague."""


class Colleague:
    """The other end of a colleague's call. brief: text for them. post: posts an event to the call."""

    def __init__(self, call_id: str, brief: str, post: Callable[[ev.AgentEvent], None]) -> None:
        self._call_id = call_id
        self._brief = brief
        self._post = post
        self._listener = GreetingListener(call_id)
        self._agent_spoke = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, briefing: Briefing, on_machine: Callable[[AnsweredBy], None]) -> None:
        """Begin to listen, and to brief. on_machine: called without a person, once the transfer failed."""
        self._task = asyncio.create_task(self._run(briefing, on_machine), name="brief the colleague")

    async def _run(self, briefing: Briefing, on_machine: Callable[[AnsweredBy], None]) -> None:
        machine = await self.brief()
        if machine is not None:
            await briefing.reject_machine()
            on_machine(machine)

    async def brief(self) -> AnsweredBy | None:
        """Speak the brief once a person is there. Return the kind of machine if there is none, None if they
        were briefed or the call is over.
        """
        self._listener.start()
        kind = await self._kind_within(GREETING_S)
        if kind == "screener":
            kind = await self._kind_behind_screener()
        self._listener.close()
        if kind != "person":
            return kind
        return None if await self._speak_brief() else "voicemail"

    def on_notification(self, notification: notify.Notification) -> None:
        """Handle what is heard of the colleague, and the beginning of the agent's speech."""
        if isinstance(notification, notify.NotifyResponseStarted):
            self._agent_spoke.set()
        self._listener.on_notification(notification)

    def push_audio(self, samples: Samples, rate_hz: int) -> None:
        if not self._listener.is_over:
            self._listener.push_audio(samples, rate_hz)

    def close(self) -> None:
        """End the waits: the call is over."""
        self._listener.close()
        if self._task is not None:
            self._task.cancel()

    async def _kind_within(self, seconds: float) -> AnsweredBy | None:
        """Return the listener's decision; a voice that lets none be made is a recording's."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._listener.kind()
        return "voicemail"

    async def _kind_behind_screener(self) -> AnsweredBy | None:
        """Answer a screener with the brief, which says who calls and why, and wait for whoever comes next."""
        self._post(ev.SpeechRequested(self._brief, interruptible=False))
        end_s = asyncio.get_running_loop().time() + SCREENED_S
        kind: AnsweredBy | None = "screener"
        while kind == "screener":
            self._listener.close()
            self._listener = GreetingListener(self._call_id, screened=True)
            kind = await self._kind_within(end_s - asyncio.get_running_loop().time())
        return kind

    async def _speak_brief(self) -> bool:
        """Request the brief, and the end of the call after it. Return False if the other end speaks on
        without a pause, so that it cannot begin.
        """
        self._agent_spoke.clear()
        self._post(ev.SpeechRequested(self._brief, interruptible=False))
        self._post(ev.HangUpRequested(BRIEFED))
        with suppress(TimeoutError):
            async with asyncio.timeout(GREETING_S):
                return await self._agent_spoke.wait()
        return False
