from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from recordings import recording

from audio.wav import read_wav, write_wav
from voiceagent import __version__
from voiceagent.cli.main import _parser, main
from voiceagent.config import default_config, take_config
from voiceagent.llm.config import ResilienceConfig

FIXED = Path(__file__).parents[2] / "bench"
DEMO = Path(__file__).parents[3] / "configs" / "demo.toml"


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """The configuration with engines of fixed cost, at almost none."""
    module = f"engines_of_{tmp_path.name}"  # of its own: modules of earlier tests stay imported
    shutil.copy(FIXED / "fixed_engines.py", tmp_path / f"{module}.py")
    text = (FIXED / "fixed.toml").read_text().replace("fixed_engines:", f"{module}:")
    for key, value in (
        ("delay_s", "0.001"),
        ("ttft_s", "0.001"),
        ("word_s", "0.0"),
        ("character_s", "0.002"),
    ):
        text = "\n".join(f"{key} = {value}" if line.startswith(key) else line for line in text.splitlines())
    path = tmp_path / "quick.toml"
    path.write_text(text)
    return path


@pytest.fixture
def speech() -> Path:
    """A recording of a person who says: go forward ten meters."""
    return recording("goforward.wav")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("gate", "Check that the LLM still answers correctly and in time."),
        ("calls show", "One call, turn by turn."),
        ("bench calls", "A server under many concurrent calls."),
        ("init", "one of: chat, cpu, demo, german, gpu, hosted, languages, spanish, vllm-cpu (demo)"),
    ],
)
def test_the_help_of_a_command_says_what_it_is_for_and_what_it_takes(words: str, told: str, capsys):
    with pytest.raises(SystemExit):
        main([*words.split(), "--help"])
    assert told in " ".join(capsys.readouterr().out.split())


def test_help_imports_no_engine_and_no_framework():
    code = "import sys; from voiceagent.cli.main import _parser; _parser().format_help(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pydantic", "uvicorn", "starlette", "rich", "av"} & set(run.stdout.split())


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"voiceagent {__version__}\n"


