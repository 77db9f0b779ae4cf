"""Hostile clients of the Realtime API, and their effect on the server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from attacked_server import AttackedServer
from attacker import PATIENCE_S, Attacker, attacking
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the second caller goes on during a test


def item(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def created(text: str) -> str:
    return json.dumps({"type": "conversation.item.create", "item": item(text)})


def session(**fields: Any) -> str:
    return json.dumps({"type": "session.update", "session": {"type": "realtime", **fields}})


TOO_MUCH = {
    "thirty thousand tools": (
        session(tools=[{"type": "function", "name": f"t{number}"} for number in range(20_000)]),
        "bytes; allowed: at most 262144",
    ),
    "tools of the same name": (
        session(tools=[{"type": "function", "name": "a"}] * 1_000),
        "tools; allowed: at most 128",
    ),
    "half a million zeros": (
        '{"type":"response.create","response":{"input":[' + ",".join("0" * 500_000) + "]}}",
        "bytes; allowed: at most 262144",
    ),
    "zeros in a shorter event": (
        '{"type":"response.create","response":{"input":[' + ",".join("0" * 100_000) + "]}}",
        "values; allowed: at most 10000",
    ),
    "many fields": (
        session(**{f"field_{number}": 0 for number in range(12_000)}),
        "values; allowed: at most 10000",
    ),
    "many parts": (
        json.dumps({"type": "conversation.item.create", "item": {**item(""), "content": [{}] * 11_000}}),
        "values; allowed: at most 10000",
    ),
    "a deep schema": (
        session(tools=[{"type": "function", "name": "a", "parameters": "HERE"}]).replace(
            '"HERE"', '{"a":' * 150 + "1" + "}" * 150
        ),
        "levels; allowed: at most 32",
    ),
    "a long item": (created("a" * 110_000), "characters; allowed: at most 100000"),
    "long instructions": (session(instructions="a" * 110_000), "characters; allowed: at most 100000"),
    "five thousand items": (
        json.dumps({"type": "response.create", "response": {"input": [item("a")] * 1_200}}),
        "items; allowed: at most 500",
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
async def test_what_is_too_much_is_refused_by_its_limits_name(server: AttackedServer, name: str):
    event, limit = TOO_MUCH[name]
    async with attacking(server) as attacker:
        for _ in range(3):
            await attacker.connection.send(event)
        error = await attacker.refused()
    assert error["code"] == "limit_exceeded"
    assert limit in error["message"]


@pytest.mark.parametrize(
    "message",
    [
        '{"type":"conversation.item.truncate","item_id":"a","content_index":0,"audio_end_ms":1'
        + "0" * 400
        + "}",
        "[" * 100_000,
        '{"type":' * 20_000,
        '{"type":"' + "x" * 200_000 + '"}',
        '{"a":' + "1" * 5_000 + "}",
        '{"type":"session.update","session":{"type":"realtime","temperature":1' + "0" * 400 + "}}",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        b"\x00" * 100_000,
        "null",
        "",
    ],
)
async def test_what_cannot_be_read_is_told_and_the_call_goes_on(server: AttackedServer, message: str | bytes):
    async with attacking(server) as attacker:
        await attacker.connection.send(message)
        error = await attacker.refused()
        await attacker.connection.send(session())
        await attacker.until("session.updated")
    assert error["code"].startswith(("invalid", "limit", "missing", "unknown"))
    assert len(json.dumps(error)) < 2_000


async def test_thousands_of_items_stop_at_the_limit_and_are_answered(server: AttackedServer):
    async with attacking(server) as attacker:
        for _ in range(2_100):
            await attacker.connection.send(created("hello " * 12))
        error = await attacker.refused()
        await attacker.connection.send(json.dumps({"type": "response.create"}))
        await attacker.until("response.done")
    assert "items; allowed: at most 2000" in error["message"]


async def test_a_loop_of_long_items_stops_at_the_limit(server: AttackedServer):
    async with attacking(server) as attacker:
        for _ in range(40):
            await attacker.connection.send(created("a" * 90_000))
        error = await attacker.refused()
    assert "characters; allowed: at most 500000" in error["message"]


NUMBERS = {
    "many": "12 a " * 18_000,
    "one of 5,000 digits": "1" * 5_000,
    "such a time of day": "half past " + "1" * 5_000,
}


@pytest.mark.parametrize("name", NUMBERS)
async def test_numbers_without_end_are_summarised_like_others(server: AttackedServer, name: str):
    logged = len(server.logged())
    answer = '{"type":"response.create","response":{"output_modalities":["text"]}}'
    async with attacking(server) as attacker:
        for number, typed in enumerate([NUMBERS[name], *["hello " * 700] * 4], 1):
            await attacker.connection.send(created(typed))
            await attacker.connection.send(answer)
            async with asyncio.timeout(PATIENCE_S):
                while attacker.kinds.count("response.done") < number:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        async with asyncio.timeout(PATIENCE_S):
            while "history_summarised" not in server.logged()[logged:]:  # noqa: ASYNC110  in its log alone
                await asyncio.sleep(0.05)


async def test_outputs_of_tools_that_are_blank_hold_up_nobody(server: AttackedServer):
    async with attacking(server) as attacker:
        for name in ("a", "b", "c"):
            call = {"type": "function_call", "call_id": name, "name": name, "arguments": "{}"}
            output = {"type": "function_call_output", "call_id": name, "output": " " * 90_000}
            for one in (call, output):
                await attacker.connection.send(json.dumps({"type": "conversation.item.create", "item": one}))
        await attacker.connection.send(json.dumps({"type": "response.create"}))
        await attacker.until("response.done")


async def test_a_prompt_that_is_too_long_never_comes_to_the_engine(server: AttackedServer):
    async with attacking(server) as attacker:
        items = [item("a" * 390) for _ in range(500)]
        asked = {"output_modalities": ["text"], "input": items}
        await attacker.connection.send(json.dumps({"type": "response.create", "response": asked}))
        await attacker.until("response.done")


async def test_two_callers_with_the_longest_prompts_leave_others_their_slots(server: AttackedServer):
    asked = {"output_modalities": ["text"], "input": [item("a " * 100) for _ in range(500)]}
    async with attacking(server) as one, attacking(server) as other:
        for attacker in (one, other):
            for _ in range(3):
                await attacker.connection.send(json.dumps({"type": "response.create", "response": asked}))
                await attacker.connection.send(json.dumps({"type": "response.cancel"}))
            await attacker.until("response.done")


async def test_a_flood_of_cheap_events_is_read_slower(server: AttackedServer):
    async with attacking(server) as attacker:
        flood = asyncio.create_task(_flood(attacker, session(), 5_000))
        await asyncio.sleep(1.5)
        flood.cancel()
        assert attacker.kinds.count("session.updated") < 3_000
        attacker.connection.transport.abort()  # its goodbye would come behind all that it has sent


async def _flood(attacker: Attacker, message: str, count: int) -> None:
    for _ in range(count):
        await attacker.connection.send(message)


async def test_pings_that_nobody_reads_the_answers_of_do_not_pile_up(server: AttackedServer):
    async with server.call() as connection:
        await connection.recv()
        connection.transport.pause_reading()
        ping = Frame(Opcode.PING, b"x" * 100).serialize(mask=True)
        before_mb = server.memory_mb()
        for _ in range(300):
            connection.transport.write(ping * 1_000)
            await asyncio.sleep(0.005)
        assert server.memory_mb() < before_mb + 20
        connection.transport.abort()


async def test_a_message_in_empty_pieces_without_end_is_refused(server: AttackedServer):
    async with server.call() as connection:
        await connection.recv()
        pieces = Frame(Opcode.TEXT, b"", fin=False).serialize(mask=True)
        pieces += Frame(Opcode.CONT, b"", fin=False).serialize(mask=True) * 5_000
        connection.transport.write(pieces)
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    await connection.recv()
    assert connection.close_code == 1009


async def test_text_that_is_no_utf8_closes_its_own_connection_only(server: AttackedServer):
    async with server.call() as connection:
        await connection.recv()
        connection.transport.write(Frame(Opcode.TEXT, b"\xff\xfe").serialize(mask=True))
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    await connection.recv()
    assert connection.close_code == 1007


async def test_a_broken_frame_behind_the_handshake_closes_its_own_connection_only(server: AttackedServer):
    host, _, port = server.address.partition(":")
    upgrade = (
        f"GET /v1/realtime HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(upgrade.encode() + b"\xff\xff\xff")
    async with asyncio.timeout(PATIENCE_S):
        while await reader.read(65_536):
            pass
    writer.close()


async def test_names_of_models_of_any_length_leave_the_log_short(server: AttackedServer):
    for _ in range(40):
        async with server.call(f"/v1/realtime?model={'m' * 7_000}") as connection:
            await connection.recv()


async def test_a_client_that_never_reads_is_ended(server: AttackedServer):
    async with server.call() as connection:
        await connection.recv()
        connection.transport.pause_reading()
        long = created("a" * 90_000)
        for _ in range(5):
            connection.transport.write(Frame(Opcode.TEXT, long.encode()).serialize(mask=True))
        retrieve = json.dumps(
            {"type": "session.update", "session": {"type": "realtime", "instructions": "a" * 90_000}}
        )
        for _ in range(30):
            connection.transport.write(Frame(Opcode.TEXT, retrieve.encode()).serialize(mask=True))
            await asyncio.sleep(0.02)
        connection.transport.abort()
