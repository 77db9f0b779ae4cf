"""Replicas of one model behind one engine: a session stays where its KV cache is."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Set
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from llmcore.engine import (
    BusyError,
    Delta,
    EngineLoad,
    Llm,
    LlmError,
    ReportsLoad,
    Request,
    RequestError,
    Usage,
)
from llmcore.policies.circuit_breaker import Backoff
from llmcore.policies.served_prefixes import Marks, Reading, marks_of
from llmcore.policies.session_affinity import Choice, SessionAffinity

PROBES = Backoff(0.25, 5.0)
"""The waits before a lost replica is asked whether it is back."""

log = logging.getLogger(__name__)


class Replica(Llm, ReportsLoad, Protocol):
    """An engine that can be asked whether it is there, without asking for a reply."""

    async def reach(self) -> None:
        """Return when it has answered. Raises LlmError."""


class _Parted(LlmError):
    """Another replica began the reply otherwise than the one that was lost."""


class Resumption:
    """Takes the deltas of a reply that begins again, and leaves out what was said of it already."""

    def __init__(self, said: str) -> None:
        self._left = said

    def take(self, delta: Delta) -> Delta | None:
        """What is new in `delta`, None where nothing is. Raises LlmError where the replies part."""
        if not self._left:
            return delta
        known = delta.text[: len(self._left)]
        # greedy replies of two machines may part: their kernels add up in another order
        if not self._left.startswith(known) or (delta.finish_reason is not None and known != self._left):
            raise _Parted("another replica begins the reply otherwise")
        self._left = self._left[len(known) :]
        rest = replace(delta, text=delta.text[len(known) :])
        return rest if rest.text or rest.tool_calls or rest.finish_reason is not None else None


class ReplicatedLlm:
    """Sends each request to the replica that `affinity` chooses, and on to another where that one fails.

    A replica that failed gets no requests until it answers again, which it is asked with growing waits. A
    greedy reply that it broke off is made once more elsewhere: what was said of it is left out, if it begins
    the same. tries: replicas that a request is sent to at most. observe: told of each choice.
    """

    def __init__(
        self,
        replicas: Mapping[str, Replica],
        affinity: SessionAffinity,
        tries: int,
        observe: Callable[[Choice], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._replicas = replicas
        self._affinity = affinity
        self._tries = tries
        self._observe = observe
        self._clock = clock
        self._failures = dict.fromkeys(replicas, 0)
        self._probes: dict[str, asyncio.Task[None]] = {}

    @property
    def replicas(self) -> Mapping[str, Replica]:
        """Replicas by name."""
        return self._replicas

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self._replicas)

    @property
    def lost(self) -> tuple[str, ...]:
        """The replicas that failed and have not answered since."""
        return tuple(self._probes)

    def sessions(self, replica: str) -> int:
        """The sessions whose cache a replica has."""
        return self._affinity.sessions(replica)

    def load(self) -> EngineLoad:
        """The requests that are open at all of them."""
        loads = [replica.load() for replica in self._replicas.values()]
        return EngineLoad(sum(load.running for load in loads), sum(load.waiting for load in loads))

    async def start(self) -> None:
        """Start all; those that cannot are lost. Raises LlmError where none can."""
        outcomes = await asyncio.gather(
            *(replica.start() for replica in self._replicas.values()), return_exceptions=True
        )
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if len(failures) == len(outcomes) or any(not isinstance(each, LlmError) for each in failures):
            raise failures[0]
        for name, outcome in zip(self._replicas, outcomes, strict=True):
            if isinstance(outcome, LlmError):
                self._lose(name, outcome)

    async def close(self) -> None:
        """Close all; a second call does nothing."""
        for probe in self._probes.values():
            probe.cancel()
        await asyncio.gather(*self._probes.values(), return_exceptions=True)
        for replica in self._replicas.values():
            await replica.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. Raises LlmError."""
        said, last, tried, prompt = "", False, set[str](), marks_of(request)
        while True:
            name = self._choose(request, prompt, tried)
            resumption = Resumption(said)
            try:
                async with aclosing(self._generate(name, request, prompt)) as deltas:
                    async for delta in deltas:
                        if (new := resumption.take(delta)) is not None:
                            said += new.text
                            last = last or bool(new.tool_calls)
                            yield new
                return
            except (RequestError, _Parted):
                raise
            except LlmError as error:
                tried.add(name)
                # neither can be made again as it was: a tool that was called, and a reply by chance
                fixed = last or (said and request.temperature > 0)
                if fixed or len(tried) == self._tries or not self._usable() - tried:
                    raise
                log.warning("another replica answers: %s", error)

    async def prefill(self, request: Request) -> Usage | None:
        """Have the session's replica read. Raises LlmError."""
        prompt = marks_of(request)
        name = self._choose(request, prompt)
        reading = self._affinity.opened(name, prompt)
        try:
            usage = await self._replicas[name].prefill(request)
            self._read(name, reading, usage)
            return usage
        except LlmError as error:
            self._failed(name, error)
            raise
        finally:
            self._affinity.closed(name)

    async def _generate(self, name: str, request: Request, prompt: Marks) -> AsyncGenerator[Delta, None]:
        """The reply of one replica, which is lost if it fails. Raises LlmError."""
        reading = self._affinity.opened(name, prompt)
        try:
            async with aclosing(self._replicas[name].generate(request)) as deltas:
                async for delta in deltas:
                    # by a reply, and not by a probe: one that answers probes only is asked less and less
                    self._failures[name] = 0
                    self._read(name, reading, delta.usage)
                    yield delta
        except LlmError as error:
            self._failed(name, error)
            raise
        finally:
            self._affinity.closed(name)

    def _read(self, name: str, reading: Reading, usage: Usage | None) -> None:
        """What a replica says of a prompt, once it does; one that was too busy to read it says nothing."""
        if usage is not None and usage.prompt_tokens:
            self._affinity.read(name, reading, usage.cached_tokens / usage.prompt_tokens)

    def _choose(self, request: Request, prompt: Marks, tried: Set[str] = frozenset()) -> str:
        choice = self._affinity.choose(request.caller, self._usable(), self._clock(), tried, prompt)
        if choice is None:
            raise LlmError(f"no replica answers: {', '.join(self._probes)}")
        self._observe(choice)
        return choice.replica

    def _usable(self) -> Set[str]:
        return self._replicas.keys() - self._probes.keys()

    def _failed(self, name: str, error: LlmError) -> None:
        if not isinstance(error, RequestError | BusyError) and name not in self._probes:
            self._lose(name, error)

    def _lose(self, name: str, error: LlmError) -> None:
        log.error("a replica is lost: %s", error)
        self._affinity.lost(name)
        self._failures[name] += 1
        self._probes[name] = asyncio.create_task(self._probe(name), name=f"probe {name}")

    async def _probe(self, name: str) -> None:
        """Ask a lost replica until it answers. A replica that answers this, but no request, is asked less
        often."""
        failures = self._failures[name]
        while True:
            # first of all: it has failed just now
            await asyncio.sleep(PROBES.wait_s(failures, random.random))
            try:
                await self._replicas[name].reach()
            except LlmError:
                failures += 1
            else:
                break
        log.warning("a replica is back: %s", name)
        del self._probes[name]
