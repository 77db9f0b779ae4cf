"""Replay of a log through a fresh conversation, which must produce the same commands byte by byte."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from voiceagent.calls.log.codec import Inline, Json, dumps, encode
from voiceagent.calls.log.entries import HeardText, fault_name, heard_texts
from voiceagent.calls.log.event_log import CallLog, LoggedRecord
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import Item
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.prompting.items import mcp_as_tool_items
from voiceagent.conversation.settings import CallSettings

_INLINE = Inline()
_FORMER_FIELDS = frozenset(
    ("priority_class", "due_s", "priority", "proposals", "draft_reads", "caller", "traceparent")
)
"""Fields of requests in older logs; now the session adds them when it calls the LLM."""


class CannotReplay(Exception):
    """The log lacks data for a replay. The text says which."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event with different commands.

    number: of the record. expected, found: ids and commands, each a line of JSON.
    """

    number: int
    event: str
    expected: tuple[str, ...]
    found: tuple[str, ...]

    def diff(self) -> str:
        """Return the differences in the format of `diff -u`."""
        lines = unified_diff(self.expected, self.found, "logged", "replayed", lineterm="")
        return "\n".join([f"event {self.number}: {self.event}", *lines])


class LoggedIds:
    """Id generator that returns the logged ids, and new ones if there are none."""

    def __init__(self) -> None:
        self._logged: deque[str] = deque()
        self._more = 0
        self.created: list[str] = []

    def expect(self, ids: Iterable[str]) -> None:
        """Set the next ids."""
        self._logged = deque(ids)
        self.created = []

    def __call__(self, prefix: str) -> str:
        """Return the next id; a new one if the log has none, or one with another prefix."""
        if self._logged and self._logged[0].startswith(prefix + "_"):
            new_id = self._logged.popleft()
        else:
            self._more += 1
            new_id = f"{prefix}_replayed{self._more}"
        self.created.append(new_id)
        return new_id


Handle = Callable[[ev.Event], Sequence[Command]]
"""Handles an event and returns the commands that are logged."""


def check_words(log: CallLog) -> None:
    """Raise CannotReplay if the log has no texts."""
    if log.header.words != "keep":
        raise CannotReplay(f"words were not kept in this log (calls.personal_data = {log.header.words!r})")


def check_public(log: CallLog) -> None:
    """Raise CannotReplay if the call had private input: its words decided about turns and are not logged."""
    for record in log.records:
        if isinstance(record.event, ev.TurnsClaimed) and record.event.private:
            raise CannotReplay(f"event {record.number} begins private input, which is not in the log")


def has_upstream(log: CallLog) -> bool:
    """Return True if the call's core was an upstream server."""
    return any(isinstance(record.event, ev.UpstreamEvent) for record in log.records)


def new_conversation(log: CallLog, ids: LoggedIds) -> Conversation:
    """Return a conversation in the log's initial state. Raises CannotReplay."""
    check_words(log)
    if has_upstream(log):
        raise CannotReplay("the core of this call was an upstream: what that decided is not known here")
    return Conversation(log.header.settings, log.header.policy, log.header.rate_hz, ids)


def _new_handler(log: CallLog, ids: LoggedIds) -> Handle:
    return new_conversation(log, ids).handle


def whole_records(log: CallLog) -> Iterator[LoggedRecord]:
    """Yield the records. Raises CannotReplay at a gap."""
    for number, record in enumerate(log.records, 1):
        if record.number != number:
            lost = record.number - number
            raise CannotReplay(f"{lost} events before event {record.number} could not be written in the call")
        yield record


def replay(
    log: CallLog,
    yield_gil: Callable[[], None] = lambda: None,
    begin: Callable[[CallLog, LoggedIds], Handle] = _new_handler,
) -> Divergence | None:
    """Replay the whole log. Return None if all commands are the same. yield_gil: called after every event.
    begin: returns the call's core in its initial state. Raises CannotReplay.
    """
    check_public(log)
    ids = LoggedIds()
    handle = begin(log, ids)
    for record in whole_records(log):
        ids.expect(record.ids)
        commands, fault = _handled(handle, record.event)
        logged = _without_former_fields(record.commands)
        expected = _lines(list(record.ids), logged, record.fault)
        found = _lines(ids.created, _without_new_fields(commands, logged), fault)
        if expected != found:
            return Divergence(record.number, dumps(encode(record.event, _INLINE)), expected, found)
        yield_gil()
    return None


def played_texts_in(log: CallLog) -> tuple[HeardText, ...]:
    """Return the played texts at the end of the log. Raises CannotReplay."""
    return heard_texts(_ended_conversation(log).history.items)


@dataclass(frozen=True, slots=True)
class Continuation:
    """End of a call, from which another can continue. Calls of MCP servers are calls of functions."""

    settings: CallSettings
    items: tuple[Item, ...]


def continuation(log: CallLog, yield_gil: Callable[[], None] = lambda: None) -> Continuation:
    """Return the end of a call. yield_gil: called after every event. Raises CannotReplay."""
    conversation = _ended_conversation(log, yield_gil)
    return Continuation(conversation.settings, mcp_as_tool_items(conversation.history.items))


def _ended_conversation(log: CallLog, yield_gil: Callable[[], None] = lambda: None) -> Conversation:
    ids = LoggedIds()
    conversation = new_conversation(log, ids)
    for record in whole_records(log):
        ids.expect(record.ids)
        _handled(conversation.handle, record.event)
        yield_gil()
    return conversation


def _handled(handle: Handle, event: ev.Event) -> tuple[Json, str]:
    try:
        return [encode(command, _INLINE) for command in handle(event)], ""
    except Exception as fault:  # of the conversation, which should never raise
        return [], fault_name(fault)


def _without_former_fields(logged: Json) -> Json:
    """Remove fields that commands no longer have."""
    if isinstance(logged, dict):
        return {
            name: _without_former_fields(value)
            for name, value in logged.items()
            if name not in _FORMER_FIELDS
        }
    return [_without_former_fields(value) for value in logged] if isinstance(logged, list) else logged


def _without_new_fields(found: Json, logged: Json) -> Json:
    """Remove fields that the log does not know, as they are newer."""
    if isinstance(found, dict) and isinstance(logged, dict):
        return {
            name: _without_new_fields(value, logged[name]) for name, value in found.items() if name in logged
        }
    if isinstance(found, list) and isinstance(logged, list) and len(found) == len(logged):
        return [_without_new_fields(*pair) for pair in zip(found, logged, strict=True)]
    return found


def _lines(ids: list[str], commands: Json, fault: str) -> tuple[str, ...]:
    faults = [f"fault {fault}"] if fault else []
    return (f"ids {dumps(ids)}", *(dumps(command) for command in commands), *faults)
