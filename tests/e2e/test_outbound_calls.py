"""Outbound calls of a server as users start it, with two workers that share limits and calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from fixed_config import write_config
from outbound_server import OWN, TO
from phone_caller import calling
from served import served
from simulated_carriers import ENVIRONMENT, PUBLIC_URL, Posting, Twilio, running

from voiceagent.cli.outbound_call import call as call_by_command

TWILIO = '[telephony.twilio]\nauth_token_env = "TWILIO_TOKEN"\naccount_sid = "AC1"\napi_url = "{api_url}"'
OUTBOUND = f'[outbound]\nallow = ["+1555"]\nnumbers = {{ twilio = "{OWN}" }}\nmax_calls_per_hour = 3\n'
KEY = {"authorization": "Bearer the-key"}


def write_outbound_config(folder: Path, carrier: Twilio) -> Path:
    path = write_config(folder, 'api_keys_env = "API_KEYS"')
    text = path.read_text()
    begin = text.index("[telephony]")
    rest = text[begin:].partition("[telephony.twilio]")[2].partition("\n")[2]
    telephony = (
        f'[telephony]\npublic_url = "{PUBLIC_URL}"\n{TWILIO.format(api_url=carrier.api_url)}\n{OUTBOUND}'
    )
    path.write_text(text[:begin] + telephony + rest)
    return path


async def test_a_call_goes_from_the_command_to_its_end_across_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEYS", "the-key")
    monkeypatch.setenv("TWILIO_TOKEN", ENVIRONMENT["TWILIO_TOKEN"])
    async with running(Twilio) as carrier:
        config = write_outbound_config(tmp_path, carrier)
        async with served(config, options=("--workers", "2")) as address:
            url = f"http://{address}"
            order = {"to": TO, "reason": "the order is ready"}
            command = asyncio.create_task(asyncio.to_thread(call_by_command, url, "the-key", order))
            async with asyncio.timeout(30):
                while not carrier.asked:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            provider = Posting(int(address.rpartition(":")[2]))
            for status in ("ringing", "answered"):
                assert (await provider.post(carrier.event(carrier.asked[0], status))).is_success
            stream = carrier.stream_url(carrier.asked[0], "")
            here = stream.replace(PUBLIC_URL.replace("https", "wss"), f"ws://{address}")
            async with calling(carrier.line(), here, headers=carrier.handshake(stream)):
                await asyncio.sleep(0.5)
            await asyncio.wait_for(command, 30)
            async with httpx.AsyncClient(base_url=url, headers=KEY, trust_env=False) as client:
                answers = [await client.post("/v1/calls", json={"to": TO}) for _ in range(4)]
                assert sorted(answer.status_code for answer in answers) == [201, 201, 429, 429]
                elsewhere = await client.post("/v1/calls", json={"to": "+442079460000"})
                assert elsewhere.status_code == 403
                unsigned = await client.post("/v1/calls", json={"to": TO}, headers={"authorization": ""})
                assert unsigned.status_code == 401
