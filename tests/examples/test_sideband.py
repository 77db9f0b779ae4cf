"""The sideband example: a page has the sound, its own server has the tools."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from fixed_config import write_config
from prompt_server import PromptServer
from rtc_caller import RtcCaller
from served import served
from starlette.applications import Starlette

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[str]:
    """Serve an application in this process; yields its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = PromptServer(uvicorn.Config(app, lifespan="off", log_level="warning"))
    task = asyncio.create_task(server.serve([listening]))
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listening.close()


async def test_a_server_of_ones_own_has_tools_and_instructions_while_a_browser_has_the_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "tests/e2e/tool_engine.py", tmp_path)
    config = write_config(tmp_path, 'api_keys_env = "KEYS"', FixedLlm="tool_engine:ToolLlm")
    config.write_text(config.read_text().replace("ttft_s = 0.1 ", "# ").replace("word_s = 0.01 ", "# "))
    monkeypatch.setenv("KEYS", "sk-owner")
    async with served(config) as voice:
        monkeypatch.setenv("VOICE_URL", f"http://{voice}")
        monkeypatch.setenv("VOICE_KEY", "sk-owner")
        spec = importlib.util.spec_from_file_location(
            "sideband_example", ROOT / "examples/sideband/server.py"
        )
        assert spec is not None and spec.loader is not None
        example = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, example)
        spec.loader.exec_module(example)
        async with serving(example.app) as address:
            async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
                assert "RTCPeerConnection" in (await http.get("/")).text
                caller = RtcCaller(http)
                try:
                    answer = await http.post("/call", content=await caller.offer())
                    await caller.accept(answer.text)
                    done = await caller.until("response.done", 2)
                    said = done["response"]["output"][0]["content"][0]["transcript"]
                    assert said == "It says sunny in Bonn."
                    await caller.until_sound(0.2)
                finally:
                    await caller.peer.close()
            await asyncio.gather(*example.controlling)
