from __future__ import annotations

import pytest

from audio.recognizers.decoding.moonshine_vocabulary import END, numbers_of, read_vocabulary, tokens_of
from audio.recognizers.moonshine_files import model_files
from audio.recognizers.moonshine_grammars import digit_grammar, digits_grammar, name_grammar, spelling_grammar


@pytest.fixture(name="vocabulary", scope="module")
def of_the_model() -> list[bytes]:
    return read_vocabulary(model_files(None)[-1].read_bytes())


def test_oh_is_a_digit_beside_others_only(vocabulary: list[bytes]) -> None:
    oh = [*tokens_of("oh", numbers_of(vocabulary)), END]
    assert not digit_grammar(vocabulary).allows(oh)
    assert digits_grammar(vocabulary).allows(oh)


def test_a_name_may_be_said_before_its_letters(vocabulary: list[bytes]) -> None:
    """Held to letters alone, "Petty" was "P.", and the name "Ppetty"."""
    numbers = numbers_of(vocabulary)
    grammar = name_grammar(vocabulary, "Paddy, are you p e t t y")
    assert grammar.allows([*tokens_of("Paddy", numbers), *tokens_of("p", numbers), END])
    assert not grammar.allows([*tokens_of("Smith", numbers), END])  # was not heard
    assert not grammar.allows([*tokens_of("are", numbers), END])  # a letter, misheard


def test_letters_have_only_examples_that_begin_with_them(vocabulary: list[bytes]) -> None:
    numbers = numbers_of(vocabulary)
    grammar = spelling_grammar(vocabulary)
    assert grammar.allows([*tokens_of("N for nobody", numbers), END])
    assert grammar.allows([*tokens_of("m as in mother", numbers), END])
    assert not grammar.allows([*tokens_of("N for mother", numbers), END])
