"""Change of settings and result of a fork."""

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
    """One event of a call and the commands it produced, as JSON values. Times as in `Record`."""

    clock_s: float
    received_s: float
    event: ev.Event
    commands: Json


@dataclass(frozen=True, slots=True)
class Forked:
    """Result of a fork, and statistics of its answers."""

    steps: tuple[Step, ...]
    counts: Counts


@dataclass(frozen=True, slots=True)
class Change:
    """Changes from event number `since` on.

    settings: maps the settings of the call, initial ones and a client's updates, to new ones. endpoint: the
    call's endpointing thresholds. late_s: delay of the filler. live_stages: stages with a different
    engine, which answers all requests again.
    """

    since: int
    settings: Callable[[CallSettings], CallSettings]
    policy: TurnPolicy
    endpoint: EndpointConfig
    late_s: float
    live_stages: AbstractSet[ev.Stage] = frozenset()


def logged_steps(log: CallLog) -> tuple[Step, ...]:
    """Return the steps of the original call."""
    return tuple(Step(r.clock_s, r.received_s, r.event, r.commands) for r in log.records)


def settings_in(log: CallLog) -> list[CallSettings]:
    changed = [
        record.event.settings for record in log.records if isinstance(record.event, ev.SettingsChanged)
    ]
    return [log.header.settings, *changed]
