"""Messages of real calls for each input of the server, and ways to break them."""

from __future__ import annotations

import random
import re
from typing import Any

from phone_lines import Message

NUMBERS = ("0", "-1", "1e999", "9" * 30, "1" + "0" * 400, "null", "[]", "{}", '""', "true", "NaN")
"""What no field expects."""

_VAD = {"type": "server_vad", "threshold": 0.5, "idle_timeout_ms": 900}
_TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
_PCMU = {"input": {"format": {"type": "audio/pcmu"}}}
_SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello?"}]}
_OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "{}"}
CLIENT_EVENTS: list[dict[str, Any]] = [
    {"type": "session.update", "session": {"type": "realtime", "instructions": "Be kind."}},
    {"type": "session.update", "session": {"type": "realtime", "tool_choice": "auto", "audio": _PCMU}},
    {
        "type": "session.update",
        "session": {"type": "realtime", "tools": [_TOOL], "audio": {"input": {"turn_detection": _VAD}}},
    },
    {"type": "input_audio_buffer.append", "audio": "AAAAAAAA" * 40},
    {"type": "input_audio_buffer.commit"},
    {"type": "input_audio_buffer.clear"},
    {"type": "output_audio_buffer.clear"},
    {"type": "conversation.item.create", "previous_item_id": "root", "item": {"id": "a", **_SAID}},
    {"type": "conversation.item.create", "item": _OUTPUT},
    {"type": "conversation.item.truncate", "item_id": "a", "content_index": 0, "audio_end_ms": 100},
    {"type": "conversation.item.delete", "item_id": "a"},
    {"type": "conversation.item.retrieve", "item_id": "a"},
    {"type": "response.create", "response": {"output_modalities": ["text"], "max_output_tokens": 4}},
    {"type": "response.create", "response": {"conversation": "none", "metadata": {"a": "b"}, "input": []}},
    {"type": "response.cancel"},
]

_BACKEND = {"type": "responses", "responses": {"model": "m", "tools": [_TOOL], "instructions": "Look."}}
_CONTEXT = {"content": "It rains.", "delegation_id": None}
LIVE_EVENTS: list[dict[str, Any]] = [
    {"type": "session.input_audio.append", "audio": "AAAAAAAA" * 40},
    {"type": "session.input_audio.mute"},
    {"type": "session.input_audio.unmute"},
    {"type": "session.instructions.append", **_CONTEXT},
    {"type": "session.thinking.append", **_CONTEXT},
    {"type": "session.commentary.append", **_CONTEXT},
    {"type": "session.update", "session": {"delegation": _BACKEND}},
    {"type": "response.item.create", "item": _SAID},
    {"type": "response.item.create", "item": _OUTPUT},
    {"type": "response.create"},
    {"type": "decision.create", "event_id": "e"},
    {"type": "decision.item.create", "item": _SAID},
    {"type": "decision.item.delete", "item_id": "a"},
    {"type": "transport.dtmf.send", "digits": "1"},
    {"type": "session.output_audio.fixture.play", "audio": "AAAA"},
]
LIVE_START = {
    "type": "session.start",
    "session": {
        "model": "m",
        "instructions": "Be kind.",
        "delegation": {**_BACKEND, "acknowledgement_delay_ms": 400},
        "idle_timeout_s": 5,
        "wake_policy": {"type": "speech", "vad_threshold": 0.5},
        "store": False,
        "triggers": [],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hello?"}]}],
        "audio": {"format": {"type": "audio/pcmu", "rate": 8000}, "output": {"voice": {"id": "v"}}},
    },
}


def mutated(message: Message, chance: random.Random) -> Message:
    """The message as it is, or broken in one of the ways in which messages break."""
    if isinstance(message, str):
        return mutated_text(message, chance)
    data = bytearray(message)
    match chance.randrange(6):
        case 0:
            pass
        case 1 if data:
            for _ in range(chance.randint(1, 8)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case 2:
            del data[chance.randint(0, len(data)) :]
        case 3:
            data += chance.randbytes(chance.randint(1, 64))
        case 4 if data:
            begin = chance.randrange(len(data))
            data[begin:begin] = data[begin : begin + chance.randint(1, 200)]
        case _:
            data = bytearray(chance.randbytes(chance.randint(0, 200)))
    return bytes(data)


def mutated_text(text: str, chance: random.Random) -> str:
    match chance.randrange(9):
        case 0:
            return text
        case 1:
            values = list(re.finditer(r'(?<=:)\s*("[^"]*"|-?[\d.]+|null|true|false)', text))
            if not values:
                return text
            found = chance.choice(values)
            return text[: found.start()] + chance.choice(NUMBERS) + text[found.end() :]
        case 2:
            return text[: chance.randint(0, len(text))]
        case 3:
            return text.replace('"', chance.choice(("'", "\\", '"\\ud800', "")), chance.randint(1, 4))
        case 4:
            begin = chance.randint(0, len(text))
            return text[:begin] + chance.choice("[{") * chance.randint(1, 400) + text[begin:]
        case 5:
            begin = chance.randint(0, len(text))
            return text[:begin] + "a" * chance.randint(1, 5_000) + text[begin:]
        case 6:
            words = re.findall(r'"(\w+)":', text) or [""]
            return text.replace(f'"{chance.choice(words)}":', f'"{chance.choice(words)}x":')
        case 7:
            begin, end = sorted(chance.randint(0, len(text)) for _ in range(2))
            return text[:begin] + text[begin:end] * 3 + text[end:]
        case _:
            letters = [
                chr(chance.choice((0, 10, 34, 92, 0x7F, 0xE9, 0x2028, 0xFFFF, 0x1F600))) for _ in range(20)
            ]
            begin = chance.randint(0, len(text))
            return text[:begin] + "".join(letters) + text[begin:]
