"""Turns shared out between two LLMs of which the small one knows the half."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_material import write_lines, write_material

from llmcore.policies.learned_routing import read_router
from voiceagent.cli.main import main

ENGINES = """
from llmcore.engine import Delta, Usage

class Knows:
    def __init__(self, answers: dict) -> None:
        self._answers = answers
    async def start(self) -> None: ...
    async def close(self) -> None: ...
    async def generate(self, request):
        last = request.messages[-1].content
        yield Delta(next((said for asked, said in self._answers.items() if asked in last), "I don't know."))
        yield Delta(finish_reason="stop", usage=Usage())
    async def prefill(self, request): ...
"""
CONFIG = """
[agent]
instructions = "You keep the lighthouse."
[recognizer]
engine = "moonshine"
[synthesizer]
engine = "espeak"
[llm]
engine = "known_answers:Knows"
answers = { lamp = "The lamp burns oil.", reef = "The reef is near." }
[small_llm]
engine = "known_answers:Knows"
answers = { lamp = "The lamp burns oil." }
[routing]
patterns = ["goodbye"]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "known_answers.py").write_text(ENGINES)
    (tmp_path / "two.toml").write_text(CONFIG)
    facts = {"lamp": "oil", "reef": "near"}
    asked = [
        (f"Ship {number // 4}, how is the {word}?", facts[word]) for number in range(20) for word in facts
    ]
    folder = write_material(tmp_path / "material")
    order = [asked[index] for start in range(0, 40, 4) for index in (start, start + 2, start + 1, start + 3)]
    labelled = [{"messages": [{"role": "user", "content": text}], "must": [fact]} for text, fact in order]
    write_lines(folder / "labelled.jsonl", labelled)
    return tmp_path / "two.toml"


def rows(printed: str) -> dict[str, list[str]]:
    cells = [line.strip("│ ").split("│") for line in printed.splitlines() if "│" in line]
    return {first.strip(): [cell.strip() for cell in rest] for first, *rest in cells}


def test_what_was_learned_gives_the_small_model_what_it_knows(config, capsys):
    learned = config.parent / "learned.json"
    options = ["--material", str(config.parent / "material"), "--learn", str(learned)]
    assert main(["bench", "routing", "--config", str(config), *options]) == 0
    found = rows(capsys.readouterr().out)
    # the large one, the small one, by rules (none of which fits), learned
    assert found["to the small, %"] == ["0.0", "100.0", "0.0", "50.0"]
    assert found["right, %"] == ["100.0", "50.0", "100.0", "100.0"]
    assert read_router(learned.read_text()).threshold < 1


def test_without_a_small_llm_there_is_nothing_to_share_out(config, capsys):
    alone = config.parent / "alone.toml"
    alone.write_text(CONFIG.partition("[small_llm]")[0])
    assert main(["bench", "routing", "--config", str(alone)]) == 1
    assert "there is no [small_llm]" in capsys.readouterr().err


def test_a_file_that_was_not_learned_is_refused(config, capsys):
    config.write_text(f'{CONFIG}learned = "./two.toml"\n')
    material = ["--material", str(config.parent / "material")]
    assert main(["bench", "routing", "--config", str(config), *material]) == 2
    assert "routing.learned" in capsys.readouterr().err
