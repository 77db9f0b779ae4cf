"""Rewriting of message histories without the shapes that a server or a template refuses.

The result keeps all that the model must know. Its beginning stays the same while the history grows, as prefix
caches require: each message is rewritten independently of the following ones, except that neighbours of one
role are joined and that a message may be added at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import takewhile

from llmcore.engine import Message, Tool, ToolCall
from llmcore.text.message_shapes import GO_ON, NO_RESULT, OPENING, SILENCE, Shapes

_NOTE_MARKS = re.compile(r"<(/?)(system|tool_result)>", re.IGNORECASE)
_NINE_CHARACTERS = re.compile(r"[a-zA-Z0-9]{9}")
_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_ID_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def adapt_messages(messages: Sequence[Message], shapes: Shapes) -> tuple[Message, ...]:
    """Return the messages in the form for a server that refuses these shapes.

    If system or tool notes are sent in user messages, callers and results cannot forge one: a space breaks up
    any such mark in their text.
    """
    if shapes.refused & {"system", "later_system", "tool_messages"}:
        messages = [_without_note_marks(message) for message in messages]
    return reshape(messages, shapes)


def adapt_tools(tools: tuple[Tool, ...], shapes: Shapes) -> tuple[Tool, ...]:
    """Return the tools in the form for such a server."""
    return tools if shapes.accepts("tools") else ()


def reshape(messages: Sequence[Message], shapes: Shapes) -> tuple[Message, ...]:
    """Return the history without the refused shapes.

    Always repaired, as no server accepts it: a call without a result directly after it, a result without a
    call directly before it, two calls with one id, and an empty history. Reshaping is idempotent.
    """
    shaped = _results_after_calls(messages)
    if not shaped:
        return (Message("user", OPENING),)
    if not shapes.refused:
        return tuple(shaped)
    if not shapes.accepts("tool_messages"):
        shaped = list(_calls_as_text(shaped))
    if not shapes.accepts("system") or not shapes.accepts("later_system"):
        shaped = _single_system(shaped, shapes.accepts("system"))
    shaped = list(_split(shaped, shapes))
    shaped = _joined(shaped, shapes)
    shaped = list(_with_fillers(shaped, shapes))
    shaped = _with_ends(shaped, shapes)
    return tuple(_with_ids(shaped, shapes))


def system_note(text: str) -> str:
    """Return a system message's text as a note in a user message."""
    return f"<system>{text}</system>"


def result_note(text: str, name: str = "", arguments: str = "") -> str:
    """Return a tool's result as a note in a user message."""
    of = f"{name}({arguments}): " if arguments else f"{name}: " if name else ""
    return f"<tool_result>{of}{text}</tool_result>"


def _without_note_marks(message: Message) -> Message:
    if message.role == "system" or "<" not in message.content:
        return message
    content = _NOTE_MARKS.sub(lambda mark: f"< {mark[1]}{mark[2]}>", message.content)
    return replace(message, content=content) if content != message.content else message


def _results_after_calls(messages: Sequence[Message]) -> list[Message]:
    """Return the history with one result after each call, in the calls' order.

    A later result becomes text at its own place, so that the prompt before it does not change.
    """
    placed: list[Message] = []
    names: dict[str | None, str] = {}
    used: set[str] = set()
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if message.role == "tool":
            note = result_note(message.content, names.get(message.tool_call_id, ""))
            placed.append(Message("user", note))
            continue
        if not message.tool_calls:
            placed.append(message)
            continue
        calls = tuple(_with_unique_id(call, used) for call in message.tool_calls)
        placed.append(message if calls == message.tool_calls else replace(message, tool_calls=calls))
        results = list(takewhile(lambda one: one.role == "tool", messages[index:]))
        index += len(results)
        for call, own in zip(message.tool_calls, calls, strict=True):
            names[call.call_id] = call.name
            placed.append(_pop_result(results, call.call_id, own.call_id))
        placed += [
            Message("user", result_note(one.content, names.get(one.tool_call_id, ""))) for one in results
        ]
    return placed


def _with_unique_id(call: ToolCall, used: set[str]) -> ToolCall:
    """Return the call with an id that no earlier call has, and add that id to `used`.

    Some servers give all calls one id, and some templates look up results by id.
    """
    own, number = call.call_id, 1
    while own in used:
        number += 1
        own = nine_character_id(f"{call.call_id} {number}")
    used.add(own)
    return call if own == call.call_id else replace(call, call_id=own)


def _pop_result(results: list[Message], call_id: str, own_id: str) -> Message:
    """Remove the first result of this call from `results`. Return it with the call's own id."""
    for place, result in enumerate(results):
        if result.tool_call_id == call_id:
            found = results.pop(place)
            return found if own_id == call_id else replace(found, tool_call_id=own_id)
    return Message("tool", NO_RESULT, tool_call_id=own_id)


