from __future__ import annotations

import pytest

from audio.recognizers.moonshine_transcripts import is_name_in_words, may_run_away, runs_away


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("Emma Louise Parker.", True),
        ("Brown-Harris.", True),
        ("B, o, w, d, e, n.", False),
        ("Are you in tea", False),  # letters, misheard
        ("Mike Alpha Romeo", False),
        ("", False),
    ],
)
def test_a_name_that_is_said_and_not_spelled_is_known(text: str, is_said: bool) -> None:
    assert is_name_in_words(text) is is_said


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("Takahashi-t-a-t-a-t-a-t-a-t-a", True),
        ("M-c-k-e-e-e-e-e-e-e", True),
        ("Aaron Allan", False),
        ("5 5 5 5, 5 5 5 5", False),  # a card's
        ("B a n a n a", False),
        ("H-a-n-f-o-n-o-v-a-n-f-o-n-o-v-a-n-a-g-a-n 4.", True),
        ("Parker, p a r k e r", False),
        ("M i s s i s s i p p i dot com", False),
    ],
)
def test_a_transcript_that_repeats_itself_is_known(text: str, lost: bool) -> None:
    assert runs_away(text) is lost


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("five five five five, five five", True),
        ("4111111111111111", True),
        ("Triple five, five", False),
        ("One one two two one one", False),
        ("M-c-k-e-e-e-e-e-e-e", True),
    ],
)
def test_of_many_equal_digits_the_count_may_be_wrong(text: str, may: bool) -> None:
    assert may_run_away(text) is may
