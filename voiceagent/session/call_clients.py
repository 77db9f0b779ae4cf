"""The clients of one call: its own, which has the sound, and sidebands, which have its events alone.

A sideband is a second connection to a call: https://developers.openai.com/api/docs/guides/realtime-server-controls
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Literal, Protocol

import structlog

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.notifications import Notification
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import Client

log = structlog.get_logger()

SoundChange = Literal["started", "stopped", "cleared"]
MAX_HELD = 8
"""Requests of sidebands that wait for the caller to be there; more are refused."""


class SidebandClient(Protocol):
    """A sideband as the call sees it. Nothing here waits."""

    def notify(self, notification: Notification) -> None:
        """Notify it."""

    def report(self, turn: TurnReport) -> None:
        """Report the stages of a turn."""

    def sound_changed(self, change: SoundChange, response_id: str) -> None:
        """Notify it that a response's sound began, ended, or was dropped."""

    def fail(self) -> None:
        """End it for the exception that is being handled."""


class CallClients:
    """The `Client` that a session has. It passes everything on to the call's own client first, so that
    sidebands, which come and go, cost that one nothing.

    begun: the call has, so that its own client was notified of the settings.
    """

    def __init__(self, own: Client) -> None:
        self.begun = False
        self._own = own
        self._sidebands: dict[int, SidebandClient] = {}
        self._numbers = count(1)
        self._asking = 0
        self._playing: str | None = None
        self._responses: dict[str, list[Notification]] = {}
        self._held: list[Callable[[], None]] = []

    def __len__(self) -> int:
        """Sidebands that are attached."""
        return len(self._sidebands)

    # ---- sidebands

    def attach(self, client: SidebandClient, settings: CallSettings) -> int:
        """Notify a sideband from now on, first of the settings and of the responses in progress; returns its
        number.
        """
        client.notify(notify.NotifySettings(settings, created=True))
        for so_far in self._responses.values():
            for notification in so_far:
                client.notify(notification)
        number = next(self._numbers)
        self._sidebands[number] = client
        return number

    def detach(self, number: int) -> None:
        """Notify a sideband no more; a second call does nothing."""
        self._sidebands.pop(number, None)

    @contextmanager
    def answering(self, number: int) -> Iterator[None]:
        """For the length of the block errors answer a request of this sideband, and go to it alone."""
        self._asking = number
        try:
            yield
        finally:
            self._asking = 0

    def hold(self, request: Callable[[], None]) -> bool:
        """Keep a request until the call begins. Returns False where no more can be kept."""
        if len(self._held) >= MAX_HELD:
            return False
        self._held.append(request)
        return True

    def settings_changed(self, settings: CallSettings) -> None:
        """Notify the sidebands of settings that the call's own client learns as it begins."""
        self._notify_sidebands(notify.NotifySettings(settings))

    # ---- the `Client` of the session

    def notify(self, notification: Notification) -> None:
        """See `Client`. An error that answers a sideband's request goes to that sideband alone."""
        if self._asking and isinstance(notification, notify.NotifyError):
            if (asking := self._sidebands.get(self._asking)) is not None:
                asking.notify(notification)
            return
        self._own.notify(notification)
        self._follow(notification)
        self._notify_sidebands(notification)
        if isinstance(notification, notify.NotifyResponseEnded) and notification.response_id == self._playing:
            self._sound_changed("stopped", None)

    def play(self, response_id: str, frame: Samples) -> None:
        """See `Client`."""
        self._own.play(response_id, frame)
        if response_id != self._playing:
            self._sound_changed("started", response_id)

    def clear(self) -> None:
        """See `Client`."""
        self._own.clear()
        if self._playing is not None:
            self._sound_changed("cleared", None)

    def report(self, turn: TurnReport) -> None:
        """See `Client`."""
        self._own.report(turn)
        for number, client in list(self._sidebands.items()):
            with self._kept_apart(number, client):
                client.report(turn)

    def _notify_sidebands(self, notification: Notification) -> None:
        for number, client in list(self._sidebands.items()):
            with self._kept_apart(number, client):
                client.notify(notification)

    def _sound_changed(self, change: SoundChange, playing: str | None) -> None:
        response_id, self._playing = playing or self._playing, playing
        assert response_id is not None
        for number, client in list(self._sidebands.items()):
            with self._kept_apart(number, client):
                client.sound_changed(change, response_id)

    @contextmanager
    def _kept_apart(self, number: int, client: SidebandClient) -> Iterator[None]:
        """End a sideband whose connection raises, and not the call."""
        try:
            yield
        except Exception:
            self.detach(number)
            client.fail()

    def _follow(self, notification: Notification) -> None:
        """Keep what a sideband that comes later must know: the responses in progress."""
        match notification:
            case notify.NotifySettings(created=True):
                self.begun = True
                held, self._held = self._held, []
                for request in held:  # not within the event that is being handled
                    asyncio.get_running_loop().call_soon(request)
            case notify.NotifyResponseStarted(response_id=response_id):
                self._responses[response_id] = [notification]
            case (
                notify.NotifyResponseText(response_id=response_id)
                | notify.NotifyToolCall(response_id=response_id)
            ):
                if (so_far := self._responses.get(response_id)) is not None:
                    so_far.append(notification)
            case notify.NotifyResponseEnded(response_id=response_id):
                self._responses.pop(response_id, None)
