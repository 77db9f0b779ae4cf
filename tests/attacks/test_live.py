"""Hostile clients of the Live API: over WebSockets, sidebands, data channels and HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from aiortc.rtcsctptransport import SCTP_RTO_MAX
from attacked_server import AttackedServer
from attacker import PATIENCE_S, Attacker
from rtc_caller import LiveRtcCaller, rtc_calling
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the second caller goes on during a test

SESSIONS = "/v1/live/sessions"
MUTE = json.dumps({"type": "session.input_audio.mute"})


def function(number: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "name": f"t{number}", "parameters": {"type": "object", **fields}}


def backend(**fields: Any) -> dict[str, Any]:
    return {"type": "responses", "responses": {"model": "m", **fields}}


def start(**fields: Any) -> str:
    return json.dumps({"type": "session.start", "session": {"model": "m"} | fields})


def update(**fields: Any) -> str:
    return json.dumps({"type": "session.update", "session": {"delegation": backend(**fields)}})


def append(kind: str, content: str) -> str:
    return json.dumps({"type": f"session.{kind}.append", "content": content, "delegation_id": None})


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"a": schema}
    return schema


def message(text: str, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


@asynccontextmanager
async def attacking(server: AttackedServer, path: str = SESSIONS, **session: Any) -> AsyncIterator[Attacker]:
    """Yield a client whose session has started."""
    async with server.call(path) as connection:
        attacker = Attacker(connection)
        reading = asyncio.create_task(attacker.read())
        try:
            await connection.send(start(**session))
            await attacker.until("session.started")
            yield attacker
        finally:
            await connection.close()  # while `read` runs: the close frame follows earlier events
            await reading


async def still_served(attacker: Attacker) -> None:
    """Assert that the session continues."""
    await attacker.connection.send(MUTE)
    await attacker.until("session.input_audio.muted")


TOO_MUCH = {
    "tools of half a megabyte": (update(tools=[function(n) for n in range(8_000)]), "at most 262144"),
    "many tools": (update(tools=[function(n) for n in range(200)]), "at most 128"),
    "many values": (update(tools=[function(a=[0] * 11_000)]), "at most 10000"),
    "a deep schema": (update(tools=[function(properties=deep(60))]), "at most 32"),
    "long instructions": (update(instructions="a" * 110_000), "at most 100000"),
    "long appended instructions": (append("instructions", "a" * 5_000), "4000"),
    "long thinking": (append("thinking", "a" * 5_000), "4000"),
    "long commentary": (append("commentary", "a" * 5_000), "4000"),
    "many parts of an item": (
        json.dumps({"type": "response.item.create", "item": {**message(""), "content": [{}] * 11_000}}),
        "at most 10000",
    ),
    "a long item": (
        json.dumps({"type": "response.item.create", "item": message("a" * 110_000)}),
        "at most 100000",
    ),
    "a clip of 31 s": (
        json.dumps(
            {
                "type": "session.output_audio.fixture.play",
                "audio": base64.b64encode(bytes(24_000 * 2 * 31)).decode(),
            }
        ),
        "at most 30 s",
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
async def test_what_is_too_much_is_refused_by_its_limit(server: AttackedServer, name: str):
    event, limit = TOO_MUCH[name]
    async with attacking(server, delegation=backend()) as attacker:
        for _ in range(3):
            await attacker.connection.send(event)
        error = await attacker.refused()
        await still_served(attacker)
    assert limit in error["message"]
    assert len(json.dumps(error)) < 2_000


STARTS = {
    "tools": (start(delegation=backend(tools=[function(n) for n in range(200)])), "at most 128"),
    "history": (
        start(input=[{"role": "user", "content": [{"type": "input_text", "text": "a"}]}] * 129),
        "128",
    ),
    "instructions": (start(instructions="a" * 110_000), "at most 100000"),
    "a deep schema": (start(delegation=backend(tools=[function(properties=deep(60))])), "at most 32"),
    "an idle timeout of 400 digits": (start(idle_timeout_s=10**400), "less than or equal to 86400"),
    "a delay of 400 digits": (
        start(delegation={"type": "client", "acknowledgement_delay_ms": 10**400}),
        "less than or equal to 600000",
    ),
    "a threshold of 400 digits": (
        start(wake_policy={"type": "speech", "vad_threshold": 10**400}),
        "input should be a valid number",
    ),
}


@pytest.mark.parametrize("name", STARTS)
async def test_start_with_too_much_is_refused_and_a_right_one_begins(server: AttackedServer, name: str):
    event, limit = STARTS[name]
    async with server.call(SESSIONS) as connection:
        await connection.send(event)
        answer = json.loads(await connection.recv())
        assert answer["type"] == "error", answer["type"]
        assert limit in answer["error"]["message"]
        assert len(json.dumps(answer)) < 2_000
        await connection.send(start())
        assert json.loads(await connection.recv())["type"] == "session.started"


@pytest.mark.parametrize(
    "unreadable",
    [
        "[" * 100_000,
        '{"type":' * 20_000,
        '{"type":"' + "x" * 200_000 + '"}',
        '{"type":"session.start"}',
        '{"type":["session.start"]}',
        '{"a":' + "1" * 5_000 + "}",
        '{"type":"session.input_audio.append","audio":"' + "?" * 100_000 + '"}',
        '{"type":"session.input_audio.append","audio":{"a":1}}',
        '{"type":"session.commentary.append","content":"a","delegation_id":"' + "d" * 100_000 + '"}',
        '{"type":"session.output_audio.fixture.play","audio":"UklGRgAA"}',
        '{"type":"transport.dtmf.send","digits":"' + "1" * 100_000 + '"}',
        '{"type":"response.create","response":{"input":[' + ",".join("0" * 9_000) + "]}}",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        b"\x00" * 100_000,
        "null",
        "",
    ],
)
async def test_what_cannot_be_read_is_an_error_and_the_session_goes_on(
    server: AttackedServer, unreadable: str | bytes
):
    async with attacking(server) as attacker:
        await attacker.connection.send(unreadable)
        error = await attacker.refused()
        await still_served(attacker)
    assert len(json.dumps(error)) < 2_000


async def test_connection_without_a_start_is_closed_after_a_few_errors(server: AttackedServer):
    async with server.call(SESSIONS) as connection:
        for _ in range(40):
            await connection.send(MUTE)
        with pytest.raises(ConnectionClosed) as caught:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    await connection.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1008


@pytest.mark.parametrize("kind", ["instructions", "thinking", "commentary"])
async def test_context_without_end_stops_at_a_limit(server: AttackedServer, kind: str):
    async with attacking(server) as attacker:
        for _ in range(600):
            await attacker.connection.send(append(kind, "a" * 3_900))
        await still_served(attacker)
        assert attacker.errors and attacker.errors[0]["code"] == "limit_exceeded"


async def test_flood_of_cheap_events_is_read_slower(server: AttackedServer):
    async with attacking(server) as attacker:

        async def flood() -> None:
            for _ in range(5_000):
                await attacker.connection.send(MUTE)

        flooding = asyncio.create_task(flood())
        await asyncio.sleep(1.5)
        flooding.cancel()
        assert attacker.kinds.count("session.input_audio.muted") < 3_000
        attacker.connection.transport.abort()  # its goodbye would come behind all that it has sent


async def test_audio_far_ahead_of_time_is_dropped_with_few_errors(server: AttackedServer):
    second = base64.b64encode(bytes(48_000)).decode()
    async with attacking(server) as attacker:
        for _ in range(120):
            await attacker.connection.send(
                json.dumps({"type": "session.input_audio.append", "audio": second})
            )
        await still_served(attacker)
        assert {error["code"] for error in attacker.errors} == {"input_audio_buffer_overflow"}
        assert len(attacker.errors) < 20


async def test_client_that_never_reads_is_ended(server: AttackedServer):
    async with attacking(server, delegation=backend()) as attacker:
        attacker.connection.transport.pause_reading()
        long = update(instructions="a" * 90_000)
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    frame = Frame(Opcode.TEXT, long.encode()).serialize(mask=True)
                    attacker.connection.transport.write(frame)
                    await asyncio.sleep(0.02)
                    if "client_too_slow" in server.logged():
                        raise ConnectionClosed(None, None)
        attacker.connection.transport.abort()


async def test_names_of_any_length_leave_the_log_short(server: AttackedServer):
    for _ in range(20):
        async with server.call(SESSIONS) as connection:
            await connection.send(start(model="m" * 200_000))
            await connection.recv()


# ---- sidebands and resuming


@asynccontextmanager
async def victim(server: AttackedServer, query: str = "") -> AsyncIterator[tuple[ClientConnection, str]]:
    """Yield a session and its id. At the end it must still be served."""
    async with server.call(f"{SESSIONS}{query}") as connection:
        await connection.send(start())
        session_id = json.loads(await connection.recv())["session"]["id"]
        yield connection, session_id
        await connection.send(json.dumps({"type": "session.close"}))
        async with asyncio.timeout(PATIENCE_S):
            while json.loads(await connection.recv())["type"] != "session.closed":
                pass


async def tried(server: AttackedServer, path: str) -> int:
    """Return the status of a handshake."""
    try:
        async with server.call(path):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def test_hundreds_of_sidebands_are_eight_and_the_session_goes_on(server: AttackedServer):
    async with victim(server) as (_, session_id), AsyncExitStack() as attached:
        found: Counter[int] = Counter()
        for _ in range(300):
            try:
                await attached.enter_async_context(server.call(f"{SESSIONS}/{session_id}/attach"))
                found[101] += 1
            except InvalidStatus as refused:
                found[refused.response.status_code] += 1
    assert found == {101: 8, 429: 292}


GUESSES = ["x" * 5_000, "live_", "rtc_0", "sess_0", "%00", "..%5c..", *(f"live_{n:020x}" for n in range(100))]


async def test_guesses_of_ids_find_nothing(server: AttackedServer):
    async with victim(server):
        for path in ("{}/attach", "?session_id={}", "?session_id={}&after=event_1"):
            place = f"{SESSIONS}{path}" if path.startswith("?") else f"{SESSIONS}/{path}"
            found = Counter([await tried(server, place.format(guess)) for guess in GUESSES])
            assert found == {404: len(GUESSES)}, path
        found = Counter([await tried(server, f"{SESSIONS}/{guess}/fork") for guess in GUESSES])
        assert set(found) <= {403, 404}


async def test_broken_requests_to_resume_lose_nothing(server: AttackedServer):
    async with victim(server, "?resume_s=30") as (_, session_id):
        for after in ("event_", "event_99", "event_" + "9" * 5_000, "-1", "%00", "live", "event_1e9"):
            assert await tried(server, f"{SESSIONS}?session_id={session_id}&after={after}") == 409
        for resume_s in ("1e999", "-1", "nan", "x" * 5_000):
            assert await tried(server, f"{SESSIONS}?resume_s={resume_s}") == 400


async def test_sideband_that_does_not_read_is_dropped_and_the_session_goes_on(server: AttackedServer):
    async with victim(server) as (_, session_id), server.call(f"{SESSIONS}/{session_id}/attach") as sideband:
        sideband.transport.pause_reading()
        for number in range(60):
            content = append("instructions", "a" * 100) if number % 2 else MUTE
            sideband.transport.write(Frame(Opcode.TEXT, content.encode()).serialize(mask=True))
            await asyncio.sleep(0.01)
        sideband.transport.abort()


# ---- the data channel


@asynccontextmanager
async def channel(server: AttackedServer, **session: Any) -> AsyncIterator[LiveRtcCaller]:
    async with rtc_calling(server.address, session or None, LiveRtcCaller) as caller:
        assert isinstance(caller, LiveRtcCaller)
        await caller.until("session.started")
        yield caller


async def test_data_channel_takes_no_audio_and_no_broken_events(server: AttackedServer):
    broken = ["", "null", "[" * 10_000, '{"type":"' + "x" * 10_000 + '"}', start(), b"\x00" * 10_000]
    sound = base64.b64encode(bytes(9_600)).decode()
    broken.append(json.dumps({"type": "session.input_audio.append", "audio": sound}))
    async with channel(server) as caller:
        for number, text in enumerate(broken, 1):
            caller.channel.send(text)
            error = await caller.until("error", number)
            assert len(json.dumps(error)) < 2_000
        caller.send(type="session.input_audio.mute")
        await caller.until("session.input_audio.muted")


async def test_flood_over_the_data_channel_ends_its_session_or_is_carried_out(server: AttackedServer):
    async with channel(server) as caller:
        text = append("thinking", "a" * 3_900)
        until_s = asyncio.get_running_loop().time() + 4.0
        while caller.channel.readyState == "open" and asyncio.get_running_loop().time() < until_s:
            while caller.channel.bufferedAmount < 200_000:
                caller.channel.send(text)
            await asyncio.sleep(0.01)
        if caller.channel.readyState == "open":
            caller.send(type="session.input_audio.mute")
            # packets beyond the limit are dropped, and aiortc sends them again after up to a minute
            await caller.until("session.input_audio.muted", patience_s=2 * SCTP_RTO_MAX)
        else:
            await caller.closed.wait()


# ---- HTTP

BODIES = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"session":' * 5_000,
    b"\xff\xfe\x00",
    b'{"session":null,"transport":null}',
    b'{"session":{"model":"m"},"transport":{"type":"webrtc","sdp":""}}',
    b'{"session":{"model":"m"},"transport":{"type":"webrtc","sdp":"v=0"}}',
    b'{"session":{"model":["m"]},"transport":{"type":"sip","sdp":1}}',
    b'{"session":{"type":"live","model":1,"client":7}}',
    b'{"target_uri":"' + b"x" * 100_000 + b'"}',
    b"a" * 300_000,
]
ROUTES = [
    SESSIONS,
    f"{SESSIONS}/live_0/fork",
    f"{SESSIONS}/live_0/hangup",
    f"{SESSIONS}/live_0/accept",
    f"{SESSIONS}/live_0/reject",
    f"{SESSIONS}/live_0/refer",
    f"{SESSIONS}/live_0/content",
    f"{SESSIONS}/{'x' * 5_000}/hangup",
    f"{SESSIONS}/%00/fork",
]


@pytest.mark.parametrize("path", ROUTES, ids=lambda path: path[-20:])
async def test_body_of_any_kind_is_a_clear_error(server: AttackedServer, path: str):
    url = f"http://{server.address}{path}"
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
        for body in BODIES:
            answer = await http.post(url, content=body, headers={"content-type": "application/json"})
            assert 400 <= answer.status_code < 500, (answer.status_code, body[:60])
            error = answer.json()["error"]
            assert error["code"] and error["message"]
            assert len(answer.content) < 2_000


LIVE_SECRETS = [
    {"type": "live"},
    {"type": "live", "model": 1},
    {"type": "live", "model": "m", "client": []},
    {"type": "live", "model": "m", "client": {"data_channel": {"allowed_client_events": ["x"] * 5_000}}},
    {"type": "live", "model": "m", "audio": {"format": {"type": "audio/pcm", "rate": 24_000}}},
    {"type": "live", "model": "m", "instructions": "a" * 200_000},
    {"type": "live", "model": "m", "delegation": backend(tools=[function(properties=deep(200))])},
    {"type": ["live"], "model": "m"},
]


@pytest.mark.parametrize("number", range(len(LIVE_SECRETS)))
async def test_client_secret_of_a_broken_live_session_is_refused(server: AttackedServer, number: int):
    async with httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False) as http:
        answer = await http.post("/v1/realtime/client_secrets", json={"session": LIVE_SECRETS[number]})
    assert answer.status_code == 400, answer.text[:200]
    assert len(answer.content) < 2_000
