"""Errors of a client's requests, as the protocol's `error` event shows them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from voiceagent.validation.errors import shorten


class RequestError(Exception):
    """A client event that cannot be carried out.

    code: the protocol's error code. param: path of the field at fault, e.g. "session.tools[0].name".
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
    """A JSON object of the protocol: known fields only, strictly typed. null_fields: others, if null."""

    null_fields: ClassVar[frozenset[str]] = frozenset()
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    @model_validator(mode="after")
    def _known_fields_only(self) -> Self:
        """Like `extra="forbid"`, but the error names the allowed fields."""
        extra = self.model_extra or {}
        for name in extra:
            if extra[name] is None and name in self.null_fields:
                continue
            raise PydanticCustomError(
                "unknown_parameter",
                "there is no such field; allowed: {allowed}",
                {"name": name, "allowed": ", ".join(type(self).model_fields)},
            )
        return self


def from_validation(
    error: ValidationError, document: dict[str, Any], within: tuple[str, ...] = ()
) -> RequestError:
    """Return the first validation error of `document`, or of the part of it `within` these fields."""
    first = error.errors(include_url=False)[0]
    kind, about = first["type"], first.get("ctx", {})
    param = _path(first, document, within)
    match kind:
        case "missing" | "union_tag_not_found":
            return RequestError("missing_required_parameter", f"{param} is missing", param)
        case "unknown_parameter":
            return RequestError("unknown_parameter", f"{param}: {first['msg']}", param)
        case "union_tag_invalid":
            message = f"{param} is {shorten(about['tag'])}; allowed: {about['expected_tags']}"
            return RequestError("invalid_value", message, param)
        case _:
            code = "invalid_type" if kind.endswith("_type") else "invalid_value"
            reason = first["msg"][:1].lower() + first["msg"][1:]
            return RequestError(code, f"{param} is {shorten(first['input'])}: {reason}", param)


_PARTS = {"llm": "the language model", "recognizer": "speech-to-text", "synthesizer": "text-to-speech"}


def public_reason(reason: str) -> str:
    """Return the reason for a failure without hosts, paths or texts of other servers, which the log has."""
    part, _, text = reason.partition(": ")
    return text if part == "limits" else f"{_PARTS.get(part, 'the server')} failed"


def _path(error: ErrorDetails, document: dict[str, Any], within: tuple[str, ...]) -> str:
    """Return the path of the error in `document`. pydantic's path also names union members."""
    path, node = "", document
    parts, named = [*within, *error["loc"]], error["type"] == "missing"
    match error:
        case {"type": "unknown_parameter", "ctx": {"name": name}}:
            parts.append(name)
        case {"type": "union_tag_invalid" | "union_tag_not_found", "ctx": {"discriminator": quoted}}:
            parts.append(quoted.strip("'"))
            named = True
    for index, part in enumerate(parts):
        if isinstance(part, int) and isinstance(node, list):
            path, node = f"{path}[{part}]", node[part]
        elif isinstance(node, dict) and part in node:
            path, node = f"{path}.{part}", node[part]
        elif named and index == len(parts) - 1:
            path = f"{path}.{part}"
    return path.lstrip(".")
