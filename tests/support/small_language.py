"""A language of a few commands, for a recognizer that is to be quick."""

from __future__ import annotations

from pathlib import Path

from pocketsphinx.lm import ArpaBoLM  # type: ignore[import-untyped]  # ships no types

SENTENCES = ("go forward ten meters", "go back two meters", "turn left", "turn right", "stop")
PRONUNCIATIONS = {
    "back": "B AE K",
    "forward": "F AO R W ER D",
    "go": "G OW",
    "left": "L EH F T",
    "meters": "M IY T ER Z",
    "right": "R AY T",
    "stop": "S T AA P",
    "ten": "T EH N",
    "turn": "T ER N",
    "two": "T UW",
}


def write(folder: Path) -> tuple[Path, Path]:
    """Write the language model and the dictionary; returns their paths."""
    model, dictionary = folder / "commands.arpa", folder / "commands.dict"
    counted = ArpaBoLM(text="\n".join(SENTENCES), add_start=True)
    counted.compute()
    counted.write_file(str(model))
    dictionary.write_text("".join(f"{word} {phones}\n" for word, phones in PRONUNCIATIONS.items()))
    return model, dictionary
