"""Reads the messages that come 50 times a second in each call: those with sound. Pure.

msgspec takes a quarter of pydantic's time, but its errors do not name what is allowed. So only plain messages
are read here. All others, mistakes included, are left to `json_messages`.
"""

from __future__ import annotations

import msgspec
from pybase64 import b64decode

from voiceagent.transports.telephony.stream.serializer import Media, Message

MAX_DIGITS = 19
"""Longest number of a message."""


class _Sound(msgspec.Struct):
    payload: str
    chunk: str
    track: str = "inbound"


class _MediaMessage(msgspec.Struct, tag_field="event", tag="media"):
    media: _Sound
    streamSid: str = ""
    stream_id: str = ""
    streamId: str = ""


_decode = msgspec.json.Decoder(_MediaMessage).decode


def plain_media(message: Message, id_field: str, stream_id: str) -> Media | None:
    """Return the caller's sound in a plain message of this stream; None for any other message.

    id_field: where a message carries the id of its stream.
    """
    if not isinstance(message, str):
        return None
    try:
        said = _decode(message)
        sound = said.media
        number = sound.chunk
        is_number = number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS
        if not is_number or sound.track != "inbound" or getattr(said, id_field) != stream_id:
            return None
        payload = b64decode(sound.payload, None, True)  # by position: see `base64_text`
    except (msgspec.MsgspecError, ValueError):
        return None
    return Media(payload, int(number)) if payload else None
