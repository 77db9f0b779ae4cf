"""Pauses of a Live session's inference: their events and their share of the usage. Pure."""

from __future__ import annotations

from typing import Any

from voiceagent.conversation import notifications as notify

PAUSED, RESUMED = "session.paused", "session.resumed"
"""Events of both changes."""


class Standby:
    """Pauses of one session. can_pause: the session was started with `idle_timeout_s`."""

    def __init__(self, can_pause: bool) -> None:
        self._can_pause = can_pause
        self._since_ms: int | None = None
        self._paused_ms = 0

    def on_notification(self, notification: notify.Notification, now_ms: int) -> str | None:
        """Begin or end a pause. Return the type of the event for it, if any. now_ms: of the session."""
        match notification:
            case notify.NotifyInferencePaused():
                self._since_ms = now_ms
                return PAUSED
            case notify.NotifyInferenceResumed():
                self._paused_ms, self._since_ms = self._paused_until(now_ms), None
                return RESUMED
        return None

    def usage(self, now_ms: int) -> dict[str, Any]:
        """Return the usage so far, in whole seconds; both parts add up to the whole."""
        seconds = now_ms // 1000
        if not self._can_pause:
            return {"seconds": seconds}
        paused = self._paused_until(now_ms) // 1000
        return {"seconds": seconds, "active_seconds": seconds - paused, "paused_seconds": paused}

    def _paused_until(self, now_ms: int) -> int:
        return self._paused_ms + (0 if self._since_ms is None else now_ms - self._since_ms)
