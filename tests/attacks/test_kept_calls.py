"""Hostile requests for kept calls: no path leaves the folder, and reading needs a key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from fixed_config import write_config
from sdk_caller import calling
from served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = b"nobody may read this"
OUTSIDE = (
    "..",
    "%2e%2e",
    "..%2f..%2fsecret.txt",
    "%2e%2e%2fsecret.txt",
    "..%5c..%5csecret.txt",
    "%2fetc%2fpasswd",
    "....//secret.txt",
    "%00",
    "calls.db",
    "..%252fsecret.txt",
    "2026-01-01%2fsecret",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a server that keeps one call; all attacks are on this server."""
    folder = tmp_path_factory.mktemp("kept_calls")
    (folder / "secret.txt").write_bytes(SECRET)
    async with served(write_config(folder, '[calls]\nfolder = "./kept"\n')) as address:
        async with calling(address) as caller:
            await caller.until("session.created")
        async with asyncio.timeout(30):
            while b"sess_" not in await asked(address, "/v1/calls"):  # it is put on record by a thread
                pass
        yield address


async def asked(address: str, path: str, headers: str = "") -> bytes:
    """The answer to a request whose path goes out as it is."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n".encode())
    async with asyncio.timeout(20):
        answer = await reader.read(-1)
    writer.close()
    return answer


async def test_no_path_leads_out_of_what_is_kept(address: str):
    for outside in OUTSIDE:
        for part in ("", "/recording", "/peaks", "/export"):
            for prefix in ("/v1/calls/", "/calls/"):
                answer = await asked(address, f"{prefix}{outside}{part}")
                assert answer.partition(b"\r\n")[0].split(b" ")[1] in (b"307", b"404"), (outside, part)
                assert SECRET not in answer
                assert b"SQLite" not in answer
                assert b"root:" not in answer


@pytest.mark.parametrize("headers", ["X-Forwarded-For: 203.0.113.9\r\n", "Origin: http://evil.example\r\n"])
async def test_pages_of_others_and_proxies_read_nothing_without_a_key(address: str, headers: str):
    answer = await asked(address, "/v1/calls", headers)
    assert b" 403 " in answer.partition(b"\r\n")[0] + b" "
    assert b"sess_" not in answer


async def test_hundreds_of_followers_that_vanish_leave_room_for_others(address: str):
    listed = await asked(address, "/v1/calls")
    call_id = listed.split(b'"call_id":"')[1].split(b'"')[0].decode()
    host, port = address.split(":")
    for _ in range(200):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET /v1/calls/{call_id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await writer.drain()
        writer.transport.abort()
    async with asyncio.timeout(30):
        while b" 200 " not in (await asked(address, f"/v1/calls/{call_id}/events")).partition(b"\r\n")[0]:
            pass  # a client can only ask again


async def test_a_range_of_absurd_numbers_is_refused(address: str):
    listed = await asked(address, "/v1/calls")
    call_id = listed.split(b'"call_id":"')[1].split(b'"')[0].decode()
    for span in ("9" * 400, "0-" + "9" * 400, "-" + "9" * 400, "0-0," * 500):
        answer = await asked(address, f"/v1/calls/{call_id}/peaks", f"Range: bytes={span}\r\n")
        assert answer.partition(b"\r\n")[0].split(b" ")[1] in (b"200", b"404", b"416")
