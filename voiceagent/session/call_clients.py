"""The clients of one call: its own, which gets audio and events, and sidebands, which get events only.

A sideband is a second connection to a call:
https://developers.openai.com/api/docs/guides/realtime-server-controls
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
from voiceagent.session.call import Client, plays_sounds

log = structlog.get_logger()

SoundChange = Literal["started", "stopped", "cleared"]
MAX_HELD = 8
"""Maximum number of sideband requests that wait for the caller to connect; more are refused."""


class SidebandClient(Protocol):
    """Interface of a sideband for the call. Methods must not wait."""

    def notify(self, notification: Notification) -> None:
        """Send a notification to the sideband."""

    def report(self, turn: TurnReport) -> None:
        """Send the stages of a turn."""

    def sound_changed(self, change: SoundChange, response_id: str) -> None:
        """Notify the sideband that a response's audio began, ended, or was dropped."""

    def fail(self) -> None:
        """End the sideband because of the exception that is being handled."""


class CallClients:
    """The `Client` of a session. It serves the call's own client first, so that sidebands cannot delay it.

    begun: True once the call has begun and its own client has the settings.
    """

    def __init__(self, own: Client) -> None:
        self.begun = False
        self.own = own
        self._sidebands: dict[int, SidebandClient] = {}
        self._numbers = count(1)
        self._asking = 0
        self._playing: str | None = None
        self._responses: dict[str, list[Notification]] = {}
        self._held: list[Callable[[], None]] = []

    @property
    def only_speech(self) -> bool:
        return not plays_sounds(self.own)

    def __len__(self) -> int:
        """Return the number of attached sidebands."""
        return len(self._sidebands)

    # ---- sidebands

    def attach(self, client: SidebandClient, settings: CallSettings) -> int:
        """Notify a sideband from now on, first of settings and responses in progress. Return its number."""
        client.notify(notify.NotifySettings(settings, created=True))
        for so_far in self._responses.values():
            for notification in so_far:
                client.notify(notification)
        number = next(self._numbers)
        self._sidebands[number] = client
        return number

    def detach(self, number: int) -> None:
        """Stop notifying a sideband. A second call does nothing."""
        self._sidebands.pop(number, None)

    @contextmanager
    def answering(self, number: int) -> Iterator[None]:
        """Send errors that occur in the block to this sideband alone: they answer its request."""
        self._asking = number
        try:
            yield
        finally:
            self._asking = 0

    def hold(self, request: Callable[[], None]) -> bool:
        """Queue a request until the call begins. Return False if the queue is full."""
        if len(self._held) >= MAX_HELD:
            return False
        self._held.append(request)
        return True

    def settings_changed(self, settings: CallSettings) -> None:
        """Notify the sidebands of settings; the call's own client gets them when it begins."""
        self._notify_sidebands(notify.NotifySettings(settings))

    # ---- the `Client` of the session

    def notify(self, notification: Notification) -> None:
        """See `Client`. An error that answers a sideband's request goes to that sideband alone."""
        if self._asking and isinstance(notification, notify.NotifyError):
            if (asking := self._sidebands.get(self._asking)) is not None:
                asking.notify(notification)
            return
        self.own.notify(notification)
        self._follow(notification)
        self._notify_sidebands(notification)
        if isinstance(notification, notify.NotifyResponseEnded) and notification.response_id == self._playing:
            self._sound_changed("stopped", None)

    def play(self, response_id: str, frame: Samples) -> None:
        self.own.play(response_id, frame)
        if response_id not in ("", self._playing):
            self._sound_changed("started", response_id)

    def clear(self) -> None:
        self.own.clear()
        if self._playing is not None:
            self._sound_changed("cleared", None)

    def report(self, turn: TurnReport) -> None:
        self.own.report(turn)
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
        """End a sideband whose connection raises, but not the call."""
        try:
            yield
        except Exception:
            self.detach(number)
            client.fail()

    def _follow(self, notification: Notification) -> None:
        """Record the responses in progress for sidebands that attach later."""
        match notification:
            case notify.NotifySettings(created=True):
                self.begun = True
                held, self._held = self._held, []
                for request in held:  # deferred: an event is being handled
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
