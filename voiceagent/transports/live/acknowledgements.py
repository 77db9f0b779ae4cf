"""Automatic acknowledgement of a delegation: a short phrase if neither model nor result comes in time, and
again while the caller waits on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from voiceagent.conversation import notifications as notify

AGAIN_S = 8.0
"""Seconds of silence until the phrase comes again; twice as many each time. A silent line seems dead."""


class Acknowledgement:
    """The pending acknowledgement of a session, one at most.

    delay_s: returns the delay for a delegation, from the seconds that the caller has waited for the agent.
    is_awaited: returns True while a delegation has no result. speak: has the phrase spoken once neither side
    speaks. forget: removes the phrase's item from the conversation, as models expect the result directly
    after its call. It is not needed if the delegating response has words itself, and is dropped when the
    agent or the caller speaks. It comes again after a silence of `AGAIN_S`.
    """

    def __init__(
        self,
        delay_s: Callable[[float], float],
        is_awaited: Callable[[], bool],
        speak: Callable[[], None],
        forget: Callable[[str], None],
    ) -> None:
        self._delay_s = delay_s
        self._is_awaited = is_awaited
        self._speak = speak
        self._forget = forget
        self._spoken_id: str | None = None  # "" until the phrase's response starts
        self._item_id = ""
        self._response_id = ""
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._ended = False
        self._worded_id = ""
        self._again_s = AGAIN_S
        # the caller's last voiced sample, on the event loop's clock: before the next response, this response
        self._voiced_s: float | None = None
        self._waits_since_s: float | None = None

    def on_notification(self, notification: notify.Notification, received_s: float) -> None:
        """Follow the call. received_s: length of the caller's audio so far."""
        match notification:
            case notify.NotifyResponseText(response_id=response_id, item_id=item_id):
                self._worded_id, self._item_id = response_id, item_id
                if response_id == self._response_id:  # the filler of a slow model came after the call
                    self.cancel()
            case notify.NotifyResponseStarted(response_id=response_id, out_of_band=False):
                self._spoken_id = response_id if self._spoken_id == "" else None
                self._waits_since_s, self._voiced_s = self._voiced_s, None
                self.cancel()
            case notify.NotifySpeechStarted():
                self.cancel()
            case notify.NotifySpeechStopped(at_s=at_s):
                self._voiced_s = asyncio.get_running_loop().time() - max(0.0, received_s - at_s)
                self._wait_again()
            case notify.NotifyResponseEnded(response_id=response_id) if response_id == self._spoken_id:
                self._spoken_id = None
                self._forget(self._item_id)
                self._wait_again()
            case notify.NotifyResponseEnded(response_id=response_id) if response_id == self._response_id:
                self._ended = True
                self._speak_if_due()
            case notify.NotifyResponseEnded(out_of_band=False):
                self._wait_again()

    def on_delegation(self, response_id: str) -> None:
        """Start the delay for a delegation made by this response."""
        self._again_s = AGAIN_S
        if self._response_id or response_id == self._worded_id:
            return
        self.cancel()
        self._response_id, self._due, self._ended = response_id, False, False
        loop = asyncio.get_running_loop()
        since_s = self._waits_since_s
        waited_s = 0.0 if since_s is None else loop.time() - since_s
        self._timer = loop.call_later(self._delay_s(waited_s), self._on_due)

    def cancel(self) -> None:
        """Drop the pending acknowledgement, if any."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._response_id = None, ""

    def postpone(self) -> None:
        """Drop the pending acknowledgement, if any, until the next silence of `AGAIN_S`."""
        self.cancel()
        self._wait_again()

    def _wait_again(self) -> None:
        if self._timer is None and self._is_awaited():
            self._due, self._ended = False, True
            self._timer = asyncio.get_running_loop().call_later(self._again_s, self._on_due)

    def _on_due(self) -> None:
        if not self._response_id:
            self._again_s *= 2
        self._due = True
        self._speak_if_due()

    def _speak_if_due(self) -> None:
        if self._due and self._ended:
            self.cancel()
            self._spoken_id = ""
            self._speak()
