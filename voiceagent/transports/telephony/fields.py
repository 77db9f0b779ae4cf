"""Reads the fields of a provider's JSON messages, with errors that say what is wrong. Pure."""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from voiceagent.transports.realtime.errors import shorten
from voiceagent.transports.telephony.serializer import DIGITS, LineError, Message

MAX_PARAMETERS = 64
MAX_PARAMETER = 2_048


def parse(message: Message) -> dict[str, Any]:
    """The JSON object of a text message. Raises LineError."""
    if isinstance(message, bytes):
        raise LineError(f"a binary message of {len(message)} bytes came; allowed: JSON text")
    try:
        document = from_json(message, allow_inf_nan=False)
    except ValueError as error:
        raise LineError(f"a message is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise LineError(f"a message is {shorten(document)}; allowed: a JSON object")
    return document


def table(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object in field `name`. Raises LineError."""
    value = document.get(name)
    if not isinstance(value, dict):
        raise LineError(f"{name} is {shorten(value)}; allowed: an object")
    return value


def text(document: Mapping[str, Any], name: str) -> str:
    """The text, not empty, in field `name`. Raises LineError."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise LineError(f"{name} is {shorten(value)}; allowed: text that is not empty")
    return value


def number(document: Mapping[str, Any], name: str) -> int:
    """The whole number in field `name`, which some providers send as text. Raises LineError."""
    value = document.get(name)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise LineError(f"{name} is {shorten(value)}; allowed: a whole number, not negative")


def sound(document: Mapping[str, Any], name: str = "payload") -> bytes:
    """The bytes in field `name`, sent as base64. Raises LineError."""
    try:
        return a2b_base64(text(document, name), strict_mode=True)
    except (Base64Error, ValueError) as error:  # ValueError: characters beyond ASCII
        raise LineError(f"{name} is not base64: {error}") from error


def digit(document: Mapping[str, Any], name: str = "digit") -> str:
    """The key of a phone in field `name`. Raises LineError."""
    value = text(document, name).upper()
    if value not in DIGITS or len(value) != 1:
        raise LineError(f"{name} is {shorten(value)}; allowed: one of {DIGITS}")
    return value


def parameters(given: object, name: str) -> dict[str, str]:
    """Custom parameters: names and values in text. Raises LineError."""
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MAX_PARAMETERS:
        raise LineError(f"{name} is {shorten(given)}; allowed: an object of at most {MAX_PARAMETERS} fields")
    for key, value in given.items():
        if not isinstance(value, str) or len(key) + len(value) > MAX_PARAMETER:
            allowed = f"text of at most {MAX_PARAMETER} characters, with its name"
            raise LineError(f"{name}.{shorten(key)} is {shorten(value)}; allowed: {allowed}")
    return given


def of_stream(document: Mapping[str, Any], name: str, stream_id: str | None) -> None:
    """Raises LineError where a message comes before `start`, or field `name` is not the call's stream."""
    if stream_id is None:
        raise LineError(f"{document.get('event')} came before start")
    if document.get(name) != stream_id:
        raise LineError(f"{name} is {shorten(document.get(name))}; allowed: the stream's own, {stream_id}")


def expect(found: object, allowed: Sequence[object], name: str) -> None:
    """Raises LineError where the field `name` is none of `allowed`."""
    if found not in allowed:
        raise LineError(f"{name} is {shorten(found)}; allowed: {', '.join(str(one) for one in allowed)}")
