"""Lines of the log, and streams that take none."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

from voiceagent.telemetry.log import MAX_BATCH, MAX_WAITING, LogWriter

PIPE_BYTES = 65_536


def record(said: object) -> logging.LogRecord:
    return logging.LogRecord("name", logging.INFO, "file", 1, said, None, None)


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_lines_come_out_whole_and_in_order(pipe: tuple[int, int]) -> None:
    writer = LogWriter(pipe[1])
    for number in range(100):
        writer.handle(record(f"line {number}"))
    writer.flush()
    assert os.read(pipe[0], PIPE_BYTES).decode().splitlines() == [f"line {number}" for number in range(100)]


def test_lines_that_nobody_reads_are_dropped_and_counted(pipe: tuple[int, int]) -> None:
    writer = LogWriter(pipe[1])
    for _ in range(MAX_WAITING + 2 * MAX_BATCH):
        writer.handle(record("x" * 5_000))
    assert 0 < writer.dropped <= 2 * MAX_BATCH


def test_the_next_line_that_finds_room_tells_how_many_were_dropped(pipe: tuple[int, int]) -> None:
    writer = LogWriter(pipe[1])
    while not writer.dropped:
        writer.handle(record({"event": "flood", "more": "x" * 5_000}))
    while b"lines_dropped" not in os.read(pipe[0], PIPE_BYTES):
        writer.handle(record({"event": "more"}))
    assert writer.dropped


def test_a_line_without_fields_leaves_it_to_the_next_to_tell(pipe: tuple[int, int]) -> None:
    writer = LogWriter(pipe[1])
    while not writer.dropped:
        writer.handle(record({"event": "flood", "more": "x" * 5_000}))
    while b"a library's" not in os.read(pipe[0], PIPE_BYTES):
        writer.handle(record("a library's"))
    writer.flush()
    writer.handle(record({"event": "ours"}))
    writer.flush()
    assert b"lines_dropped" in os.read(pipe[0], PIPE_BYTES)


def test_a_file_that_takes_nothing_ends_nothing() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    writer = LogWriter(full)
    writer.handle(record("lost"))
    writer.flush()
    os.close(full)


def test_a_process_ends_although_nobody_reads_its_log() -> None:
    program = (
        "import logging; from voiceagent.telemetry.log import configure_log\n"
        "configure_log('json', apart=True)\n"
        "for _ in range(3000): logging.getLogger(str(_)).error('x' * 500)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as process:
        assert process.wait(30) == 0
