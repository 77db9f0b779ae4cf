"""Decoder of client events: from JSON text to requests of the session."""

from __future__ import annotations

import json
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pybase64 import b64decode
from pydantic import ValidationError
from pydantic_core import from_json

from audio.pcm import AudioFormat, Samples
from audio.pcm import decode as decode_sound
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Item
from voiceagent.conversation.prompting.items import to_messages
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.base64_text import from_base64
from voiceagent.transports.limits import USUAL_LIMITS, EventLimits
from voiceagent.transports.realtime.protocol import client_events as wire
from voiceagent.transports.realtime.protocol import transcription
from voiceagent.transports.realtime.protocol.errors import RequestError, from_validation
from voiceagent.transports.realtime.protocol.items import (
    InputItem,
    ItemReference,
    WireItem,
    first_image,
    to_item,
    unrecognized_sound,
)
from voiceagent.transports.realtime.protocol.limits import APPEND, check_event, check_length
from voiceagent.transports.realtime.protocol.mcp_tools import to_servers
from voiceagent.transports.realtime.protocol.raw_audio import check_raw, may_be_file
from voiceagent.transports.realtime.protocol.session_settings import (
    FORMATS,
    check_names,
    check_tool_choice,
    merge,
    to_format,
    to_tools,
    voice_name,
)
from voiceagent.transports.realtime.protocol.shown_session import show_format
from voiceagent.validation.errors import shorten


