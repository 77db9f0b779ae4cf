"""`voiceagent engines NAME`: the keys of one engine."""

from __future__ import annotations

import pytest

from voiceagent.cli.main import main
from voiceagent.config.engine_reference import engine_table
from voiceagent.engines.catalogue import KNOWN_ENGINES


def test_a_key_has_type_default_and_the_meaning_from_its_class() -> None:
    known = next(each for each in KNOWN_ENGINES if (each.stage, each.name) == ("llm", "vllm"))
    key = next(key for key in engine_table(known).keys if key.name == "max_num_seqs")
    assert (key.type, key.default) == ("integer", "32") and key.meaning


def test_engines_of_one_name_are_printed_with_their_stages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "openai"]) == 0
    printed = capsys.readouterr().out
    assert [f'[{stage}] engine = "openai"' in printed for stage in ("recognizer", "llm", "synthesizer")] == [
        True
    ] * 3


def test_an_unknown_engine_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engines", "wisper"]) == 1
    assert "wisper: no such engine; allowed: moonshine, " in capsys.readouterr().err
