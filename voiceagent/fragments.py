"""LLM text to speakable fragments: the first one short, sentences after it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a reply that is spoken in one go.

    text: as the model wrote it, white space at its edges included, so that all texts of a reply joined are
    the reply.
    spoken: the same in words a synthesizer can read ("$5" is "five dollars").
    alignment: pairs (index in `spoken`, index in `text`) of the beginnings of corresponding words, both
    ascending.
    """

    text: str
    spoken: str
    alignment: tuple[tuple[int, int], ...] = ()
