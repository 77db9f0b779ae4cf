"""Labelled texts of agents: the written text and its spoken form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from voiceagent.conversation.fragments import Fragment, Fragmenter

FOLDER = Path(__file__).parents[1] / "voiceagent/text_normalization"


@dataclass(frozen=True)
class Labelled:
    """A text in a language, and its spoken form."""

    language: str
    text: str
    spoken: str


def labelled(name: str) -> list[Labelled]:
    """Return the rows of a file: language, text, spoken words; "\\n" in a text is a new line."""
    lines = (FOLDER / name).read_text("utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [Labelled(language, text.replace("\\n", "\n"), spoken) for language, text, spoken in rows]


def fragments_of(text: str, language: str, cuts: tuple[int, ...] = ()) -> list[Fragment]:
    """Return the fragments for the synthesizer of a text that is streamed in pieces, cut at these indexes."""
    fragmenter = Fragmenter(language)
    places = [0, *sorted(cuts), len(text)]
    fragments = [fragment for start, end in pairwise(places) for fragment in fragmenter.push(text[start:end])]
    return fragments + fragmenter.finish()


def said(fragments: list[Fragment]) -> str:
    """Return the spoken words of fragments."""
    return " ".join(fragment.spoken for fragment in fragments if fragment.spoken)


def words_of(spoken: str) -> list[str]:
    """Return the words to compare: the labels do not cover pauses and capitals."""
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", spoken.casefold())
