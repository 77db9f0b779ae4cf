"""Paths with slight mistakes are served if their meaning is clear; otherwise the error names the known
paths.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fixed_config import write_config

from voiceagent.server.app import create_app

SDP = {"content-type": "application/sdp"}


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    config = write_config(tmp_path, 'allowed_origins = ["https://shop.example"]')
    transport = httpx.ASGITransport(create_app(config))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


def refusal(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 404
    error: dict[str, Any] = answer.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "not_found")
    return error


@pytest.mark.parametrize(
    "path",
    ["/v1//realtime/client_secrets", "//v1/realtime//client_secrets", "/v1/realtime/client_secrets/"],
)
async def test_slashes_too_many_mean_nothing(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.post(f"http://127.0.0.1{path}", json={})
    assert answer.status_code == 200
    assert answer.json()["value"].startswith("ek_")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/models", "/v1//nothing/at/all"])
async def test_an_unknown_path_of_the_api_is_answered_with_what_there_is(
    http: httpx.AsyncClient, method: str, path: str
) -> None:
    message = refusal(await http.request(method, path))["message"]
    assert f"{method} '{path.replace('//', '/')}' is not there" in message
    for there in ("WebSocket at /v1/realtime", "POST /v1/realtime/calls", "POST /v1/realtime/client_secrets"):
        assert there in message


async def test_a_post_without_the_version_is_answered_with_what_there_is(http: httpx.AsyncClient) -> None:
    assert (
        "POST /v1/realtime/client_secrets" in refusal(await http.post("/realtime/client_secrets"))["message"]
    )


@pytest.mark.parametrize("path", ["/v1/realtime?model=x", "/v1/realtime/sessions", "/v1/calls/offer", "/"])
async def test_an_offer_on_a_wrong_path_is_told_the_right_one(http: httpx.AsyncClient, path: str) -> None:
    answer = await http.post(path, content="v=0\r\n", headers=SDP)
    assert "an SDP offer is sent to POST /v1/realtime/calls" in refusal(answer)["message"]


async def test_pages_of_other_sites_can_read_the_answer(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/realtime", headers=SDP | {"origin": "https://shop.example"})
    assert refusal(answer)
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/realtime/client_secrets", "POST"),
        ("DELETE", "/v1/realtime/client_secrets", "POST"),
        ("GET", "/v1/realtime/calls", "POST"),
        ("PUT", "/v1/realtime/calls", "POST"),
        ("GET", "/v1/realtime/calls/rtc_1/hangup", "POST"),
    ],
)
async def test_a_method_that_a_path_of_the_api_does_not_have_is_refused_as_the_api_refuses(
    http: httpx.AsyncClient, method: str, path: str, allowed: str
) -> None:
    answer = await http.request(method, path)
    assert answer.status_code == 405
    assert allowed in answer.headers["allow"]
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "method_not_allowed")
    assert method in error["message"] and allowed in error["message"]


@pytest.mark.parametrize("path", ["/v1/realtime", "/v1/live/sessions"])
async def test_a_plain_request_for_a_websocket_of_the_api_is_refused_as_the_api_refuses(
    http: httpx.AsyncClient, path: str
) -> None:
    answer = await http.get(path)
    assert (answer.status_code, answer.headers["upgrade"]) == (426, "websocket")
    assert "is a WebSocket" in answer.json()["error"]["message"]


async def test_the_root_of_the_api_has_nothing(http: httpx.AsyncClient) -> None:
    assert refusal(await http.get("/v1"))


async def test_other_paths_are_refused_in_plain_text(http: httpx.AsyncClient) -> None:
    answer = await http.get("/nothing")
    assert (answer.status_code, answer.text) == (404, "Not Found")
