"""What the log of a call tells: the header, an event with what came of it, and what else happened. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.texts import Words
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy


@dataclass(frozen=True, slots=True)
class Header:
    """What a call's conversation was made with, and when.

    started_at: Unix seconds. clock_s: monotonic seconds then. versions: of what was running, by name. words:
    how they are written.
    """

    call_id: str
    started_at: float
    clock_s: float
    settings: CallSettings
    policy: TurnPolicy
    rate_hz: int
    versions: dict[str, str] = field(default_factory=dict)
    words: Words = "keep"


@dataclass(frozen=True, slots=True)
class Record:
    """One event, the ids that were made and the commands that came of it.

    number: from 1 on; one that is left out was lost. clock_s: monotonic seconds. received_s: the media clock,
    seconds of the caller's sound received by then. fault: what the conversation raised, "" where all is well.
    """

    number: int
    clock_s: float
    received_s: float
    event: ev.Event
    ids: Sequence[str]
    commands: Sequence[do.Command]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class SoundSpan:
    """Where the recording has a piece of a response: samples at the recording's rate, `until` excluded."""

    response_id: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class RecordingBegan:
    """There is sound: `rate_hz` is the recording's, by which spans are counted."""

    rate_hz: int


@dataclass(frozen=True, slots=True)
class SilentSpan:
    """Where the recording has silence because the caller sent nothing, as in `SoundSpan`: the caller's own
    clock stood still, so that what comes later stands later in the recording than in his sound.
    """

    since: int
    until: int


@dataclass(frozen=True, slots=True)
class LoopStalled:
    """The event loop woke `lag_s` too late at `clock_s`, monotonic seconds: nothing was done meanwhile."""

    clock_s: float
    lag_s: float


@dataclass(frozen=True, slots=True)
class HeardText:
    """What the caller heard of a message of the agent; told when the response is over, and told again where
    that changes.
    """

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is known of a call, by its name."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class CallIdentified:
    """What a phone line told of the call as it began. line_call: the call's id at the provider."""

    line_call: str
    facts: tuple[Fact, ...]


def told_by_line(entry: Json, words: str) -> tuple[Fact, ...]:
    """What a `CallIdentified` of a log has: the call's id at the provider as `line_call`, and the facts where
    `words` are kept.
    """
    known = entry["facts"] if words == "keep" else ()
    facts = [("line_call", entry["line_call"]), *((fact["name"], fact["value"]) for fact in known)]
    return tuple(Fact(name, value) for name, value in facts if value)


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call is over. clock_s: monotonic seconds. heard: by `heard_texts`, which nothing else tells."""

    reason: str
    clock_s: float
    heard: tuple[HeardText, ...] = ()


@dataclass(frozen=True, slots=True)
class CallLost:
    """The process that had the call was lost: whoever saw that says why, behind all that was written until
    then. clock_s: monotonic seconds.
    """

    reason: str
    clock_s: float


def heard_texts(history: Sequence[Item]) -> tuple[HeardText, ...]:
    """What a history says was heard of the agent. A message that is not over is left out: it has no text yet,
    and where the log broke off, what of it was heard is not known.
    """
    messages = [item for item in history if isinstance(item, MessageItem) and item.role == "assistant"]
    return tuple(HeardText(said.item_id, said.text) for said in messages if said.status != "in_progress")


Entry = (
    Record
    | TurnReport
    | RecordingBegan
    | SoundSpan
    | SilentSpan
    | LoopStalled
    | HeardText
    | CallIdentified
    | CallEnded
)


def fault_name(fault: Exception) -> str:
    """Which exception it was, without its text, in which a person's words may be."""
    return type(fault).__name__
