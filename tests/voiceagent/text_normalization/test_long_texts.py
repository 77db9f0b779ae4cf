"""Run time grows linearly with the length of a text, not with its square: it is spent on the event loop."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from voiceagent.conversation.fragments import Fragmenter
from voiceagent.text_normalization import normalize

SHAPES = (
    "a ", "1 ", "1.", "1,", "12 ", "12-", "- ", "* ", "*a ", "_a ", "(a ", "[a ", "](", "[a](", "<a ",
    "<a b=\"", "a.b", "a@", "a@b.", "www.", "http://", "$1 ", "$1-", "1/2 ", "10:30 ", "am 3. ", "3. ",
    "5 p.m. ", "A ", "AB12 ", "A1B2", "AB-12-", "... ", "!", "Mo.-", "May 5", "Main St. ",
    "4821 Main St ",
    "code ", "is ", "1 h", "1 km ", "`", "**", "| - ", "€", "1,000", "#1 ", "\\*", "code is 1 2 ",
    "+1 ", "1x1", "-1", "\n- ", "\n", "'", "No. 1", "U.S.", "½", "<say-as interpret-as='digits'>1",
    "*laughs ", "1.1.", "01.02.", "9 am - ", "Mon - ", "a", "1", ".", "A.", "…",
)  # fmt: skip
"""Parts of texts that a pattern might search repeatedly."""
SHORT, LONG = 500, 3_000
MAX_RATIO = 3 * LONG / SHORT
"""Three times the ratio of a linear pattern, and less than half that of a quadratic one."""


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of some work, the better of two runs."""
    times = []
    for _ in range(2):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def ratio(work: Callable[[str], object], shape: str) -> float:
    """Return the time for a long text of a shape, divided by that for a short one (at least 0.5 ms)."""
    short, long = ((shape * length)[:length] for length in (SHORT, LONG))
    return seconds(lambda: work(long)) / max(5e-4, seconds(lambda: work(short)))


@pytest.mark.parametrize("language", ["en", "de", "es"])
def test_text_is_normalized_in_linear_time(language: str) -> None:
    ratios = {shape: ratio(lambda text: normalize(text, language), shape) for shape in SHAPES}
    assert {shape: each for shape, each in ratios.items() if each > MAX_RATIO} == {}


def test_text_is_cut_in_linear_time() -> None:
    """Within a fragment of maximum length, each character may look at all others."""
    ratios = {shape: ratio(lambda text: Fragmenter("de", max_chars=40).push(text), shape) for shape in SHAPES}
    assert {shape: each for shape, each in ratios.items() if each > MAX_RATIO} == {}
