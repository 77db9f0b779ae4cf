"""vLLM's process is killed while it answers: its callers get the apology, and the engine recovers."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import httpx
import psutil
import pytest
from sdk_caller import SdkCaller, calling
from served import served

CONFIG = Path(__file__).parents[2] / "configs/vllm-cpu.toml"
START_S, RESTART_S = 420.0, 240.0  # 40 alone
APOLOGY = "Sorry, I lost my thread."

pytestmark = [
    pytest.mark.usefixtures("installed_vllm"),
    pytest.mark.timeout(720),
    pytest.mark.skipif(
        "VOICEAGENT_LONG_TESTS" not in os.environ,
        reason="vLLM starts twice, which takes minutes beside other tests: VOICEAGENT_LONG_TESTS=1",
    ),
]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """As it is served, with an apology to listen for."""
    path = tmp_path / "served.toml"
    path.write_text(CONFIG.read_text().replace("[agent]\n", f'[agent]\napology = "{APOLOGY}"\n', 1))
    return path


def engine_core(config: Path) -> psutil.Process:
    """The engine's process of the server that was started with `config`."""
    (server,) = [one for one in psutil.Process().children() if str(config) in one.cmdline()]
    (core,) = [one for one in server.children(recursive=True) if "EngineCore" in one.name()]
    return core


async def ask(caller: SdkCaller, question: str) -> str:
    """Ask in writing; what was said, once it is over."""
    before = len(caller.of("response.done"))
    texts = len(caller.of("response.output_audio_transcript.done"))
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}
    await caller.connection.conversation.item.create(item=item)
    begun = len(caller.of("response.created"))
    while len(caller.of("response.created")) == begun:
        await caller.connection.response.create()  # refused while the last answer is being played
        await asyncio.sleep(0.5)
    await caller.until("response.done", before + 1)
    said = caller.of("response.output_audio_transcript.done")[texts:]
    return " ".join(event["transcript"].strip() for event in said)


async def slowed(core: psutil.Process) -> None:
    """Let it compute for moments only, so that a response lasts long enough to be broken off."""
    while True:
        core.resume()
        await asyncio.sleep(0.02)
        core.suspend()
        await asyncio.sleep(0.3)


async def answers_of_vllm(address: str) -> float:
    async with httpx.AsyncClient() as client:
        page = (await client.get(f"http://{address}/metrics")).text
    lines = [line for line in page.splitlines() if line.startswith("voiceagent_llm_requests_total{")]
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if 'engine="vllm"' in line and 'ending="finished"' in line
    )


async def test_a_killed_engine_costs_an_apology_and_no_call(config: Path) -> None:
    async with served(config, ready_s=START_S) as address, calling(address) as one, calling(address) as other:
        core = engine_core(config)
        slowing = asyncio.create_task(slowed(core))
        asked = [asyncio.create_task(ask(caller, "What rooms do you have?")) for caller in (one, other)]
        for caller in (one, other):
            await caller.until("response.output_audio_transcript.delta")
        slowing.cancel()
        core.kill()
        for said in await asyncio.gather(*asked):
            assert said.endswith(APOLOGY)
            assert said != APOLOGY  # it was in mid-response
        before = await answers_of_vllm(address)
        for caller in (one, other):  # the fallback answers meanwhile
            assert len(await ask(caller, "When is breakfast?")) > len("Yes.")
        deadline_s = time.monotonic() + RESTART_S
        while await answers_of_vllm(address) <= before:
            assert time.monotonic() < deadline_s, "the engine is not back"
            await ask(one, "Is there a pool?")
            await asyncio.sleep(1)
        assert APOLOGY not in await ask(other, "Thank you.")
