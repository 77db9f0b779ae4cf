"""Calls through a real STUN and TURN server, coturn: a caller who cannot reach the server is relayed."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rtc_caller import RtcCaller, rtc_calling
from served import served

FIXED = Path(__file__).parents[2] / "tests/bench/fixed.toml"
UNREACHABLE_PORT = 9


class RelayedCaller(RtcCaller):
    """One behind a wall: neither side knows how to reach the other but by the relay."""

    async def offer(self) -> str:
        """Return the offer, with a port that is not open."""
        candidate = re.compile(r"^(a=candidate:\S+ \d+ udp \d+ \S+) \d+", re.MULTILINE)
        return candidate.sub(rf"\1 {UNREACHABLE_PORT}", await super().offer())

    def reachable(self, answer: str) -> str:
        """The answer with the relay's address only."""
        lines = answer.splitlines(keepends=True)
        return "".join(line for line in lines if "a=candidate" not in line or "typ relay" in line)


@pytest.fixture
async def turn_port(tmp_path: Path) -> AsyncIterator[int]:
    """The port of a STUN and TURN server on the loopback, with the user "me" and the password "secret"."""
    program = shutil.which("turnserver")
    if program is None:
        pytest.skip("turnserver is not installed (coturn): relayed calls are not tested")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-cli", "--no-tls", "--no-dtls", "--allow-loopback-peers", "--lt-cred-mech", "-n"]
    options += ["--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", f"--listening-port={port}"]
    options += ["--user=me:secret", "--realm=voiceagent", f"--userdb={tmp_path / 'turndb'}"]
    options += [f"--pidfile={tmp_path / 'turn.pid'}", f"--log-file={tmp_path / 'turn.log'}"]
    server = await asyncio.create_subprocess_exec(program, *options, stdout=asyncio.subprocess.DEVNULL)
    try:
        await _listens(port)
        yield port
    finally:
        server.terminate()
        await server.wait()


async def _listens(port: int) -> None:
    """Wait until the server takes connections."""
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


async def test_a_caller_without_a_direct_way_talks_through_the_relay(
    turn_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURN_PASSWORD", "secret")
    shutil.copy(FIXED.with_name("fixed_engines.py"), tmp_path)
    config = tmp_path / "served.toml"
    config.write_text(f"""{FIXED.read_text()}
[webrtc]
stun = "stun:127.0.0.1:{turn_port}"
turn = "turn:127.0.0.1:{turn_port}?transport=udp"
turn_username = "me"
turn_password_env = "TURN_PASSWORD"
""")
    async with served(config) as address, rtc_calling(address, kind=RelayedCaller) as caller:
        assert "typ srflx" in caller.answer, "the STUN server was asked"
        caller.send(type="response.create")
        await caller.until_sound(0.5)
        assert (await caller.until("response.done"))["response"]["status"] == "completed"
