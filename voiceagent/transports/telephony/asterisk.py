"""Asterisk's chan_websocket: audio in binary messages, commands and events in text.

   https://docs.asterisk.org/Configuration/Channel-Drivers/WebSocket. Text is JSON, and marks are supported,
if the channel was dialled with `f(json)`; otherwise text is plain.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.transports.telephony.control import CallControl, ControlError, RestRequest, send_for_json
from voiceagent.transports.telephony.provider import LineSettings, PhoneLine, ProviderConfig
from voiceagent.transports.telephony.stream.json_messages import Digit, Text, read_fields, read_text
from voiceagent.transports.telephony.stream.serializer import (
    KeyPressed,
    MarkPlayed,
    Media,
    Message,
    PhoneEvent,
    ProtocolError,
    Started,
    Unknown,
)

FORMATS = {
    "ulaw": AudioFormat.PCMU,
    "alaw": AudioFormat.PCMA,
    "slin": AudioFormat.PCM_8K,
    "slin16": AudioFormat.PCM_16K,
    "slin24": AudioFormat.PCM_24K,
}


class _StartMessage(TypedDict):
    event: Literal["MEDIA_START"]
    channel: Text
    format: Literal["ulaw", "alaw", "slin", "slin16", "slin24"]


class _DigitMessage(TypedDict):
    event: Literal["DTMF_END"]
    digit: Digit


class _MarkMessage(TypedDict):
    event: Literal["MEDIA_MARK_PROCESSED"]
    correlation_id: Text


class _QueueMessage(TypedDict):
    """State of Asterisk's queue of 20 s. It never fills, because audio is sent in real time."""

    event: Literal["MEDIA_XON", "MEDIA_XOFF", "MEDIA_BUFFERING_COMPLETED", "QUEUE_DRAINED", "STATUS"]


_Message = _StartMessage | _DigitMessage | _MarkMessage | _QueueMessage
_MESSAGES: TypeAdapter[_Message] = TypeAdapter(Annotated[_Message, Field(discriminator="event")])


class AsteriskSerializer:
    """Serializer of one channel. Messages of 20 ms are whole frames for Asterisk: it need not buffer."""

    def __init__(self) -> None:
        self._format: AudioFormat | None = None
        self._json = False

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message, None for messages before MEDIA_START. Raise ProtocolError."""
        if isinstance(message, bytes):
            return None if self._format is None else Media(message)
        in_json = message.lstrip().startswith("{")
        said = _read_json(message) if in_json else _read_plain(message)
        if not isinstance(said, Unknown) and said["event"] == "MEDIA_START":
            return self._start(said, in_json)
        if self._format is None:
            return None
        if isinstance(said, Unknown):
            return said
        if said["event"] == "DTMF_END":
            return KeyPressed(said["digit"])
        if said["event"] == "MEDIA_MARK_PROCESSED":
            return MarkPlayed(said["correlation_id"])
        return None

    def media(self, frame: Samples) -> bytes:
        """Return a frame of the agent's audio as a message."""
        assert self._format is not None  # the start comes before any audio
        return encode_sound(frame, self._format)

    def mark(self, name: str) -> str | None:
        """Return a mark. Asterisk reports it at the front of its queue. None in the plain protocol."""
        return self._command("MARK_MEDIA", correlation_id=name) if self._json else None

    def clear(self) -> str:
        """Return the command that empties Asterisk's queue."""
        return self._command("FLUSH_MEDIA")

    def hang_up(self) -> str:
        """Return the command that hangs up the channel; Asterisk then closes the connection."""
        return self._command("HANGUP")

    def _start(self, said: _StartMessage, in_json: bool) -> Started:
        if self._format is not None:
            raise ProtocolError("a second MEDIA_START came; a channel has one")
        self._json = in_json
        self._format = FORMATS[said["format"]]
        return Started(said["channel"], self._format, self._format)

    def _command(self, command: str, **parameters: str) -> str:
        if not self._json:
            return command
        return json.dumps({"command": command, **parameters}, separators=(",", ":"))


def _read_json(message: str) -> _Message | Unknown:
    return read_text(_MESSAGES, message)


def _read_plain(message: str) -> _Message | Unknown:
    """Parse an event in plain text: `EVENT name:value name:value`."""
    event, *pairs = message.split()[:32] or [""]
    values = {name: value for name, _, value in (pair.partition(":") for pair in pairs)}
    return read_fields(_MESSAGES, {"event": event, **values})


