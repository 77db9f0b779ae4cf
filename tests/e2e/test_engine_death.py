"""The LLM's process is killed while it answers: what its callers hear, then and afterwards."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from sdk_caller import SdkCaller, calling
from served import served

ROOT = Path(__file__).parents[2]
WORD_S = 0.1
APOLOGY = "Sorry, I lost my thread."
ONE_FAILURE = """
from voiceagent.llm.config import ResilienceConfig

ResilienceConfig.failures = 1
"""
FALLBACK = "This is the other engine."


class ChatServer:
    """A chat server in a process, on one port for all its lives."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.port = listening.getsockname()[1]
        self._process: Process | None = None

    async def start(self) -> None:
        program = ROOT / "tests/support/chat_process.py"
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, program, str(self.port), str(WORD_S), env=environment
        )
        async with asyncio.timeout(30), httpx.AsyncClient() as client:
            while True:
                try:
                    await client.get(f"http://127.0.0.1:{self.port}/v1/models")
                    return
                except httpx.TransportError:
                    await asyncio.sleep(0.05)

    async def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.wait()


@pytest.fixture
async def chat_server() -> AsyncIterator[ChatServer]:
    server = ChatServer()
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
def config(tmp_path: Path, chat_server: ChatServer) -> Path:
    """The chat server as LLM, around engines of fixed cost; one failure opens its circuit."""
    engines = (ROOT / "tests/bench/fixed_engines.py").read_text()
    (tmp_path / "fixed_engines.py").write_text(engines + ONE_FAILURE)
    text = (ROOT / "tests/bench/fixed.toml").read_text()
    others = text.partition("[recognizer]")[2].partition("[llm]")
    path = tmp_path / "served.toml"
    path.write_text(
        f'[agent]\ninstructions = "Help."\napology = "{APOLOGY}"\n'
        f"[recognizer]{others[0]}"
        f'[llm]\nengine = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:{chat_server.port}/v1"\n'
        'api_key_env = ""\nretries = 0\n'
        f"[synthesizer]{others[2].partition('[synthesizer]')[2]}"
    )
    return path


async def ask(caller: SdkCaller) -> str:
    """Ask in writing; what was said, once it is over."""
    before = len(caller.of("response.done"))
    texts = len(caller.of("response.output_audio_transcript.done"))
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Help me."}]}
    await caller.connection.conversation.item.create(item=item)
    await caller.connection.response.create()
    await caller.until("response.done", before + 1)
    said = caller.of("response.output_audio_transcript.done")[texts:]
    return " ".join(event["transcript"].strip() for event in said)


async def test_callers_hear_an_apology_until_the_engine_is_back(
    config: Path, chat_server: ChatServer
) -> None:
    async with served(config) as address, calling(address) as one, calling(address) as other:
        asked = [asyncio.create_task(ask(caller)) for caller in (one, other)]
        for caller in (one, other):
            await caller.until("response.output_audio_transcript.delta")
        await chat_server.kill()
        for said in await asyncio.gather(*asked):
            assert said.startswith("Sure")
            assert said.endswith(APOLOGY)
        await chat_server.start()
        while not (await ask(one)).endswith("only take a moment."):
            pass  # the circuit is still open: an apology
        assert (await ask(other)).endswith("only take a moment.")


@pytest.fixture
def config_with_fallback(config: Path) -> Path:
    fallback = f'\n[fallback]\nengine = "fixed_engines:FixedLlm"\nresponse = "{FALLBACK}"\n'
    config.write_text(config.read_text() + fallback)
    return config


async def test_a_fallback_answers_while_the_engine_is_gone(
    config_with_fallback: Path, chat_server: ChatServer
) -> None:
    async with served(config_with_fallback) as address, calling(address) as caller:
        await chat_server.kill()
        assert await ask(caller) == FALLBACK
        page = (await httpx.AsyncClient().get(f"http://{address}/metrics")).text
        assert 'voiceagent_llm_primary_failures_total{reason="error"} 1.0' in page
