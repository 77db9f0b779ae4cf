"""The log of a call, kept in memory."""

from __future__ import annotations

from voiceagent.calls.log.entries import Header, Record
from voiceagent.calls.log.event_log import LogWriter
from voiceagent.conversation.call_events import CallEvent, EventHandled
from voiceagent.session.services import Services


class KeptEvents:
    """Subscriber that records the handled events of a call."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def on_event(self, event: CallEvent) -> None:
        """Record an event that was handled."""
        if isinstance(event, EventHandled):
            number, ids = len(self.records) + 1, tuple(event.ids)
            record = Record(number, number / 2, event.received_s, event.event, ids, tuple(event.commands))
            self.records.append(record)

    def lines(self, services: Services) -> bytes:
        """Return the log of what was recorded."""
        settings, policy = services.settings, services.answering.policy
        header = Header("call_1", 1.8e9, 0.0, settings, policy, 24_000, {"voiceagent": "0"}, "keep")
        writer = LogWriter("keep")
        return b"".join([writer.header(header), *map(writer.entry, self.records)])
