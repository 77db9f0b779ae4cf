"""Wire of a WebRTC call: the data channel `oai-events`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import structlog
from aiortc import RTCDataChannel, RTCPeerConnection

from voiceagent.conversation.causes import CallEndCode
from voiceagent.transports.connection import Disconnected
from voiceagent.transports.webrtc.aiortc_internals import said_goodbye

log = structlog.get_logger()

CHANNEL = "oai-events"
CONNECT_S = 15.0
"""Time for a caller to connect after the answer."""
SILENT = "nothing answers at the caller's address: he, or his network, has gone"
MAX_BUFFERED_BYTES = 65_536
"""Bytes handed to the channel but not sent; the rest stays in the outbox, which is bounded."""


class DataChannelWire:
    """The data channel of a WebRTC call as a `Wire`. It opens with the caller's media: a caller who never
    opens the channel can talk, and gets no events.
    """

    paces = False

    def __init__(self, peer: RTCPeerConnection) -> None:
        loop = asyncio.get_running_loop()
        self._peer = peer
        self._connected: asyncio.Future[None] = loop.create_future()
        # no exception: a stored one keeps its traceback, and with it the call
        self._gone: asyncio.Future[tuple[str, CallEndCode]] = loop.create_future()
        self._channel: RTCDataChannel | None = None
        self._decided = asyncio.Event()  # the channel is open, or will never be
        self._room = asyncio.Event()
        self._take: Callable[[str | bytes], None] = lambda message: None
        peer.on("connectionstatechange", self._monitor_state)
        peer.on("iceconnectionstatechange", self._monitor_line)
        peer.on("datachannel", self._choose)

    @property
    def connected(self) -> bool:
        """True once the caller has connected."""
        return self._connected.done()

    async def open(self) -> None:
        """Wait for the caller to connect."""
        either: list[asyncio.Future[Any]] = [self._connected, self._gone]
        await asyncio.wait(either, timeout=CONNECT_S, return_when=asyncio.FIRST_COMPLETED)
        if self._gone.done():
            raise Disconnected(*self._gone.result())
        if not self._connected.done():
            raise Disconnected(f"the caller did not connect within {CONNECT_S:.0f} s", "not_connected")
        if self._peer.sctp is None:  # the offer has no channels
            self._decided.set()

    async def receive(self) -> str | bytes:
        """Wait until the caller disconnects: all messages take the fast path."""
        raise Disconnected(*await self._gone)

    async def send(self, message: str) -> None:
        """Send an event. Waits for the channel, and while much is unsent. Without a channel it is dropped."""
        await self._decided.wait()
        if self._channel is None:
            return
        channel = self._open_channel()
        channel.send(message)
        if channel.bufferedAmount > MAX_BUFFERED_BYTES:
            self._room.clear()
            await self._room.wait()

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> None:
        """Deliver messages to `take` from the channel's callback."""
        self._take = take

    def close_fast_path(self) -> None:
        """Stop delivering messages; a channel that is not open now will not be used."""
        self._take = lambda message: None
        self._decided.set()

    async def close(self, code: int, reason: str) -> None:
        """Flush the channel. The owner of the peer closes it."""
        channel = self._open_channel()
        channel.bufferedAmountLowThreshold = 0
        while channel.bufferedAmount:
            self._room.clear()
            await self._room.wait()

    def _open_channel(self) -> RTCDataChannel:
        if self._channel is None or self._channel.readyState != "open":
            raise Disconnected("the client left")
        return self._channel

    def _monitor_state(self) -> None:
        state = self._peer.connectionState
        if state == "connected" and not self._connected.done():
            self._connected.set_result(None)
        elif state in ("failed", "closed"):
            lost = state == "failed"
            self._leave(f"the connection is {state}", "connection_lost" if lost else "caller_hung_up")

    def _monitor_line(self) -> None:
        # without consent (RFC 7675) ICE closes first, before the connection on top of it
        if self._peer.iceConnectionState == "closed" and self._peer.connectionState == "connected":
            if said_goodbye(self._peer):  # the only goodbye of a caller without a channel
                self._leave("the client left", "caller_hung_up")
            else:
                self._leave(SILENT, "connection_lost")

    def _choose(self, channel: RTCDataChannel) -> None:
        if channel.label != CHANNEL or self._decided.is_set():
            log.info("channel_ignored", label=channel.label[:80])
            return
        channel.bufferedAmountLowThreshold = MAX_BUFFERED_BYTES // 2
        channel.on("bufferedamountlow", self._room.set)
        channel.on("message", self._receive)
        channel.on("close", lambda: self._leave("the client left", "caller_hung_up"))
        self._channel = channel
        self._decided.set()

    def _receive(self, message: str | bytes) -> None:
        self._take(message)

    def _leave(self, reason: str, end_code: CallEndCode) -> None:
        if not self._gone.done():
            self._gone.set_result((reason, end_code))
