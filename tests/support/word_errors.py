"""How far recognized words are from spoken ones."""

from __future__ import annotations


def word_edits(wanted: list[str], got: list[str]) -> int:
    """The fewest insertions, deletions and replacements between them."""
    row = list(range(len(got) + 1))
    for done, word in enumerate(wanted, start=1):
        above, row = row, [done]
        for column, other in enumerate(got, start=1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (word != other)))
    return row[-1]
