"""What is known the next morning of a call whose worker was killed: from log, trace and kept call alone."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_calls import calling, health, until_healthy
from faulty_server import faulty_server_beside
from openai import OpenAI
from otlp_receiver import otlp_receiver
from webhook_receiver import receiving
from websockets.exceptions import ConnectionClosed


def speaking_slowly(config: str) -> str:
    """Answers long enough to be killed in."""
    return config.replace("character_s = 0.015", "character_s = 0.2")


def kept_call(folder: Path, *options: str) -> Any:
    """What `voiceagent calls` says of the kept calls."""
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


async def test_a_call_that_ended_with_its_worker_says_when_in_which_turn_and_in_which_words(
    tmp_path: Path,
) -> None:
    with otlp_receiver() as (endpoint, received):
        lines = f'[calls]\nfolder = "./kept"\n[otlp]\nendpoint = "{endpoint}"\ncontent = true\n'
        async with faulty_server_beside(tmp_path, lines, "--workers", "2", change=speaking_slowly) as server:
            await until_healthy(server.address)
            async with calling(server.address) as caller:
                worker = await worker_with_the_call(server.address)
                await caller.type("Is there a pool?")
                await caller.ask()
                await caller.until("response.output_audio.delta")
                await asyncio.sleep(1.5)  # by then it is written
                os.kill(worker, signal.SIGKILL)
                with pytest.raises(ConnectionClosed):
                    await caller.until("response.done")
            call = await ended(tmp_path)
            await asyncio.to_thread(received.until, "call")
            log = server.log
    why = "worker 0 was lost: the worker process died (killed by SIGKILL)"
    assert (call["state"], call["reason"]) == ("broken", why)
    (line,) = [line for line in log.splitlines() if "call_lost" in line]
    assert call["call_id"] in line
    assert "turn=1" in line
    assert "doing='the agent speaks'" in line
    assert "Is there a pool" not in line
    assert re.search(r"worker_died .*calls=1", log)
    shown = kept_call(tmp_path, "show", call["call_id"])
    assert "broken off in this response: " in shown
    assert why in " ".join(shown.split())
    (root,) = received.of("call")
    assert root.attributes["voiceagent.call.end"] == why
    assert root.attributes["error.type"] == "worker_died"
    assert not root.ok
    turn = received.of("turn")[-1]
    assert (turn.parent_id, turn.ok) == (root.span_id, False)
    assert received.of("chat")[-1].parent_id == turn.span_id


async def test_who_was_told_that_a_call_began_is_told_that_its_worker_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "whsec_" + "c" * 32
    monkeypatch.setenv("HOOK", secret)
    async with receiving(500, 204, 503) as receiver:  # both events come twice
        lines = f'[calls]\nfolder = "./kept"\n[webhooks]\nurl = "{receiver.url}"\nsecret_env = "HOOK"\n'
        async with faulty_server_beside(tmp_path, lines, "--workers", "2", change=speaking_slowly) as server:
            await until_healthy(server.address)
            async with calling(server.address) as caller:
                worker = await worker_with_the_call(server.address)
                await caller.type("Is there a pool?")
                await caller.ask()
                await caller.until("response.output_audio.delta")
                await receiver.until(2)
                await asyncio.sleep(1.5)  # by then it is written
                os.kill(worker, signal.SIGKILL)
                with pytest.raises(ConnectionClosed):
                    await caller.until("response.done")
            await receiver.until(4)
    began, again, ended, ended_again = receiver.events
    assert (began, ended) == (again, ended_again)
    assert (began["type"], ended["type"]) == ("call.began", "call.ended")
    assert ended["data"]["call_id"] == began["data"]["call_id"]
    assert ended["data"]["reason"] == "worker 0 was lost: the worker process died (killed by SIGKILL)"
    assert ended["data"]["lost"]
    question, answer = ended["data"]["transcript"]
    assert question == {"role": "user", "text": "Is there a pool?"}
    assert (answer["role"], answer["unfinished"]) == ("assistant", True)
    assert answer["text"]
    for body, headers in receiver.posted:
        OpenAI(api_key="none").webhooks.verify_signature(body, headers, secret=secret)
