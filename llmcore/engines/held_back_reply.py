"""Filter of a remote model's reply: removes control text, and holds back words that may be a thought.

Thoughts with only an end mark look like words until that mark arrives (`llmcore.text.unopened_thoughts`), so
the first words wait until they are certain or a time limit has passed.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

from llmcore.engine import Delta, Request, Usage
from llmcore.text.reply import ReplyParser
from llmcore.text.stop_strings import StopStrings
from llmcore.text.unopened_thoughts import ThoughtHabit
from llmcore.text.whole_characters import WholeCharacters

log = logging.getLogger(__name__)

HELD_BACK = Delta()
"""Marker that the reply has begun, but its first words are held back as a possible thought."""


class HeldBackReply:
    """Filter of one reply's deltas.

    Args:
        request: the reply's request, for the tools that it may call.
        habit: learned from the model's earlier replies, and updated by this one.
        server: name in the log.
    """

    def __init__(self, request: Request, habit: ThoughtHabit, server: str) -> None:
        self._parser = ReplyParser(request, doubtful=True)
        self._characters = WholeCharacters()
        self._stops = StopStrings(request.stop)
        self._thought_habit = habit
        self._server = server
        self._held_since_s: float | None = None
        self._observed = False

    @property
    def holds_back(self) -> bool:
        """True if words are held back for a limited time, and not for the whole reply."""
        return bool(self._parser.text.held_words) and self._thought_habit.limit_s is not None

    async def in_doubt(self, arrival: asyncio.Future[Any]) -> bool:
        """Wait for the next event while words may be held back. Return True if it arrived."""
        now_s = asyncio.get_running_loop().time()
        if self._held_since_s is None:
            self._held_since_s = now_s
        left_s = max(0.0, self._held_since_s + (self._thought_habit.limit_s or 0.0) - now_s)
        return bool((await asyncio.wait({arrival}, timeout=left_s))[0])

    def release(self) -> list[Delta]:
        """Return the deltas of the words held back."""
        return self._parser.release()

    def read(self, delta: Delta) -> list[Delta]:
        """Convert a delta of the server; `[HELD_BACK]` if its words are held back. Raises ReplyError."""
        text, passed = self._parser.text, self._parser.text.held_words is None
        deltas = [
            each
            for part in self._up_to_stop(self._characters.push(delta))
            for each in self._parser.read(part)
        ]
        if not self._observed:
            self._observe(delta, deltas, passed)
        if text.held_words and not self._thought_habit.doubts("".join(text.held_words)):
            deltas += self.release()
        return deltas or ([HELD_BACK] if text.held_words else [])

    @property
    def stopped(self) -> bool:
        """True once the words have reached a stop string, which the server may have ignored."""
        return self._stops.stopped

    def stop(self) -> list[Delta]:
        """Return the last deltas of a reply that the server would continue behind a stop string."""
        return self.read(Delta(finish_reason="stop", usage=Usage()))

    def _up_to_stop(self, delta: Delta) -> list[Delta]:
        """Return the delta without words behind a stop string, after the words that may have begun one."""
        held = self._stops.finish() if delta.tool_calls or delta.finish_reason is not None else ""
        delta = replace(delta, text=self._stops.push(delta.text)) if delta.text else delta
        return [Delta(held), delta] if held else [delta]

    def _observe(self, delta: Delta, deltas: list[Delta], passed: bool) -> None:
        """Record once per reply whether the model writes unopened thoughts."""
        if self._parser.text.unopened:
            self._observed = True
            self._thought_habit.observe(unopened=True)
            if passed:
                log.warning(
                    "%s: the model sent a thought as words, with only its end marked; from now on words are "
                    "held back until that mark. A reasoning parser on the server avoids this delay",
                    self._server,
                )
        # a reply that was cut, or has only calls, shows nothing about the model
        elif any(each.thought for each in deltas) or (
            delta.finish_reason == "stop" and (passed or deltas[1:])
        ):
            self._observed = True
            self._thought_habit.observe(unopened=False)


async def cancel(arrival: asyncio.Future[Any]) -> None:
    """Cancel the wait for the next event, and wait until it has ended."""
    if not arrival.done():
        arrival.cancel()
        await asyncio.wait({arrival})
