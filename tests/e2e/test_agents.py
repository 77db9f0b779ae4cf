"""An agent in Python, on a server as users start it: on the phone, and over the Realtime API."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import phone_lines
import pytest
import pytest_asyncio
from fixed_config import write_config
from openai import AsyncOpenAI
from phone_caller import calling as phoning
from recordings import recorded
from sdk_caller import calling
from served import lent, served
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

ROOT = Path(__file__).parents[2]
THEIRS = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the configuration, into which the agents write what happens."""
    return tmp_path_factory.mktemp("clerk")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_clerk(folder: Path) -> AsyncIterator[str]:
    """A server with engines of fixed cost, a model that calls tools, and the agent."""
    shutil.copy(ROOT / "tests/bench/fixed_engines.py", folder)
    shutil.copy(ROOT / "tests/e2e/clerk.py", folder)
    text = (ROOT / "tests/bench/fixed.toml").read_text()
    before, after = text.split("[llm]")
    text = f'{before}[llm]\nengine = "clerk:OrderingLlm"\n\n[synthesizer]{after.split("[synthesizer]")[1]}'
    agents = 'python = "clerk:Clerk"\nalternatives = { polite = "clerk:Polite", bank = "clerk:Bank" }'
    text = text.replace('instructions = "You are a helpful assistant."', agents)
    (folder / "served.toml").write_text(text.replace("tools = false", "tools = true"))
    async with served(folder / "served.toml") as address:
        yield address


@pytest.fixture
async def address(shared_clerk: str, folder: Path) -> AsyncIterator[str]:
    """The server's, where nothing has been written down yet."""
    (folder / "clerk.log").unlink(missing_ok=True)
    async with lent(shared_clerk) as address:
        yield address


def notes(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "clerk.log").read_text().splitlines()]


async def test_a_tool_runs_on_the_phone_and_the_agent_hangs_up(address: str, folder: Path) -> None:
    async with phoning(phone_lines.Twilio(), f"ws://{address}/telephony/twilio") as caller:
        await caller.until(lambda: caller.playing_s > 0.3)  # the greeting
        rate_hz = caller.provider.format.rate_hz
        await caller.speak(
            np.concatenate([recorded("goforward.wav", rate_hz), np.zeros(2 * rate_hz, np.int16)])
        )
        await caller.until(lambda: caller.hung_up)
    turn, ended = notes(folder)
    assert turn == {"turn": "Could you help me with something?"}
    assert ended == {"ended": ["assistant", "user", "assistant"], "ordered": ["tuna"]}


async def test_the_path_of_a_phone_call_names_its_agent(address: str, folder: Path) -> None:
    async with phoning(phone_lines.Twilio(), f"ws://{address}/telephony/twilio/bank") as caller:
        await caller.until(lambda: caller.playing_s > 0.3)  # the greeting, and what it asks
        for digit in "42#":
            caller.send(caller.provider.key(digit))
        await caller.until(lambda: caller.hung_up)
    assert notes(folder) == [{"entered": "42"}]


async def test_a_tool_runs_beside_the_clients_own_over_the_realtime_api(address: str, folder: Path) -> None:
    async with calling(address, tools=[THEIRS]) as caller:
        await caller.until("response.done")  # the greeting
        await caller.connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "tuna"}]}
        )
        await caller.connection.response.create()
        await caller.until("response.done", 3)
        done = [event["item"] for event in caller.of("conversation.item.done")]
        kinds = [item["type"] for item in done if item["type"].startswith("function")]
        assert kinds == ["function_call", "function_call_output"]
        said = caller.of("response.output_audio_transcript.done")[-1]["transcript"]
        assert said == "I have 2 tuna ordered."
        assert not caller.of("response.function_call_arguments.done"), "it is not the client's to answer"


async def test_a_client_may_not_take_the_name_of_an_agents_tool(address: str) -> None:
    sdk = AsyncOpenAI(api_key="none", base_url=f"http://{address}/v1")
    async with sdk.realtime.connect(model="gpt-realtime") as connection:
        await connection.session.update(session={"type": "realtime", "tools": [{**THEIRS, "name": "order"}]})
        async for event in connection:
            if event.type == "error":
                break
    assert event.error.param == "session.tools[0].name"
    assert event.error.message.endswith("allowed: names other than order, which are the agent's own tools")


async def test_a_client_chooses_among_the_agents_by_model(address: str) -> None:
    sdk = AsyncOpenAI(api_key="none", base_url=f"http://{address}/v1")
    async with sdk.realtime.connect(model="polite") as connection:
        created = await connection.recv()
    assert created.session.instructions == "You are polite."


FRAIL = """from pathlib import Path
from voiceagent.agents import Agent

class Frail(Agent):
    def instructions(self) -> str:
        return Path(__file__).with_name("prompt.txt").read_text()
"""


async def test_a_call_whose_agent_fails_as_it_begins_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "frail.py").write_text(FRAIL)
    (tmp_path / "prompt.txt").write_text("Be brief.")
    config = write_config(tmp_path)
    instructions = 'instructions = "You are a helpful assistant."'
    text = config.read_text().replace(instructions, 'python = "frail:Frail"')
    config.write_text(f'{text}\n[calls]\nfolder = "./kept"\n')
    async with served(config) as address:
        (tmp_path / "prompt.txt").unlink()
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"ws://{address}/v1/realtime?model=x", proxy=None)
        assert refused.value.response.status_code == 503
        assert b"the agent failed as the call began" in refused.value.response.body
        (tmp_path / "prompt.txt").write_text("Be brief.")
        async with calling(address):
            pass
    kept = list((tmp_path / "kept").glob("*/sess_*"))
    assert len(kept) == 1, kept  # of the call that was taken


@pytest.mark.timeout(900)
async def test_in_interrupted_calls_histories_and_tools_agree() -> None:
    """Callers cut in and hang up at random; the bench says what does not agree."""
    number = "500" if "VOICEAGENT_LONG_TESTS" in os.environ else "6"
    bench = await asyncio.create_subprocess_exec(
        sys.executable, ROOT / "tests/bench/interrupted_calls.py", number, stdout=asyncio.subprocess.PIPE
    )
    told, _ = await bench.communicate()
    assert bench.returncode == 0, told.decode()[-2_000:]
