"""Connections handed to a worker, and those it has accepted."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from voiceagent.processes.messages import RpcError
from voiceagent.processes.policies.balance import Balance
from voiceagent.processes.policies.liveness import Supervision
from voiceagent.processes.worker_pool import Worker, WorkerPool, WorkerProgram


def program_of(workers: int, shared: int) -> WorkerProgram:
    tasks = [None] * workers
    return WorkerProgram(
        "no:main", tasks, {}, (), shared, Supervision(), lambda number, told: None, lambda number, why: {}
    )


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    """One whose process is this one."""
    shared = os.open(os.devnull, os.O_RDONLY)
    worker = Worker(program_of(1, shared), 0, lambda reason: None)
    yield worker
    await worker.end()
    os.close(shared)


def hand_over(worker: Worker) -> int:
    with socket.socket() as caller:
        worker.hand_over(caller, b"h")
    return worker.handed_over


def take(descriptor: int) -> None:
    with socket.socket(fileno=os.dup(descriptor)) as handed_over:
        for taken in socket.recv_fds(handed_over, 1, 1)[1]:
            os.close(taken)


async def test_a_connection_that_came_just_now_leaves_one_before_it_taken(worker: Worker) -> None:
    with worker.inherited() as (descriptor, _):
        first = hand_over(worker)
        assert not worker.has_accepted(first)
        take(descriptor)
        second = hand_over(worker)
        assert worker.has_accepted(first) and not worker.has_accepted(second)
        take(descriptor)
        assert worker.has_accepted(second)


async def test_what_a_process_that_died_has_not_taken_can_be_given_to_another(worker: Worker) -> None:
    with worker.inherited():
        first = hand_over(worker)
    with worker.inherited():
        assert worker.has_accepted(first), "nobody is there to take it"
        [(purpose, connection)] = worker.reclaim()
        assert purpose == b"h"
        connection.close()


class Answers:
    """A ready worker process whose answer is `answer`: None never comes, an exception is raised."""

    answers = ready = True

    def __init__(self, answer: bool | Exception | None) -> None:
        self._answer = answer
        self.connection = self

    async def ask(self, service: str, asked: Any) -> bool:
        if self._answer is None:
            await asyncio.Event().wait()
        if isinstance(self._answer, Exception):
            raise self._answer
        return bool(self._answer)


def pool_of(answers: Sequence[bool | Exception | None], monkeypatch: pytest.MonkeyPatch) -> WorkerPool:
    """Return a pool of workers that answer so."""
    shared = os.open(os.devnull, os.O_RDONLY)
    pool = WorkerPool(program_of(len(answers), shared), list, Balance(1.0, 1.0), lambda *lost: None)
    os.close(shared)
    for worker, answer in zip(pool._workers, answers, strict=True):
        monkeypatch.setattr(worker, "child", Answers(answer))
    return pool


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ((False, None, True), 2),  # without a wait for the one that hangs
        ((RpcError("died"), True), 1),
        ((False, False), None),
        ((RpcError("died"), RpcError("died")), None),
    ],
)
async def test_the_worker_that_has_a_call_is_found(
    answers: tuple[bool | Exception | None, ...], found: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = os.open(os.devnull, os.O_RDONLY)
    pool = WorkerPool(
        program_of(len(answers), shared), list, Balance(1.0, 1.0), lambda connection, purpose: None
    )
    os.close(shared)
    for worker, answer in zip(pool._workers, answers, strict=True):
        monkeypatch.setattr(worker, "child", Answers(answer))
    async with asyncio.timeout(10):
        assert await pool.find("has", "call", wait_s=60) == found


async def test_a_call_is_not_looked_for_in_a_worker_that_hangs_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await pool_of((None,), monkeypatch).find("has", "call", wait_s=0.01) is None
