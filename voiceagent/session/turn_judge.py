"""Queries the turn model for the end of the caller's turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from audio.detection.smart_turn import SmartTurn
from audio.pcm import Samples
from voiceagent.conversation.events import Event, TurnJudged
from voiceagent.session.call_monitor import CallMonitor


class TurnJudge:
    """Turn-model queries of one call. One at most is open. If it fails or is late, silence ends a turn."""

    def __init__(self, model: SmartTurn | None, post: Callable[[Event], None], monitor: CallMonitor) -> None:
        self._model = model
        self._post = post
        self._monitor = monitor
        self._task: asyncio.Task[None] | None = None

    def ask(self, item_id: str, sound: Samples) -> None:
        """Query the model for the turn, [n] at 16 kHz up to its newest sample; an older query is dropped."""
        self.close()
        if self._model is not None:
            self._task = asyncio.create_task(self._judge(self._model, item_id, sound), name="judge turn")

    def close(self) -> None:
        """Cancel the open query, if any."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _judge(self, model: SmartTurn, item_id: str, sound: Samples) -> None:
        try:
            async with asyncio.timeout(self._monitor.limits.turn_model_s):
                probability = await model.complete(sound)
        except TimeoutError:
            self._monitor.log_timeout("turn model", item_id)
        except Exception as error:  # any failure
            self._monitor.fault("turn model", error)
        else:
            self._post(TurnJudged(item_id, probability))
