"""`voiceagent talk --over twilio`: a running server is called over its phone line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixed_config import write_config
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


async def test_a_server_without_a_phone_line_is_told(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text(config.read_text().replace("[telephony.twilio]", "[telephony.plivo]"))
    async with served(config) as address:
        with pytest.raises(CommandFailed, match=r"403.*it needs \[telephony\.twilio\]"):
            async with phone_call(f"http://{address}", ""):
                pass


async def test_what_cannot_be_called_is_told() -> None:
    with pytest.raises(CommandFailed, match="no server answers there"):
        async with phone_call("http://127.0.0.1:9", ""):
            pass
    with pytest.raises(CommandFailed, match="allowed with --over twilio: http://<host>:<port>"):
        async with phone_call("https://example.com", ""):
            pass
