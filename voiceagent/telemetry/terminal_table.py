"""Tables for a terminal without broken words. In a narrow terminal optional columns are left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table

Rows = Sequence[Sequence[str]]


def print_table(
    heads: Sequence[str], rows: Rows, *, spare: Sequence[str] = (), whole: bool = False, right: int = 1
) -> None:
    """Print rows of cells. Output that is no terminal, and has no `COLUMNS`, is as wide as the table.

    spare: heads of columns that may be left out, in this order; `--json` must include them. whole: keep cells
    on one line; otherwise they wrap between words, as heads do. right: index of the first right-aligned
    column.
    """
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, _total(_widths(heads, rows, cell_len)))
    shown = _fitting(heads, rows, spare, console.width, whole)
    table = Table(
        *(
            Column(heads[at], width=width, justify="left" if at < right else "right")
            for at, width in shown.items()
        )
    )
    for row in rows:
        table.add_row(*(row[at] for at in shown))
    console.print(table)
    if left_out := [head for at, head in enumerate(heads) if at not in shown]:
        console.print(f"left out in {console.width} columns, and in --json: {', '.join(left_out)}")


def _fitting(
    heads: Sequence[str], rows: Rows, spare: Sequence[str], room: int, whole: bool
) -> dict[int, int]:
    """Return the widths of the shown columns by index."""
    most = _widths(heads, rows, cell_len)
    shown = _widths(heads, rows, cell_len if whole else _longest_word)
    for head in spare:
        if _total(shown) > room:
            del shown[heads.index(head)]
    for at in shown:  # distribute the remaining room
        shown[at] += max(0, min(most[at] - shown[at], room - _total(shown)))
    return shown


def _widths(heads: Sequence[str], rows: Rows, of_cell: Callable[[str], int]) -> dict[int, int]:
    """Return the width that each column needs; heads may always wrap between words."""
    return {
        at: max([_longest_word(head), *(of_cell(row[at]) for row in rows)]) for at, head in enumerate(heads)
    }


def _longest_word(cell: str) -> int:
    return max((cell_len(word) for word in cell.split()), default=0)


def _total(widths: dict[int, int]) -> int:
    """Return the width of a table: columns have a space on both sides and a line after; a line is first."""
    return sum(width + 3 for width in widths.values()) + 1
