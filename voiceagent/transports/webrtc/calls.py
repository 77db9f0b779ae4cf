"""The running WebRTC calls of a process, of any protocol: they share its UDP ports."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import structlog

from voiceagent.session.call import Call
from voiceagent.transports.connection import Ending
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.webrtc.aioice_internals import UdpSockets
from voiceagent.transports.webrtc.call import MediaHandler, WebRtcCall
from voiceagent.transports.webrtc.media import AudioOutput
from voiceagent.transports.webrtc.network import Network

log = structlog.get_logger()

REMEMBERED_CALLS = 1_000
"""Ended calls for which a hang-up still succeeds."""


class WebRtcCalls:
    """WebRTC calls of one process. limits: of each. on_unreadable: called for each invalid STUN datagram."""

    def __init__(
        self,
        network: Network,
        limits: TransportLimits = USUAL_LIMITS,
        on_unreadable: Callable[[], None] = lambda: None,
    ) -> None:
        self._network = network
        self._limits = limits
        self._sockets = UdpSockets(network.ports, on_unreadable)
        self._calls: dict[str, WebRtcCall] = {}
        self._ended: deque[str] = deque(maxlen=REMEMBERED_CALLS)
        self._running: set[asyncio.Task[None]] = set()

    def new(self, call: Call, output: AudioOutput, outbox: Outbox[str]) -> WebRtcCall:
        """Return the connection of a call. Sets the call's audio formats."""
        return WebRtcCall(call, output, outbox, self._network, self._sockets, self._limits)

    def start(
        self, call_id: str, connection: WebRtcCall, handler: MediaHandler, call_over: Callable[[], None]
    ) -> None:
        """Run a call whose offer was answered, until its end. call_over: called at the end."""

        async def run() -> None:
            try:
                await connection.run(handler)
            except Exception:
                log.exception("connection_failed", call=call_id)
            finally:
                call_over()
                del self._calls[call_id]
                self._ended.append(call_id)

        self._calls[call_id] = connection
        task = asyncio.create_task(run(), name=f"webrtc {call_id}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def hang_up(self, call_id: str) -> bool:
        """End a call. Return True also if it has ended already: clients may close the connection too."""
        connection = self._calls.get(call_id)
        if connection is not None:
            connection.end(Ending("the client hung up", "hung_up_by_id", 1000))
        return connection is not None or call_id in self._ended
