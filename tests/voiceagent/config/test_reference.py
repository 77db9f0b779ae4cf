"""The reference of the configuration, and the configuration files that are shipped."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from voiceagent.cli.main import main
from voiceagent.config.reference import Key, find_tables, inner_table, tables, to_markdown
from voiceagent.config.tables import Config
from voiceagent.engines.build import keyword_model
from voiceagent.engines.catalogue import KNOWN_ENGINES
from voiceagent.engines.config import EngineConfig
from voiceagent.validation.errors import ConfigError
from voiceagent.validation.references import import_object

ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "configs").glob("*.toml"))
STAGES = {
    "fallback": "llm",
    "small_llm": "llm",
    "recognizer_fallback": "recognizer",
    "synthesizer_fallback": "synthesizer",
}


def test_the_committed_page_is_current() -> None:
    assert (ROOT / "docs/configuration.md").read_text() == to_markdown(tables())


def test_every_table_and_key_has_a_meaning() -> None:
    nameless = [each.heading for each in tables() if not each.meaning]
    assert (
        nameless + [f"{each.name}.{key.name}" for each in tables() for key in each.keys if not key.meaning]
        == []
    )


def test_a_key_has_its_type_bounds_unit_and_default() -> None:
    (turn, _) = find_tables("turn")
    keys = {key.name: key for key in turn.keys}
    meaning = keys["eagerness"].meaning
    assert keys["eagerness"] == Key("eagerness", '"low" or "medium" or "high" or "auto"', '"auto"', meaning)
    confirmed = keys["interruption_confirmed_s"]
    assert (confirmed.type, confirmed.default) == ("number, more than 0, seconds", "0.9")


def test_a_table_with_the_keys_of_an_earlier_one_refers_to_it() -> None:
    page = to_markdown(tables())
    (_, fallback) = page.split("## [fallback]\n")
    assert "It has the keys of [`[llm]`](#llm).\n" in fallback.split("## ")[0]
    assert page.count("| `replicas` |") == 1


def test_keys_that_another_table_explains_are_named_in_one_line() -> None:
    (_, languages) = to_markdown(tables()).split("## [languages]\n")
    languages = languages.split("## ")[0]
    assert "Keys as in `[agent]`: `apology`, " in languages
    assert "| `apology` |" not in languages


def test_an_unknown_table_is_refused_with_the_tables_there_are() -> None:
    with pytest.raises(ConfigError, match=r"\[turns\]: no such table; allowed: llm, .*turn"):
        find_tables("turns")


def test_the_command_prints_a_table_with_the_tables_within(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "telephony"]) == 0
    printed = capsys.readouterr().out
    assert "[telephony.twilio]" in printed and "auth_token_env: text; no default" in printed


def settings_at_default(model: type[BaseModel], document: dict[str, Any], place: str = "") -> Iterator[str]:
    """Yield the keys of `document` whose value is the default anyway."""
    for name, value in document.items():
        field = model.model_fields.get(name)
        inner = inner_table(field.annotation) if field else None
        if inner is not None:
            for table in value if isinstance(value, list) else [value]:
                yield from settings_at_default(inner, table, f"{place}{name}.")
                if issubclass(inner, EngineConfig):
                    stage, engine = STAGES.get(name, name), table["engine"]
                    path = next(e.path for e in KNOWN_ENGINES if (e.stage, e.name) == (stage, engine))
                    yield from settings_at_default(
                        keyword_model(import_object(path)), table, f"{place}{name}."
                    )
        elif field is not None and not field.is_required():
            default = field.get_default(call_default_factory=True, validated_data={"language": "en"})
            if to_jsonable_python(default) == value:
                yield f"{place}{name}"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda each: each.name)
def test_a_shipped_file_sets_only_what_it_changes(path: Path) -> None:
    assert list(settings_at_default(Config, tomllib.loads(path.read_text()))) == []
