"""Configuration of outbound calls, their end without a report, agents, and the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from outbound_server import OWN, TO, outbound_config, outbound_server
from phone_server import config_of
from simulated_carriers import ENVIRONMENT, PLACING, SimulatedCarrier, Twilio, running

from voiceagent.agents import Agent
from voiceagent.cli.outbound_call import call as call_by_command
from voiceagent.cli.outbound_call import server_of
from voiceagent.config.tables import Config
from voiceagent.testing import OutboundDetails, TestCall
from voiceagent.transports.telephony.outbound.build import dialer_of
from voiceagent.transports.telephony.outbound.dialer import DialOrder, DialRules
from voiceagent.validation.errors import CommandFailed, ConfigError

REQUIRED = {
    "twilio": ("account_sid", "auth_token_env"),
    "telnyx": ("connection_id", "public_key", "api_key_env", "stream_token_env"),
    "plivo": ("auth_id", "auth_token_env"),
    "asterisk": ("ari_url", "ari_password_env", "password_env"),
    "vonage": ("application_id", "private_key_env", "signature_secret_env"),
}


def dialer(config: Config, folder: Path) -> Any:
    rules = DialRules(lambda: None, lambda name: None, 600.0)
    args = config.telephony, config.outbound, ENVIRONMENT, folder / "test.toml", None, rules
    return dialer_of(*args, lambda call: None)


@pytest.mark.parametrize(("kind", "setting"), [(k, s) for k in PLACING for s in REQUIRED[k.name]])
def test_a_missing_setting_of_the_provider_is_named(
    kind: type[SimulatedCarrier], setting: str, tmp_path: Path
) -> None:
    carrier = kind()
    complete = carrier.table()
    carrier.table = lambda: {k: v for k, v in complete.items() if k != setting}  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match=rf"telephony\.{kind.name}\.{setting}"):
        dialer(outbound_config(carrier), tmp_path)


@pytest.mark.parametrize(
    ("outbound", "named"),
    [
        ({"numbers": {}}, "outbound.numbers"),
        ({"numbers": {"audiosocket": OWN}}, r"outbound\.numbers\.audiosocket = .*; allowed: twilio$"),
        (
            {"numbers": {"telnyx": OWN}},
            r"outbound\.numbers\.telnyx = .* no table \[telephony\.telnyx\]; allowed: twilio$",
        ),
    ],
)
def test_numbers_must_name_a_provider_that_places_calls(
    outbound: dict[str, Any], named: str, tmp_path: Path
) -> None:
    carrier = Twilio()
    with pytest.raises(ConfigError, match=named):
        dialer(outbound_config(carrier, **outbound), tmp_path)


@pytest.mark.parametrize("prefix", ["1555", "+", "+1-555", "*", "+0"])
def test_a_prefix_that_is_none_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="allow"):
        outbound_config(Twilio(), allow=(prefix,))


def test_outbound_calls_need_a_public_url(tmp_path: Path) -> None:
    carrier = Twilio()
    config = config_of({"twilio": carrier.table()})
    config = config.model_copy(update={"outbound": outbound_config(carrier).outbound})
    with pytest.raises(ConfigError, match=r"telephony\.public_url"):
        dialer(config, tmp_path)


def test_a_file_that_cannot_be_written_is_named_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"outbound\.file.*cannot be written"):
        dialer(outbound_config(Twilio(), file="./no/such/folder/calls.sqlite"), tmp_path)


async def test_a_call_without_any_report_fails_at_last(tmp_path: Path) -> None:
    async with running(Twilio) as carrier:
        now_s = 1_000.0
        async with outbound_server(carrier, tmp_path, clock=lambda: now_s) as server:
            call_id = (await server.post({"to": TO})).json()["id"]
        now_s += 30 + 61
        async with outbound_server(carrier, tmp_path, clock=lambda: now_s) as server:
            async with asyncio.timeout(20):
                while (await server.status(call_id))["status"] != "failed":  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert server.statuses == ["failed"]


async def test_calls_that_are_over_are_deleted_after_their_retention(tmp_path: Path) -> None:
    async with running(Twilio) as carrier:
        carrier.refuses = True
        config = outbound_config(carrier)
        made = dialer(config, tmp_path)
        call = await made.place(DialOrder(TO))
        assert call.status == "failed"
        made.store.delete_before(call.created_s - 1)
        assert made.store.find(call.call_id) is not None
        made.store.delete_before(call.created_s + 1)
        assert made.store.find(call.call_id) is None


async def test_two_processes_share_the_limits(tmp_path: Path) -> None:
    async with running(Twilio) as carrier:
        config = outbound_config(carrier, max_calls_per_hour=4)
        workers = [dialer(config, tmp_path) for _ in range(2)]
        orders = [workers[number % 2].place(DialOrder(TO)) for number in range(10)]
        results = await asyncio.gather(*orders, return_exceptions=True)
    assert sum(not isinstance(one, Exception) for one in results) == 4
    assert len(carrier.asked) == 4


class Caller(Agent):
    greeting = "Hello, it is the shop."

    def instructions(self) -> str:  # type: ignore[override]
        return f"You made an {self.call.direction} call to {self.call.to}: {self.call.reason}."


async def test_an_agent_knows_that_it_called_whom_and_why() -> None:
    async with TestCall(Caller, phone=OutboundDetails(TO, OWN, "the pizza is ready")) as call:
        call.model_will("Your pizza is ready.")
        await call.says("hello")
        assert f"outbound call to {TO}: the pizza is ready" in call.model.requests[0].messages[0].content


class Welcoming(Agent):
    def __init__(self) -> None:
        self.ran: list[str] = []

    async def on_call_began(self) -> None:
        self.ran.append("began")

    async def on_turn(self, text: str) -> None:
        self.ran.append(text)

    async def on_call_ended(self, transcript: object) -> None:
        self.ran.append("ended")


@pytest.mark.parametrize(("briefing", "ran"), [(True, []), (False, ["began", "hello", "ended"])])
async def test_hooks_of_the_agent_do_not_run_for_a_colleague_who_is_briefed(
    briefing: bool, ran: list[str]
) -> None:
    async with TestCall(Welcoming, phone=OutboundDetails(TO, OWN, "", briefing=briefing)) as call:
        call.model_will("Hi.")
        await call.says("hello")
        agent = call.agent
    assert isinstance(agent, Welcoming)
    assert agent.ran == ran


async def test_an_agent_knows_that_it_was_called_whatever_the_line_says() -> None:
    async with TestCall(Caller, parameters={"direction": "outbound", "to": TO, "reason": "evil"}) as call:
        call.model_will("Hi.")
        await call.says("hello")
        assert "an inbound call to : ." in call.model.requests[0].messages[0].content


async def test_the_command_follows_a_call_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path) as server:
        url = f"http://127.0.0.1:{server.port}"
        command = asyncio.to_thread(call_by_command, url, "the-key", {"to": TO, "reason": "", "agent": ""})
        running_command = asyncio.create_task(command)
        while not carrier.asked or not server.statuses:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await server.provider.post(carrier.event(carrier.asked[0], "busy"))
        with pytest.raises(CommandFailed, match="nobody answered: busy"):
            await running_command
    printed = capsys.readouterr().out
    assert f"{OWN} calls {TO} through twilio" in printed
    assert "\nbusy" in printed


async def test_the_command_run_again_with_its_key_calls_nobody_twice(tmp_path: Path) -> None:
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path) as server:
        url = f"http://127.0.0.1:{server.port}"
        command = asyncio.to_thread(call_by_command, url, "the-key", {"to": TO}, "order-17")
        first = asyncio.create_task(command)
        while not carrier.asked or not server.statuses:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await server.provider.post(carrier.event(carrier.asked[0], "busy"))
        with pytest.raises(CommandFailed, match="busy"):
            await first
        with pytest.raises(CommandFailed, match="busy"):
            await asyncio.to_thread(call_by_command, url, "the-key", {"to": TO}, "order-17")
        assert len(carrier.asked) == 1


async def test_the_command_says_why_a_call_is_refused(tmp_path: Path) -> None:
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path) as server:
        url = f"http://127.0.0.1:{server.port}"
        with pytest.raises(CommandFailed, match=r"\+44.*outbound\.allow"):
            await asyncio.to_thread(call_by_command, url, "the-key", {"to": "+442079460000"})


def test_the_command_finds_the_server_and_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYS", "first,second")
    config = config_of({}, {"port": 1234, "api_keys_env": "KEYS"})
    assert server_of(config, "", None) == ("http://127.0.0.1:1234", "first")
    assert server_of(None, "https://x/", None) == ("https://x", "")
    with pytest.raises(CommandFailed, match="UNSET"):
        server_of(config, "", "UNSET")
