"""Fast path through aiortc for a call's audio: 50 packets a second, each way.

In aiortc a packet costs two queues, two or three task switches and an object for every header field, by far
the largest part of a call's CPU time. Here a received packet is decrypted and delivered in the callback that
read it, and a packet to send is encrypted and sent immediately. Everything else (STUN, DTLS, events, RTCP)
takes aiortc's path; the statistics for its RTCP reports are updated here.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Never

import aiortc
import pylibsrtp
import structlog
from aioice import Connection
from aiortc import RTCPeerConnection, RTCRtpTransceiver
from aiortc.mediastreams import MediaStreamTrack
from aiortc.rtcrtpreceiver import StreamStatistics
from OpenSSL import SSL

from voiceagent.transports.limits import PACKET_BYTES, Allowance
from voiceagent.transports.webrtc.pylibsrtp_internals import rtp_decryption, rtp_encryption
from voiceagent.transports.webrtc.rtp import RtpPacket, is_media, is_rtp, mid_extension

if not aiortc.__version__.startswith("1.16."):  # because private parts of it are used here
    raise ImportError(f"aiortc is {aiortc.__version__}; allowed: 1.16, as `make install` takes it")

log = structlog.get_logger()

_RTP_HZ = 48_000
_MID = "urn:ietf:params:rtp-hdrext:sdes:mid"
_NTP_EPOCH_S = 2_208_988_800
"""Start of 1970 in NTP time (RFC 5905, section 6)."""


def ice_connection(voice: RTCRtpTransceiver) -> Connection:
    """Return the aioice connection of a transceiver."""
    return voice.receiver.transport.transport.iceGatherer._connection


def said_goodbye(peer: RTCPeerConnection) -> bool:
    """Return True if the other side closed its DTLS (close_notify, RFC 5246, section 7.2.1)."""
    lines = [each.receiver.transport._ssl for each in peer.getTransceivers()]
    return any(line is not None and line.get_shutdown() & SSL.RECEIVED_SHUTDOWN for line in lines)


def carry_all(voice: RTCRtpTransceiver) -> None:
    """Make this transceiver's transport carry all sections of the offer. Otherwise aiortc takes it for an
    abandoned one, and stops it, if another section comes first in the bundle.
    """
    voice._bundled = True


async def close_peer(peer: RTCPeerConnection) -> None:
    """Close a peer in any state. If parts of it have no transport, aiortc's own close raises halfway."""
    try:
        await peer.close()
    except AttributeError:
        transports: set[Any] = peer._RTCPeerConnection__dtlsTransports  # type: ignore[attr-defined]
        for transport in list(transports):
            await transport.stop()
            await transport.transport.stop()
        peer.remove_all_listeners()


def drop_unreadable(voice: RTCRtpTransceiver) -> None:
    """Drop unreadable RTP and RTCP. aiortc would end the connection with a traceback."""
    dtls: Any = voice.receiver.transport

    def dropping(handle: Callable[..., Any]) -> Callable[..., Any]:
        async def handled(*arguments: Any, **named: Any) -> None:
            with unreadable_dropped():
                await handle(*arguments, **named)

        return handled

    dtls._handle_rtcp_data = dropping(dtls._handle_rtcp_data)
    dtls._handle_rtp_data = dropping(dtls._handle_rtp_data)


@contextmanager
def unreadable_dropped() -> Iterator[None]:
    """Drop errors of untrusted input, but raise ConnectionError: the transport is closed."""
    try:
        yield
    except ConnectionError:
        raise
    except Exception as error:  # parsers may raise anything
        log.debug("packet_invalid", reason=type(error).__name__)


