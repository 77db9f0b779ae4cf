"""HTTP: hostile requests to the server's port, and access control."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from attacked_server import AttackedServer

pytestmark = pytest.mark.asyncio(loop_scope="session")  # the second caller goes on during a test

EVIL = {"host": "evil.example", "origin": "http://evil.example"}
HALF = {
    "says nothing": b"",
    "half a head": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ",
    "half a body": b"POST /v1/realtime/calls HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sdp\r\n"
    b"Content-Length: 1000\r\n\r\nv=0",
    "half of the second request": b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\n",
}


async def opened(server: AttackedServer, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = server.address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    return reader, writer


async def health(server: AttackedServer, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.get(f"http://{server.address}/health", headers=headers)


@pytest.mark.parametrize("name", HALF)
async def test_a_request_that_never_ends_is_closed_after_its_time(server: AttackedServer, name: str):
    reader, writer = await opened(server, HALF[name])
    async with asyncio.timeout(20):
        while await reader.read(65_536):
            pass
    writer.close()


@pytest.mark.parametrize("host", ["[", "[::1", "a]b", "a b", "\xff"])
async def test_a_forwarded_host_that_is_none_is_passed_over(server: AttackedServer, host: str):
    head = f"Host: localhost\r\nX-Forwarded-Host: {host}\r\nContent-Length: 0\r\n"
    request = f"POST /telephony/twilio/voice HTTP/1.1\r\n{head}\r\n"
    reader, writer = await opened(server, request.encode("latin-1"))
    answer = await reader.readuntil(b"</Response>")
    assert b" 200 " in answer.partition(b"\r\n")[0]
    assert b"://localhost/telephony/twilio" in answer
    writer.close()


@pytest.mark.parametrize("host", ["[", "[::1", "a b", "a/b", "a:b", "\xff:1:1", ""])
async def test_a_host_that_is_none_is_refused(server: AttackedServer, host: str):
    request = f"POST /telephony/twilio/voice HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"
    reader, writer = await opened(server, request.encode("latin-1"))
    assert b" 400 " in (await reader.read(1_000)).partition(b"\r\n")[0]
    writer.close()


async def test_an_origin_that_is_none_may_not_call(server: AttackedServer):
    async with httpx.AsyncClient(trust_env=False) as http:
        url = f"http://{server.address}/v1/realtime/calls"
        assert (await http.post(url, json={}, headers={"origin": "http://["})).status_code == 403


async def test_handshakes_that_are_refused_or_given_up_are_no_errors(server: AttackedServer):
    logged = len(server.logged())
    upgrade = (
        "GET /v1/realtime HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    for host in ("evil.example", "localhost") * 10:
        _, writer = await opened(server, upgrade.format(host).encode())
        writer.transport.abort()
        reader, writer = await opened(server, upgrade.format("evil.example").encode())
        assert b" 403 " in (await reader.read(1_000)).partition(b"\r\n")[0]
        writer.close()
    assert "[error" not in server.logged()[logged:]


@pytest.mark.parametrize(
    "header",
    ["X: " + "a" * 20_000, "\r\n".join(f"X-{number}: a" for number in range(200)), "Content-Length: 5"],
)
async def test_a_handshake_that_cannot_be_read_is_refused_and_closed(server: AttackedServer, header: str):
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    head = f"GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\n{upgrade}{key}{header}\r\n\r\n"
    reader, writer = await opened(server, head.encode())
    async with asyncio.timeout(20):
        answer = await reader.read(-1)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"the handshake cannot be read" in answer


async def test_hundreds_of_half_sent_requests_keep_nobody_out(server: AttackedServer):
    connections = [await opened(server, HALF["half a head"]) for _ in range(400)]
    assert (await health(server)).status_code == 200
    for _, writer in connections:
        writer.transport.abort()


async def test_a_head_without_end_is_refused(server: AttackedServer):
    reader, writer = await opened(server, b"GET / HTTP/1.1\r\n")
    answer = asyncio.create_task(reader.read(1_000))
    sent = 0
    async with asyncio.timeout(20):
        # What is unread when the server closes would cost the answer: the system resets the connection.
        while not answer.done() and sent < 1_000_000:
            writer.write(b"X: " + b"a" * 8_000 + b"\r\n")
            sent += 8_005
            await asyncio.wait([answer], timeout=0.05)
        assert b" 400 " in (await answer).partition(b"\r\n")[0]
    assert sent < 200_000
    writer.close()


@pytest.mark.parametrize(
    "request_line", ["POST /telephony/twilio/voice", "POST /v1/realtime/client_secrets", "GET /health"]
)
async def test_a_body_that_turns_out_to_be_no_http_is_answered_at_most_once(
    server: AttackedServer, request_line: str
):
    head = f"{request_line} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    for pause_s in (0.0, 0.2):  # in the time before the answer, and after it
        reader, writer = await opened(server, head.encode() + b"2\r\nab\r\n")
        await asyncio.sleep(pause_s)
        writer.write(b"-2\r\nno chunk")
        async with asyncio.timeout(20):
            assert (await reader.read()).count(b"HTTP/1.1 ") <= 1
        writer.close()


@pytest.mark.parametrize(
    "headers", [EVIL, {"x-forwarded-for": "203.0.113.9"}, {"origin": "http://evil.example"}]
)
@pytest.mark.parametrize("path", ["/v1/realtime/client_secrets", "/v1/realtime/calls"])
async def test_pages_of_others_and_proxies_get_nothing_without_a_key(
    server: AttackedServer, path: str, headers: dict[str, str]
):
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(f"http://{server.address}{path}", json={}, headers=headers)
    assert answer.status_code == 403
    assert "ek_" not in answer.text


async def test_others_learn_of_the_health_only_that_it_is_well(server: AttackedServer):
    assert (await health(server, host="evil.example")).json() == {"status": "ready"}
    assert "engines" in (await health(server)).json()


async def test_thousands_of_client_secrets_are_no_more_than_may_be(server: AttackedServer):
    async with httpx.AsyncClient(trust_env=False) as http:
        for _ in range(300):
            answer = await http.post(f"http://{server.address}/v1/realtime/client_secrets", json={})
            assert answer.status_code == 200
        large = {"session": {"type": "realtime", "instructions": "a" * 300_000}}
        answer = await http.post(f"http://{server.address}/v1/realtime/client_secrets", json=large)
    assert answer.status_code == 400
    assert "bytes; allowed: at most 262144" in answer.json()["error"]["message"]


async def test_what_is_no_http_writes_a_few_lines_only(server: AttackedServer):
    for _ in range(500):
        _, writer = await opened(server, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        writer.close()
