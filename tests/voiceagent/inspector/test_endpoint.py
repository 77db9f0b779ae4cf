"""Kept calls over HTTP: access, contents, and paging."""

from __future__ import annotations

import asyncio
import json
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from kept_folder import begin, conversation, keep_calls, keep_one, store_of, until
from logged_call import reported
from starlette.applications import Starlette

from voiceagent.access.access_control import Admission
from voiceagent.access.auth import ApiKeys, access_rules
from voiceagent.access.config import AccessConfig
from voiceagent.calls.kept_call import LOG_NAME
from voiceagent.calls.kept_calls import KeptCalls
from voiceagent.calls.replaying.replay import CannotReplay
from voiceagent.calls.rows import CallRow
from voiceagent.conversation import call_events
from voiceagent.inspector.endpoint import COOKIE, Inspector, scored
from voiceagent.inspector.reading import replayed

RATE_HZ = 24_000
KEY = {"authorization": "Bearer right"}


def keyed() -> Admission:
    return Admission(ApiKeys(frozenset({"right"})), access_rules(AccessConfig(api_keys_env="K")))


def reading(folder: Path, admission: Admission | None = None, peer: str = "127.0.0.1") -> httpx.AsyncClient:
    """A client at that address of what is kept in a folder."""
    app = Starlette(routes=Inspector(store_of(folder), admission or Admission()).routes())
    transport = httpx.ASGITransport(app, client=(peer, 1))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost/v1/calls", follow_redirects=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One call without sound, and one with."""
    folder = tmp_path_factory.mktemp("kept")
    keep_one(folder, "silent")
    kept = keep_calls(folder)
    call = begin(kept, "heard")
    for _ in range(100):
        call.on_input_audio(np.full(RATE_HZ // 50, 1_000, np.int16), RATE_HZ)
    call.stalled(0.0, 0.2)
    call.on_event(call_events.CallEnded("the caller hung up", conversation().conversation.history.items))
    kept.close()
    return folder


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[KeptCalls, Path]]:
    kept = keep_calls(tmp_path)
    yield kept, tmp_path
    kept.close()


async def test_calls_are_listed_a_page_after_the_other(folder: Path):
    async with reading(folder) as client:
        first = (await client.get("", params={"limit": 1})).json()
        second = (await client.get("", params={"limit": 1, "behind": first["next"]})).json()
        last = (await client.get("", params={"limit": 1, "behind": second["next"]})).json()
    listed = first["calls"] + second["calls"]
    assert [call["call_id"] for call in listed] == ["heard", "silent"]
    assert all("turns" not in call and isinstance(call["responses"], int) for call in listed)
    assert last == {"calls": [], "next": None}
    assert not [name for name in first["calls"][0] if name in ("place", "folder")]


async def test_a_call_is_told_with_its_turns_stalls_and_words(folder: Path):
    async with reading(folder) as client:
        told = (await client.get("/heard")).json()
    assert (told["call"]["state"], told["call"]["rate_hz"]) == ("ended", RATE_HZ)
    assert [turn["said"] for turn in told["turns"]] == ["is there a pool"]
    assert [response["heard"] for response in told["responses"]] == ["Hello.", "Yes, there is."]
    assert [stall["lag_ms"] for stall in told["stalls"]] == [200.0]


async def test_content_of_the_live_api_is_of_live_sessions_alone(folder: Path):
    """A kept phone call's recording is not under the path of the Live API."""
    async with reading(folder) as client:
        answer = await client.get("http://localhost/v1/live/sessions/heard/content")
    assert answer.status_code == 404
    assert "no session 'heard' is kept" in answer.text


async def test_a_recording_is_served_whole_and_in_ranges(folder: Path):
    async with reading(folder) as client:
        whole = await client.get("/heard/recording")
        part = await client.get("/heard/recording", headers={"range": "bytes=44-47"})
        beyond = await client.get("/heard/recording", headers={"range": "bytes=99999999-"})
        missing = await client.get("/silent/recording")
    assert (whole.status_code, whole.content[:4], len(whole.content)) == (200, b"RIFF", 44 + 4 * 2 * RATE_HZ)
    assert (part.status_code, part.content) == (206, whole.content[44:48])
    assert part.headers["content-range"] == f"bytes 44-47/{len(whole.content)}"
    assert beyond.status_code == 416
    assert missing.status_code == 404
    assert "calls.record" in missing.json()["error"]["message"]


async def test_peaks_go_on_where_they_were_left(folder: Path):
    async with reading(folder) as client:
        whole = (await client.get("/heard/peaks")).content
        rest = (await client.get("/heard/peaks", headers={"range": "bytes=150-"})).content
    assert len(whole) == 2 * 100
    assert set(whole[::2]) == {45}
    assert rest == whole[150:]


async def test_an_export_has_log_recording_and_what_the_store_knows(folder: Path):
    async with reading(folder) as client:
        answer = await client.get("/heard/export")
        recording = (await client.get("/heard/recording")).content
    assert "heard.zip" in answer.headers["content-disposition"]
    with zipfile.ZipFile(BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("call.json"))["call_id"] == "heard"
        assert archive.read("sound.wav") == recording
        assert b'"call_id":"heard"' in archive.read("log.jsonl")


async def test_the_server_replays_a_call(folder: Path):
    async with reading(folder) as client:
        told = (await client.post("/heard/replay")).json()
    assert told["same"]
    assert told["events"] == len(conversation().steps)


def test_a_long_call_is_left_to_the_command_line(folder: Path):
    call = store_of(folder).get("silent")
    assert call is not None
    with pytest.raises(CannotReplay, match="voiceagent replay silent"):
        replayed(call, max_bytes=100)


async def test_the_scores_of_a_call_are_those_of_its_log_and_recording(folder: Path, tmp_path: Path):
    async with reading(folder) as client:
        silent = (await client.get("/silent/scores")).json()
        heard = (await client.get("/heard/scores")).json()
        missing = await client.get("/none/scores")
    assert not silent["by_recording"] and heard["by_recording"]
    assert missing.status_code == 404
    (tmp_path / LOG_NAME).write_bytes(reported(conversation()))
    call = store_of(folder).get("silent")
    assert call is not None
    scores = {one["name"]: one["value"] for one in scored(replace(call, place=str(tmp_path)))["scores"]}
    assert scores["wait, p50"] == 0.2


async def test_a_replay_does_not_wait_for_scores(folder: Path, monkeypatch: pytest.MonkeyPatch):
    computing, replayed_meanwhile = threading.Event(), threading.Event()

    def slow(_: CallRow) -> dict[str, Any]:
        computing.set()
        return {"replayed_meanwhile": replayed_meanwhile.wait(30)}

    monkeypatch.setattr("voiceagent.inspector.endpoint.scored", slow)
    async with reading(folder) as client:
        scores = asyncio.create_task(client.get("/heard/scores"))
        await asyncio.to_thread(computing.wait)
        async with asyncio.timeout(20):
            assert (await client.post("/heard/replay")).json()["same"]
        replayed_meanwhile.set()
        assert (await scores).json() == {"replayed_meanwhile": True}


async def test_a_call_whose_words_were_left_out_cannot_be_replayed(tmp_path: Path):
    keep_one(tmp_path, personal_data="omit")
    async with reading(tmp_path) as client:
        refused = await client.post("/call_1/replay")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "cannot_replay")


