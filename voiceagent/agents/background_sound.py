"""Background sounds: `AgentCall.background`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from voiceagent.session.agent import AgentSession


class BackgroundSound:
    """A background sound, see `AgentCall.background`. It begins when it is created."""

    def __init__(
        self,
        name: str,
        volume: float,
        session: Callable[[], AgentSession | None],
        do: Callable[[Callable[[Any], None], Any], None],
    ) -> None:
        self._session = session
        self._do = do
        self._number: int | None = None
        do(self._start, (name, volume))

    def stop(self) -> None:
        """Fade the sound out. A second call does nothing."""
        self._do(self._stop, None)

    def __enter__(self) -> BackgroundSound:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self, sound: tuple[str, float]) -> None:
        session = self._session()
        if session is not None:
            self._number = session.start_sound(*sound)

    def _stop(self, _: None) -> None:
        session, number, self._number = self._session(), self._number, None
        if session is not None and number is not None:
            session.stop_sound(number)
