"""The language in which an utterance is decoded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers import ExpectedSpeech
from audio.recognizers.decoding.utterance_language import UtteranceLanguage

LANGUAGES = ("en", "de", "es")
probabilities = st.lists(
    st.tuples(st.sampled_from(("en", "de", "es", "fr", "ja")), st.floats(0.0, 1.0)), max_size=6
)


@given(probabilities, st.floats(0.1, 30.0))
def test_only_languages_in_question_are_chosen(detected: list[tuple[str, float]], seconds: float) -> None:
    language = UtteranceLanguage(LANGUAGES, None)
    language.observe(detected, seconds)
    assert language.code in LANGUAGES
    assert abs(sum(probability for _, probability in language.probabilities) - 1.0) < 1e-6 or (
        not language.probabilities
    )


def test_expected_language_wins_an_unclear_detection() -> None:
    for expected, decoded in ((None, "de"), (ExpectedSpeech("en"), "en")):
        language = UtteranceLanguage(LANGUAGES, expected)
        language.observe([("de", 0.6), ("en", 0.4)], 0.5)
        assert language.code == decoded


def test_clear_detection_wins_over_the_expected_language() -> None:
    language = UtteranceLanguage(LANGUAGES, ExpectedSpeech("en"))
    language.observe([("de", 0.9), ("en", 0.1)], 0.5)
    assert language.code == "de" and dict(language.probabilities)["de"] == 0.9


def test_clear_detection_in_enough_audio_is_not_repeated() -> None:
    language = UtteranceLanguage(LANGUAGES, None)
    language.observe([("de", 0.95), ("en", 0.05)], 1.0)
    assert not language.settled
    language.observe([("de", 0.95), ("en", 0.05)], 2.5)
    assert language.settled


def test_fixed_language_needs_no_detection() -> None:
    language = UtteranceLanguage(LANGUAGES, ExpectedSpeech("es", fixed=True))
    assert (language.code, language.settled, language.probabilities) == ("es", True, ())


def test_fixed_language_that_is_not_in_question_is_ignored() -> None:
    assert not UtteranceLanguage(LANGUAGES, ExpectedSpeech("fr", fixed=True)).settled
