from __future__ import annotations

import inspect

import pytest

from voiceagent.config.reference import inner_table
from voiceagent.config.renamed import REMOVED_KEYS, RENAMED_KEYS, RENAMED_OPTIONS, RENAMED_TABLES
from voiceagent.config.tables import Config, load
from voiceagent.engines.catalogue import KNOWN_ENGINES
from voiceagent.validation.errors import ConfigError
from voiceagent.validation.references import import_object

ENGINES = """
[recognizer]
engine = "moonshine"
[llm]
engine = "ctranslate2"
[synthesizer]
engine = "espeak"
"""


def keys_of(table: str) -> set[str]:
    """The keys of a table by its full name, such as "telephony.twilio"; none if there is no such table."""
    fields = Config.model_fields
    for name in table.split("."):
        if name not in fields:
            return set()
        model = inner_table(fields[name].annotation)
        assert model is not None
        fields = model.model_fields
    return set(fields)


@pytest.fixture
def refused(tmp_path):
    """Return the error of loading such a file."""

    def load_it(text: str) -> str:
        path = tmp_path / "old.toml"
        path.write_text(text)
        with pytest.raises(ConfigError) as raised:
            load(path)
        return str(raised.value).removeprefix(f"{path}: ")

    return load_it


@pytest.mark.parametrize(("old", "new"), RENAMED_KEYS.items())
def test_a_renamed_key_is_refused_with_its_new_name(refused, old, new):
    table, _, key = old.rpartition(".")
    assert refused(f"{ENGINES}[{table}]\n{key} = 1") == f"{old} = 1: this key is now {new}"


@pytest.mark.parametrize(("old", "fixed"), REMOVED_KEYS.items())
def test_a_removed_key_is_refused_with_what_to_do_now(refused, old, fixed):
    table, _, key = old.rpartition(".")
    assert refused(f"{ENGINES}[{table}]\n{key} = 1") == f"{old} = 1: this key is gone, leave it out: {fixed}"


@pytest.mark.parametrize(("old", "new"), RENAMED_TABLES.items())
def test_a_renamed_table_is_refused_with_its_new_name(refused, old, new):
    assert refused(f"{ENGINES}[{old}]") == f"[{old}]: this table is now [{new}]"


def test_a_renamed_option_of_an_engine_is_refused_with_its_new_name(refused):
    fallback = '[fallback]\nengine = "ctranslate2"\nparallel = 2'
    assert refused(ENGINES + fallback) == "fallback.parallel = 2: this key is now fallback.max_running"


@pytest.mark.parametrize("engine", ["openai", "anthropic"])
@pytest.mark.parametrize("table", ["llm", "fallback", "small_llm"])
def test_a_remote_engines_own_timeouts_are_refused_with_the_one_table(refused, table, engine):
    engines = ENGINES.replace('[llm]\nengine = "ctranslate2"\n', "") if table == "llm" else ENGINES
    text = f'{engines}[{table}]\nengine = "{engine}"\ntimeout_s = 3'
    assert refused(text) == f"{table}.timeout_s = 3: this key is now timeouts.first_token_s"


def test_a_speech_engine_keeps_its_own_timeout(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(ENGINES + '[recognizer_fallback]\nengine = "openai"\ntimeout_s = 3.0')
    assert load(path).recognizer_fallback.options == {"timeout_s": 3.0}


def test_an_option_of_another_engine_may_have_an_old_name(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(ENGINES.replace('"ctranslate2"', '"package.module:Llm"\nparallel = 2'))
    assert load(path).llm.options == {"parallel": 2}


@pytest.mark.parametrize("new", sorted(set(RENAMED_KEYS.values())))
def test_every_new_name_of_a_key_exists(new):
    table, _, key = new.rpartition(".")
    assert key in keys_of(table)


def test_old_names_are_free_and_new_tables_exist():
    for old in (*RENAMED_KEYS, *REMOVED_KEYS):
        table, _, key = old.rpartition(".")
        assert key not in keys_of(table)
    assert RENAMED_TABLES.keys().isdisjoint(Config.model_fields)
    assert set(RENAMED_TABLES.values()) <= set(Config.model_fields)


def test_every_new_name_of_an_option_is_one_of_its_engine():
    paths = {engine.name: engine.path for engine in KNOWN_ENGINES if engine.stage == "llm"}
    for name, renamed in RENAMED_OPTIONS.items():
        parameters = inspect.signature(import_object(paths[name])).parameters
        own = {old: new for old, new in renamed.items() if "." not in new}
        assert set(own.values()) <= parameters.keys()
        assert parameters.keys().isdisjoint(own)
        for new in set(renamed.values()) - set(own.values()):
            table, _, key = new.rpartition(".")
            assert key in keys_of(table)
