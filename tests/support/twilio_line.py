"""Twilio's side of a stream, in the words of its documentation."""

from __future__ import annotations

import base64
import json
from typing import Any

STREAM = "MZ18ad3ab5a668481ce02b83e7395059f0"
CALL = "CAc0e4b0b2c2a1f5e8d9b8a7c6d5e4f3a2"
ACCOUNT = "ACfd24d5ea9b4b8ae6ea6ba2f93fd49d5a"
MEDIA_FORMAT = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}


def connected() -> str:
    return json.dumps({"event": "connected", "protocol": "Call", "version": "1.0.0"})


def start(parameters: dict[str, str] | None = None, **changes: Any) -> str:
    """The `start` message; `changes` replace fields of its object `start`."""
    fields = {
        "accountSid": ACCOUNT,
        "streamSid": STREAM,
        "callSid": CALL,
        "tracks": ["inbound"],
        "mediaFormat": MEDIA_FORMAT,
        "customParameters": parameters or {},
        **changes,
    }
    return json.dumps({"event": "start", "sequenceNumber": "1", "start": fields, "streamSid": STREAM})


def media(sound: bytes, chunk: int, stream: str = STREAM, track: str = "inbound") -> str:
    payload = base64.b64encode(sound).decode()
    fields = {"track": track, "chunk": str(chunk), "timestamp": str(20 * chunk), "payload": payload}
    return _event("media", stream, sequenceNumber=str(chunk + 1), media=fields)


def dtmf(digit: str) -> str:
    return _event("dtmf", sequenceNumber="5", dtmf={"track": "inbound_track", "digit": digit})


def mark(name: str) -> str:
    return _event("mark", sequenceNumber="4", mark={"name": name})


def stop() -> str:
    return _event("stop", sequenceNumber="6", stop={"accountSid": ACCOUNT, "callSid": CALL})


def _event(event: str, stream: str = STREAM, **fields: Any) -> str:
    return json.dumps({"event": event, "streamSid": stream, **fields})
