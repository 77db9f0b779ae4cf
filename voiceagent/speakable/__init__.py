"""Text as a model writes it to words a synthesizer can read. Pure."""

from __future__ import annotations

import re

Alignment = tuple[tuple[int, int], ...]


def speakable(text: str, language: str = "en") -> tuple[str, Alignment]:
    """The words to speak for `text`, "" where there are none, and how they align.

    alignment: pairs (index in the spoken words, index in `text`) of the beginnings of corresponding words, both ascending.
    """
    spoken = text.strip()
    if not re.search(r"\w", spoken):
        return "", ()
    lead = len(text) - len(text.lstrip())
    return spoken, tuple((match.start(), match.start() + lead) for match in re.finditer(r"\S+", spoken))