class AsteriskConfig(ProviderConfig):
    """`[telephony.asterisk]`: Asterisk's chan_websocket."""

    key_name: ClassVar[str] = "password_env"
    password_env: str | None = None
    """Environment variable that holds the password from websocket_client.conf."""
    ari_url: str = ""
    """URL of Asterisk's HTTP server, such as "http://127.0.0.1:8088". Needed to place and transfer calls."""
    ari_user: ClassVar[str] = "voiceagent"
    """User in ari.conf: one of its own, so that its rights and its password are the agent's alone."""
    ari_password_env: str | None = None
    """Environment variable that holds the password of the user "voiceagent" in ari.conf."""

    def line(self, settings: LineSettings) -> PhoneLine:
        """Return the provider with its serializer and authentication. Raise ConfigError."""
        password = settings.key("password_env", self.password_env)

        def trusts(url: str, headers: Mapping[str, str]) -> bool:
            return password is not None and has_password(password, headers)

        ari_password = settings.key("ari_password_env", self.ari_password_env)

        def control(started: Started) -> CallControl | None:
            if not self.ari_url or ari_password is None:
                return None
            return AsteriskControl(self.ari_url, (self.ari_user, ari_password), started.call_id)

        trust = None if password is None else trusts
        return PhoneLine(AsteriskSerializer, control, trust, inband_keys=True, reopens_streams=True)


def has_password(password: str, headers: Mapping[str, str]) -> bool:
    """Return True if `Authorization` has this password (RFC 7617), for any user. headers: in lower case."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    try:
        sent = b64decode(given.strip(), validate=True).partition(b":")[2]
    except (Base64Error, ValueError):
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(sent, password.encode())


MOVED_S, POLL_S = 5.0, 0.1
"""Maximum wait for Asterisk to move a channel, and the interval at which its bridges are read."""
_EXTENSION = re.compile(r"[+\w.*#-]{1,80}")
"""Extensions that `ChannelRedirect` reads as one argument."""


@dataclass(frozen=True, slots=True)
class AsteriskControl:
    """Control of the channel at the other end of ours. url: of Asterisk's HTTP server. user: name and
    password of ari.conf. channel: name of our channel, which `Dial` has bridged.
    """

    url: str
    user: tuple[str, str]
    channel: str
    transfers: bool = True

    async def hang_up(self) -> None:
        """Do nothing: the stream's command ends our channel, and the dialplan goes on."""

    async def transfer(self, number: str) -> None:
        """Continue the caller in the dialplan, at the extension `number`. Raise ControlError."""
        ours, caller = await self._ends(self.channel)
        await self._move(caller, "voiceagent-transfer", number)
        await self._until(lambda bridges: not any({ours, caller} <= one for one in bridges))

    async def join(self, other: str) -> None:
        """Have the dialplan bridge the other ends of both calls. Raise ControlError."""
        _, colleague = await self._ends(self.channel)
        _, caller = await self._ends(other)
        await self._move(colleague, "voiceagent-join", caller)
        await self._until(lambda bridges: any({caller, colleague} <= one for one in bridges))

    async def send_digits(self, digits: str) -> bool:
        """Return False: keys are sent as tones."""
        return False

    async def _ends(self, name: str) -> tuple[str, str]:
        """Return the ids of the channel with this name, and of the one bridged to it."""
        channels = await self._ask("GET", "/channels")
        ours = next((str(one["id"]) for one in channels if one["name"] == name), "")
        bridge = next((one for one in await self._bridges() if ours in one), frozenset())
        if ours not in bridge or len(bridge) != 2:
            raise ControlError(f"{name} is not bridged to one other channel")
        (other,) = bridge - {ours}
        return ours, other

    async def _move(self, channel: str, context: str, extension: str) -> None:
        if not _EXTENSION.fullmatch(extension):
            raise ControlError("the number has other characters than an extension")
        start = {
            "endpoint": "Local/s@voiceagent-move",
            "context": "voiceagent-move",
            "extension": "s",
            "priority": 1,
            "variables": {"VOICEAGENT_CHANNEL": channel, "VOICEAGENT_TO": f"{context},{extension},1"},
        }
        await self._ask("POST", "/channels", start)

    async def _until(self, is_done: Callable[[list[frozenset[str]]], bool]) -> None:
        """Wait until Asterisk's bridges are as they should be. Raise ControlError."""
        for _ in range(round(MOVED_S / POLL_S)):
            if is_done(await self._bridges()):
                return
            await asyncio.sleep(POLL_S)
        raise ControlError("Asterisk did not move the channel; see voiceagent-move in docs/telephony.md")

    async def _bridges(self) -> list[frozenset[str]]:
        return [frozenset(one["channels"]) for one in await self._ask("GET", "/bridges")]

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        url = f"{self.url.rstrip('/')}/ari{path}"
        return await send_for_json(RestRequest(method, url, json=body, user=self.user))