def _calls_as_text(messages: Iterable[Message]) -> Iterable[Message]:
    """Yield the history with calls and results as user text.

    As agent text, the model would imitate the calls in words, which would be spoken.
    """
    calls: list[ToolCall] = []
    for message in messages:
        if message.role == "tool":
            call = calls.pop(0)  # in order of the calls
            yield Message("user", result_note(message.content, call.name, call.arguments))
        elif message.tool_calls:
            calls = list(message.tool_calls)
            if message.content.strip():
                yield replace(message, tool_calls=())
        else:
            yield message


def _single_system(messages: Sequence[Message], allowed: bool) -> list[Message]:
    """Return the history with all leading system messages as one, and none later."""
    leading = list(takewhile(lambda message: message.role == "system", messages))
    later = [
        Message("user", system_note(message.content)) if message.role == "system" else message
        for message in messages[len(leading) :]
    ]
    if not leading:
        return later
    text = "\n\n".join(message.content for message in leading)
    return [Message("system" if allowed else "user", text), *later]


def _split(messages: Sequence[Message], shapes: Shapes) -> Iterable[Message]:
    """Yield the history with text and calls apart, and calls one by one, as the shapes require."""
    for index, message in enumerate(messages):
        if message.role == "tool" and not shapes.accepts("parallel_calls"):
            continue  # yielded after its call
        if not message.tool_calls:
            yield message
            continue
        if message.content.strip() and not shapes.accepts("words_with_calls"):
            yield Message("assistant", message.content)
            calling = replace(message, content="")
        else:
            calling = message
        if shapes.accepts("parallel_calls"):
            yield calling
            continue
        for place, call in enumerate(calling.tool_calls):
            alone = replace(calling, tool_calls=(call,))
            yield alone if place == 0 else Message("assistant", "", (call,))
            yield messages[index + 1 + place]


def _joined(messages: Sequence[Message], shapes: Shapes) -> list[Message]:
    """Return the history with neighbours of one role joined."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is None or last.role != message.role or not _may_join(last, message, shapes):
            joined.append(message)
        else:
            joined[-1] = replace(last, content=_joined_text(last, message), tool_calls=message.tool_calls)
    return joined


def _joined_text(one: Message, other: Message) -> str:
    """Return the joined text of two messages of one role.

    The blank line before a user message is added even if that is still empty: as it grows, the prompt is
    only extended.
    """
    if one.role == "user":
        return f"{one.content}\n\n{other.content}" if one.content else other.content
    return " ".join(filter(None, (one.content, other.content)))


def _may_join(one: Message, other: Message, shapes: Shapes) -> bool:
    if one.role == "user":
        return True
    if one.role != "assistant" or one.tool_calls:
        return False
    return not other.tool_calls or shapes.accepts("words_with_calls")


def _with_fillers(messages: Sequence[Message], shapes: Shapes) -> Iterable[Message]:
    """Yield the history with a filler message between any two that may not be neighbours."""
    before = ""
    for message in messages:
        if before == "tool" and message.role == "user" and not shapes.accepts("user_after_tool"):
            yield Message("assistant", SILENCE)
        elif before == "assistant" == message.role and not shapes.accepts("assistant_twice"):
            yield Message("user", GO_ON)
        yield message
        before = message.role


def _with_ends(messages: list[Message], shapes: Shapes) -> list[Message]:
    """Return the history with a user message at the ends that require one."""
    start = sum(1 for _ in takewhile(lambda message: message.role == "system", messages))
    if not shapes.accepts("assistant_first") and (start == len(messages) or messages[start].role != "user"):
        messages = [*messages[:start], Message("user", OPENING), *messages[start:]]
    if not shapes.accepts("assistant_last") and messages[-1].role == "assistant":
        messages = [*messages, Message("user", GO_ON)]
    return messages


def _with_ids(messages: Iterable[Message], shapes: Shapes) -> Iterable[Message]:
    """Yield the history with accepted call ids."""
    form = (
        _NINE_CHARACTERS
        if not shapes.accepts("long_ids")
        else _PLAIN
        if not shapes.accepts("odd_ids")
        else None
    )
    if form is None:
        yield from messages
        return
    sendable = _sendable_ids(form)
    for message in messages:
        if message.tool_calls:
            calls = tuple(replace(call, call_id=sendable(call.call_id)) for call in message.tool_calls)
            yield replace(message, tool_calls=calls)
        elif message.tool_call_id is not None:
            yield replace(message, tool_call_id=sendable(message.tool_call_id))
        else:
            yield message


def _sendable_ids(form: re.Pattern[str]) -> Callable[[str], str]:
    return lambda call_id: call_id if form.fullmatch(call_id) else nine_character_id(call_id)


def nine_character_id(call_id: str) -> str:
    """Return nine letters and digits derived from this id, always the same ones."""
    number = int.from_bytes(blake2b(call_id.encode(errors="replace"), digest_size=8).digest())
    characters = []
    for _ in range(9):
        number, character = divmod(number, len(_ID_CHARACTERS))
        characters.append(_ID_CHARACTERS[character])
    return "".join(characters)
