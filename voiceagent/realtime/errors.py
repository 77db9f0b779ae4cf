"""What a client did wrong, in the words of the protocol's `error` event."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError


class RequestError(Exception):
    """A client event that cannot be carried out.

    code: the protocol's name of the mistake. param: path of the field at fault, e.g. "session.tools[0].name".
    client_event_id: the event's own id, if the client gave one.
    """

    def __init__(
        self, code: str, message: str, param: str | None = None, client_event_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.client_event_id = client_event_id


class Wire(BaseModel):
    """A JSON object of the protocol: its fields and no others, each of its very type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _known_fields_only(cls, given: Any) -> Any:
        """`extra="forbid"` would do, but does not say what is allowed."""
        if isinstance(given, dict):
            for name in given:
                if name not in cls.model_fields:
                    raise PydanticCustomError(
                        "unknown_parameter",
                        "there is no such field; allowed: {allowed}",
                        {"name": name, "allowed": ", ".join(cls.model_fields)},
                    )
        return given


def from_validation(error: ValidationError, document: dict[str, Any]) -> RequestError:
    """The first mistake that pydantic found in the client event `document`."""
    first = error.errors(include_url=False)[0]
    param = _path(first, document)
    if first["type"] == "missing":
        return RequestError("missing_required_parameter", f"{param} is missing", param)
    reason = _sentence(first["msg"])
    if first["type"] == "unknown_parameter":
        return RequestError("unknown_parameter", f"{param}: {reason}", param)
    code = "invalid_type" if first["type"].endswith("_type") else "invalid_value"
    return RequestError(code, f"{param} is {shorten(first['input'])}: {reason}", param)


def shorten(value: object) -> str:
    """`value` as an error shows it."""
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _path(error: ErrorDetails, document: dict[str, Any]) -> str:
    """Where in `document` the mistake is. pydantic's location also names the members of unions it went through."""
    path, node = "", document
    parts: tuple[int | str, ...] = error["loc"]
    if error["type"] == "unknown_parameter":
        parts += (error["ctx"]["name"],)
    for index, part in enumerate(parts):
        if isinstance(part, int) and isinstance(node, list):
            path, node = f"{path}[{part}]", node[part]
        elif isinstance(node, dict) and part in node:
            path, node = f"{path}.{part}", node[part]
        elif error["type"] == "missing" and index == len(parts) - 1:
            path = f"{path}.{part}"
    return path.lstrip(".")


def _sentence(message: str) -> str:
    return message[:1].lower() + message[1:]
