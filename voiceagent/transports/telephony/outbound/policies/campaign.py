"""A campaign: a queue of calls with pacing, retries and calling hours.

Pure: every decision is a function of the campaign and of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, time
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from voiceagent.transports.telephony.outbound.policies.progress import Status

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class CallingHours:
    """Hours of a day, in a time zone of the IANA database, on some days. begin: before `end`, as the clock on
    the wall shows it there.
    """

    timezone: str
    begin: time
    end: time
    days: tuple[str, ...] = DAYS[:5]

    def is_open(self, now_s: float) -> bool:
        """Return True if people may be called at `now_s` (Unix seconds)."""
        local = datetime.fromtimestamp(now_s, ZoneInfo(self.timezone))
        return DAYS[local.weekday()] in self.days and self.begin <= local.time() < self.end


class EntryState(StrEnum):
    """The state of one entry. WAITING: for its first call or the next. ABANDONED: all attempts failed.
    CANCELLED: the campaign was stopped first.
    """

    WAITING = "waiting"
    CALLING = "calling"
    REACHED = "reached"
    ABANDONED = "abandoned"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Entry:
    """A person to call. attempts: calls so far. due_s: earliest time of the next call. call_id, status: of
    the last call. Others as in `OutboundCall`.
    """

    to: str
    agent: str = ""
    reason: str = ""
    provider: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    state: EntryState = EntryState.WAITING
    attempts: int = 0
    due_s: float = 0.0
    call_id: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class Pacing:
    """Rules of a campaign. calls_per_minute: begun at even intervals. at_once: concurrent calls. attempts:
    calls per person. retry_s: wait after a call that reached nobody.
    """

    hours: CallingHours
    calls_per_minute: float = 6.0
    at_once: int = 1
    attempts: int = 3
    retry_s: float = 1_800.0


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign. last_s: time of the last call, None before the first. request: digest of its request."""

    campaign_id: str
    pacing: Pacing
    entries: tuple[Entry, ...]
    last_s: float | None = None
    request: str = ""

    @property
    def is_over(self) -> bool:
        """True if no entry waits for a call or is being called."""
        return all(entry.state not in (EntryState.WAITING, EntryState.CALLING) for entry in self.entries)

    def next_call(self, now_s: float, engaged: Collection[str] = ()) -> int | None:
        """Return the index of the entry to call now, None if none may be called. First due, first called.

        engaged: numbers of the server's other calls, which are not called meanwhile.
        """
        if self._paced_until_s > now_s or not self.pacing.hours.is_open(now_s):
            return None
        if sum(entry.state is EntryState.CALLING for entry in self.entries) >= self.pacing.at_once:
            return None
        busy = {entry.to for entry in self.entries if entry.state is EntryState.CALLING}.union(engaged)
        due = [
            index
            for index, entry in enumerate(self.entries)
            if entry.state is EntryState.WAITING and entry.due_s <= now_s and entry.to not in busy
        ]
        return min(due, key=lambda index: self.entries[index].due_s, default=None)

    def with_call(self, index: int, call_id: str, now_s: float) -> Campaign:
        """Return the campaign after a call to an entry was begun."""
        entry = self.entries[index]
        calling = replace(
            entry, state=EntryState.CALLING, attempts=entry.attempts + 1, call_id=call_id, status="queued"
        )
        return replace(self._with(index, calling), last_s=now_s)

    def with_result(self, index: int, status: Status, now_s: float) -> Campaign:
        """Return the campaign after the call to an entry has ended with this status."""
        entry = replace(self.entries[index], status=status.value)
        if status is Status.COMPLETED:
            return self._with(index, replace(entry, state=EntryState.REACHED))
        if entry.attempts >= self.pacing.attempts:
            return self._with(index, replace(entry, state=EntryState.ABANDONED))
        return self._with(index, replace(entry, state=EntryState.WAITING, due_s=now_s + self.pacing.retry_s))

    def without_entry(self, index: int, reason: str) -> Campaign:
        """Return the campaign without further calls to an entry that may not be called."""
        return self._with(index, replace(self.entries[index], state=EntryState.ABANDONED, status=reason))

    def stop(self) -> Campaign:
        """Return the campaign without further calls. Calls that are running go on."""
        entries = tuple(
            replace(entry, state=EntryState.CANCELLED) if entry.state is EntryState.WAITING else entry
            for entry in self.entries
        )
        pacing = replace(self.pacing, attempts=0)  # a running call that reaches nobody is not repeated
        return replace(self, entries=entries, pacing=pacing)

    def to_json(self) -> dict[str, Any]:
        """Return the campaign as the API shows it."""
        counts = Counter(entry.state.value for entry in self.entries)
        calls = [
            {
                "to": entry.to,
                "state": entry.state.value,
                "attempts": entry.attempts,
                "call_id": entry.call_id,
                "status": entry.status,
            }
            for entry in self.entries
        ]
        return {
            "object": "campaign",
            "id": self.campaign_id,
            "status": "over" if self.is_over else "running",
            "counts": {state.value: counts[state.value] for state in EntryState},
            "calls": calls,
        }

    @property
    def _paced_until_s(self) -> float:
        return 0.0 if self.last_s is None else self.last_s + 60.0 / self.pacing.calls_per_minute

    def _with(self, index: int, entry: Entry) -> Campaign:
        return replace(self, entries=(*self.entries[:index], entry, *self.entries[index + 1 :]))


def to_document(campaign: Campaign) -> dict[str, Any]:
    """Return the stored form of a campaign."""
    document = asdict(campaign)
    hours = document["pacing"]["hours"]
    hours["begin"], hours["end"] = hours["begin"].isoformat(), hours["end"].isoformat()
    return document


def to_campaign(document: Mapping[str, Any]) -> Campaign:
    """Return the campaign of a stored form."""
    pacing, hours = document["pacing"], document["pacing"]["hours"]
    times = {name: time.fromisoformat(hours[name]) for name in ("begin", "end")}
    hours = CallingHours(**{**hours, **times, "days": tuple(hours["days"])})
    entries = tuple(Entry(**{**entry, "state": EntryState(entry["state"])}) for entry in document["entries"])
    return Campaign(
        document["campaign_id"],
        Pacing(**{**pacing, "hours": hours}),
        entries,
        document["last_s"],
        document.get("request", ""),  # not in campaigns of before 0.1.0
    )