@pytest.mark.parametrize("command", ["serve", "talk x.wav", "transcribe x.wav", "bench turns"])
def test_a_configuration_that_is_not_there_is_exit_2_and_one_line(command, capsys):
    assert main([*command.split(), "--config", "/no/such.toml"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("voiceagent: /no/such.toml: no such file")
    assert error.count("\n") == 1


def test_an_unknown_key_is_exit_2_and_names_it(fixed, capsys):
    fixed.write_text(fixed.read_text().replace("silence_s", "silense_s"))
    assert main(["serve", "--config", str(fixed)]) == 2
    error = capsys.readouterr().err
    assert "turn.silense_s = 0.2: unknown key; allowed: threshold," in error
    assert error.count("\n") == 1


def test_a_wrong_command_is_exit_2(capsys):
    with pytest.raises(SystemExit) as left:
        main(["sing"])
    assert left.value.code == 2


@pytest.mark.parametrize("command", ["serve", "check", "calibrate", "llm"])
def test_a_configuration_is_given_with_or_without_the_option(command):
    parse = _parser().parse_args
    given = [parse([command, *words]).config for words in (["my.toml"], ["--config", "my.toml"])]
    assert given == [Path("my.toml")] * 2
    assert parse([command]).config == default_config()


def test_configuration_stands_among_the_other_arguments():
    parse = _parser().parse_args
    shown = parse(["calls", "show", "call_1", "my.toml"])
    assert (shown.call, shown.config) == ("call_1", Path("my.toml"))
    assert parse(["calls", "list", "my.toml"]).config == Path("my.toml")
    replayed = parse(["replay", "call_1", "my.toml"])
    assert (replayed.call, replayed.config) == ("call_1", Path("my.toml"))
    talk = parse(["talk", "my.toml", "question.wav"])
    take_config(talk, "questions")
    assert (talk.questions, talk.config) == ([Path("question.wav")], Path("my.toml"))


def test_help_begins_with_the_commands_of_a_newcomer(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    (\w+)", capsys.readouterr().out, re.MULTILINE)
    assert listed[:4] == ["new", "check", "serve", "talk"]


def test_a_port_in_use_is_exit_1_and_says_so(fixed, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--config", str(fixed), "--port", str(port)]) == 1
    error = capsys.readouterr().err
    assert f"port {port} on 127.0.0.1 is in use" in error
    assert f"--port {port + 1}" in error
    assert error.count("\n") == 1


def test_a_server_that_cannot_start_leaves_the_process_its_signals(fixed):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--config", str(fixed), "--port", str(taken.getsockname()[1])]) == 1
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_an_address_of_another_machine_is_exit_1(fixed, capsys):
    text = fixed.read_text().replace("[telephony]", '[telephony]\nopen = ["twilio"]')
    fixed.write_text("[server]\nopen = true\n" + text)
    assert main(["serve", "--config", str(fixed), "--host", "192.0.2.1"]) == 1
    assert "cannot listen on 192.0.2.1:8080" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_is_none_is_named_before_the_engine_starts(fixed, capsys, port):
    assert main(["llm", "--config", str(fixed), "--port", port]) == 1
    assert f"port is {port}; allowed: 1 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["check", "FOLDER"], ["convert", "FOLDER/no.gguf", "out"]], ids=" ".join)
def test_a_file_that_cannot_be_read_is_named_with_the_reason_in_words(command, capsys, tmp_path):
    assert main([word.replace("FOLDER", str(tmp_path)) for word in command]) in (1, 2)
    error = capsys.readouterr().err
    assert str(tmp_path) in error
    assert re.search(r": (no such file or directory|is a directory)", error.lower()) and "Errno" not in error


def test_a_recording_that_cannot_be_read_is_exit_1_and_named(fixed, capsys, tmp_path):
    broken = tmp_path / "broken.wav"
    broken.write_bytes(b"no sound")
    for path in (broken, tmp_path / "none.wav"):
        for command in ("talk", "transcribe"):
            assert main([command, str(path), "--config", str(fixed)]) == 1
            assert str(path) in capsys.readouterr().err


def test_engines_lists_every_stage(capsys):
    assert main(["engines"]) == 0
    table = capsys.readouterr().out
    for name in ("pocketsphinx", "whisper", "ctranslate2", "vllm", "openai", "anthropic", "espeak", "piper"):
        assert name in table


def test_transcribe_prints_the_words_of_each_recording(fixed, speech, capsys):
    assert main(["transcribe", str(speech), "--config", str(DEMO)]) == 0
    assert capsys.readouterr().out == "goforward.wav: Go forward ten meters.\n"
    assert main(["transcribe", str(speech), str(speech), "--config", str(fixed)]) == 0
    assert capsys.readouterr().out == 2 * "goforward.wav: Could you help me with something?\n"


def test_transcribe_has_no_words_for_silence_and_noise(capsys, tmp_path):
    noise = np.random.default_rng(1).normal(0, 300, 48_000).astype(np.int16)
    write_wav(tmp_path / "noise.wav", noise, 16_000)
    write_wav(tmp_path / "silence.wav", np.zeros(48_000, np.int16), 16_000)
    files = [str(tmp_path / name) for name in ("noise.wav", "silence.wav")]
    assert main(["transcribe", *files, "--config", str(DEMO)]) == 0
    assert capsys.readouterr().out == "noise.wav: (nothing)\nsilence.wav: (nothing)\n"


def test_transcribe_writes_json(speech, capsys):
    assert main(["transcribe", str(speech), "--config", str(DEMO), "--json"]) == 0
    (find_call,) = json.loads(capsys.readouterr().out)["transcripts"]
    assert find_call["recording"] == str(speech)
    assert "forward" in find_call["text"]


def test_talk_prints_what_was_understood_and_answered_and_where_the_time_went(fixed, speech, capsys):
    assert main(["talk", str(speech), "--config", str(fixed)]) == 0
    printed = capsys.readouterr().out
    assert "understood: Could you help me with something?" in printed
    assert "answered:   Sure, I can help you with that." in printed
    assert "endpointing" in printed
    assert "wait" in printed


def test_talk_writes_json_and_the_sound_of_the_answers(fixed, speech, tmp_path, capsys):
    out = tmp_path / "response.wav"
    assert main(["talk", str(speech), str(speech), "--config", str(fixed), "--json", "--out", str(out)]) == 0
    turns = json.loads(capsys.readouterr().out)["turns"]
    assert [turn["question"] for turn in turns] == ["goforward.wav", "goforward.wav"]
    for turn in turns:
        stages = turn["responses"][-1]["stages_ms"]
        assert sum(stages.values()) == pytest.approx(turn["responses"][-1]["total_ms"])
        assert turn["responses"][-1]["wait_ms"] == turn["responses"][-1]["total_ms"]
    samples, rate_hz = read_wav(out)
    assert rate_hz == 24_000
    assert np.abs(samples.astype(int)).max() > 1_000


def test_talk_speaks_to_the_agent_in_python(fixed, speech, tmp_path, capsys):
    (engines,) = fixed.parent.glob("*.py")
    code = """
from voiceagent.agents import Agent

class Clerk(Agent):
    async def on_turn(self, text):
        self.call.say("My clerk has heard you.")
"""
    (tmp_path / f"clerk_{engines.stem}.py").write_text(code)
    text = fixed.read_text().replace("[agent]", f'[agent]\npython = "clerk_{engines.stem}:Clerk"')
    fixed.write_text(text.replace('instructions = "You are a helpful assistant."', ""))
    assert main(["talk", str(speech), "--config", str(fixed)]) == 0
    assert "My clerk has heard you." in capsys.readouterr().out


def test_a_turn_that_fails_is_exit_1_and_its_reason_is_reported(fixed, speech, capsys, monkeypatch):
    (engines,) = fixed.parent.glob("*.py")
    broken = """
class FixedLlm(FixedLlm):
    async def generate(self, request):
        if request.messages[-1].content.startswith("Hello"):  # the warm-up
            async for delta in super().generate(request):
                yield delta
        else:
            raise LlmError("the model is gone")
"""
    engines.write_text(engines.read_text() + "\nfrom llmcore.engine import LlmError\n" + broken)
    monkeypatch.setattr(ResilienceConfig, "failures", 100)  # it is asked each time
    assert main(["talk", str(speech), "--config", str(fixed)]) == 1
    printed = capsys.readouterr()
    assert "goforward.wav: llm: the model is gone" in printed.err
    assert "answered:   Sorry, something went wrong on my side." in printed.out


def test_silence_is_not_answered(fixed, tmp_path, capsys):
    silence = tmp_path / "silence.wav"
    write_wav(silence, np.zeros(8_000, np.int16), 16_000)
    assert main(["talk", str(silence), "--config", str(fixed), "--json"]) == 0
    turn = json.loads(capsys.readouterr().out)["turns"][0]
    assert turn["understood"] == []
    assert turn["answered"] == []


def test_bench_counts_its_turns_and_gives_percentiles_of_every_stage(fixed, speech, capsys):
    assert main(["bench", "turns", str(speech), "--turns", "2", "--config", str(fixed), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["turns"] == 2
    assert {"endpointing", "llm_ttft", "synthesis", "total", "speech end to first frame"} <= set(
        result["milliseconds"]
    )
    assert result["milliseconds"]["total"]["p50"] <= result["milliseconds"]["total"]["p95"]


def test_bench_over_sound_without_speech_is_exit_1(fixed, tmp_path, capsys):
    silence = tmp_path / "silence.wav"
    write_wav(silence, np.zeros(8_000, np.int16), 16_000)
    assert main(["bench", "turns", str(silence), "--turns", "1", "--config", str(fixed), "--json"]) == 1
    assert "no turn was answered" in capsys.readouterr().err


def test_a_reader_that_has_enough_ends_the_output_without_a_traceback() -> None:
    code = "import sys; from voiceagent.cli.main import main; sys.exit(main(['engines']))"
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.close()
    _, told = running.communicate()
    assert b"Traceback" not in told
    assert b"BrokenPipe" not in told
    assert running.returncode == 1


def test_without_a_command_the_commands_are_printed(capsys):
    assert main([]) == 2
    assert "voiceagent new my_agent" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["", " ", "Auftrag-ü", "order 17", "x" * 256])
def test_a_key_that_the_server_would_refuse_places_no_call(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["call", "+15550123456", "--once", key])
    assert "1 to 255 visible ASCII characters" in capsys.readouterr().err
