from __future__ import annotations

import pytest

from audio.recognizers.decoding.moonshine_vocabulary import END, numbers_of, read_vocabulary, tokens_of
from audio.recognizers.moonshine_email_grammars import EmailGrammars, begins_with_domain, names_domain
from audio.recognizers.moonshine_files import model_files


@pytest.fixture(name="vocabulary", scope="module")
def of_the_model() -> list[bytes]:
    return read_vocabulary(model_files(None)[-1].read_bytes())


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        (" at Zulu, India, golf, golf, oscar dot n l", True),
        (" red, lion dot org", True),  # as it was heard
        (" z-i-g-g-o dot n l", False),  # where words of the alphabet were heard
        (" at Zulu India", False),
    ],
)
def test_a_domain_alone_may_be_expected(vocabulary: list[bytes], text: str, allowed: bool) -> None:
    numbers = numbers_of(vocabulary)
    grammar = EmailGrammars(vocabulary).domain("red lion, golf dot org")
    assert grammar.allows([*tokens_of(text[1:], numbers), END]) is allowed


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("No, at H. R. D. L. U. R. Dot Con View", True),
        ("At willow.org", True),
        ("No, at last", False),
        ("Sam at willow dot org", False),
    ],
)
def test_an_answer_that_begins_with_a_domain_is_known(text: str, begins: bool) -> None:
    assert begins_with_domain(text) is begins


@pytest.mark.parametrize(
    ("text", "is_domain"),
    [
        ("No, at willow.org.", True),
        ("No, at G. mail dot com", True),
        ("No, it's web dot D. E.", True),
        ("At gmx.co.uk", True),
        ("No, that's not it.", False),
        ("B as in boy.", False),
        ("No. Me.", False),
    ],
)
def test_an_answer_that_ends_in_a_domain_is_known(text: str, is_domain: bool) -> None:
    assert names_domain(text) is is_domain
