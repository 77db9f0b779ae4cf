"""The status of an outbound call, and how a report of the provider changes it.

Reports arrive late, twice, and out of order. A status never goes back, so that an old report has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from voiceagent.session.agent import TransferFailure

UNREPORTED_S = 60.0
"""Time after ringing should have ended, after which a call without a report counts as failed."""


class Status(StrEnum):
    """The status of an outbound call. QUEUED: the provider has the request, or is about to get it."""

    QUEUED = "queued"
    RINGING = "ringing"
    ANSWERED = "answered"
    COMPLETED = "completed"
    BUSY = "busy"
    NO_ANSWER = "no_answer"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """True if the call is over."""
        return self not in _ORDER

    @property
    def is_unanswered(self) -> bool:
        """True if the call is over and was never answered."""
        return self.is_final and self is not Status.COMPLETED


class Joining(StrEnum):
    """Progress of a warm transfer. BRIEFING: the colleague is called or briefed. JOINING: the provider is
    asked to connect both calls. WITHDRAWN: the caller left before. MACHINE: no person answered.
    """

    NONE = ""
    BRIEFING = "briefing"
    JOINING = "joining"
    JOINED = "joined"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    MACHINE = "machine"


_ORDER = (Status.QUEUED, Status.RINGING, Status.ANSWERED)


@dataclass(frozen=True, slots=True)
class OutboundCall:
    """An outbound call.

    call_id: id of the request, and of the agent's call once it is answered. caller: the number shown to the
    person called. agent: its name, "" for the usual one. parameters: metadata for the agent. line_call: the
    provider's id, "" while unknown. cause: the reason for the status, in the provider's words. created_s,
    changed_s: Unix seconds. connected: the provider's audio stream has connected, which it may once. brief:
    text for the colleague of a warm transfer. joins: the provider's id of the call that waits for the
    colleague. joining: progress of that transfer. reopened: times that the provider was asked to open the
    stream again.
    """

    call_id: str
    to: str
    caller: str
    provider: str
    agent: str = ""
    reason: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    status: Status = Status.QUEUED
    cause: str = ""
    line_call: str = ""
    created_s: float = 0.0
    changed_s: float = 0.0
    connected: bool = False
    brief: str = ""
    joins: str = ""
    joining: Joining = Joining.NONE
    reopened: int = 0

    def apply_report(self, status: Status, cause: str, now_s: float) -> OutboundCall:
        """Return the call after a report. It is unchanged if the report brings nothing new."""
        new = _next(self.status, status)
        if new is self.status:
            return self
        return replace(self, status=new, cause=cause, changed_s=now_s)

    def expire(self, ring_s: float, max_call_s: float, now_s: float) -> OutboundCall:
        """Return the call, over if no report of its end can come any more. ring_s: maximum time of ringing.
        max_call_s: maximum length of a call.
        """
        if self.status.is_final:
            return self
        if self.status is Status.ANSWERED:
            late = now_s - self.changed_s > max_call_s + UNREPORTED_S
            return self.apply_report(Status.COMPLETED, "its end was not reported", now_s) if late else self
        late = now_s - self.created_s > ring_s + UNREPORTED_S
        return self.apply_report(Status.FAILED, "the provider reported nothing", now_s) if late else self

    def connect(self, now_s: float) -> OutboundCall | None:
        """Return the call with its audio stream connected, None if a stream may not connect now."""
        if self.connected or self.status.is_final or self.joining is Joining.WITHDRAWN:
            return None
        return replace(self.apply_report(Status.ANSWERED, "", now_s), connected=True)

    def reopen(self, max_times: int) -> OutboundCall:
        """Return the call after the loss of its stream, with one more in `reopened` if that may open again.
        It may not once the call is over, in the briefing of a colleague, or after `max_times`.
        """
        waits = self.connected and not self.status.is_final and not self.joins and self.reopened < max_times
        return replace(self, reopened=self.reopened + 1) if waits else self

    def start_joining(self) -> OutboundCall | None:
        """Return the call of a briefed colleague who is now connected; None if the caller has left."""
        return replace(self, joining=Joining.JOINING) if self.joining is Joining.BRIEFING else None

    def withdraw(self) -> OutboundCall | None:
        """Return this call to a colleague as withdrawn, because the caller no longer waits; None if its
        briefing is over.
        """
        return replace(self, joining=Joining.WITHDRAWN) if self.joining is Joining.BRIEFING else None

    def reject_machine(self) -> OutboundCall | None:
        """Return this call to a colleague as answered by a machine; None if its briefing is over."""
        return replace(self, joining=Joining.MACHINE) if self.joining is Joining.BRIEFING else None

    def with_joining(self, state: Joining) -> OutboundCall:
        """Return the call with this progress of its transfer."""
        return replace(self, joining=state)

    @property
    def transfer_failure(self) -> TransferFailure | None:
        """Reason why the colleague was not connected; None while it may still happen."""
        if self.joining is Joining.FAILED:
            return "failed"
        if self.joining is Joining.MACHINE:
            return "voicemail"
        if self.joining not in (Joining.BRIEFING, Joining.JOINING) or not self.status.is_final:
            return None
        if self.joining is Joining.JOINING:  # the colleague left, or the worker that asked has ended
            return "failed"
        return _FAILURES.get(self.status, "failed")

    def to_json(self) -> dict[str, Any]:
        """Return the call as the API and webhooks show it."""
        return {
            "object": "call",
            "id": self.call_id,
            "direction": "outbound",
            "status": self.status.value,
            "cause": self.cause,
            "to": self.to,
            "from": self.caller,
            "provider": self.provider,
            "agent": self.agent,
            "reason": self.reason,
            "parameters": dict(self.parameters),
            "provider_call_id": self.line_call,
            "created_at": int(self.created_s),
            "changed_at": int(self.changed_s),
        }


_FAILURES: Mapping[Status, TransferFailure] = {
    Status.BUSY: "busy",
    Status.NO_ANSWER: "no_answer",
    Status.COMPLETED: "declined",  # hung up while briefed
}


def _next(current: Status, reported: Status) -> Status:
    if current.is_final:
        return current
    if current is Status.ANSWERED:
        return Status.COMPLETED if reported.is_final else current
    if reported is Status.COMPLETED:  # over, and never answered
        return Status.NO_ANSWER
    if reported.is_final:
        return reported
    return max(current, reported, key=_ORDER.index)
