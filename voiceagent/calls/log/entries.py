"""Entries of a call's log: the header, an event with its commands, and other facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.texts import Words
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy


@dataclass(frozen=True, slots=True)
class Header:
    """Parameters of a call's conversation, and its start.

    started_at: Unix seconds. clock_s: monotonic seconds then. versions: of the running software, by name.
    words: policy for texts.
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
    """One event, the ids created and the commands produced by it.

    number: from 1 on; gaps are lost events. clock_s: monotonic seconds. received_s: the media clock, seconds
    of the caller's audio received by then. fault: exception of the conversation, "" for none.
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
    """Position of a part of a response in the recording: samples at its rate, `until` exclusive."""

    response_id: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class RecordingBegan:
    """Start of the recording. rate_hz: its sample rate, and the unit of spans."""

    rate_hz: int


@dataclass(frozen=True, slots=True)
class SilentSpan:
    """Silence in the recording because the caller sent nothing, positions as in `SoundSpan`. The caller's
    media clock stopped, so later audio has a later position in the recording than in the input.
    """

    since: int
    until: int


@dataclass(frozen=True, slots=True)
class LoopStalled:
    """The event loop woke `lag_s` too late at `clock_s`, monotonic seconds. Nothing was done meanwhile."""

    clock_s: float
    lag_s: float


@dataclass(frozen=True, slots=True)
class HeardText:
    """The played part of an agent's message. Written when the response is over, and again if it changes."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A named property of a call."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class CallIdentified:
    """Metadata from the telephony provider. line_call: the provider's call id."""

    line_call: str
    facts: tuple[Fact, ...]


def provider_facts(entry: Json, words: str) -> tuple[Fact, ...]:
    """Return the facts of a logged `CallIdentified`: the provider's call id as `line_call`, and the others if
    `words` are kept.
    """
    known = entry["facts"] if words == "keep" else ()
    facts = [("line_call", entry["line_call"]), *((fact["name"], fact["value"]) for fact in known)]
    return tuple(Fact(name, value) for name, value in facts if value)


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The call is over. clock_s: monotonic seconds. heard: by `heard_texts`, the only source of these."""

    reason: str
    clock_s: float
    heard: tuple[HeardText, ...] = ()
    end_code: CallEndCode = ""


@dataclass(frozen=True, slots=True)
class CallLost:
    """The call's process was lost, with the reason; written by another one. clock_s: monotonic seconds."""

    reason: str
    clock_s: float


def heard_texts(history: Sequence[Item]) -> tuple[HeardText, ...]:
    """Return the played parts of the agent's messages. A message in progress is left out: it has no text yet,
    and if the log broke off, its played part is unknown.
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
    """Return the exception's type without its text, which may be personal."""
    return type(fault).__name__
