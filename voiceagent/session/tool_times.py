"""Duration of tool calls."""

from __future__ import annotations

from collections import OrderedDict

from voiceagent.conversation import events as ev
from voiceagent.conversation.history import ToolOutputItem
from voiceagent.session.services import Measuring

PENDING = 32
"""Maximum pending calls of one conversation; older ones are not measured."""


class ToolTimes:
    """Measures from the model's call to the output, whether the server or the client runs the tool."""

    def __init__(self, measuring: Measuring) -> None:
        self._clock = measuring.clock
        self._seconds = measuring.metrics.tool_seconds
        self._asked_s: OrderedDict[str, float] = OrderedDict()

    def on_event(self, event: ev.Event) -> None:
        """Handle an event of the call."""
        if isinstance(event, ev.ToolCallsReady):
            for call in event.calls:
                self._asked_s[call.call_id] = self._clock()
                if len(self._asked_s) > PENDING:
                    self._asked_s.popitem(last=False)
        elif isinstance(event, ev.ItemCreated) and isinstance(event.item, ToolOutputItem):
            self._answered(event.item.call_id)
        elif isinstance(event, ev.ToolFinished):
            self._answered(event.call_id)

    def _answered(self, call_id: str) -> None:
        asked_s = self._asked_s.pop(call_id, None)
        if asked_s is not None:
            self._seconds.observe(self._clock() - asked_s)
