"""OpenAI's own agents, unmodified: turns, a tool call and an interruption. `@openai/agents-realtime` runs in
Chromium, `openai-agents` in an environment of its own.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from chromium import chromium
from mcp_config import mcp_config
from mcp_servers import mcp_server
from playwright.async_api import Page
from recordings import recorded
from served import served

from audio.wav import write_wav

pytestmark = pytest.mark.xdist_group("agents")  # they share what npm and pip install

ROOT = Path(__file__).parents[2]
FIXED = ROOT / "tests/bench/fixed.toml"
PACKAGE = "@openai/agents-realtime@0.20.0"
PACKAGES = ROOT / "build/npm"
PYTHON_PACKAGE = "openai-agents[voice]==0.24.0"
ENVIRONMENT = ROOT / "build/openai-agents"
RATE_HZ = 24_000
CONNECT = """async ([transport, path]) => {
    const { RealtimeAgent, RealtimeSession, tool } = await import("/agents/openai-realtime-agents.mjs");
    const weather = tool({
        name: "weather",
        description: "Tells the weather.",
        strict: false,
        parameters: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
            additionalProperties: true,
        },
        execute: async ({ city }) => `sunny in ${city}`,
    });
    const agent = new RealtimeAgent({ name: "Clerk", instructions: "Be brief.", tools: [weather] });
    window.session = new RealtimeSession(agent, { transport });
    window.events = [];
    window.session.on("transport_event", (event) => window.events.push(event));
    const scheme = transport === "websocket" ? "ws" : "http";
    await window.session.connect({ apiKey: "ek_none", url: `${scheme}://${location.host}${path}` });
}"""

CONNECT_WITH_MCP = """async ([transport, path, server_url]) => {
    const { RealtimeAgent, RealtimeSession } = await import("/agents/openai-realtime-agents.mjs");
    const shop = {  // what `hostedMcpTool` of @openai/agents gives
        type: "hosted_tool",
        name: "hosted_mcp",
        providerData: {
            type: "mcp",
            server_label: "shop",
            server_url,
            allowed_tools: { tool_names: ["weather"] },
            require_approval: "always",
        },
    };
    const agent = new RealtimeAgent({ name: "Clerk", instructions: "Be brief.", tools: [shop] });
    const session = new RealtimeSession(agent, { transport });
    Object.assign(window, { session, events: [], tools: [], approvals: [], called: [], errors: [] });
    session.on("transport_event", (event) => window.events.push(event));
    session.on("mcp_tools_changed", (tools) => { window.tools = tools; });
    session.on("tool_approval_requested", (_, __, request) => window.approvals.push(request.approvalItem));
    session.on("mcp_tool_call_completed", (_, __, call) => window.called.push(call));
    session.on("error", (error) => window.errors.push(String(error.error?.message ?? JSON.stringify(error))));
    const scheme = transport === "websocket" ? "ws" : "http";
    await session.connect({ apiKey: "ek_none", url: `${scheme}://${location.host}${path}` });
}"""

SPEAK = """(base64) => {
    const sound = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    let sent = 0;
    const timer = setInterval(() => {
        window.session.sendAudio(sound.slice(sent, sent + 960).buffer);
        sent += 960;
        if (sent >= sound.length) clearInterval(timer);
    }, 20);
}"""
"""Says something at the pace of real time: 20 ms are 960 bytes."""


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The package as npm installs it: a folder of modules that browsers load as they are."""
    folder = PACKAGES / "node_modules/@openai/agents-realtime/dist/bundle"
    if not folder.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed: OpenAI's client for browsers is not tested")
        PACKAGES.mkdir(parents=True, exist_ok=True)
        install = [
            npm,
            "install",
            "--prefix",
            PACKAGES,
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            PACKAGE,
        ]
        if subprocess.run(install, capture_output=True, timeout=100, check=False).returncode:
            pytest.skip(f"npm could not install {PACKAGE}: OpenAI's client for browsers is not tested")
    return folder


