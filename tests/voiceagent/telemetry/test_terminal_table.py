"""Tables of a terminal: no word in them is broken."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voiceagent.telemetry.terminal_table import print_table

WORDS = st.text("abc", min_size=1, max_size=12)
CELLS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    heads = draw(st.lists(CELLS, min_size=1, max_size=8, unique=True))
    row = st.lists(CELLS, min_size=len(heads), max_size=len(heads))
    return heads, draw(st.lists(row, max_size=4))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables(), st.integers(20, 120), st.booleans())
def test_no_word_is_broken_where_all_but_one_column_may_be_left_out(
    capsys, monkeypatch, table: tuple[list[str], list[list[str]]], columns: int, whole: bool
) -> None:
    heads, rows = table
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(heads, rows, spare=heads[1:], whole=whole)
    shown = capsys.readouterr().out
    if whole and max(map(len, [heads[0], *(row[0] for row in rows)])) > columns - 4:
        return  # the column that must be there has no room
    assert all(word in shown for word in heads[0].split())
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    for row in rows:
        assert all(word in shown for word in row[0].split())


@pytest.mark.parametrize(("columns", "left_out"), [(60, False), (33, True)])
def test_what_is_left_out_is_named(capsys, monkeypatch, columns: int, left_out: bool) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(["name", "size", "longest wait"], [["a" * 15, "1" * 8, "5 ms"]], spare=["size"])
    shown = capsys.readouterr().out
    assert ("1" * 8 in shown) is not left_out
    assert ("size" in shown.splitlines()[-1]) is left_out


def test_a_pipe_has_room_for_all(capsys, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(["a", "b"], [["x" * 90, "y" * 90]], spare=["b"], whole=True)
    assert "y" * 90 in capsys.readouterr().out
