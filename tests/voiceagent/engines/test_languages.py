"""The agent's language: passed to engines that take one, and checked against those with only some."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.cli.main import main
from voiceagent.config.tables import Config, load
from voiceagent.engines.build import build_engine
from voiceagent.engines.catalogue import KNOWN_ENGINES, Stage
from voiceagent.engines.languages import OtherLanguage, in_language, voices_for
from voiceagent.server.engine_building import build_engines
from voiceagent.session.set_phrases import make_phrase
from voiceagent.validation.errors import ConfigError

ROOT = Path(__file__).parents[3]


def built(tmp_path: Path, stage: Stage, table: str, language: str = "de") -> object:
    """The engine of one stage, whose table this is, for an agent of that language."""
    tables: dict[str, str] = {one: 'engine = "a:B"' for one in ("recognizer", "llm", "synthesizer")}
    tables[stage] = table
    path = tmp_path / "test.toml"
    path.write_text("".join(f"[{name}]\n{text}\n" for name, text in tables.items()))
    config: Config = load(path)
    return build_engine(stage, getattr(config, stage), path, language=language)


@pytest.mark.parametrize(
    ("stage", "table"),
    [
        ("recognizer", 'engine = "whisper"\nmodel = "small"'),
        ("recognizer", 'engine = "openai"\nbase_url = "http://127.0.0.1:1/v1"'),
        ("recognizer", 'engine = "deepgram"'),
        ("synthesizer", 'engine = "cartesia"\nvoice = "an id"'),
    ],
)
def test_an_engine_that_takes_a_language_is_told_the_agents(tmp_path: Path, stage: Stage, table: str) -> None:
    assert built(tmp_path, stage, table).language == "de"  # type: ignore[attr-defined]  # what each of these has
    assert built(tmp_path, stage, table, "en").language == "en"  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", ["multi", "de-CH"])
def test_a_language_that_has_the_agents_in_it_stays(tmp_path: Path, language: str) -> None:
    table = f'engine = "deepgram"\nlanguage = "{language}"'
    assert built(tmp_path, "recognizer", table).language == language  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("stage", "table", "told"),
    [
        ("recognizer", 'engine = "moonshine"', "recognizer.engine = 'moonshine': does not have the agent's"),
        (
            "recognizer",
            'engine = "whisper"\nmodel = "base.en"',
            "recognizer.model = 'base.en': knows English alone",
        ),
        (
            "recognizer",
            'engine = "deepgram"\nlanguage = "en"',
            "recognizer.language = 'en': is of the language",
        ),
        ("synthesizer", 'engine = "espeak"\nvoice = "en-us+f5"', "synthesizer.voice = 'en-us"),
        ("synthesizer", 'engine = "piper"\nvoice = "en_US-lessac-medium"', "agent.language is 'de'"),
    ],
)
def test_an_engine_of_another_language_is_refused(
    tmp_path: Path, stage: Stage, table: str, told: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        built(tmp_path, stage, table)
    assert told in str(refused.value)


@pytest.mark.parametrize("value", ["nb", "no"])
def test_norwegian_has_several_codes(tmp_path: Path, value: str) -> None:
    built(tmp_path, "synthesizer", f'engine = "elevenlabs"\nvoice = "an id"\nlanguage = "{value}"', "nb")


def test_a_model_by_its_path_or_id_is_of_no_known_language(tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    built(tmp_path, "recognizer", 'engine = "moonshine"\nmodel = "./en"')
    built(tmp_path, "synthesizer", 'engine = "elevenlabs"\nvoice = "en1"')


@pytest.mark.parametrize(("name", "voice"), [("german", "piper-voices"), ("spanish", "weights kokoro-82m")])
def test_what_a_configuration_of_another_language_misses_is_told(
    name: str, voice: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["check", str(ROOT / f"configs/{name}.toml")]) == 1
    told = capsys.readouterr().out
    for missing in ("OPENAI_API_KEY", "weights whisper-base", voice):
        assert missing in told


@pytest.mark.parametrize(("name", "apology"), [("german", "Entschuldigung"), ("spanish", "Perdone")])
async def test_set_phrases_are_spoken_in_the_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, apology: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    text = (ROOT / f"configs/{name}.toml").read_text()
    before, after = text.split("[synthesizer]\n", 1)
    path = tmp_path / "served.toml"
    path.write_text(f'{before}[synthesizer]\nengine = "espeak"\n[budget]{after.split("[budget]")[1]}')
    config = load(path)
    assert config.agent.apology.startswith(apology)
    synthesizer = build_engines(config).synthesizer
    await synthesizer.start()
    try:
        spoken = await make_phrase(config.agent.apology, config.agent.language, synthesizer)
    finally:
        await synthesizer.close()
    samples = sum(len(speech.samples) for speech in spoken.sound)
    assert samples > 2 * synthesizer.rate_hz


def test_voice_of_the_agents_language_is_the_usual_one() -> None:
    voices = {"de": "ef_dora", "marin": "af_heart"}
    assert voices_for(voices, "de") == voices | {"": "ef_dora"}
    assert voices_for(voices, "en") == voices


def several(name: str, stage: str, **options: object) -> dict[str, object]:
    """Return the keyword arguments of a built-in engine for calls in English and German."""
    (known,) = (one for one in KNOWN_ENGINES if (one.name, one.stage) == (name, stage))
    return in_language(known, object, name, options, "en", ("de",))


def test_engine_that_detects_languages_gets_all_of_them() -> None:
    assert several("whisper", "recognizer") == {"languages": ("en", "de")}


@pytest.mark.parametrize("name", ["espeak", "openai", "elevenlabs"])
def test_voice_that_has_several_languages_needs_no_key(name: str) -> None:
    assert several(name, "synthesizer") == {}


def test_recognizer_of_a_vendor_has_several_with_its_own_value_for_detection() -> None:
    assert several("deepgram", "recognizer", language="multi") == {"language": "multi"}
    with pytest.raises(OtherLanguage, match="set language with the value for detection"):
        several("deepgram", "recognizer")


@pytest.mark.parametrize(
    ("name", "stage", "message"),
    [
        ("moonshine", "recognizer", "does not have 'de', a language of calls"),
        ("piper-english", "synthesizer", r"for its voice alone, \[languages.de.synthesizer\]"),
        ("piper", "synthesizer", r"one language at a time, .* set \[languages.de.synthesizer\]"),
    ],
)
def test_engine_without_a_language_of_calls_is_refused_with_the_remedy(
    name: str, stage: str, message: str
) -> None:
    with pytest.raises(OtherLanguage, match=message):
        several(name, stage)