@pytest.fixture(scope="session")
def agents_python() -> Path:
    """The Python of an environment with OpenAI's package for Python, as pip installs it."""
    python, installed = ENVIRONMENT / "bin/python", ENVIRONMENT / "installed"
    if not installed.exists():
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", PYTHON_PACKAGE]
        for command in ([sys.executable, "-m", "venv", str(ENVIRONMENT)], install):
            if subprocess.run(command, capture_output=True, timeout=200, check=False).returncode:
                pytest.skip(f"pip could not install {PYTHON_PACKAGE}: OpenAI's client is not tested")
        installed.touch()
    return python


@pytest.fixture
def microphone(tmp_path: Path) -> Path:
    """A caller who says one sentence."""
    path = tmp_path / "voice.wav"
    silence = np.zeros(RATE_HZ, np.int16)
    write_wav(path, np.concatenate([silence, recorded("goforward.wav", RATE_HZ), silence]), RATE_HZ)
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_tool_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a server with engines of fixed cost, and an LLM that calls tools."""
    folder = tmp_path_factory.mktemp("tools")
    for engines in (ROOT / "tests/bench/fixed_engines.py", ROOT / "tests/e2e/tool_engine.py"):
        shutil.copy(engines, folder)
    before, after = FIXED.read_text().split("[llm]")
    path = folder / "served.toml"
    llm = '[llm]\nengine = "tool_engine:ToolLlm"\n\n'
    path.write_text(f"{before}{llm}[synthesizer]{after.split('[synthesizer]')[1]}")
    async with served(path) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_server() -> AsyncIterator[str]:
    """The address of a server with engines of fixed cost."""
    async with served(FIXED) as address:
        yield address


@asynccontextmanager
async def visiting(address: str, microphone: Path, bundle: Path) -> AsyncIterator[Page]:
    """A page of the server in a browser of its own, where the package is found under `/agents/`."""
    async with chromium(microphone) as browser:
        page = await browser.new_page()
        await page.route(
            "**/agents/*.mjs", lambda route: route.fulfill(path=bundle / route.request.url.rsplit("/", 1)[1])
        )
        await page.goto(f"http://{address}/")
        yield page


async def until(page: Page, kind: str, number: int = 1) -> dict:
    """The first, second, ... event of a kind that the client gets."""
    find = "([kind, number]) => window.events.filter((event) => event.type === kind)[number - 1]"
    await page.wait_for_function(find, arg=[kind, number], timeout=60_000)
    return await page.evaluate(find, [kind, number])


def said(done: dict) -> str:
    """The words of a response that is done."""
    return done["response"]["output"][0]["content"][0]["transcript"]


async def test_over_webrtc_a_spoken_question_calls_a_tool_and_is_answered(
    shared_tool_server: str, microphone: Path, bundle: Path
) -> None:
    async with visiting(shared_tool_server, microphone, bundle) as page:
        await page.evaluate(CONNECT, ["webrtc", "/v1/realtime/calls"])
        first = await until(page, "response.done")
        assert first["response"]["output"][0]["name"] == "weather"
        assert said(await until(page, "response.done", 2)) == "It says sunny in Bonn."
        await until(page, "output_audio_buffer.stopped")


async def test_over_a_websocket_a_typed_question_calls_a_tool_and_is_answered(
    shared_tool_server: str, microphone: Path, bundle: Path
) -> None:
    async with visiting(shared_tool_server, microphone, bundle) as page:
        await page.evaluate(CONNECT, ["websocket", "/v1/realtime?model=voiceagent"])
        await page.evaluate("() => window.session.sendMessage('How is the weather?')")
        assert said(await until(page, "response.done", 2)) == "It says sunny in Bonn."


@pytest.mark.parametrize("transport", ["websocket", "webrtc"])
async def test_a_tool_of_an_mcp_server_is_approved_called_and_spoken_of(
    tmp_path: Path, microphone: Path, bundle: Path, transport: str
) -> None:
    """The client requests the response to the result."""
    paths = {"websocket": "/v1/realtime?model=voiceagent", "webrtc": "/v1/realtime/calls"}
    async with (
        mcp_server() as (address, _),
        served(mcp_config(tmp_path, address)) as ours,
        visiting(ours, microphone, bundle) as page,
    ):
        await page.evaluate(CONNECT_WITH_MCP, [transport, paths[transport], f"{address}/mcp"])
        await page.wait_for_function("() => window.tools.length > 0", timeout=60_000)
        assert await page.evaluate("() => window.tools.map((tool) => tool.name)") == ["weather"]
        await page.evaluate("() => window.session.sendMessage('How is the weather?')")
        await page.wait_for_function("() => window.approvals.length > 0", timeout=60_000)
        assert not await page.evaluate("() => window.called.length")
        await page.evaluate("() => window.session.approve(window.approvals[0])")
        await page.wait_for_function("() => window.called.length > 0", timeout=60_000)
        assert await page.evaluate("() => window.called[0].output") == "sunny in Bonn, 20 C"
        assert said(await until(page, "response.done", 2)) == "It says sunny in Bonn, 20 C."
        assert await page.evaluate("() => window.errors") == []


async def test_over_webrtc_the_agent_is_interrupted(
    shared_server: str, microphone: Path, bundle: Path
) -> None:
    async with visiting(shared_server, microphone, bundle) as page:
        await page.evaluate(CONNECT, ["webrtc", "/v1/realtime/calls"])
        await until(page, "output_audio_buffer.started")
        await asyncio.sleep(0.5)
        await page.evaluate("() => window.session.interrupt()")
        assert (await until(page, "response.done"))["response"]["status"] == "cancelled"
        await until(page, "output_audio_buffer.cleared")


async def test_over_a_websocket_a_voice_interrupts_the_agent(
    shared_server: str, microphone: Path, bundle: Path
) -> None:
    """The client cuts what was not heard from the item, by what it played of it."""
    async with visiting(shared_server, microphone, bundle) as page:
        await page.evaluate(CONNECT, ["websocket", "/v1/realtime?model=voiceagent"])
        await page.evaluate("() => window.session.sendMessage('How is the weather?')")
        await until(page, "response.output_audio.delta")
        voice = np.concatenate([recorded("goforward.wav", RATE_HZ), np.zeros(2 * RATE_HZ, np.int16)])
        await page.evaluate(SPEAK, base64.b64encode(voice.tobytes()).decode())
        done = await until(page, "response.done")
        assert done["response"]["status"] == "cancelled"
        assert done["response"]["status_details"]["reason"] == "turn_detected"
        cut = await until(page, "conversation.item.truncated")
        assert cut["item_id"] == done["response"]["output"][0]["id"]
        assert (await until(page, "response.done", 2))["response"]["status"] == "completed"


@pytest.mark.timeout(300)  # the first time, pip installs the client
async def test_an_agent_in_python_calls_a_tool_and_is_interrupted(
    shared_tool_server: str, agents_python: Path
) -> None:
    url = f"ws://{shared_tool_server}/v1/realtime?model=voiceagent"
    caller = await asyncio.create_subprocess_exec(
        agents_python, ROOT / "tests/support/agents_caller.py", url, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await asyncio.wait_for(caller.communicate(), 90)
    happened = [json.loads(line) for line in told.splitlines()]
    assert {"tool": "weather", "output": "sunny in Bonn"} in happened
    assert happened[-3:] == [{"sound": True}, {"interrupted": True}, {"response": "cancelled"}]


@pytest.mark.timeout(300)
async def test_readmes_agent_calls_its_tool(
    shared_tool_server: str, agents_python: Path, tmp_path: Path
) -> None:
    section = (ROOT / "docs/realtime-api.md").read_text().split("## With openai-agents")[1]
    script = tmp_path / "clerk.py"
    script.write_text(section.split("```python\n")[1].split("```")[0])
    url = f"ws://{shared_tool_server}/v1/realtime?model=voiceagent"
    caller = await asyncio.create_subprocess_exec(agents_python, script, url, stdout=asyncio.subprocess.PIPE)
    told, _ = await asyncio.wait_for(caller.communicate(), 90)
    assert told.decode().strip() == "weather sunny in Bonn"
