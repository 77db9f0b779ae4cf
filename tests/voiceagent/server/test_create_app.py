"""The server as an application next to other routes, under an ordinary uvicorn."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fixed_config import write_config
from structlog.testing import capture_logs
from websockets.asyncio.client import connect

from voiceagent.server.app import create_app
from voiceagent.validation.errors import ConfigError

PAGE = Path(__file__).parents[3] / "docs/operations.md"


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """The application of docs/operations.md, with a configuration of engines of fixed cost."""
    section = PAGE.read_text().split("## In your own application")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace("my_agent.toml", str(write_config(tmp_path, ""))), names)
    server = uvicorn.Server(uvicorn.Config(names["app"], port=0, log_config=None))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
        await asyncio.sleep(0.01)
    yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


async def test_calls_are_taken_beside_routes_of_ones_own(address: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"http://{address}/orders")).text == "none yet"
        assert (await client.get(f"http://{address}/health")).json()["status"] == "ready"
    async with connect(f"ws://{address}/v1/realtime?model=x", proxy=None) as call:
        assert json.loads(await call.recv())["type"] == "session.created"
        await call.send(json.dumps({"type": "response.create"}))
        kinds = [json.loads(await call.recv())["type"]]
        while kinds[-1] != "response.done":
            kinds.append(json.loads(await call.recv())["type"])
    assert "response.output_audio.delta" in kinds


async def test_a_lifespan_that_nobody_began_is_told_of_once(tmp_path: Path) -> None:
    transport = httpx.ASGITransport(create_app(write_config(tmp_path, "")))
    with capture_logs() as told:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            assert [(await client.get("/load")).status_code for _ in range(2)] == [503, 503]
    assert [line["event"] for line in told] == ["engines_not_started"]
    assert "lifespan=voice.lifespan" in told[0]["reason"]


def test_a_configuration_that_is_not_there_is_told() -> None:
    with pytest.raises(ConfigError, match="no such file"):
        create_app("nowhere.toml")
