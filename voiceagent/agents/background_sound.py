"""Sounds beside the agent's speech: `AgentCall.background`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from voiceagent.session.agent import AgentDoes


class BackgroundSound:
    """A sound beside speech, see `AgentCall.background`. It begins when it is created."""

    def __init__(
        self,
        name: str,
        volume: float,
        does: Callable[[], AgentDoes | None],
        do: Callable[[Callable[[Any], None], Any], None],
    ) -> None:
        self._does = does
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
        does = self._does()
        if does is not None:
            self._number = does.start_sound(*sound)

    def _stop(self, _: None) -> None:
        does, number, self._number = self._does(), self._number, None
        if does is not None and number is not None:
            does.stop_sound(number)
