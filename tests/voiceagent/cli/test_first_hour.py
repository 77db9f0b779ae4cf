"""The first hour of a user: writes a configuration, lists engines, calls the running server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from fixed_config import write_config
from served import served
from websockets.asyncio.server import ServerConnection, serve

from voiceagent.cli import remote_call as remote
from voiceagent.cli.main import main
from voiceagent.cli.remote_call import remote_call
from voiceagent.config import shipped_configs
from voiceagent.config.tables import load
from voiceagent.engines import catalogue
from voiceagent.validation.errors import ConfigError


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("served"), "")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def address(config: Path) -> AsyncIterator[str]:
    """The address of a server that two commands call."""
    async with served(config) as address:
        yield address


async def command(*words: str) -> int:
    return await asyncio.to_thread(main, list(words))


async def test_a_running_server_is_called_in_writing(
    address: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://{address}"
    assert await command("talk", "--url", url, "--text", "Hello?", "--config", str(config), "--json") == 0
    (turn,) = json.loads(capsys.readouterr().out)["turns"]
    assert turn["question"] == "Hello?"
    assert "Sure, I can help you with that." in turn["answered"][0]


async def test_an_answer_is_waited_for_until_the_tools_that_it_needs_have_given_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = {"id": "item_2", "type": "function_call", "call_id": "call_1", "name": "book", "arguments": "{}"}
    result = {"id": "item_3", "type": "function_call_output", "call_id": "call_1", "output": "table 4" * 100}

    whole = {"turn_id": "item_1", "outcome": "completed", "budget_ms": 1234, "over_budget": []}
    stage = {"name": "endpointing", "ms": 1.0, "budget_ms": 10}
    latency = {"type": "voiceagent.latency", "stages": [stage], **whole}

    def spoken(number: int, text: str) -> list[dict[str, object]]:
        return [
            {"type": "response.created"},
            {"type": "response.output_audio_transcript.delta", "delta": text},
            *([{"type": "conversation.item.done", "item": call}] if number == 1 else []),
            {"type": "response.done", "response": {"status": "completed"}},
        ]

    async def answer(connection: ServerConnection) -> None:
        async for message in connection:
            if json.loads(message)["type"] == "response.create":
                told = {"type": "conversation.item.done", "item": result}
                for event in [*spoken(1, "One moment."), latency, told, *spoken(2, "It is table four.")]:
                    await connection.send(json.dumps(event))

    async with serve(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        assert await command("talk", "--url", url, "--text", "A table, please.") == 0
    printed = capsys.readouterr().out
    assert "answered:   One moment. | It is table four." in printed
    assert "tools:      book({}) -> table 4" in printed
    assert printed.count("table 4") < 50, "a long result is not printed whole"
    assert "understood" not in printed, "what is typed is not heard"
    assert "1234" in printed, "the budget is the server's"
    assert "completed; it had no audio" in printed, "the table above the answer's is that of the tool's call"


async def test_a_running_server_is_called_by_voice(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "answer.wav"
    words = ["talk", "--url", f"http://{address}", "--say", "When is breakfast?", "--out", str(out), "--json"]
    assert await command(*words) == 0
    (turn,) = json.loads(capsys.readouterr().out)["turns"]
    assert turn["understood"] == ["Could you help me with something?"]
    assert turn["answered"]
    assert out.stat().st_size > 10_000


def test_talking_needs_nothing_that_serving_does_not() -> None:
    without = "import sys; sys.modules.update(psutil=None, matplotlib=None); import voiceagent.cli.talk"
    subprocess.run([sys.executable, "-c", without], check=True, timeout=100)


def test_a_server_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["talk", "--url", "http://127.0.0.1:9", "--text", "Hello?"]) == 1
    error = capsys.readouterr().err
    assert "http://127.0.0.1:9: no server answers there" in error
    assert "Errno" not in error


async def test_a_server_that_dies_in_its_greeting_is_not_waited_for() -> None:
    async def greet_and_die(call: ServerConnection) -> None:
        await call.recv()
        await call.send(json.dumps({"type": "response.created"}))
        call.transport.abort()

    async with serve(greet_and_die, "127.0.0.1", 0) as server, asyncio.timeout(20):
        port = next(iter(server.sockets)).getsockname()[1]
        async with remote_call(f"http://127.0.0.1:{port}", "voiceagent", "") as call:
            assert (await call.type("Hello?")).failures == [
                "not said: the server ended the call: it broke off"
            ]


async def test_a_key_that_is_not_set_is_told_before_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert await command("talk", "--url", "http://127.0.0.1:9", "--key-env", "NO_SUCH_KEY") == 1
    assert "--key-env NO_SUCH_KEY: this environment variable is not set" in capsys.readouterr().err


async def test_an_agent_that_hands_over_has_answered(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "TOOL_SPEECH_S", 0.05)

    async def hand_over(call: ServerConnection) -> None:
        tool = {"type": "function_call", "call_id": "1", "name": "other", "arguments": "{}"}
        told = {"type": "function_call_output", "call_id": "1", "output": "done"}
        async for message in call:
            if json.loads(message)["type"] == "response.create":
                for event in (
                    {"type": "conversation.item.done", "item": tool},
                    {"type": "response.created"},
                    {"type": "response.output_audio_transcript.delta", "delta": "Returns here."},
                    {"type": "conversation.item.done", "item": told},
                    {"type": "response.done", "response": {"status": "completed"}},
                ):
                    await call.send(json.dumps(event))

    async with serve(hand_over, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        assert await command("talk", "--url", url, "--text", "Returns, please.") == 0
    assert "answered:   Returns here." in capsys.readouterr().out


async def test_an_agent_that_hangs_up_has_answered(capsys: pytest.CaptureFixture[str]) -> None:
    async def say_goodbye(call: ServerConnection) -> None:
        async for message in call:
            if json.loads(message)["type"] == "response.create":
                goodbye = {"type": "response.output_audio_transcript.delta", "delta": "Goodbye."}
                done = {"type": "response.done", "response": {"status": "completed"}}
                for event in ({"type": "response.created"}, goodbye, done):
                    await call.send(json.dumps(event))
                await call.close(1000, "the agent hung up")

    async with serve(say_goodbye, "127.0.0.1", 0) as server:
        talk = ["talk", "--url", f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"]
        assert await command(*talk, "--text", "Goodbye.") == 0
        assert "answered:   Goodbye." in capsys.readouterr().out
        assert await command(*talk, "--text", "Goodbye.", "--text", "And a taxi.") == 1
        told = capsys.readouterr()
        assert "answered:   Goodbye." in told.out
        assert "And a taxi.: not said: the server ended the call: the agent hung up" in told.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--text", "Hello?"], "--text needs --url"),
        (["--over", "twilio", "--say", "Hello?"], "--over twilio needs --url"),
        (["--over", "twilio", "--url", "http://127.0.0.1:9", "--text", "Hi"], "nobody types to a phone"),
        (["--url", "example.com", "--text", "Hello?"], "--url 'example.com': allowed: http://<host>:<port>"),
    ],
)
def test_what_cannot_be_asked_is_told(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["talk", *words]) == 1
    assert told in capsys.readouterr().err


def test_what_is_to_be_typed_next_goes_where_the_programs_are_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = Path(sys.executable).parent
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(programs))
    assert main(["new", "one"]) == 0
    assert "one.toml: voiceagent serve --config one.toml\n" in capsys.readouterr().out
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["new", "other"]) == 0
    printed = capsys.readouterr().out
    assert f"other.toml: {programs}/voiceagent serve --config other.toml\n" in printed
    assert f"{programs}/python -m pytest test_other.py" in printed


def test_init_writes_a_configuration_that_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert load(tmp_path / "voiceagent.toml").llm.engine == "ctranslate2"
    assert main(["init"]) == 1
    assert "voiceagent.toml: exists already; nothing was written" in capsys.readouterr().err


def test_what_init_wrote_is_taken_where_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "voiceagent.toml").write_text("[server]\nprot = 1\n")
    for command in ("check", "serve", "talk"):
        assert main([command]) == 2
        assert "voiceagent.toml: server.prot = 1: unknown key" in capsys.readouterr().err


def test_init_names_the_configurations_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "nope"]) == 1
    assert (
        "allowed: chat, cpu, demo, german, gpu, hosted, languages, spanish, vllm-cpu"
        in capsys.readouterr().err
    )


def test_without_a_configuration_here_commands_take_the_shipped_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    assert shipped_configs()["demo"].is_file()
    assert "else the demo's)" in " ".join(capsys.readouterr().out.split())


def test_engines_shows_the_extra_that_brings_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda _: None)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["engines"]) == 0
    assert "pip install 'voiceagent-server[espeak]'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("[lllm]\nengine = 'x'\n", "unknown table; allowed: llm, .*; did you mean llm\\?"),
        ("[server]\nprt = 1\n", "unknown key; allowed: .*; did you mean port\\?"),
        ("[agent]\nport = 1\n", r"unknown key; allowed: .*; did you mean \[server\] port or "),
        (
            "max_calls = 1\n",
            r"unknown key; allowed: .*; did you mean \[server\] max_calls or \[outbound\] max_calls\?",
        ),
        ("[server]\nzzz = 1\n", "unknown key; allowed: [^;]*$"),
    ],
)
def test_what_is_unknown_is_told_with_the_nearest_name(tmp_path: Path, written: str, told: str) -> None:
    (tmp_path / "my.toml").write_text(written)
    with pytest.raises(ConfigError, match=told):
        load(tmp_path / "my.toml")
