"""Replicas of one model as one engine: a session stays where its KV cache is."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Set
from contextlib import aclosing
from contextvars import Context
from dataclasses import replace
from typing import Protocol

from llmcore.engine import BusyError, Delta, Llm, LlmError, Request, RequestError, Usage
from llmcore.engine_load import EngineLoad, ReportsLoad
from llmcore.policies.circuit_breaker import Backoff
from llmcore.policies.served_prefixes import BlockHashes, PrefixSnapshot, block_hashes
from llmcore.policies.session_affinity import Choice, SessionAffinity

PROBES = Backoff(0.25, 5.0)
"""Backoff of the probes of a lost replica."""

log = logging.getLogger(__name__)


class Replica(Llm, ReportsLoad, Protocol):
    """An engine that can be probed without generating a reply."""

    async def reach(self) -> None:
        """Return once the replica has answered. Raises LlmError."""


class _DivergedReply(LlmError):
    """After failover, the new replica's text differs from the part already sent."""


class ResumedReply:
    """A filter for a restarted reply: drops the text that was already sent."""

    def __init__(self, sent: str) -> None:
        self._expected = sent

    def push(self, delta: Delta) -> Delta | None:
        """Return the new part of `delta`, or None if there is none.

        Raises LlmError if the replies diverge.
        """
        if not self._expected:
            return delta
        known = delta.text[: len(self._expected)]
        # greedy replies of two machines may diverge: their kernels sum in a different order
        if not self._expected.startswith(known) or (
            delta.finish_reason is not None and known != self._expected
        ):
            raise _DivergedReply("the reply of another replica differs from the part already sent")
        self._expected = self._expected[len(known) :]
        rest = replace(delta, text=delta.text[len(known) :])
        return rest if rest.text or rest.tool_calls or rest.finish_reason is not None else None


class ReplicatedLlm:
    """Sends each request to the replica chosen by `affinity`, and to another one if that fails.

    A failed replica gets no requests until it answers a probe; probes are sent with backoff. A greedy reply
    that breaks off is generated again at another replica, and the text already sent is dropped if it is the
    same. tries: largest number of replicas a request is sent to. observe: called with each choice.
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
        return self._replicas

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._replicas)

    @property
    def lost(self) -> tuple[str, ...]:
        """Replicas that failed and have not answered a probe since."""
        return tuple(self._probes)

    def sessions(self, replica: str) -> int:
        """Return the number of sessions placed at a replica."""
        return self._affinity.sessions(replica)

    def load(self) -> EngineLoad:
        """Return the sum of the replicas' open requests."""
        loads = [replica.load() for replica in self._replicas.values()]
        return EngineLoad(sum(load.running for load in loads), sum(load.waiting for load in loads))

    async def start(self) -> None:
        """Start all replicas; those that fail are marked lost. Raises LlmError if all fail."""
        outcomes = await asyncio.gather(
            *(replica.start() for replica in self._replicas.values()), return_exceptions=True
        )
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if len(failures) == len(outcomes) or any(not isinstance(each, LlmError) for each in failures):
            raise failures[0]
        for name, outcome in zip(self._replicas, outcomes, strict=True):
            if isinstance(outcome, LlmError):
                self._mark_lost(name, outcome)

    async def close(self) -> None:
        """Close all replicas; a second call does nothing."""
        for probe in self._probes.values():
            probe.cancel()
        await asyncio.gather(*self._probes.values(), return_exceptions=True)
        for replica in self._replicas.values():
            await replica.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. Raises LlmError."""
        sent, called, tried, prompt = "", False, set[str](), block_hashes(request)
        while True:
            name = self._choose(request, prompt, tried)
            resumed = ResumedReply(sent)
            try:
                async with aclosing(self._generate(name, request, prompt)) as deltas:
                    async for delta in deltas:
                        if (new := resumed.push(delta)) is not None:
                            sent += new.text
                            called = called or bool(new.tool_calls)
                            yield new
                return
            except (RequestError, _DivergedReply):
                raise
            except LlmError as error:
                tried.add(name)
                # not repeatable: a reply with a tool call, or sampled text of which a part was sent
                unrepeatable = called or (sent and request.temperature > 0)
                if unrepeatable or len(tried) == self._tries or not self._usable() - tried:
                    raise
                log.warning("a replica failed, and another one answers: %s", error)

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the session's replica. Raises LlmError."""
        prompt = block_hashes(request)
        name = self._choose(request, prompt)
        snapshot = self._affinity.open_request(name, prompt)
        try:
            usage = await self._replicas[name].prefill(request)
            self._record_read(name, snapshot, usage)
            return usage
        except LlmError as error:
            self._on_failure(name, error)
            raise
        finally:
            self._affinity.close_request(name)

    async def _generate(
        self, name: str, request: Request, prompt: BlockHashes
    ) -> AsyncGenerator[Delta, None]:
        """Yield the reply of one replica; mark the replica lost if it fails. Raises LlmError."""
        snapshot = self._affinity.open_request(name, prompt)
        try:
            async with aclosing(self._replicas[name].generate(request)) as deltas:
                async for delta in deltas:
                    # reset by a reply only, not by a probe: a replica that answers just probes is probed less
                    # and less
                    self._failures[name] = 0
                    self._record_read(name, snapshot, delta.usage)
                    yield delta
        except LlmError as error:
            self._on_failure(name, error)
            raise
        finally:
            self._affinity.close_request(name)

    def _record_read(self, name: str, snapshot: PrefixSnapshot, usage: Usage | None) -> None:
        """Record the cached share of a prompt once the replica reports it; a busy replica reports none."""
        if usage is not None and usage.prompt_tokens:
            self._affinity.record_read(name, snapshot, usage.cached_tokens / usage.prompt_tokens)

    def _choose(self, request: Request, prompt: BlockHashes, tried: Set[str] = frozenset()) -> str:
        choice = self._affinity.choose(request.caller, self._usable(), self._clock(), tried, prompt)
        if choice is None:
            raise LlmError(f"no replica answers: {', '.join(self._probes)}")
        self._observe(choice)
        return choice.replica

    def _usable(self) -> Set[str]:
        return self._replicas.keys() - self._probes.keys()

    def _on_failure(self, name: str, error: LlmError) -> None:
        if not isinstance(error, RequestError | BusyError) and name not in self._probes:
            self._mark_lost(name, error)

    def _mark_lost(self, name: str, error: LlmError) -> None:
        log.error("a replica is lost: %s", error)
        self._affinity.forget_replica(name)
        self._failures[name] += 1
        self._probes[name] = asyncio.create_task(self._probe(name), name=f"probe {name}", context=Context())

    async def _probe(self, name: str) -> None:
        """Probe a lost replica until it answers. One that answers only probes is probed less often."""
        failures = self._failures[name]
        while True:
            # wait first: it has only just failed
            await asyncio.sleep(PROBES.wait_s(failures, random.random))
            try:
                await self._replicas[name].reach()
            except LlmError:
                failures += 1
            else:
                break
        log.warning("a replica is back: %s", name)
        del self._probes[name]
