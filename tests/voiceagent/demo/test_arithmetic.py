"""Calculations as models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.demo.assistant import NotArithmetic, evaluate


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("17 * 23", "391"),
        ("17 x 23", "391"),
        ("17 × 23 =", "391"),
        ("0.1 + 0.2", "0.3"),
        ("1,234 + 1", "1235"),
        ("15% of 80", "12"),
        ("80 * 15%", "12"),
        ("10 % 3", "1"),
        ("(2 + 3) * -4", "-20"),
        ("2^10", "1024"),
        ("10 / 4", "2.5"),
        ("1 / 3", "0.333333333333"),
        ("1000000 * 1000000", "1000000000000"),
        ("$20 / 4", "5"),
    ],
)
def test_a_calculation_is_worked_out(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1 / 0", "division by zero"),
        ("9 ** 9 ** 9", "too large"),
        ("__import__('os')", "no number"),
        ("a + 1", "no number"),
        ("(1).real", "no number"),
        ("True + 1", "no number"),
        ("seventeen", "no number"),
        ("1 +", "no calculation"),
        ("", "no calculation"),
        ("(" * 150, "no calculation"),
        ("1" * 300, "longer than"),
    ],
)
def test_what_is_no_calculation_is_refused_with_the_reason(expression: str, reason: str) -> None:
    with pytest.raises(NotArithmetic, match=reason):
        evaluate(expression)


@given(st.text(max_size=40))
def test_any_text_gives_digits_or_the_reason_why_not(text: str) -> None:
    try:
        assert evaluate(text).strip("-").replace(".", "").isdigit()
    except NotArithmetic as error:
        assert str(error)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_integers_are_exact(one: int, other: int) -> None:
    assert evaluate(f"({one}) * ({other}) + ({one})") == str(one * other + one)
