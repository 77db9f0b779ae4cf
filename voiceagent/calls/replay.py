"""A log run through a fresh conversation: the same commands must come out, byte by byte. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import unified_diff

from voiceagent.calls.codec import Inline, Json, dumps, encode
from voiceagent.calls.event_log import CallLog, LoggedRecord, fault_name
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.machine import Conversation

_INLINE = Inline()


class CannotReplay(Exception):
    """The log does not hold what a replay needs; the text says what."""


@dataclass(frozen=True, slots=True)
class Departure:
    """The first event whose commands are others than in the log.

    number: of the record. expected, found: ids and commands, each a line of JSON.
    """

    number: int
    event: str
    expected: tuple[str, ...]
    found: tuple[str, ...]

    def diff(self) -> str:
        """What differs, as `diff -u` shows it."""
        lines = unified_diff(self.expected, self.found, "logged", "replayed", lineterm="")
        return "\n".join([f"event {self.number}: {self.event}", *lines])


class LoggedIds:
    """Makes the ids that were made in the call, and new ones where there are no more."""

    def __init__(self) -> None:
        self._logged: deque[str] = deque()
        self._more = 0
        self.made: list[str] = []

    def expect(self, ids: Iterable[str]) -> None:
        """Those that come next."""
        self._logged = deque(ids)
        self.made = []

    def __call__(self, prefix: str) -> str:
        """The next id; where the log has none, or one with another prefix, one that no call has."""
        if self._logged and self._logged[0].startswith(prefix + "_"):
            made = self._logged.popleft()
        else:
            self._more += 1
            made = f"{prefix}_replayed{self._more}"
        self.made.append(made)
        return made


def new_conversation(log: CallLog, ids: LoggedIds) -> Conversation:
    """A conversation as the log's began. Raises CannotReplay."""
    header = log.header
    if header.words != "keep":
        raise CannotReplay(f"words were not kept in this log (calls.words = {header.words!r})")
    return Conversation(header.settings, header.policy, header.rate_hz, ids)


def whole_records(log: CallLog) -> Iterator[LoggedRecord]:
    """The records in turn. Raises CannotReplay at one before which others were lost."""
    for number, record in enumerate(log.records, 1):
        if record.number != number:
            lost = record.number - number
            raise CannotReplay(f"{lost} events before event {record.number} could not be written in the call")
        yield record


def replay(log: CallLog) -> Departure | None:
    """Run the whole log; None where all commands are the same. Raises CannotReplay."""
    ids = LoggedIds()
    conversation = new_conversation(log, ids)
    for record in whole_records(log):
        ids.expect(record.ids)
        commands, fault = _handled(conversation, record.event)
        expected = _lines(list(record.ids), record.commands, record.fault)
        found = _lines(ids.made, commands, fault)
        if expected != found:
            return Departure(record.number, dumps(encode(record.event, _INLINE)), expected, found)
        if fault:
            return None  # there the call ended
    return None


def heard_texts(log: CallLog, breathe: Callable[[], None] = lambda: None) -> dict[str, str]:
    """What the caller heard of each message of the agent, by its item, as the history has it in the end.

    breathe: called after every event. Raises CannotReplay.
    """
    ids = LoggedIds()
    conversation = new_conversation(log, ids)
    for record in whole_records(log):
        ids.expect(record.ids)
        _, fault = _handled(conversation, record.event)
        if fault:
            break
        breathe()
    items = conversation.history.items
    messages = [item for item in items if isinstance(item, MessageItem) and item.role == "assistant"]
    return {message.item_id: message.text for message in messages}


def _handled(conversation: Conversation, event: ev.Event) -> tuple[Json, str]:
    """The commands that come of an event, or the fault."""
    try:
        return [encode(command, _INLINE) for command in conversation.handle(event)], ""
    except Exception as fault:  # of the conversation, which never should
        return [], fault_name(fault)


def _lines(ids: list[str], commands: Json, fault: str) -> tuple[str, ...]:
    told = [f"fault {fault}"] if fault else []
    return (f"ids {dumps(ids)}", *(dumps(command) for command in commands), *told)
