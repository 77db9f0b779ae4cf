"""Conversation items: conversion between wire and history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from llmcore.engine import ToolCall
from voiceagent.conversation.history import Item, MessageItem, ToolCallItem, ToolOutputItem
from voiceagent.conversation.mcp import (
    ListedTool,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCallItem,
    McpError,
    McpItem,
    McpListItem,
)
from voiceagent.transports.realtime.protocol.errors import Wire

ItemId = Annotated[str, Field(min_length=1, max_length=128)]
_Status = Literal["completed", "incomplete", "in_progress"]


class _Part(Wire):
    """A part of a message. The SDKs have one class for all parts, whose other fields are null."""

    null_fields = frozenset(("text", "audio", "transcript", "image_url", "detail"))


class _TextPart(_Part):
    text: str

    @property
    def words(self) -> str:
        return self.text


class InputText(_TextPart):
    """A text part of a user or system message."""

    type: Literal["input_text"]


class OutputText(_TextPart):
    """A text part of the assistant. "text" is its name in older clients."""

    type: Literal["output_text", "text"]


class _SoundPart(_Part):
    """Audio from outside this call."""

    audio: str | None = None
    transcript: str | None = None

    @property
    def words(self) -> str:
        return self.transcript or ""


class InputAudio(_SoundPart):
    """Speech of the user. Audio without a transcript is recognized."""

    type: Literal["input_audio"]

    @model_validator(mode="after")
    def _has_words(self) -> Self:
        if self.transcript is None and not self.audio:
            raise PydanticCustomError("no_sound", "audio or transcript is needed")
        return self


class InputImage(_Part):
    """A picture, for an LLM that accepts images."""

    type: Literal["input_image"]
    image_url: Annotated[str, Field(pattern=r"^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$")]
    detail: Literal["auto", "low", "high"] | None = None

    @property
    def words(self) -> str:
        """Text of the part: none."""
        return ""


class OutputAudio(_SoundPart):
    """Speech of the assistant. A transcript is required: the agent's audio is not recognized."""

    type: Literal["output_audio"]

    @model_validator(mode="after")
    def _has_words(self) -> Self:
        if self.transcript is None:
            raise PydanticCustomError("no_transcript", "transcript is needed")
        return self


_UserPart = Annotated[InputText | InputAudio | InputImage, Field(discriminator="type")]
_AssistantPart = Annotated[OutputText | OutputAudio, Field(discriminator="type")]


class _WireItem(Wire):
    id: ItemId | None = None
    object: Literal["realtime.item"] | None = None
    status: _Status | None = None
    """No effect, as in the protocol."""


class _Message(_WireItem):
    type: Literal["message"]


class SystemMessage(_Message):
    """Instructions within the conversation."""

    role: Literal["system"]
    content: Annotated[list[InputText], Field(fail_fast=True)]


class UserMessage(_Message):
    """A message that the caller spoke or typed."""

    role: Literal["user"]
    content: Annotated[list[_UserPart], Field(fail_fast=True)]


class AssistantMessage(_Message):
    """A message that the agent spoke or wrote."""

    role: Literal["assistant"]
    content: Annotated[list[_AssistantPart], Field(fail_fast=True)]


class FunctionCall(_WireItem):
    """A function call of the model."""

    type: Literal["function_call"]
    name: str
    arguments: str
    call_id: ItemId | None = None


class FunctionCallOutput(_WireItem):
    """Result of a client's function."""

    type: Literal["function_call_output"]
    call_id: ItemId
    output: str


class ApprovalResponse(_WireItem):
    """Approval or refusal of a call of an MCP server's tool."""

    type: Literal["mcp_approval_response"]
    approval_request_id: ItemId
    approve: bool
    reason: Annotated[str, Field(max_length=1000)] | None = None


AnyMessage = Annotated[SystemMessage | UserMessage | AssistantMessage, Field(discriminator="role")]
WireItem = Annotated[
    AnyMessage | FunctionCall | FunctionCallOutput | ApprovalResponse, Field(discriminator="type")
]


class ItemReference(Wire):
    """Reference to a conversation item in a response's input."""

    type: Literal["item_reference"]
    id: ItemId


InputItem = Annotated[
    AnyMessage | FunctionCall | FunctionCallOutput | ApprovalResponse | ItemReference,
    Field(discriminator="type"),
]