class QuietTrack(MediaStreamTrack):
    """A track that sends nothing, where aiortc requires one."""

    kind = "audio"

    async def recv(self) -> Never:
        """Wait until aiortc cancels it."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nobody sets this future")


class SoundIn:
    """Receiver of the caller's audio packets, once there is a key.

    voice: the transceiver, with its codecs agreed. take: receives each packet; must not raise. max_streams:
    maximum number of audio sources and of report sources; each costs memory, here and in SRTP. allowance:
    rate limit; packets beyond it are dropped before decoding. other_types: payload types that are received
    besides the codec's.
    """

    def __init__(
        self,
        voice: RTCRtpTransceiver,
        take: Callable[[RtpPacket], None],
        max_streams: int,
        allowance: Allowance,
        other_types: frozenset[int] = frozenset(),
    ) -> None:
        self._take = take
        self._max_streams = max_streams
        self._allowance = allowance
        self._sources: set[bytes] = set()
        self._reporting: set[bytes] = set()
        self._payload_types = {voice._codecs[0].payloadType or 0} | other_types
        receiver: Any = voice.receiver
        self._statistics: dict[int, StreamStatistics] = receiver._RTCRtpReceiver__remote_streams
        self._key: pylibsrtp.Session | None = None
        self._decrypt: Callable[[bytes], bytes] = bytes  # with that key
        self._dtls: Any = voice.receiver.transport
        connection: Any = self._dtls.transport._connection
        self._to_aiortc = connection.data_received
        connection.data_received = self._sort
        self._report = self._dtls._handle_rtcp_data
        self._dtls._handle_rtcp_data = self._note_report  # type: ignore[method-assign]

    def _sort(self, data: bytes, component: int) -> None:
        key = self._dtls._rx_srtp
        if key is not None and is_rtp(data):  # nearly always
            if key is not self._key:
                self._key, self._decrypt = key, rtp_decryption(key)
            self._hear(data)
        elif key is None or not is_media(data) or self._has_room(self._reporting, data[4:8]):  # the SSRC
            self._to_aiortc(data, component)

    def _hear(self, data: bytes) -> None:
        source = data[8:12]  # SSRC (RFC 3550, section 5.1), unencrypted
        is_new = source not in self._sources
        if is_new and not self._has_room(self._sources, source):
            return
        try:
            packet = RtpPacket.parse(self._decrypt(data))
        except pylibsrtp.Error:
            return  # wrong key or replay
        if is_new:
            self._sources.add(source)
        if packet is None or packet.payload_type not in self._payload_types:
            return
        # after decryption: forged packets from the caller's address must not use the caller's budget
        if not self._allowance.spend(len(data) + PACKET_BYTES, time.monotonic):
            return
        statistics = self._statistics.get(packet.ssrc)
        if statistics is None:
            statistics = self._statistics[packet.ssrc] = StreamStatistics(_RTP_HZ)
        statistics.add(packet)  # type: ignore[arg-type]  # it reads what both kinds of packet have
        if packet.payload:
            self._take(packet)

    def _has_room(self, sources: set[bytes], source: bytes) -> bool:
        return source in sources or len(sources) < self._max_streams

    async def _note_report(self, data: bytes) -> None:
        """Pass an authenticated report to aiortc, and count its source."""
        self._reporting.add(data[4:8])
        await self._report(data)


class SoundOut:
    """Sender of the agent's audio packets. Drops them until there is a key and a remote address.

    voice: the transceiver, with its codecs agreed.
    """

    def __init__(self, voice: RTCRtpTransceiver) -> None:
        self._dtls = voice.receiver.transport
        self._connection = self._dtls.transport._connection
        self._key: pylibsrtp.Session | None = None
        self._encrypt: Callable[[bytes], bytes] = bytes  # with that key
        self._sender: Any = voice.sender
        self._ssrc = voice.sender._ssrc
        self._payload_type = voice._codecs[0].payloadType or 0
        ids = [extension.id for extension in voice._headerExtensions if extension.uri == _MID]
        self._extension = mid_extension(ids[0], voice.mid) if ids and voice.mid else b""
        self._sequence_number = random.randrange(1 << 15)  # RFC 3711, section 3.3.1: why not near the end
        self._began = random.randrange(1 << 32)

    def send(self, payload: bytes, timestamp: int, first: bool) -> None:
        """Send a packet. timestamp: from 0 on. first: the first one after a silence."""
        self.send_as(self._payload_type, payload, timestamp, first)

    def send_as(self, payload_type: int, payload: bytes, timestamp: int, first: bool) -> None:
        """Send a packet of this payload type in the same stream. Others as for `send`."""
        key, pair = self._dtls._tx_srtp, self._connection._nominated.get(1)
        if key is None or pair is None:
            return
        if key is not self._key:
            self._key, self._encrypt = key, rtp_encryption(key)
        timestamp = (self._began + timestamp) & 0xFFFFFFFF
        packet = RtpPacket(payload_type, self._sequence_number, timestamp, self._ssrc, payload, first)
        self._sequence_number = (self._sequence_number + 1) & 0xFFFF
        pair.protocol.transport.sendto(self._encrypt(packet.serialize(self._extension)), pair.remote_addr)
        self._count(packet)

    def _count(self, packet: RtpPacket) -> None:
        """Update the statistics for RTCP sender reports (RFC 3550, section 6.4.1)."""
        sender = self._sender
        sender._RTCRtpSender__ntp_timestamp = int((time.time() + _NTP_EPOCH_S) * (1 << 32))
        sender._RTCRtpSender__rtp_timestamp = packet.timestamp
        sender._RTCRtpSender__octet_count += len(packet.payload)
        sender._RTCRtpSender__packet_count += 1
