"""Words that callers of an agent are likely to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmcore.engine import Tool
from voiceagent.agents.load import agent_vocabulary
from voiceagent.agents.vocabulary import MAX_WORDS, vocabulary
from voiceagent.cli.transcribe import transcribe
from voiceagent.config.tables import Config, load
from voiceagent.engines.config import EngineConfig
from voiceagent.server import engine_building
from voiceagent.server.engine_building import build_recognizer, with_vocabulary
from voiceagent.telemetry.metrics import Metrics

ORDER = Tool(
    "order_drink",
    "Order a coffee for pick-up.",
    {"properties": {"milk": {"enum": ["oat_milk", "soy", 2]}, "cups": {"items": {"const": "espresso"}}}},
)


def test_choices_of_parameters_come_first_as_they_are_said() -> None:
    assert vocabulary("", [ORDER])[:3] == ("oat milk", "soy", "espresso")


def test_names_of_several_words_stay_together() -> None:
    assert "Brookfield Dental" in vocabulary("You answer for Brookfield Dental in Mill Lane.", ())


def test_single_words_of_tools_and_instructions_are_in_it_once() -> None:
    words = vocabulary("A checkup takes half an hour. Offer a checkup.", [ORDER])
    assert words.count("checkup") == 1
    assert "pick-up" in words
    assert "an" not in words


def test_long_instructions_are_bounded() -> None:
    numbered = (
        f"word{chr(97 + at // 676)}{chr(97 + at // 26 % 26)}{chr(97 + at % 26)}" for at in range(5_000)
    )
    assert len(vocabulary(" ".join(numbered), ())) == MAX_WORDS


@pytest.mark.parametrize(
    ("recognizer", "given"),
    [
        ('engine = "moonshine"', True),
        ('engine = "moonshine"\nvocabulary = []', False),
        ('engine = "moonshine"\nphrases = "package:voiceagent.demo/weights/recognizer/phrases.txt"', False),
        ('engine = "pocketsphinx"', False),
    ],
)
def test_recognizer_gets_it_unless_its_table_says_otherwise(
    tmp_path: Path, recognizer: str, given: bool
) -> None:
    config = _booking(tmp_path, recognizer)
    options = with_vocabulary(config, config.recognizer).options
    words = agent_vocabulary(config.agent, config.instructions(), config.source)
    assert "checkup" in words
    assert (options.get("vocabulary") == words) is given


class _Built(Exception):
    """Raised in place of building an engine."""


@pytest.fixture
def vocabularies(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Vocabularies of the recognizers that were to be built, none of which is."""
    found: list[tuple[str, ...]] = []

    def build(stage: str, table: EngineConfig, *_: object, **__: object) -> None:
        found.append(table.options.get("vocabulary", ()))
        if table.engine == "moonshine":
            raise _Built

    monkeypatch.setattr(engine_building, "build_engine", build)
    return found


def test_fallback_recognizer_gets_it_too(tmp_path: Path, vocabularies: list[tuple[str, ...]]) -> None:
    config = _booking(tmp_path, 'engine = "pocketsphinx"\n[recognizer_fallback]\nengine = "moonshine"')
    with pytest.raises(_Built):
        build_recognizer(config, Metrics())
    primary, fallback = vocabularies
    assert not primary
    assert "checkup" in fallback


def test_recordings_are_transcribed_with_it(tmp_path: Path, vocabularies: list[tuple[str, ...]]) -> None:
    with pytest.raises(_Built):
        transcribe(_booking(tmp_path, 'engine = "moonshine"'), [], as_json=False)
    assert "checkup" in vocabularies[0]


def _booking(folder: Path, recognizer: str) -> Config:
    """Return a configuration whose agent books a checkup."""
    path = folder / "agent.toml"
    path.write_text(
        '[agent]\ninstructions = "You book a checkup."\n[llm]\nengine = "echo"\n[synthesizer]\n'
        f'engine = "espeak"\n[recognizer]\n{recognizer}\n'
    )
    return load(path)
