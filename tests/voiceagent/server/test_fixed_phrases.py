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
