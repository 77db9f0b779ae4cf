"""Attacks on a server and its calls by sidebands and by transcription sessions."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from attacked_server import AttackedServer
from attacker import PATIENCE_S, Attacker
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the second caller continues during a test

SESSION = {"type": "realtime", "instructions": "a" * 90_000}
"""A large session, which every `session.updated` contains."""
SECOND_OF_SOUND = base64.b64encode(bytes(48_000)).decode()
APPEND = json.dumps({"type": "input_audio_buffer.append", "audio": SECOND_OF_SOUND})
COMMIT = json.dumps({"type": "input_audio_buffer.commit"})
BY_HAND = json.dumps(
    {
        "type": "session.update",
        "session": {"type": "transcription", "audio": {"input": {"turn_detection": None}}},
    }
)


@asynccontextmanager
async def victim(server: AttackedServer) -> AsyncIterator[tuple[Attacker, str]]:
    """Yield a call and its id. At the end it must be answered as before."""
    async with server.call() as connection:
        call_id = json.loads(await connection.recv())["session"]["id"]
        caller = Attacker(connection)
        reading = asyncio.create_task(caller.read())
        try:
            yield caller, call_id
            before = caller.kinds.count("response.done")
            await connection.send('{"type":"response.create","response":{"output_modalities":["text"]}}')
            async with asyncio.timeout(PATIENCE_S):
                while caller.kinds.count("response.done") == before:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert not caller.errors
        finally:
            await connection.close()
            await reading


def path(call_id: str) -> str:
    return f"/v1/realtime?call_id={call_id}"


async def tried(server: AttackedServer, call_id: str, key: str = "") -> tuple[int, str]:
    """Return the status of a handshake, and the error if it is refused."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        async with connect(f"ws://{server.address}{path(call_id)}", additional_headers=headers, proxy=None):
            return 101, ""
    except InvalidStatus as refused:
        return refused.response.status_code, refused.response.body.decode().replace(call_id, "ID")


async def test_somebody_elses_call_is_as_unknown_as_one_that_is_not_there(server: AttackedServer):
    async with httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False) as http:
        mine, other = [
            (await http.post("/v1/realtime/client_secrets", json={})).json()["value"] for _ in range(2)
        ]
    headers = {"authorization": f"Bearer {mine}"}
    async with connect(server.url, additional_headers=headers, proxy=None) as call:
        call_id = json.loads(await call.recv())["session"]["id"]
        somebody_elses = await tried(server, call_id, other)
        assert somebody_elses == await tried(server, "rtc_0123456789abcdef0123", other)
        assert somebody_elses[0] == 404
        assert (await tried(server, call_id, mine))[0] == 101


async def test_guesses_of_ids_find_nothing_and_cost_nothing(server: AttackedServer):
    guesses = ["", "x" * 5_000, "rtc_", "..%2f..", "%00", *(f"rtc_{number:020x}" for number in range(300))]
    async with victim(server):
        found = Counter([(await tried(server, guess))[0] for guess in guesses])
    assert found == {404: len(guesses)}


async def test_a_thousand_sidebands_are_eight_and_the_call_goes_on(server: AttackedServer):
    async with victim(server) as (_, call_id), AsyncExitStack() as attached:
        found: Counter[int] = Counter()
        for _ in range(1_000):
            try:
                await attached.enter_async_context(server.call(path(call_id)))
                found[101] += 1
            except InvalidStatus as refused:
                found[refused.response.status_code] += 1
        assert found == {101: 8, 429: 992}


async def test_sidebands_that_come_and_go_leave_nothing(server: AttackedServer):
    async with victim(server) as (_, call_id):
        for _ in range(100):
            async with server.call(path(call_id)):
                pass


async def until_closed(connection: ClientConnection) -> None:
    with pytest.raises(ConnectionClosed):
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await connection.recv()


async def test_a_sideband_that_does_not_read_is_dropped_and_harms_nobody(server: AttackedServer):
    logged = len(server.logged())
    async with victim(server) as (caller, call_id), server.call(path(call_id)) as sideband:
        sideband.transport.pause_reading()
        update = json.dumps({"type": "session.update", "session": SESSION})
        for number in range(1, 200):
            if "the client does not read" in server.logged()[logged:]:
                break
            await caller.connection.send(update)
            async with asyncio.timeout(PATIENCE_S):
                while caller.kinds.count("session.updated") < number:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        assert "the client does not read" in server.logged()[logged:]
        sideband.transport.abort()


async def test_a_sideband_that_floods_is_read_slower_and_the_call_goes_on(server: AttackedServer):
    async with victim(server) as (caller, call_id), server.call(path(call_id)) as sideband:
        update = '{"type":"session.update","session":{"type":"realtime"}}'
        sideband.transport.write(Frame(Opcode.TEXT, update.encode()).serialize(mask=True) * 3_000)
        await asyncio.sleep(1.0)
        assert caller.kinds.count("session.updated") < 3_000
        sideband.transport.abort()


async def test_the_end_of_a_call_closes_all_its_sidebands(server: AttackedServer):
    async with AsyncExitStack() as attached:
        async with victim(server) as (_, call_id):
            sidebands = [await attached.enter_async_context(server.call(path(call_id))) for _ in range(8)]
        for sideband in sidebands:
            await until_closed(sideband)
            assert sideband.close_code == 1000


async def test_sound_without_end_for_a_transcription_is_refused_once_and_the_rest_is_kept(
    server: AttackedServer,
):
    async with server.call("/v1/realtime?intent=transcription") as connection:
        attacker = Attacker(connection)
        reading = asyncio.create_task(attacker.read())
        await connection.send(BY_HAND)
        await attacker.until("session.updated")
        for _ in range(60):
            await connection.send(APPEND)
        await attacker.refused()
        assert [error["code"] for error in attacker.errors] == ["input_audio_buffer_overflow"]
        await connection.send(COMMIT)
        await attacker.until("conversation.item.input_audio_transcription.completed")
        await connection.close()
        await reading


async def test_two_hundred_commits_of_a_transcription_are_answered(server: AttackedServer):
    # 40 ms each: in total no more than the input rate limit allows
    piece = json.dumps({"type": "input_audio_buffer.append", "audio": SECOND_OF_SOUND[:2_560]})
    async with server.call("/v1/realtime?intent=transcription") as connection:
        attacker = Attacker(connection)
        reading = asyncio.create_task(attacker.read())
        await connection.send(BY_HAND)
        for _ in range(200):
            await connection.send(piece)
            await connection.send(COMMIT)
        committed = "conversation.item.input_audio_transcription.completed"
        async with asyncio.timeout(PATIENCE_S):
            while attacker.kinds.count(committed) < 200:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert not attacker.errors
        await connection.close()
        await reading


async def test_transcriptions_that_say_nothing_take_no_more_than_the_places_there_are(
    server: AttackedServer,
):
    found: Counter[str] = Counter()
    async with AsyncExitStack() as calls:
        for _ in range(70):
            try:
                await calls.enter_async_context(server.call("/v1/realtime?intent=transcription"))
                found["taken"] += 1
            except InvalidStatus as refused:
                found[json.loads(refused.response.body)["error"]["code"]] += 1
    assert found["taken"] + found["call_refused"] == 70
    assert 50 < found["taken"] < 60, "the second caller has one"
