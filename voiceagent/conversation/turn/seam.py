"""Division of one transcript among the turns whose audio it covers.

A turn that was ended too early and its continuation are recognized as one utterance. Words at the cut come
out right that way, but the transcript must be divided again: each turn is an item of the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from audio.agreement import word_key

_MORE_WORDS = 4
"""Words by which a turn's new transcript may exceed its old one: each cut garbles about one word."""


def divide(whole: str, earlier: Sequence[str]) -> tuple[str, ...]:
    """Divide a transcript at the ends of the earlier turns.

    earlier: transcripts of these turns before the audio after them was known, in order. Returns the new
    transcript of each, and the rest.
    """
    words, parts = whole.split(), []
    for text in earlier:
        end = _seam(text.split(), words)
        parts.append(" ".join(words[:end]))
        words = words[end:]
    return (*parts, " ".join(words))


def _seam(old: Sequence[str], words: Sequence[str]) -> int:
    """Return the number of leading words that are the new form of `old`."""
    before = [word_key(word) for word in old]
    after = [word_key(word) for word in words[: len(old) + _MORE_WORDS]]
    same, begin = _last_agreement(before, after)
    ends = range(begin, len(after) + 1)
    distances = _prefix_distances("".join(before[same:]), after[begin:])
    return min(ends, key=lambda end: (distances[end - begin], abs(end - begin - (len(before) - same))))


def _last_agreement(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return the ends, in both, of the last run of words that they share: of two or more, or at the start."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    shared = [one for one in blocks if one.size >= 2 or (one.size and one.a == one.b == 0)]
    return (shared[-1].a + shared[-1].size, shared[-1].b + shared[-1].size) if shared else (0, 0)


def _prefix_distances(text: str, words: Sequence[str]) -> list[int]:
    """Return the edit distances (Levenshtein) of `text` from the first 0, 1, ... words, joined."""
    column = list(range(len(text) + 1))
    distances = [column[-1]]
    for word in words:
        for letter in word:
            left, column = column, [column[0] + 1]
            for row, other in enumerate(text):
                column.append(min(left[row + 1] + 1, column[row] + 1, left[row] + (letter != other)))
        distances.append(column[-1])
    return distances
