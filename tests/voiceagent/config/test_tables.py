from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.config.reference import tables
from voiceagent.config.tables import load
from voiceagent.validation.errors import ConfigError

CONFIGS = Path(__file__).parents[3] / "configs"
ENGINES = '[recognizer]\nengine = "a:B"\n[llm]\nengine = "a:B"\n[synthesizer]\nengine = "a:B"\n'


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "test.toml"
        path.write_text(text + "\n" + ENGINES)
        return path

    return write


def refusal(path: Path, **stand_ins: object) -> str:
    with pytest.raises(ConfigError) as refused:
        load(path, **stand_ins)  # type: ignore[arg-type]  # wrong values are what is tested
    message = str(refused.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_what_is_left_out_has_its_default(write):
    config = load(write(""))
    assert (config.server.host, config.server.port) == ("127.0.0.1", 8080)
    assert config.turn.silence_s == 0.2


def test_an_engine_keeps_its_own_keys(tmp_path):
    path = tmp_path / "test.toml"
    path.write_text(ENGINES + 'model = "x"\nthreads = 2\n')
    config = load(path)
    assert config.synthesizer.engine == "a:B"
    assert config.synthesizer.options == {"model": "x", "threads": 2}
    assert config.llm.options == {}


def test_a_missing_file_is_named(tmp_path):
    assert refusal(tmp_path / "none.toml").startswith("no such file")


def test_text_that_is_not_toml_is_refused(write):
    assert refusal(write("[server")).startswith("cannot be read as TOML")


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "test.toml"
    path.write_bytes(b"\xff\xfe")
    assert refusal(path).startswith("cannot be read as TOML")


def test_an_unknown_key_is_named_with_the_allowed_ones(write):
    message = refusal(write("[server]\nprt = 8080"))
    assert message.startswith("server.prt = 8080: unknown key; allowed: host, api_keys_env, open,")


def test_an_unknown_table_is_named_with_the_allowed_ones(write):
    message = refusal(write("[sever]\nport = 8080"))
    assert message.startswith("sever = {'port': 8080}: unknown table; allowed: llm, fallback, timeouts,")


def test_a_missing_engine_is_named(tmp_path):
    path = tmp_path / "test.toml"
    path.write_text('[recognizer]\nengine = "a:B"\n[synthesizer]\nengine = "a:B"\n')
    assert refusal(path) == "llm: missing; it must be set"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('[telephony]\nopen = "twilio"', "telephony.open = 'twilio': allowed: a list"),
        (
            '[agent]\nlanguage = "klingon"',
            "agent.language = 'klingon': allowed: a string of the pattern '^[a-z]{2,3}$'",
        ),
        ('[server]\nport = "8080"', "server.port = '8080': allowed: a valid integer"),
        ("[server]\nport = 8080.0", "server.port = 8080.0: allowed: a valid integer"),
        ("[server]\nport = 70000", "server.port = 70000: allowed: less than or equal to 65535"),
        ("[server]\nport = true", "server.port = true: allowed: a valid integer"),
        ("[turn]\nthreshold = 1.0", "turn.threshold = 1.0: allowed: less than 1"),
        ('[log]\nformat = "xml"', "log.format = 'xml': allowed: 'console' or 'json'"),
        ("server = 1", "server = 1: "),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(write, line, said):
    assert refusal(write(line)).startswith(said)


def test_a_whole_number_may_stand_for_seconds(write):
    assert load(write("[turn]\nsilence_s = 1")).turn.silence_s == 1.0


def test_a_silence_shorter_than_a_pause_is_refused(write):
    message = refusal(write("[turn]\nsilence_s = 0.02"))
    assert "turn.silence_s = 0.02: allowed: greater than or equal to 0.032" in message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_loopback_address_needs_no_keys(write, host):
    assert load(write(""), host=host).server.host == host


def test_an_address_that_others_reach_needs_keys_or_an_open_door(write):
    message = refusal(write(""), host="0.0.0.0")
    assert "others reach host 0.0.0.0: set api_keys_env, or open = true" in message
    assert load(write("[server]\nopen = true"), host="0.0.0.0").server.open
    assert load(write('[server]\napi_keys_env = "KEYS"'), host="0.0.0.0").server.api_keys_env == "KEYS"


def test_host_and_port_stand_in_for_those_of_the_file(write):
    server = load(write('[server]\nhost = "::1"\nport = 1\nmax_calls = 3'), host="localhost", port=2).server
    assert (server.host, server.port, server.max_calls) == ("localhost", 2, 3)


def test_a_port_that_stands_in_is_checked_like_that_of_the_file(write):
    assert refusal(write(""), port=-1).startswith("server.port = -1:")


def test_the_prompt_may_lie_in_a_file_beside_the_configuration(write, tmp_path):
    (tmp_path / "prompt.md").write_text("You are a pirate.\n")
    config = load(write('[agent]\ninstructions_from = "./prompt.md"'))
    assert config.instructions() == "You are a pirate."


def test_the_prompt_may_come_from_a_module(write, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "prompts_of_test.py").write_text("TEXT = 'a'\ndef make(): return 'b'\nnumber = 3\n")
    assert load(write('[agent]\ninstructions_from = "prompts_of_test:TEXT"')).instructions() == "a"
    assert load(write('[agent]\ninstructions_from = "prompts_of_test:make"')).instructions() == "b"
    with pytest.raises(ConfigError, match="gives int; allowed: text, or a function giving text"):
        load(write('[agent]\ninstructions_from = "prompts_of_test:number"')).instructions()


@pytest.mark.parametrize("place", ["./nowhere.md", "no_such_module:text", "json:nothing", "no form"])
def test_a_prompt_that_is_nowhere_is_refused(write, place):
    with pytest.raises(ConfigError, match=r"agent\.instructions_from = "):
        load(write(f'[agent]\ninstructions_from = "{place}"')).instructions()


def test_two_prompts_are_refused(write):
    message = refusal(write('[agent]\ninstructions = "a"\ninstructions_from = "./a"'))
    assert "set instructions or instructions_from, not both" in message


def test_a_call_begins_with_the_settings_of_the_file(write):
    config = load(write('[agent]\ninstructions = "Hi"\n[turn]\nsilence_s = 0.4\nthreshold = 0.6'))
    settings = config.call_settings()
    assert settings.instructions == "Hi"
    assert settings.turn_detection is not None
    assert (settings.turn_detection.silence_s, settings.turn_detection.threshold) == (0.4, 0.6)


def test_budgets_become_seconds(write):
    budget = load(write("[budget]\nllm_ttft_ms = 70\ntotal_ms = 500")).budget.to_budget()
    assert budget.stages["llm_ttft"] == 0.07
    assert budget.stages["fragmenting"] == pytest.approx(0.6 * 0.07)
    assert budget.total_s == 0.5


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.name)
def test_every_configuration_of_the_project_loads(path):
    assert load(path).source == path


