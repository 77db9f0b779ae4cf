"""Connections handed to a worker, and those it has accepted."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator

import pytest

from voiceagent.processes.policies.liveness import Supervision
from voiceagent.processes.worker_pool import Worker, WorkerProgram


@pytest.fixture
async def worker() -> AsyncIterator[Worker]:
    """One whose process is this one."""
    shared = os.open(os.devnull, os.O_RDONLY)
    program = WorkerProgram(
        "no:main", [None], {}, (), shared, Supervision(), lambda number, told: None, lambda number, why: {}
    )
    worker = Worker(program, 0, lambda reason: None)
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
