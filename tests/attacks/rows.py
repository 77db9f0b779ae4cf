"""Print a table: a second caller's waits during each attack, and the memory left in use after it.

python tests/attacks/rows.py
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import test_realtime as realtime
import test_webrtc as webrtc
from aioice import stun
from attacked_server import AttackedServer, SecondCaller, attacked_server, free_port
from test_http import HALF, health, opened
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

ATTACK_S = 4.0
"""An attack is begun again until so long is over."""
SETTLED_S = 5.0
"""After it, until the memory is looked at."""
MOST_LONGER_MS = 100.0
MEMORY = 1.1

Attack = Callable[[AttackedServer], Awaitable[None]]


def sends(*messages: str) -> Attack:
    """Return an attack: a call that sends these messages and reads the answers."""

    async def attack(server: AttackedServer) -> None:
        async with realtime.attacking(server) as attacker:
            try:
                for message in messages:
                    await attacker.connection.send(message)
                await attacker.refused()
            except (ConnectionClosed, TimeoutError):
                pass

    return attack


def offers(description: Callable[[str], str]) -> Attack:
    async def attack(server: AttackedServer) -> None:
        await webrtc.post(server, description(await webrtc.offer()))

    return attack


async def two_with_long_prompts(server: AttackedServer) -> None:
    items = [realtime.item("a " * 100) for _ in range(500)]
    response = {"output_modalities": ["text"], "input": items}
    asked = json.dumps({"type": "response.create", "response": response})
    async with realtime.attacking(server) as one, realtime.attacking(server) as other:
        for attacker in (one, other):
            await attacker.connection.send(asked)
        for attacker in (one, other):
            await attacker.until("response.done")


async def half_requests(server: AttackedServer) -> None:
    connections = [await opened(server, HALF["half a head"]) for _ in range(1_100)]
    assert (await health(server)).status_code == 200
    for _, writer in connections:
        writer.transport.abort()


async def silent_calls(server: AttackedServer) -> None:
    calls = [await server.call() for _ in range(20)]
    await asyncio.sleep(ATTACK_S)
    for call in calls:
        await call.close()


async def unread_pings(server: AttackedServer) -> None:
    async with server.call() as connection:
        await connection.recv()
        connection.transport.pause_reading()
        ping = Frame(Opcode.PING, b"x" * 100).serialize(mask=True)
        for _ in range(2_000):
            connection.transport.write(ping * 1_000)
            await asyncio.sleep(0)
        await asyncio.sleep(ATTACK_S)
        connection.transport.abort()


async def broken_stun(server: AttackedServer) -> None:
    answer = await webrtc.post(server, await webrtc.offer())
    host, port = re.findall(r"a=candidate:\S+ 1 udp \d+ (\d+\.\S+) (\d+) typ host", answer.text)[0]
    message = bytes(stun.Message(stun.Method.BINDING, stun.Class.REQUEST))
    broken = message[:2] + b"\x00\x08" + message[4:] + b"\x00\x24\x00\x02ab\x00\x00"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker:
        for _ in range(round(ATTACK_S * 100)):
            for _ in range(50):
                attacker.sendto(broken, (host, int(port)))
            await asyncio.sleep(0.01)


ROWS: dict[str, Attack] = {
    "nothing": lambda _: asyncio.sleep(ATTACK_S),
    "session.update with 20,000 tools": sends(realtime.TOO_MUCH["thirty thousand tools"][0]),
    "response.create with 500,000 zeros": sends(realtime.TOO_MUCH["half a million zeros"][0]),
    "response.create with 100,000 zeros": sends(realtime.TOO_MUCH["zeros in a shorter event"][0]),
    "2,100 items, then response.create": sends(
        *[realtime.created("hello " * 12)] * 2_100, '{"type":"response.create"}'
    ),
    "an offer with 16,000 candidates": offers(webrtc.TOO_MUCH["bytes; allowed: at most 65536"]),
    "two response.create with 500 long items": two_with_long_prompts,
    "items of 90 kB in a loop": sends(*[realtime.created("a" * 90_000)] * 60),
    "1,100 half-sent requests": half_requests,
    "20 calls that say nothing": silent_calls,
    "5,000 broken STUN datagrams a second": broken_stun,
    "audio_end_ms of 10**400": sends(
        '{"type":"conversation.item.truncate","item_id":"a","content_index":0,"audio_end_ms":1'
        + "0" * 400
        + "}"
    ),
    "2 million pings unread": unread_pings,
}


async def waits(caller: SecondCaller, attack: Callable[[], Awaitable[None]]) -> list[float]:
    """Return the second caller's waits, in ms, until the attack has lasted its time."""
    began_s, found = time.monotonic(), list[float]()

    async def go_on() -> None:
        while time.monotonic() < began_s + ATTACK_S:
            await attack()

    attacking = asyncio.create_task(go_on())
    while not attacking.done():
        asked_s = time.monotonic()
        await caller.ask()
        found.append((time.monotonic() - asked_s) * 1000)
    attacking.result()
    return found


async def main() -> int:
    """Print the table; 1 where a row is not kept."""
    kept = True
    print(f"{'attack':40} answers in ms: median  slowest   longer   memory before  after (MB)  log  kept")
    with tempfile.TemporaryDirectory() as folder:
        async with attacked_server(Path(folder), free_port()) as server, server.call() as connection:
            caller = await SecondCaller.on(connection)
            for attack in ROWS.values():  # the first time loads code and tables
                await attack(server)
            usual_ms = max(await waits(caller, lambda: asyncio.sleep(ATTACK_S)))
            for name, attack in ROWS.items():
                before_mb, logged = server.memory_mb(), len(server.logged())
                found = await waits(caller, lambda attack=attack: attack(server))
                await asyncio.sleep(SETTLED_S)
                after_mb, new = server.memory_mb(), server.logged()[logged:]
                longer_ms = max(found) - usual_ms
                well = longer_ms <= MOST_LONGER_MS and after_mb <= MEMORY * before_mb
                well = well and "Traceback" not in new and not caller.failed
                kept = kept and well
                print(
                    f"{name:40} {statistics.median(found):21.0f} {max(found):8.0f} {longer_ms:8.0f}"
                    f" {before_mb:15.0f} {after_mb:6.0f} {len(new):10}  {'yes' if well else 'NO'}",
                    flush=True,
                )
    return int(not kept)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
