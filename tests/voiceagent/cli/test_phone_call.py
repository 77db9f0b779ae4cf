"""`voiceagent talk --over twilio`: a running server is called over its phone line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixed_config import write_config
from mcp_config import mcp_config
from served import served

from voiceagent.cli.phone_call import phone_call
from voiceagent.transports.local_call import FORMAT
from voiceagent.validation.errors import CommandFailed

WORDS = (8_000 * np.sin(2 * np.pi * 200 * np.arange(FORMAT.rate_hz) / FORMAT.rate_hz)).astype(np.int16)


async def test_what_is_said_is_answered(tmp_path: Path) -> None:
    async with served(write_config(tmp_path)) as address, phone_call(f"http://{address}", "") as call:
        exchange = await call.say(WORDS)
    assert not exchange.failures
    assert len(exchange.sound) > FORMAT.rate_hz / 2


CURT = """from voiceagent.agents import Agent, tool

class Curt(Agent):
    @tool
    async def leave(self, city: str) -> None:
        'Leaves.'
        self.call.hang_up()
"""


async def test_an_agent_that_hangs_up_without_a_word_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "curt_agent.py").write_text(CURT)
    config = mcp_config(tmp_path)  # its LLM calls the first tool
    instructions = 'instructions = "You are a helpful assistant."'
    config.write_text(config.read_text().replace(instructions, 'python = "curt_agent:Curt"'))
    async with served(config) as address, phone_call(f"http://{address}", "") as call:
        exchange = await call.say(WORDS)
        assert (exchange.failures, len(exchange.sound)) == ([], 0)
        assert (await call.say(WORDS)).failures == ["not said: the server closed the call: the agent hung up"]


async def test_a_server_without_a_phone_line_is_told(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text(config.read_text().replace("[telephony.twilio]", "[telephony.plivo]"))
    async with served(config) as address:
        with pytest.raises(CommandFailed, match=r"404.*it needs \[telephony\.twilio\]"):
            async with phone_call(f"http://{address}", ""):
                pass


async def test_what_cannot_be_called_is_told() -> None:
    with pytest.raises(CommandFailed, match="no server answers there"):
        async with phone_call("http://127.0.0.1:9", ""):
            pass
    with pytest.raises(CommandFailed, match="allowed with --over twilio: http://<host>:<port>"):
        async with phone_call("https://example.com", ""):
            pass
