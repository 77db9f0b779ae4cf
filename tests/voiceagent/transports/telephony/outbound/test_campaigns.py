"""Campaigns over the API: calls through a provider, retries, a restart, two processes, a stop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from clock import Clock
from outbound_server import KEY, OutboundServer, outbound_config, outbound_server
from simulated_carriers import Twilio, running

from voiceagent.transports.telephony.outbound.campaigns import Campaigns

FIRST, SECOND = "+15550123456", "+15550123457"
ORDER: dict[str, Any] = {
    "calls": [{"to": FIRST, "reason": "a survey"}, {"to": SECOND}],
    "hours": {"timezone": "UTC", "begin": "00:00", "end": "23:59:59", "days": ["mon", "tue", "wed", "thu"]},
    "calls_per_minute": 60,
    "attempts": 2,
    "retry_s": 60,
}
THURSDAY_S = 1_700_136_000.0  # 12:00 UTC, 16 November 2023


async def ask(
    server: OutboundServer, method: str, path: str, body: Any = None, **headers: str
) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{server.port}/v1/campaigns{path}"
        return await client.request(method, url, json=body, headers={**KEY, **headers})


async def until_asked(carrier: Twilio, number: int) -> None:
    async with asyncio.timeout(20):
        while len(carrier.asked) < number:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_a_campaign_calls_all_and_tries_again_where_nobody_answered(tmp_path: Path) -> None:
    clock = Clock(THURSDAY_S)
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path, clock=clock) as server:
        campaign = (await ask(server, "POST", "", ORDER)).json()
        await until_asked(carrier, 1)
        assert carrier.asked[0].fields["To"] == [FIRST]
        await server.provider.post(carrier.event(carrier.asked[0], "busy"))
        clock.now_s += 2
        await until_asked(carrier, 2)
        assert carrier.asked[1].fields["To"] == [SECOND]
        await server.provider.post(carrier.event(carrier.asked[1], "answered"))
        await server.provider.post(carrier.event(carrier.asked[1], "completed"))
        clock.now_s += 60
        await until_asked(carrier, 3)
        assert carrier.asked[2].fields["To"] == [FIRST]
        await server.provider.post(carrier.event(carrier.asked[2], "no_answer"))
        shown = campaign
        async with asyncio.timeout(20):
            while shown["status"] != "over":
                await asyncio.sleep(0.1)
                shown = (await ask(server, "GET", f"/{campaign['id']}")).json()
    assert [call["state"] for call in shown["calls"]] == ["abandoned", "reached"]
    assert [call["attempts"] for call in shown["calls"]] == [2, 1]


async def test_a_campaign_survives_a_restart(tmp_path: Path) -> None:
    clock = Clock(THURSDAY_S)
    clock.now_s += 86_400  # Friday: no calling hours
    async with running(Twilio) as carrier:
        async with outbound_server(carrier, tmp_path, clock=clock) as server:
            await ask(server, "POST", "", ORDER)
            await asyncio.sleep(1.5)
            assert carrier.asked == []
        clock.now_s += 3 * 86_400
        async with outbound_server(carrier, tmp_path, clock=clock):
            await until_asked(carrier, 1)


async def test_two_processes_begin_each_call_once(tmp_path: Path) -> None:
    async with (
        running(Twilio) as carrier,
        outbound_server(carrier, tmp_path, clock=Clock(THURSDAY_S)) as server,
    ):
        other = server.new_dialer(outbound_config(carrier), Clock(THURSDAY_S))
        await ask(server, "POST", "", {**ORDER, "at_once": 2})
        await asyncio.gather(*(Campaigns(other).tick() for _ in range(5)))
        await until_asked(carrier, 1)
        await asyncio.sleep(1.5)
        assert len(carrier.asked) == 1, "the clock stands still, and a call begins each second"
        other.store.close()


async def test_the_same_idempotency_key_adds_one_campaign(tmp_path: Path) -> None:
    async with (
        running(Twilio) as carrier,
        outbound_server(carrier, tmp_path, clock=Clock(THURSDAY_S)) as server,
    ):
        first = await ask(server, "POST", "", ORDER, **{"idempotency-key": "k1"})
        await until_asked(carrier, 1)
        again = await ask(server, "POST", "", ORDER, **{"idempotency-key": "k1"})
        assert again.json()["id"] == first.json()["id"]
        assert again.json()["counts"]["calling"] == 1, "it goes on where it was"
        other = await ask(server, "POST", "", {**ORDER, "attempts": 3}, **{"idempotency-key": "k1"})
        assert other.status_code == 409
        assert first.json()["id"] in other.json()["error"]["message"]


async def test_a_number_that_is_being_called_is_not_called_by_a_campaign(tmp_path: Path) -> None:
    clock = Clock(THURSDAY_S)
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path, clock=clock) as server:
        await server.post({"to": FIRST})
        await ask(server, "POST", "", ORDER)
        await until_asked(carrier, 2)
        assert carrier.asked[1].fields["To"] == [SECOND]
        for asked in carrier.asked[:2]:
            await server.provider.post(carrier.event(asked, "busy"))
        clock.now_s += 2
        await until_asked(carrier, 3)
        assert carrier.asked[2].fields["To"] == [FIRST]


async def test_a_stopped_campaign_calls_nobody(tmp_path: Path) -> None:
    clock = Clock(THURSDAY_S)
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path, clock=clock) as server:
        campaign = (await ask(server, "POST", "", ORDER)).json()
        await until_asked(carrier, 1)
        await server.provider.post(carrier.event(carrier.asked[0], "busy"))
        shown = (await ask(server, "POST", f"/{campaign['id']}/stop")).json()
        assert shown["counts"]["cancelled"] >= 1
        clock.now_s += 1_000
        await asyncio.sleep(1.5)
        assert len(carrier.asked) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"calls": [{"to": "+19005550100"}]}, "outbound.allow"),
        ({"calls": []}, "calls"),
        ({"hours": {"timezone": "Moon/Sea", "begin": "09:00", "end": "18:00"}}, "time zone"),
        ({"hours": {"timezone": "UTC", "begin": "22:00", "end": "06:00"}}, "hours of one day"),
        (
            {"hours": {"timezone": "UTC", "begin": "9am", "end": "18:00"}},
            "hours.begin is '9am'",
        ),
        ({"hours": {"timezone": "UTC", "begin": "09:00", "end": "24:00"}}, "hours.end is '24:00'"),
        ({"hours": {"timezone": "UTC", "begin": 9, "end": 18}}, "hours.begin is 9"),
        ({"hours": {"timezone": "UTC", "begin": "09:00+02:00", "end": "18:00"}}, "such as 09:00"),
        ({"hours": {"begin": "09:00", "end": "18:00"}}, "hours.timezone is missing"),
        ({"calls": [{"to": FIRST}, {"to": "+1 (555) 012-3457"}]}, "calls.1.to is '+1 (555) 012-3457'"),
        (
            {"calls": [{"to": FIRST}, {"to": SECOND}, {"to": FIRST}]},
            "calls.2.to is +15550123456, as is",
        ),
        ({"at_once": "1"}, "at_once is '1'"),
        ({"calls_per_minute": 61}, "calls_per_minute is 61"),
        ({"hours": {"timezone": "../etc/passwd", "begin": "09:00", "end": "18:00"}}, "time zone"),
        ({"calls_per_minute": 0}, "calls_per_minute"),
        ({"retry_s": 1}, "retry_s"),
    ],
)
async def test_a_wrong_campaign_is_refused_and_nobody_is_called(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path) as server:
        answer = await ask(server, "POST", "", {**ORDER, **change})
        assert answer.status_code in (400, 403)
        assert named in answer.json()["error"]["message"]
        assert carrier.asked == []
