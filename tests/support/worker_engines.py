"""Engines for the tests of processes of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voiceagent.processes.engine_process import Emit


class EngineError(Exception):
    """Error of these engines."""


class Echo:
    """Gives back every item."""

    def __init__(self, rate_hz: int = 16_000) -> None:
        self.rate_hz = rate_hz

    def open(self) -> EchoStream:
        """A stream."""
        return EchoStream()


class EchoStream:
    """Items: whatever is to come back. "the end" follows them."""

    def push(self, item: Any, emit: Emit) -> None:
        """Give it back."""
        emit(item)

    def finish(self, emit: Emit) -> None:
        """Say that all came."""
        emit("the end")

    def close(self) -> None:
        """Nothing is kept."""


class Obedient:
    """Does what its items say; see `Commanded`."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def open(self) -> Commanded:
        """A stream."""
        self.seen.append("opened")
        return Commanded(self.seen)


class Commanded:
    """Items are pairs of a word and what it needs."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def push(self, item: tuple[str, Any], emit: Emit) -> None:
        """Carry out one command."""
        match item:
            case "give", value:
                emit(value)
            case "give for good", _:  # until nobody wants it
                while emit("more"):
                    pass
                self._seen.append("stopped")
            case "fail", text:
                raise EngineError(text)
            case "stumble", text:
                raise KeyError(text)
            case "die", status:
                os._exit(status)
            case "wait for", path:
                Path(path).read_bytes()  # of a pipe: until somebody writes to it
            case "compute for", cpu_s:
                until_s = time.process_time() + cpu_s
                while time.process_time() < until_s:
                    pass
                emit("computed")
            case "tell process", _:
                emit(os.getpid())
            case "tell seen", _:
                emit(list(self._seen))
        self._seen.append(item[0])

    def finish(self, emit: Emit) -> None:
        """Nothing is left."""

    def close(self) -> None:
        """Note it."""
        self._seen.append("closed")


class Stepping:
    """Works on an item in steps; see `Steps`."""

    def open(self) -> Steps:
        """A stream."""
        return Steps()


class Steps:
    """Items are texts: each is given back letter by letter, a step a letter."""

    def push(self, item: str, emit: Emit) -> Iterator[None]:
        """Give the letters back."""
        for letter in item:
            emit(letter)
            yield

    def finish(self, emit: Emit) -> None:
        """Say that all came."""
        emit("the end")

    def close(self) -> None:
        """Nothing is kept."""


class Unbuildable:
    """Cannot be built."""

    def __init__(self) -> None:
        raise EngineError("the model is not in '/models'")


class Fading:
    """Can be built as long as a file exists."""

    def __init__(self, lamp: str) -> None:
        if not Path(lamp).exists():
            os._exit(7)

    def open(self) -> EchoStream:
        """A stream."""
        return EchoStream()


class Slow(Echo):
    """Is built at once as long as a file exists, and otherwise never."""

    def __init__(self, lamp: str) -> None:
        super().__init__()
        while not Path(lamp).exists():
            time.sleep(0.01)
