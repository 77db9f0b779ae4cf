"""Validation of a function's parameters as JSON Schema, so that an error does not appear only when a model is
called.

As of draft 2020-12 (https://json-schema.org/draft/2020-12/schema). Unknown keywords, and those that constrain
nothing, such as titles and examples, may have any value. The package `jsonschema` is not used: its check
takes a hundred times as long, on the event loop.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from voiceagent.transports.realtime.protocol.errors import RequestError, from_validation
from voiceagent.validation.errors import shorten

MAX_PLACE = 200
"""Maximum length of an error's path, in characters: property names may be as long as an event."""
TypeName = Literal["string", "number", "integer", "boolean", "object", "array", "null"]
Schemas: TypeAlias = Annotated[list["Schema | bool"], Field(min_length=1)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Schema = TypedDict(
    "Schema",
    {
        "type": TypeName | list[TypeName],
        "properties": dict[str, "Schema | bool"],
        "required": list[str],
        "additionalProperties": "Schema | bool",
        "enum": list[Any],
        "items": "Schema | bool",
        "prefixItems": Schemas,
        "anyOf": Schemas,
        "oneOf": Schemas,
        "allOf": Schemas,
        "not": "Schema | bool",
        "$defs": dict[str, "Schema | bool"],
        "$ref": str,
        "pattern": str,
        "minimum": float,
        "maximum": float,
        "minLength": Count,
        "maxLength": Count,
        "minItems": Count,
        "maxItems": Count,
    },
    total=False,
)
_SCHEMA: TypeAdapter[Schema] = TypeAdapter(Schema)


def check_parameters(function: str, parameters: dict[str, Any], param: str) -> None:
    """Raise RequestError (`invalid_function_parameters`) unless `parameters` is a JSON Schema of type object.

    param: path of the function.
    """
    try:
        _SCHEMA.validate_python(parameters, strict=True)
    except ValidationError as error:
        wrong = from_validation(error, {"parameters": parameters}, ("parameters",))
        reason = wrong.message.removeprefix(str(wrong.param))
        raise _refused(function, f"{param}.{wrong.param}", reason) from error
    if (kind := parameters.get("type", "object")) != "object":
        raise _refused(function, f"{param}.parameters.type", f" is {shorten(kind)}: input should be 'object'")


def _refused(function: str, place: str, reason: str) -> RequestError:
    place = place[:MAX_PLACE]
    message = f"{place}{reason}; the parameters of {function!r} must be a JSON Schema of an object"
    return RequestError("invalid_function_parameters", message, place)