class AudioAppended(NamedTuple):
    """Caller audio, int16 mono at the rate of the call's input format."""

    samples: Samples


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decoder of the client events of one call.

    new_id: makes an id with a prefix. defaults: the settings the call began with. limits: of one event.
    items: returns the conversation's current items, which a response's input may reference.
    """

    defaults: CallSettings
    new_id: Callable[[str], str]
    limits: EventLimits = USUAL_LIMITS
    items: Callable[[], Sequence[Item]] = tuple

    def decode(self, text: str | bytes, settings: CallSettings) -> ev.ClientRequest | AudioAppended:
        """Decode one client event under the settings in force. Raise RequestError, never anything else."""
        check_length(text, self.limits)
        document = parse_event(text)
        try:
            check_event(document, text, self.limits)
            return self._request(document, settings)
        except ValidationError as error:
            mistake = from_validation(error, document)
        except RequestError as error:
            mistake = error
        mistake.client_event_id = named_id(document)
        raise mistake

    def _request(self, document: dict[str, Any], settings: CallSettings) -> ev.ClientRequest | AudioAppended:
        request: ev.ClientRequest | AudioAppended
        match _event_model(document, settings).model_validate(document):
            case wire.AudioAppend(audio=audio):
                request = _append(audio, settings)
            case wire.AudioCommit(event_id=event_id):
                request = ev.InputCommitted(client_event_id=event_id)
            case wire.AudioClear():
                request = ev.InputCleared()
            case wire.OutputClear():
                request = ev.OutputCleared()
            case wire.SessionUpdate(session=session):
                request = ev.SettingsChanged(merge(session, settings, self.defaults))
            case wire.ResponseCreate(response=response, event_id=event_id):
                request = self._response(response or wire.ResponseObject(), event_id, settings)
            case wire.ResponseCancel(response_id=response_id, event_id=event_id):
                request = ev.ResponseCancelled(response_id, event_id)
            case event:
                request = self._item_request(event, settings)
        return request

    def _item_request(self, event: wire.ClientEvent, settings: CallSettings) -> ev.ClientRequest:
        match event:
            case wire.ItemCreate(item=item, previous_item_id=previous_id):
                _check_image(item, "item", settings)
                sound = _item_sound(item, settings)
                return ev.ItemCreated(to_item(item, self.new_id), previous_id, event.event_id, sound)
            case wire.ItemDelete(item_id=item_id):
                return ev.ItemDeleted(item_id, event.event_id)
            case wire.ItemRetrieve(item_id=item_id):
                return ev.ItemRetrieved(item_id, event.event_id)
            case wire.ItemTruncate(item_id=item_id, audio_end_ms=played_ms):
                return ev.ItemTruncated(item_id, played_ms / 1000, event.event_id)
            case wire.PlayoutReport(turn_id=turn_id):
                return ev.PlayoutMeasured(
                    turn_id, event.line_ms, event.jitter_ms, event.output_ms, event.heard_ms
                )
            case _:
                raise AssertionError(f"{type(event).__name__} is not decoded")

    def _response(
        self, wanted: wire.ResponseObject, event_id: str | None, settings: CallSettings
    ) -> ev.ResponseRequested:
        tools = None if wanted.tools is None else to_tools(wanted.tools, "response.tools")
        servers = to_servers(wanted.tools or (), "response.tools")
        if servers and wanted.conversation == "none":
            message = "response.tools has MCP servers, whose calls are items of the conversation; leave out "
            raise RequestError("invalid_value", f'{message}response.conversation = "none"', "response.tools")
        choice = settings.tool_choice if wanted.tool_choice is None else wanted.tool_choice
        check_names(tools or (), settings, "response.tools")
        offered = settings.tools if wanted.conversation == "none" else settings.all_tools
        offered = offered if tools is None else tools
        reachable = settings.mcp_servers if wanted.tools is None else servers
        check_tool_choice(choice, offered, reachable, "response.tool_choice")
        _check_format(wanted, settings)
        messages = None
        if wanted.input is not None:
            messages = to_messages(self._input_items(wanted.input))
        return ev.ResponseRequested(
            instructions=wanted.instructions,
            modality=wanted.output_modalities,
            voice=_voice(wanted),
            tools=tools,
            mcp_servers=servers,
            tool_choice=wanted.tool_choice,
            max_output_tokens=wanted.max_output_tokens,
            temperature=wanted.temperature,
            messages=messages,
            in_conversation=wanted.conversation != "none",
            metadata=wanted.metadata or {},
            client_event_id=event_id,
        )

    def _input_items(self, given: Sequence[InputItem]) -> list[Item]:
        """Return the items of a response's input. Raise RequestError if a referenced item is missing, or
        referenced twice: that could make a prompt longer than anything a client may send.
        """
        referred = [item.id for item in given if isinstance(item, ItemReference)]
        known = {item.item_id: item for item in self.items()} if referred else {}
        items: list[Item] = []
        for index, item in enumerate(given):
            if not isinstance(item, ItemReference):
                _check_image(item, f"response.input[{index}]", self.defaults)
                for part, _ in unrecognized_sound(item):
                    place = f"response.input[{index}].content[{part}]"
                    message = f"{place} has sound but no transcript; create it as an item, and refer to that"
                    raise RequestError("invalid_value", message, place)
                items.append(to_item(item, self.new_id))
                continue
            param = f"response.input[{index}].id"
            if item.id not in known:
                message = f"{param} is {shorten(item.id)}, but there is no such item in the conversation"
                raise RequestError("item_not_found", message, param)
            if referred.count(item.id) > 1:
                message = f"{param} is {shorten(item.id)}, which is referred to twice; allowed: once"
                raise RequestError("invalid_value", message, param)
            items.append(known[item.id])
        return items


def append_heads(event_type: str) -> tuple[str, str]:
    """Return the common serializations of an append of this type, up to its audio."""
    compact, spaced = (
        json.dumps({"type": event_type, "audio": ""}, separators=separators).removesuffix('"}')
        for separators in ((",", ":"), (", ", ": "))
    )
    return compact, spaced


_APPENDS = append_heads(APPEND)


def append_sound(
    text: str | bytes, audio_format: AudioFormat, heads: tuple[str, str] = _APPENDS
) -> Samples | None:
    """Decode an append in one of the common serializations, to int16 mono. heads: see `append_heads`.

    Return None if the message needs the full JSON parser, to be decoded or to report its error.
    """
    if isinstance(text, bytes) or not text.startswith(heads) or not text.endswith('"}'):
        return None
    begin = len(heads[0] if text.startswith(heads[0]) else heads[1])
    if may_be_file(text, begin):
        return None
    try:
        return decode_sound(b64decode(text[begin:-2], validate=True), audio_format)
    except ValueError:  # base64's error is a ValueError
        return None


def event_id_of(text: str | bytes) -> str | None:
    """Return the client's `event_id` of a decodable event, None if it has none."""
    return named_id(parse_event(text))


