"""`voiceagent check --start` reports what the LLM server refuses, including a wrong key and a wrong model."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chat_server import serve
from strict_templates import FREE, SYSTEM_FIRST
from template_server import TemplateServer

from voiceagent.cli.main import main

BENCH = Path(__file__).parents[2] / "bench"


@contextmanager
def serving(server: TemplateServer) -> Iterator[str]:
    """Serve in a thread, because the command has its own event loop; yields the base URL."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    address: list[str] = []

    async def run() -> None:
        async with serve(server.app()) as base_url:
            address.append(base_url)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert ready.wait(20)
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def checked(folder: Path, server: TemplateServer, model: str = "tiny", key_env: str = "") -> int:
    """Run the command with this server as the LLM. Return its exit status."""
    module = f"engines_of_{folder.name}"  # a new name: modules of earlier tests stay imported
    shutil.copy(BENCH / "fixed_engines.py", folder / f"{module}.py")
    with serving(server) as base_url:
        text = (BENCH / "fixed.toml").read_text().replace("fixed_engines:", f"{module}:")
        before, _, after = text.partition("[llm]")
        llm = f'engine = "openai"\nmodel = "{model}"\nbase_url = "{base_url}"\napi_key_env = "{key_env}"\n'
        config = folder / "checked.toml"
        config.write_text(f"{before}[llm]\n{llm}\n[synthesizer]{after.partition('[synthesizer]')[2]}")
        return main(["check", str(config), "--start"])


def test_each_refused_shape_is_a_line_in_plain_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(tmp_path, TemplateServer(SYSTEM_FIRST)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("[llm]")] == [
        "[llm] it refuses a system message behind the first, such as guidance for one response: "
        "sent as a part of the user message at its place",
        "[llm] it refuses a history that does not begin with the user: "
        "sent with '(The call begins.)' before it",
    ]


def test_of_a_server_that_takes_all_nothing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(tmp_path, TemplateServer(FREE)) == 0
    printed = capsys.readouterr().out
    assert "refuses" not in printed
    assert "first token of the LLM:" in printed


def test_a_wrong_key_is_told_with_its_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIP_KEY", "wrong")
    assert checked(tmp_path, TemplateServer(FREE, key="right"), key_env="SHIP_KEY") != 0
    error = capsys.readouterr().err
    assert "401" in error
    assert "SHIP_KEY" in error


def test_a_wrong_model_is_told_with_those_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(tmp_path, TemplateServer(FREE), model="tyni") != 0
    error = capsys.readouterr().err
    assert "no model 'tyni'" in error
    assert "there are: tiny, other" in error
