"""Words that recognizers write for what was said in an e-mail address."""

from __future__ import annotations

import re

from voiceagent.agents.capture.email_domains import PROVIDERS
from voiceagent.agents.capture.self_repairs import without_asides
from voiceagent.agents.capture.task import Circumstances
from voiceagent.conversation.words import words_of
from voiceagent.text_normalization.spoken_digits import number_at

MAX_WORDS = 3
"""Words of a local part without a sign between them: more are a sentence."""
_MISHEARD = (
    (re.compile(r"\bnot\b", re.I), "dot"),
    (re.compile(r"(?<=\w )dart (?!at\b)", re.I), "dot "),
    (re.compile(r"\bdot (?:come|calm)\b", re.I), "dot com"),
    (re.compile(r"\bdot(com?|org|net)\b", re.I), r"dot \1"),
    (re.compile(r"\b(?:at )?(?:a|e|eye|i)[ -]cloud\b", re.I), "at icloud"),
    (
        re.compile(
            rf"\b(?:at|art|add|ad)({'|'.join(sorted({one.partition('.')[0] for one in PROVIDERS}))})\b", re.I
        ),
        r"at \1",
    ),
    (re.compile(r"\btoo?,? (?=at\b)", re.I), "2 "),
    (re.compile(r"\bfor,? (?=at\b)", re.I), "4 "),
    (re.compile(r"\bout look\b", re.I), "outlook"),
    (re.compile(r"\b(?:at (?:g|gee|e)[ -]?|edge ?)mail\b", re.I), "at gmail"),
    (re.compile(r"\b(?:hot|heart|hard) ?mail\b", re.I), "hotmail"),
    # "t dot baker" is written as an initial; letters that are spelled follow each other
    (re.compile(r"(?<![\w.] )(?<![\w.])([a-z])\. (?=(?!at\b|dot\b)[a-z]{2,})", re.I), r"\1 dot "),
)
"""Texts that English recognizers write in an answer to the question for an address, and what was said."""
_OH = re.compile(r"\boh(?=[\s,.]+[a-z]\b)", re.I)
_AT = re.compile(r"\bat\b|@", re.I)
_PROVIDER_ALONE = re.compile(
    r"(?<=\w)(?:[\s,.]+(?:and|an|add|ad|act|that|it|a|had|hat))?[\s,.]+(?=("
    + "|".join(re.escape(one).replace(r"\.", r"(?:\.| dot )") for one in PROVIDERS)
    + r")\W*$)\1",
    re.I,
)
"""The domain of a large provider at the end of a text, with what recognizers write for the "at" before it."""


def address_as_said(text: str, now: Circumstances) -> str:
    """Return the text of an address or a part of it, misheard words as they were said."""
    plain = without_asides(text, now.language)
    if now.language == "en":
        for misheard, said in _MISHEARD:
            plain = misheard.sub(said, plain)
        plain = _with_dot_between(_with_at_before_provider(with_o(plain)), now)
    return plain


def _with_at_before_provider(text: str) -> str:
    """Return a text without "at" with one before a large provider: "Bob 42 and outlook dot com"."""
    return text if _AT.search(text) else _PROVIDER_ALONE.sub(r" at \1", text)


def with_o(text: str) -> str:
    """Return a text with the letter O in place of an "oh" before a letter and after no number: "T, oh, M"."""

    def written(oh: re.Match[str]) -> str:
        before = words_of(text[: oh.start()])
        return oh[0] if before and number_at(before[-1:], 0, "en")[0] else "o"

    return _OH.sub(written, text)


def _with_dot_between(text: str, now: Circumstances) -> str:
    """Return a text with the only stop in a row of words of the alphabet as the dot that it stands for:
    "Charlie Alpha Lima. Lima at". Where words are said with pauses, each has a stop or a comma after it.
    """
    at_sign = _AT.search(text)
    local = text[: at_sign.start()] if at_sign else text
    before, stop, after = local.rstrip(" .").partition(". ")
    words = f"{before} {after}".lower().split()
    spelled = len(words) > MAX_WORDS and all(
        word in now.words.alphabet or word in now.words.signs for word in words
    )
    return f"{before} dot {after} {text[len(local) :]}" if stop and spelled else text
