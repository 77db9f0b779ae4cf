"""The sound that a worker sends to the engines of its supervisor."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import reduce
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audio.pcm import Samples
from audio.recognizers import Flush
from llmcore.engine import Delta, Message, PriorityClass, Request, ToolCall, Usage
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.engines.engines import Engines
from voiceagent.engines.silent import SilentLlm, SilentRecognizer, SilentSynthesizer
from voiceagent.engines.supervisor_engines import (
    CHUNK_SAMPLES,
    URGENT_FRAGMENTS,
    SupervisorLlm,
    engine_services,
    join_chunks,
    join_deltas,
    new_fragmenter,
    prioritize_first_deltas,
)
from voiceagent.processes.frame_socket import FLUSH_INTERVAL_S
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import CoalescedValue

SOUND = st.lists(st.integers(1, 2 * CHUNK_SAMPLES) | st.just(Flush()), max_size=20)


async def given_one_by_one(items: list[int | Flush]) -> AsyncGenerator[Samples | Flush, None]:
    for number, item in enumerate(items):
        yield item if isinstance(item, Flush) else np.full(item, number, np.int16)


@given(SOUND)
async def test_sound_is_joined_and_nothing_is_lost_or_passes_a_flush(items: list[int | Flush]) -> None:
    told = [item async for item in join_chunks(given_one_by_one(items))]
    plain = [item async for item in given_one_by_one(items)]
    assert _parts(told) == _parts(plain)
    for item, following in pairwise(told):
        if not isinstance(item, Flush) and not isinstance(following, Flush):
            assert len(item) >= CHUNK_SAMPLES


def _parts(items: list[Samples | Flush]) -> list[list[int]]:
    """The samples between flushes."""
    parts: list[list[int]] = [[]]
    for item in items:
        if isinstance(item, Flush):
            parts.append([])
        else:
            parts[-1] += item.tolist()
    return parts


PIECES = st.sampled_from(
    [
        "Sure",
        ",",
        " I",
        " can",
        " help",
        " you",
        ".",
        " Let",
        " me",
        " see",
        "!",
        " and",
        "\n",
        " 3.5",
        " Dr.",
        "",
    ]
)


async def hurried(deltas: list[Delta]) -> list[Delta | CoalescedValue]:
    async def generated() -> AsyncGenerator[Delta, None]:
        for delta in deltas:
            yield delta

    return [delta async for delta in prioritize_first_deltas(generated(), new_fragmenter("en"))]


async def test_the_words_that_a_caller_waits_for_go_at_once_and_others_have_time() -> None:
    deltas = [
        Delta(word) for word in ("Well", ",", " I", " can", " help", ".", " Let", " me", " see", ".", " Yes")
    ]
    told = await hurried(deltas)
    assert [delta.text for delta in told if isinstance(delta, Delta)] == ["Well", ",", " Let"]


@given(st.lists(PIECES, min_size=1, max_size=40))
async def test_no_delta_is_lost_and_none_that_a_fragment_waits_for_has_time(pieces: list[str]) -> None:
    last = [Delta(tool_calls=(ToolCall("c1", "look_up", "{}"),)), Delta(finish_reason="tool_calls")]
    deltas = [*map(Delta, pieces), *last]
    told = await hurried(deltas)
    assert [delta.value if isinstance(delta, CoalescedValue) else delta for delta in told] == deltas
    assert isinstance(told[0], Delta)
    assert told[-2:] == last
    fragmenter, made = Fragmenter("en"), 0
    for delta in told[:-2]:
        text = delta.value.text if isinstance(delta, CoalescedValue) else delta.text
        ended = len(fragmenter.push(text))
        assert not (isinstance(delta, CoalescedValue) and ended and made < URGENT_FRAGMENTS)
        made += ended


@given(st.lists(PIECES, min_size=1, max_size=40))
def test_deltas_that_became_one_have_the_text_and_the_count_of_all(pieces: list[str]) -> None:
    usage = Usage(prompt_tokens=7)
    one = reduce(join_deltas, [*map(Delta, pieces), Delta(finish_reason="stop", usage=usage)])
    assert one == Delta("".join(pieces), finish_reason="stop", usage=usage, pieces=len(pieces) + 1)


class Queued:
    """An LLM in which requests wait. hurried: whose went before the others, and when it was due."""

    def __init__(self) -> None:
        self.hurried: list[tuple[str, float]] = []

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        self.hurried.append((caller, due_s))


class Supervisor:
    """The other end of a connection, in this process."""

    def __init__(self, llm: Any) -> None:
        self._services = engine_services(cast("Engines", SimpleNamespace(llm=llm)), "en")
        self.answered = asyncio.Event()

    async def ask(self, service: str, raised: Any) -> None:
        async for _ in self._services[service](raised, given_one_by_one([])):
            pass
        self.answered.set()


async def hurried_by_a_worker(llm: Any) -> None:
    supervisor = Supervisor(llm)
    SupervisorLlm(cast("RpcConnection", supervisor)).raise_priority("call", 3.0)
    await supervisor.answered.wait()


async def test_a_worker_has_the_supervisors_llm_let_a_request_go_first() -> None:
    llm = Queued()
    await hurried_by_a_worker(llm)
    assert llm.hurried == [("call", 3.0)]


async def test_an_llm_in_which_nobody_waits_is_not_asked_to_hurry() -> None:
    await hurried_by_a_worker(object())


MANY = 1_000


class TalkativeLlm(SilentLlm):
    """Says words for as long as anybody reads them. said: how many."""

    said = 0

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        while True:
            self.said += 1
            yield Delta(" word")
            await asyncio.sleep(0.001)  # so that many take longer than what it is told by a pipe


async def said_for_one_delta(priority_class: PriorityClass) -> int:
    """Return the number of words that the supervisor's LLM produces while a worker reads one delta."""
    llm, (near, far) = TalkativeLlm(), socket.socketpair()
    engines = Engines(SilentRecognizer(), llm, SilentSynthesizer())
    supervisor = RpcConnection(far, engine_services(engines, "en"), opens_even=True)
    worker = RpcConnection(near, opens_even=False)
    supervisor.attach()
    request = Request((Message("user", "Hello"),), priority_class=priority_class)
    async with aclosing(SupervisorLlm(worker).generate(request)) as deltas:
        await anext(deltas)
        said = -1
        while said < llm.said < MANY:
            said = llm.said
            await asyncio.sleep(3 * FLUSH_INTERVAL_S)
    worker.close()
    supervisor.close()
    return llm.said


async def test_an_llm_stops_soon_where_a_preemptive_response_is_held() -> None:
    assert await said_for_one_delta("turn") >= MANY
    assert await said_for_one_delta("preemptive") < MANY
