"""Fixed phrases of an agent are synthesized before the first call."""

from __future__ import annotations

from pathlib import Path

from voiceagent.config.tables import load
from voiceagent.server.fixed_phrases import fixed_phrases

CONFIG = """
[agent]
greeting = "Hello, this is room 5. How can I help?"
apology = "Sorry."
refusal = "No."
filler = ""
idle_prompts = ["Are you there?"]
goodbye = "Bye."

[recognizer]
engine = "moonshine"

[llm]
engine = "ctranslate2"

[synthesizer]
engine = "espeak"
"""


def test_phrases_are_as_a_call_has_them_spoken(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(CONFIG)
    assert fixed_phrases(load(path)) == (
        "Sorry.",
        "No.",
        "Hello,",
        "this is room five.",
        "How can I help?",
        "Are you there?",
        "Bye.",
    )


def test_set_answers_are_fixed_but_for_words_of_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    booking = 'pattern = "(?P<stay>two nights)"\nanswer = "Gladly, for {stay}. Which room?"'
    pool = 'pattern = "pool"\nanswer = "It opens at 7."'
    path.write_text(f"{CONFIG}[[set_answers]]\n{booking}\n[[set_answers]]\n{pool}\n")
    phrases = fixed_phrases(load(path))
    assert phrases[-2:] == ("Which room?", "It opens at seven.")
    assert not [phrase for phrase in phrases if "night" in phrase or "for" in phrase]