def test_every_key_is_documented_where_it_stands():
    assert all(table.meaning for table in tables())
    assert [f"{table.name}.{key.name}" for table in tables() for key in table.keys if not key.meaning] == []


@given(
    st.dictionaries(
        st.sampled_from(["server", "agent", "turn", "recognizer", "llm", "synthesizer", "x"]),
        st.one_of(
            st.integers(),
            st.text("aä'\"\n ./:"),
            st.dictionaries(st.sampled_from(["engine", "port", "host", "threshold", "y"]), st.integers()),
        ),
    )
)
def test_any_document_loads_or_is_refused_in_one_line(tmp_path_factory, document):
    def value(item) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{key} = {value(inner)}" for key, inner in item.items()) + "}"
        return str(item) if isinstance(item, int) else '"' + "".join(f"\\U{ord(c):08x}" for c in item) + '"'

    text = "".join(f"{key} = {value(item)}\n" for key, item in document.items())
    assert tomllib.loads(text) == document
    path = tmp_path_factory.mktemp("any") / "any.toml"
    path.write_text(text)
    try:
        load(path)
    except ConfigError as refused:
        assert "\n" not in str(refused)


def test_an_empty_table_adds_a_language_with_its_phrases(write):
    config = load(write('[languages.de]\n[languages.es]\ngoodbye = "Hasta luego."'))
    german, spanish = config.agents_in_languages()
    assert (german.language, german.goodbye) == ("de", "Auf Wiederhören.")
    assert (spanish.language, spanish.goodbye) == ("es", "Hasta luego.")
    assert config.all_languages == ("en", "de", "es")
    assert config.call_settings().language == "en"


def test_an_unknown_key_of_a_language_is_refused_by_name(write):
    refused = refusal(write('[languages.de]\nfillers = "Moment."'))
    assert "languages.de.fillers = 'Moment.': unknown key" in refused
    assert "did you mean filler?" in refused


def test_calls_in_one_language_have_no_language_to_follow(write):
    config = load(write('[agent]\nlanguage = "de"'))
    assert (config.all_languages, config.call_settings().language) == (("de",), "")


def test_the_agents_language_is_no_further_one(write):
    assert "languages.en is agent.language too" in refusal(write("[languages.en]"))
