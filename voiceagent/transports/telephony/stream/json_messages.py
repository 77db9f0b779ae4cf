"""Parsing of providers' JSON messages with pydantic, with errors that name the field.

   A provider's messages are a union of TypedDicts discriminated by `event`: 50 audio messages a second arrive
per call, and a dict costs half as much as a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from voiceagent.transports.base64_text import from_base64
from voiceagent.transports.telephony.stream.serializer import DIGITS, Message, ProtocolError, Unknown
from voiceagent.validation.errors import shorten

MAX_PARAMETERS = 64
MAX_PARAMETER = 2_048

Read = TypeVar("Read")


def _count(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise PydanticCustomError("count", "a whole number, not negative")


def _digit(value: str) -> str:
    digit = value.upper()
    if digit not in DIGITS:
        raise PydanticCustomError("digit", "one of {digits}", {"digits": "".join(DIGITS)})
    return digit


def _short(parameters: dict[str, str]) -> dict[str, str]:
    for name, value in parameters.items():
        if len(name) + len(value) > MAX_PARAMETER:
            message = "text of at most {max} characters with its name; {name} has more"
            about = {"max": MAX_PARAMETER, "name": shorten(name)}
            raise PydanticCustomError("parameter_too_long", message, about)
    return parameters


Text = Annotated[str, Field(min_length=1)]
"""Text that is not empty."""
Count = Annotated[int, PlainValidator(_count)]
"""A whole number, not negative; some providers send it as text."""
Digit = Annotated[str, AfterValidator(_digit)]
"""A key of the keypad."""
Parameters = Annotated[dict[str, str], Field(max_length=MAX_PARAMETERS), AfterValidator(_short)]
"""Parameters that the call's owner gave the provider to pass on."""

_ALLOWED = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "dict_type": "an object",
    "too_long": f"an object of at most {MAX_PARAMETERS} fields",
}
"""Allowed values of a field, where pydantic's message uses Python's terms."""


def read_text(messages: TypeAdapter[Read], message: Message) -> Read | Unknown:
    """Parse a JSON message. Return one of `messages`, or Unknown. Raise ProtocolError."""
    if isinstance(message, bytes):
        raise ProtocolError(f"a binary message of {len(message)} bytes came; allowed: JSON text")
    try:
        # The adapter's own method takes 20 % longer, for options that are not used here.
        said: Read = messages.validator.validate_json(message, strict=True)
        return said
    except ValidationError as error:
        return _unknown_or_error(error)


def read_fields(messages: TypeAdapter[Read], document: Mapping[str, Any]) -> Read | Unknown:
    """Validate the fields of a message that did not arrive as JSON, like `read_text`."""
    try:
        return messages.validate_python(document, strict=True)
    except ValidationError as error:
        return _unknown_or_error(error)


def read_sound(payload: str, name: str) -> bytes:
    """Decode the base64 of field `name`. Raise ProtocolError."""
    # Not with pydantic, which accepts missing padding and URL-safe base64.
    try:
        return from_base64(payload)
    except ValueError as error:
        raise ProtocolError(f"{name} is not base64: {error}") from error


def wrong(name: str, found: object, allowed: str) -> ProtocolError:
    """Return the error of a field with an invalid value."""
    return ProtocolError(f"{name} is {shorten(found)}; allowed: {allowed}")


def _unknown_or_error(error: ValidationError) -> Unknown:
    """Return Unknown for an event of another kind. Raise ProtocolError for the first error otherwise."""
    first = error.errors(include_url=False)[0]
    kind, given = first["type"], first["input"]
    if kind == "json_invalid":
        raise ProtocolError(f"a message is not JSON: {first['ctx']['error']}") from error
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        event = given.get("event")
        if isinstance(event, str):
            return Unknown(event)
        raise wrong("event", event, "text") from error
    if not isinstance(given, dict) and not first["loc"]:
        raise wrong("a message", given, "a JSON object") from error
    # the first part is the event, which pydantic adds
    place = ".".join(part if len(part) <= 80 else shorten(part) for part in map(str, first["loc"][1:]))
    if kind == "missing":
        raise ProtocolError(f"{place} is missing; it must be there") from error
    raise wrong(place, given, _ALLOWED.get(kind) or first["msg"].removeprefix("Input should be ")) from error
