"""Evidence of a call whose worker was killed: from log, trace and kept call alone."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fault_calls import calling, health, until_healthy
from faulty_server import faulty_server_beside
from openai import OpenAI
from otlp_receiver import Received, otlp_receiver
from webhook_receiver import receiving
from websockets.exceptions import ConnectionClosed

KILLED = "worker 0 was lost: the worker process died (killed by SIGKILL)"


def speaking_slowly(config: str) -> str:
    """Answers long enough to be killed in."""
    return config.replace("character_s = 0.015", "character_s = 0.2")


def kept_call(folder: Path, *options: str) -> Any:
    """Return the output of `voiceagent calls` on the kept calls."""
    voiceagent = Path(sys.executable).with_name("voiceagent")
    config = next(folder.glob("*.toml"))
    asked = [voiceagent, "calls", *options, "--config", config]
    return subprocess.run(
        asked, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"}
    ).stdout


async def ended(folder: Path) -> dict[str, Any]:
    """The only call, once the worker that was started again has put it on record."""
    while True:
        (call,) = json.loads(kept_call(folder, "list", "--json"))["calls"]
        if call["state"] != "running":
            return dict(call)
        await asyncio.sleep(0.2)


async def worker_with_the_call(address: str) -> int:
    """The process of the only worker that has a call."""
    [worker] = [each["process_id"] for each in (await health(address))["workers"] if each["calls"]]
    return int(worker)


async def answered_until_its_worker_is_killed(
    address: str, before_that: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Have a question answered aloud, and kill the worker of the call in the middle of the answer."""
    await until_healthy(address)
    async with calling(address) as caller:
        worker = await worker_with_the_call(address)
        await caller.type("Is there a pool?")
        await caller.ask()
        await caller.until("response.output_audio.delta")
        if before_that is not None:
            await before_that()
        await asyncio.sleep(1.5)  # by then what was said is written
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(ConnectionClosed):
            await caller.until("response.done")


class LostCall(NamedTuple):
    """Remains of a call whose worker was killed. call: as in `voiceagent calls list`."""

    folder: Path
    call: dict[str, Any]
    log: str
    spans: Received


async def lose_a_call(folder: Path) -> LostCall:
    with otlp_receiver() as (endpoint, spans):
        lines = f'[calls]\nfolder = "./kept"\n[otlp]\nendpoint = "{endpoint}"\npersonal_data = true\n'
        async with faulty_server_beside(folder, lines, "--workers", "2", change=speaking_slowly) as server:
            await answered_until_its_worker_is_killed(server.address)
            call = await ended(folder)
            await asyncio.to_thread(spans.until, "call")
            return LostCall(folder, call, server.log, spans)


@pytest.fixture(scope="module")
def shared_loss(tmp_path_factory: pytest.TempPathFactory) -> LostCall:
    """One for all tests that only look at it."""
    return asyncio.run(lose_a_call(tmp_path_factory.mktemp("lost")))


def test_a_call_that_ended_with_its_worker_is_kept_as_broken_with_the_reason(shared_loss: LostCall) -> None:
    assert (shared_loss.call["state"], shared_loss.call["reason"]) == ("broken", KILLED)


def test_the_log_has_its_turn_and_who_spoke_and_no_word_of_it(shared_loss: LostCall) -> None:
    (line,) = [line for line in shared_loss.log.splitlines() if "call_lost" in line]
    assert shared_loss.call["call_id"] in line
    assert "turn_number=1" in line
    assert "doing='the agent speaks'" in line
    assert "Is there a pool" not in line


def test_the_log_counts_the_calls_of_a_worker_that_died(shared_loss: LostCall) -> None:
    assert re.search(r"worker_died .*calls=1", shared_loss.log)


def test_the_response_in_which_it_broke_off_is_shown(shared_loss: LostCall) -> None:
    shown = kept_call(shared_loss.folder, "show", shared_loss.call["call_id"])
    assert "broken off in this response: " in shown
    assert KILLED in " ".join(shown.split())


def test_its_trace_is_whole_and_says_how_it_ended(shared_loss: LostCall) -> None:
    (root,) = shared_loss.spans.of("call")
    assert root.attributes["voiceagent.call.end"] == KILLED
    assert (root.attributes["error.type"], root.ok) == ("worker_died", False)
    turn = shared_loss.spans.of("turn")[-1]
    assert (turn.parent_id, turn.ok) == (root.span_id, False)
    assert shared_loss.spans.of("chat")[-1].parent_id == turn.span_id


async def test_who_was_told_that_a_call_began_is_told_that_its_worker_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "whsec_" + "c" * 32
    monkeypatch.setenv("HOOK", secret)
    async with receiving(500, 204, 503) as receiver:  # both events come twice
        lines = f'[calls]\nfolder = "./kept"\n[webhooks]\nurl = "{receiver.url}"\nsecret_env = "HOOK"\n'
        async with faulty_server_beside(tmp_path, lines, "--workers", "2", change=speaking_slowly) as server:
            await answered_until_its_worker_is_killed(server.address, lambda: receiver.until(2))
            await receiver.until(4)
    began, again, ended, ended_again = receiver.events
    assert (began, ended) == (again, ended_again)
    assert (began["type"], ended["type"]) == ("call.began", "call.ended")
    assert ended["data"]["call_id"] == began["data"]["call_id"]
    assert ended["data"]["reason"] == KILLED
    assert ended["data"]["lost"]
    question, answer = ended["data"]["transcript"]
    assert question == {"role": "user", "text": "Is there a pool?"}
    assert (answer["role"], answer["unfinished"]) == ("assistant", True)
    assert answer["text"]
    for body, headers in receiver.posted:
        OpenAI(api_key="none").webhooks.verify_signature(body, headers, secret=secret)