def to_item(wire: WireItem, new_id: Callable[[str], str]) -> Item:
    """Convert to a history item. Text parts are joined by line breaks, missing ids are generated."""
    item_id = wire.id or new_id("item")
    match wire:
        case FunctionCall(name=name, arguments=arguments, call_id=call_id):
            return ToolCallItem(item_id, ToolCall(call_id or new_id("call"), name, arguments))
        case FunctionCallOutput(call_id=call_id, output=output):
            return ToolOutputItem(item_id, call_id, output)
        case ApprovalResponse(approval_request_id=request_id, approve=approve, reason=reason):
            return McpApprovalResponse(item_id, request_id, approve, reason or "")
        case _:
            words = (part.words for part in wire.content if not is_without_words(part))
            spoken = any(isinstance(part, _SoundPart) for part in wire.content)
            images = tuple(part.image_url for part in wire.content if isinstance(part, InputImage))
            return MessageItem(item_id, wire.role, "\n".join(words), spoken, images=images)


def is_without_words(part: object) -> bool:
    """Return True if a part of a message is a picture, or sound without a transcript."""
    return isinstance(part, InputImage) or (isinstance(part, InputAudio) and part.transcript is None)


def first_image(wire: WireItem) -> int | None:
    """Return the index of a message's first picture, None if it has none."""
    parts = enumerate(wire.content) if isinstance(wire, UserMessage) else ()
    return next((index for index, part in parts if isinstance(part, InputImage)), None)


def unrecognized_sound(wire: WireItem) -> Iterator[tuple[int, str]]:
    """Yield the base64 audio of each part without a transcript, with the index of the part."""
    if isinstance(wire, UserMessage):
        for index, part in enumerate(wire.content):
            if isinstance(part, InputAudio) and part.audio and part.transcript is None:
                yield index, part.audio


def from_item(item: Item) -> dict[str, Any]:
    """Convert an item to its wire form. Spoken messages have only a transcript: audio is not kept."""
    match item:
        case MessageItem(role=role):
            body: dict[str, Any] = {"type": "message", "role": role, "content": _content(item)}
        case ToolCallItem(call=call):
            body = {
                "type": "function_call",
                "name": call.name,
                "call_id": call.call_id,
                "arguments": call.arguments,
            }
        case ToolOutputItem(call_id=call_id, output=output):
            # as at OpenAI: no status
            return {"id": item.item_id, "type": "function_call_output", "call_id": call_id, "output": output}
        case _:
            return {"id": item.item_id, **_mcp_body(item)}
    return {"id": item.item_id, "status": item.status, **body}


def _mcp_body(item: McpItem) -> dict[str, Any]:
    """Return the fields of an MCP item. The protocol gives it no status."""
    match item:
        case McpListItem(server=server):
            return {
                "type": "mcp_list_tools",
                "server_label": server.label,
                "tools": [*map(_tool, item.tools)],
            }
        case McpApprovalRequest():
            body: dict[str, Any] = {"type": "mcp_approval_request", "arguments": item.call.arguments}
        case McpApprovalResponse(request_id=request_id, approve=approve, reason=reason):
            answer = {"approval_request_id": request_id, "approve": approve, "reason": reason or None}
            return {"type": "mcp_approval_response", **answer}
        case McpCallItem():
            body = {
                "type": "mcp_call",
                "arguments": item.call.arguments,
                "approval_request_id": item.request_id or None,
                "output": item.output,
                "error": None if item.error is None else _error(item.error),
            }
    return {**body, "name": item.name, "server_label": item.server_label}


def _tool(tool: ListedTool) -> dict[str, Any]:
    annotations = {"readOnlyHint": True} if tool.read_only else None
    about = {"name": tool.name, "description": tool.description, "annotations": annotations}
    return {**about, "input_schema": tool.schema}


def _error(error: McpError) -> dict[str, Any]:
    body = {"type": error.kind, "message": error.message}
    return body if error.kind == "tool_execution_error" else {**body, "code": error.code}


def _content(item: MessageItem) -> list[dict[str, Any]]:
    """Return the parts of a message. Audio and pictures are not sent back."""
    images: list[dict[str, Any]] = [{"type": "input_image", "detail": "auto"} for _ in item.images]
    return images if images and not item.text and not item.spoken else [_part(item), *images]


def _part(item: MessageItem) -> dict[str, Any]:
    if item.role == "assistant":
        if item.spoken:
            return {"type": "output_audio", "transcript": item.text}
        return {"type": "output_text", "text": item.text}
    if item.spoken:
        return {"type": "input_audio", "transcript": item.text or None}
    return {"type": "input_text", "text": item.text}
