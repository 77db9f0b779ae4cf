"""Labelled texts of agents: what a voice must say for what a model writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from voiceagent.conversation.fragments import Fragment, Fragmenter

FOLDER = Path(__file__).parents[1] / "voiceagent/text_normalization"


@dataclass(frozen=True)
class Labelled:
    """A text in a language, and how a person reads it aloud."""

    language: str
    text: str
    spoken: str


def labelled(name: str) -> list[Labelled]:
    """The rows of a file: language, text, spoken words; "\\n" in a text is a new line."""
    lines = (FOLDER / name).read_text("utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [Labelled(language, text.replace("\\n", "\n"), spoken) for language, text, spoken in rows]


def fragments_of(text: str, language: str, cuts: tuple[int, ...] = ()) -> list[Fragment]:
    """What the synthesizer is asked to say for a text that comes in pieces, cut at these places."""
    fragmenter = Fragmenter(language)
    places = [0, *sorted(cuts), len(text)]
    fragments = [fragment for start, end in pairwise(places) for fragment in fragmenter.push(text[start:end])]
    return fragments + fragmenter.finish()


def said(fragments: list[Fragment]) -> str:
    """The spoken words of fragments."""
    return " ".join(fragment.spoken for fragment in fragments if fragment.spoken)


def words_of(spoken: str) -> list[str]:
    """Words to compare: the labels say nothing of pauses and capitals."""
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", spoken.casefold())
