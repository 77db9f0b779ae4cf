"""What is different in a call that is run again, and what that comes to. Pure values."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from audio.endpoint import EndpointConfig
from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.event_log import CallLog
from voiceagent.calls.replaying.answers import Counts
from voiceagent.conversation import events as ev
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a call and the commands that came of it, as JSON values. Times as in `Record`."""

    clock_s: float
    received_s: float
    event: ev.Event
    commands: Json


@dataclass(frozen=True, slots=True)
class Forked:
    """A call as it would have been, and who answered in it."""

    steps: tuple[Step, ...]
    counts: Counts


@dataclass(frozen=True, slots=True)
class Change:
    """What is different from event number `since` on.

    settings: those that a call would have had in place of some, its first and those that a client asked for.
    endpoint: what counted as speech and as a pause in the call. late_s: after how long a filler is said.
    anew: stages whose engine is another one, and asked everything again.
    """

    since: int
    settings: Callable[[CallSettings], CallSettings]
    policy: TurnPolicy
    endpoint: EndpointConfig
    late_s: float
    anew: AbstractSet[ev.Stage] = frozenset()


def logged_steps(log: CallLog) -> tuple[Step, ...]:
    """A call as it was."""
    return tuple(Step(r.clock_s, r.received_s, r.event, r.commands) for r in log.records)


def settings_in(log: CallLog) -> list[CallSettings]:
    """All settings that a call had."""
    changed = [
        record.event.settings for record in log.records if isinstance(record.event, ev.SettingsChanged)
    ]
    return [log.header.settings, *changed]