def named_id(document: dict[str, Any]) -> str | None:
    """Return the `event_id` that an event's error names. None if it has none, or one that is refused for its
    length: the error would repeat all of it.
    """
    event_id = document.get("event_id")
    return event_id if isinstance(event_id, str) and len(event_id) <= wire.MAX_EVENT_ID else None


def parse_event(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object of a message. Raise RequestError."""
    try:
        document = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError("invalid_json", f"the message is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise RequestError("invalid_json", f"the message is {shorten(document)}; a JSON object is needed")
    return document


def _event_model(document: dict[str, Any], settings: CallSettings) -> type[wire.ClientEvent]:
    if "type" not in document:
        raise RequestError("missing_required_parameter", "type is missing", "type")
    name = document["type"]
    model = wire.CLIENT_EVENTS.get(name) if isinstance(name, str) else None
    if model is None:
        allowed = ", ".join(wire.CLIENT_EVENTS)
        raise RequestError("invalid_value", f"type is {shorten(name)}; allowed: {allowed}", "type")
    if settings.only_transcribes and name not in transcription.EVENTS:
        message = f"type is {shorten(name)}, but this is a transcription session"
        raise RequestError("invalid_value", f"{message}; allowed: {', '.join(transcription.EVENTS)}", "type")
    return model


def _check_image(item: WireItem, param: str, settings: CallSettings) -> None:
    """Raise RequestError for a picture if the LLM does not accept images."""
    index = first_image(item)
    if index is not None and not settings.sees_images:
        place = f"{param}.content[{index}]"
        message = (
            f"{place} is a picture, and the LLM of this server does not see (llm.images); allowed: "
            "'input_text', 'input_audio'"
        )
        raise RequestError("invalid_value", message, place)


def _item_sound(item: WireItem, settings: CallSettings) -> Samples:
    """Return the audio of a created item for recognition, [n] at 16 kHz. Raise RequestError."""
    # WebRTC audio has its own rate, which the API does not define
    audio_format = FORMATS[show_format(settings.input_format)["type"]]
    pieces = [
        to_samples(audio, f"item.content[{index}].audio", audio_format)
        for index, audio in unrecognized_sound(item)
    ]
    sound = np.concatenate(pieces) if pieces else np.zeros(0, np.int16)
    if pieces and not len(sound):
        raise RequestError("invalid_value", "item.content has sound of no length", "item.content")
    return resample(sound, audio_format.rate_hz, SAMPLE_RATE_HZ)


def _append(audio: object, settings: CallSettings) -> AudioAppended:
    if not isinstance(audio, str):
        if audio is None:
            raise RequestError("missing_required_parameter", "audio is missing", "audio")
        raise RequestError("invalid_type", f"audio is {shorten(audio)}; base64 text is needed", "audio")
    return AudioAppended(to_samples(audio, "audio", settings.input_format))


def to_samples(audio: str, param: str, audio_format: AudioFormat) -> Samples:
    """Decode base64 audio without a header. Raise RequestError."""
    check_raw(audio, audio_format, param)
    try:
        return decode_sound(from_base64(audio), audio_format)
    except Base64Error as error:
        raise RequestError("invalid_value", f"{param} is not base64: {error}", param) from error
    except ValueError as error:  # an odd number of bytes, or characters beyond ASCII
        raise RequestError("invalid_value", f"{param} cannot be read: {error}", param) from error


def _voice(wanted: wire.ResponseObject) -> str | None:
    """Return the name of the voice of this response, None for the call's."""
    output = wanted.audio.output if wanted.audio else None
    return voice_name(output.voice) if output else None


def _check_format(wanted: wire.ResponseObject, settings: CallSettings) -> None:
    output = wanted.audio.output if wanted.audio else None
    if output and output.format and to_format(output.format) is not settings.output_format:
        param = "response.audio.output.format"
        message = f"{param} is {output.format.type!r}; a response has the call's format; see session.update"
        raise RequestError("invalid_value", message, param)
