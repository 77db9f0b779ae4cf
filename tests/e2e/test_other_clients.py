"""Unmodified clients of other projects: each calls this server like OpenAI's and gets no error.

Packages from npm or pip are installed in `build/`; if they are not available, the test is skipped.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from attacked_server import free_port
from recordings import recorded
from sdk_caller import calling
from served import serving_tools

ROOT = Path(__file__).parents[2]
CLIENTS = Path(__file__).parent / "clients"
BUILD = ROOT / "build/clients"
ANSWER_TIMEOUT_S = 110
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
AI_SDK = ("ai@7.0.173", "@ai-sdk/openai@4.0.118", "ws@8.23.0")
LIVEKIT_NODE = ("@livekit/agents@1.9.0", "@livekit/agents-plugin-openai@1.9.0", "zod@4.6.7")

long = pytest.mark.skipif(
    os.environ.get("VOICEAGENT_LONG_TESTS") != "1", reason="takes minutes: set VOICEAGENT_LONG_TESTS=1"
)
pytestmark = pytest.mark.xdist_group("clients")


@asynccontextmanager
async def litellm_in_front(python: Path, address: str, folder: Path, key: str) -> AsyncIterator[str]:
    """The address of LiteLLM's proxy, which passes calls on to this server."""
    config = folder / "litellm.yaml"
    model = {"model": "openai/gpt-realtime", "api_base": f"http://{address}/v1", "api_key": "none"}
    config.write_text(json.dumps({"model_list": [{"model_name": "gpt-realtime", "litellm_params": model}]}))
    port = str(free_port())
    process = await asyncio.create_subprocess_exec(
        *(python.with_name("litellm"), "--config", config, "--host", "127.0.0.1", "--port", port),
        env=os.environ | {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        cwd=folder,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    proxy = f"127.0.0.1:{port}"
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S), httpx.AsyncClient(trust_env=False) as http:
            while process.returncode is None:
                with suppress(httpx.TransportError):
                    await http.get(f"http://{proxy}/health/liveliness")
                    break
                await asyncio.sleep(0.2)
        yield proxy
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def npm_folder(*packages: str) -> Path:
    """Return a folder with these packages. Skip the test if they are not available."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = BUILD / packages[0].replace("/", "+")
    if not (folder / "installed").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _install(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages])
        (folder / "installed").touch()
    return folder


def python_of(*packages: str) -> Path:
    """Return the Python of an environment with these packages. Skip the test if they are not available."""
    folder = BUILD / re.sub(r"\[.*\]|=", "", packages[0])
    if not (folder / "installed").exists():
        _install([sys.executable, "-m", "venv", str(folder)])
        _install([str(folder / "bin/pip"), "install", "-q", *packages])
        (folder / "installed").touch()
    return folder / "bin/python"


def _install(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(command)} failed: {done.stderr[-300:]}")


def sound_file(folder: Path) -> Path:
    """Return a file in which a person says "go forward ten meters", PCM at 24 kHz."""
    path = folder / "goforward.pcm"
    path.write_bytes(recorded("goforward.wav", 24_000).tobytes())
    return path


async def ran(*command: str | Path, cwd: Path | None = None) -> dict[str, Any]:
    """Run a client. Return the object in the last line of its output."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), ANSWER_TIMEOUT_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()[-3000:]
    result: dict[str, Any] = json.loads(out.decode().strip().splitlines()[-1])
    return result


async def test_the_ai_sdk_speaks_in_items_and_calls_a_tool(tmp_path: Path) -> None:
    folder = npm_folder(*AI_SDK)
    script = shutil.copy(CLIENTS / "ai_sdk_caller.mjs", folder)
    async with serving_tools(tmp_path) as address:
        came = await ran("node", script, address, sound_file(tmp_path), cwd=folder)
    assert not came["errors"]
    assert came["heard"] == ["Could you help me with something?"]
    assert came["tools"] == [["weather", {"city": "Bonn"}]]
    assert came["said"] == ["It says sunny."]
    assert set(came["unknown"]) <= {
        "conversation.item.done",
        "conversation.item.input_audio_transcription.delta",
    }


async def test_the_ai_sdks_live_session_answers_a_delegation_and_is_muted(tmp_path: Path) -> None:
    folder = npm_folder(*AI_SDK)
    script = shutil.copy(CLIENTS / "ai_sdk_live_caller.mjs", folder)
    async with serving_tools(tmp_path, "live_engine:LiveLlm") as address:
        came = await ran("node", script, address, sound_file(tmp_path), cwd=folder)
    assert not came["errors"]
    assert not came["unknown"]
    assert came["delegations"] == [["client", None]]
    assert (came["user"], came["assistant"]) == ("Could you help me with something?", "It says sunny.")
    appended = [["session.thinking.append", "thinking"], ["session.commentary.append", "note"]]
    muted = [["session.input_audio.mute", "mute"], ["session.input_audio.unmute", "unmute"]]
    assert came["acknowledged"] == appended + muted
    assert came["closed"] == ["close_requested", True]


@long
async def test_livekits_live_model_for_node_delegates_to_a_tool(tmp_path: Path) -> None:
    folder = npm_folder(*LIVEKIT_NODE)
    script = shutil.copy(CLIENTS / "livekit_node_caller.mjs", folder)
    async with serving_tools(tmp_path, "live_engine:LiveLlm") as address:
        came = await ran("node", script, address, sound_file(tmp_path), "live", cwd=folder)
    assert not came["errors"]
    assert came["tools"] == [["weather", '{"city": "Bonn"}']]
    assert came["said"].startswith("It says sunny.")
    assert set(came["heard"]) == {"Could you help me with something?"}
    assert {"session.input_audio.unmuted", "session.closed"} <= set(came["kinds"])


@long
async def test_livekits_realtime_model_for_node_calls_a_tool_and_truncates(tmp_path: Path) -> None:
    folder = npm_folder(*LIVEKIT_NODE)
    script = shutil.copy(CLIENTS / "livekit_node_caller.mjs", folder)
    async with serving_tools(tmp_path) as address:
        came = await ran("node", script, address, sound_file(tmp_path), "realtime", cwd=folder)
    assert not came["errors"]
    assert came["tools"] == [["weather", '{"city": "Bonn"}']]
    assert came["truncated"] >= 1


@long
@pytest.mark.parametrize("kind", ["websocket", "webrtc"])
async def test_semantic_kernel_runs_a_plugin(tmp_path: Path, kind: str) -> None:
    python = python_of("semantic-kernel[realtime]==1.45.0")
    async with serving_tools(tmp_path) as address:
        came = await ran(python, CLIENTS / "semantic_kernel_caller.py", address, kind)
    assert not came["errors"]
    assert (came["asked"], came["said"]) == (["Bonn"], "It says sunny.")


@long
async def test_livekits_session_calls_a_tool_truncates_and_edits_the_history(tmp_path: Path) -> None:
    python = python_of("livekit-plugins-openai==1.8.9", "livekit-agents==1.8.9")
    async with serving_tools(tmp_path) as address:
        came = await ran(python, CLIENTS / "livekit_caller.py", address, sound_file(tmp_path))
    assert not came["errors"]
    assert came["tools"] == ["weather"]
    assert came["truncated"] >= 1
    assert came["heard"] == ["Could you help me with something?", "Thanks."]


@long
async def test_pipecats_service_calls_a_tool_and_is_interrupted(tmp_path: Path) -> None:
    python = python_of("pipecat-ai[openai,websockets-base]==1.14.0")
    async with serving_tools(tmp_path) as address:
        came = await ran(python, CLIENTS / "pipecat_caller.py", address, sound_file(tmp_path))
    assert not came["errors"]
    assert came["tools"] >= 1
    assert came["interruptions"] >= 1
    assert "sunny" in came["said"]


@long
async def test_livekits_live_session_delegates_to_a_tool_and_asks_for_a_reply(tmp_path: Path) -> None:
    python = python_of("livekit-plugins-openai==1.8.9", "livekit-agents==1.8.9")
    async with serving_tools(tmp_path, "live_engine:LiveLlm") as address:
        came = await ran(python, CLIENTS / "livekit_live_caller.py", address, sound_file(tmp_path))
    assert not came["errors"]
    assert came["tools"] == ["weather"]
    assert came["said"].startswith("One moment. It says sunny.")
    assert came["heard"] == "Could you help me with something?"
    assert "session.closed" in came["kinds"]


@long
async def test_livekits_live_session_answers_delegations_itself_and_is_muted(tmp_path: Path) -> None:
    python = python_of("livekit-plugins-openai==1.8.9", "livekit-agents==1.8.9")
    async with serving_tools(tmp_path, "live_engine:LiveLlm") as address:
        came = await ran(python, CLIENTS / "livekit_live_client_caller.py", address, sound_file(tmp_path))
    assert not came["errors"]
    assert came["delegations"] == 2
    assert came["while_muted"] == 0
    assert came["said"] == "It says sunny. It says rainy.", "a note cancels the filler"
    assert {text.strip() for text in came["heard"]} == {"Could you help me with something?"}
    assert "session.closed" in came["kinds"]


@long
async def test_pipecats_live_service_delegates_to_a_tool_in_a_stored_session(tmp_path: Path) -> None:
    python = python_of("pipecat-ai[openai,websockets-base]==1.14.0")
    kept = '[calls]\nfolder = "./kept"\n'
    async with serving_tools(tmp_path, "live_engine:LiveLlm", kept) as address:
        came = await ran(python, CLIENTS / "pipecat_live_caller.py", address, sound_file(tmp_path))
        async with httpx.AsyncClient(trust_env=False) as http, asyncio.timeout(ANSWER_TIMEOUT_S):
            content = f"http://{address}/v1/live/sessions/{came['session']}/content"
            while (recording := await http.get(content)).status_code == httpx.codes.NOT_FOUND:  # noqa: ASYNC110
                await asyncio.sleep(0.2)  # it is archived after the end, which has no event
        assert recording.content.startswith(b"RIFF")
    assert not came["errors"]
    assert (came["tools"], came["delegations"]) == ([{"city": "Bonn"}], ["responses"])
    assert came["said"] == 'One moment. It says {"weather": "sunny"}.'
    assert came["messages"] == [["user", "Could you help me with something?"]]


@long
async def test_litellms_proxy_passes_a_spoken_turn_and_a_tool_on(tmp_path: Path) -> None:
    python = python_of("litellm[proxy]==1.108.7")
    key = f"sk-{secrets.token_hex(16)}"
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        serving_tools(tmp_path) as address,
        litellm_in_front(python, address, tmp_path, key) as proxy,
        calling(proxy, headers, tools=[WEATHER]) as caller,
    ):
        await caller.speak(recorded("goforward.wav", 24_000))
        call = await caller.until("response.function_call_arguments.done")
        output: Any = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        await caller.connection.conversation.item.create(item=output)
        await caller.connection.response.create()
        done = await caller.until("response.done", 2)
        assert done["response"]["output"][0]["content"][0]["transcript"] == "It says sunny."
        assert not caller.of("error")