def events(text: str) -> list[tuple[str, Any]]:
    """Return the names and data of server-sent events."""
    blocks = [block.split("\n") for block in text.split("\n\n") if block.startswith("event: ")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


async def test_a_call_that_goes_on_is_told_as_it_goes_on_until_it_is_over(running: tuple[KeptCalls, Path]):
    kept, folder = running
    call = begin(kept)
    until(lambda: list(folder.rglob("log.jsonl")) and store_of(folder).get("call_1"))
    call.on_event(call_events.CallEnded("the caller hung up", conversation().conversation.history.items))
    async with reading(folder) as client:
        told = events((await client.get("/call_1/events")).text)
    assert [name for name, _ in told][-1] == "over"
    turns = [turn["said"] for name, changes in told if name == "changes" for turn in changes["turns"]]
    assert turns[-1] == "is there a pool"
    assert told[-2][1]["call"]["reason"] == "the caller hung up"


async def test_a_call_that_has_only_just_begun_is_told_without_turns(running: tuple[KeptCalls, Path]):
    _, folder = running
    until((folder / "calls.db").exists)
    store_of(folder).began("new", 1.8e9, str(folder / "not-there"))
    async with reading(folder) as client:
        told = (await client.get("/new")).json()
        peaks = await client.get("/new/peaks")
    assert (told["call"]["state"], told["turns"]) == ("running", [])
    assert peaks.status_code == 404


@pytest.mark.parametrize(
    "path", ["/nobody", "/nobody/recording", "/nobody/events", "/..%2Fcalls.db", "/a b", "/" + "a" * 65]
)
async def test_what_is_no_call_is_not_found(folder: Path, path: str):
    async with reading(folder) as client:
        answer = await client.get(path)
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "state=odd", "cut_off=yes", "x=1", "behind=1", "since=nan"]
)
async def test_a_question_that_means_nothing_is_told_so(folder: Path, query: str):
    async with reading(folder) as client:
        answer = await client.get(f"?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.json()["error"]["message"]


PATHS = ["", "/heard", "/heard/recording", "/heard/peaks", "/heard/export", "/heard/events"]


@pytest.mark.parametrize("path", PATHS)
async def test_without_the_key_nothing_is_told(folder: Path, path: str):
    async with reading(folder, keyed()) as client:
        refused = await client.get(path)
        allowed = await client.get(path, headers=KEY)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert allowed.status_code == 200
    assert refused.headers["cache-control"] == allowed.headers["cache-control"] == "no-store"


async def test_a_page_gives_its_key_once_for_a_cookie_that_no_script_reads(folder: Path):
    async with reading(folder, keyed()) as client:
        given = await client.post("/ticket", headers=KEY)
        cookie = given.headers["set-cookie"]
        assert "right" not in cookie
        assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/v1/calls"))
        assert (await client.get("/heard")).status_code == 200
        client.cookies.set(
            COOKIE, given.cookies[COOKIE][:-1] + "x", path="/v1/calls", domain="localhost.local"
        )
        assert (await client.post("/ticket")).status_code == 401


async def test_without_keys_only_this_machine_reads_however_open_the_server_is(folder: Path):
    opened = Admission(rules=access_rules(AccessConfig(open=True)))
    async with reading(folder, opened, peer="203.0.113.9") as client:
        assert (await client.get("")).status_code == 403
    async with reading(folder, opened) as client:
        assert (await client.get("")).status_code == 200
        assert (await client.get("", headers={"host": "evil.example"})).status_code == 403
        assert (await client.get("", headers={"x-forwarded-for": "203.0.113.9"})).status_code == 403
