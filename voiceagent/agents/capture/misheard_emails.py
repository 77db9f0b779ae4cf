"""Words that recognizers write for what was said in an e-mail address."""

from __future__ import annotations

import re

from audio.recognizers.decoding.frequent_names import FIRST_NAMES, LAST_NAMES
from voiceagent.agents.capture.email_domains import PROVIDERS
from voiceagent.agents.capture.self_repairs import without_asides
from voiceagent.agents.capture.task import Circumstances
from voiceagent.conversation.words import words_of
from voiceagent.text_normalization.spoken_digits import number_at

MAX_WORDS = 3
"""Words of a local part without a sign between them: more are a sentence."""
_DIGIT = r"(?:zero|one|two|three|four|five|six|seven|eight|nine|\d+)"
_MISHEARD = (
    (re.compile(r"\bnot\b", re.I), "dot"),
    (re.compile(r"(?<=\w )dart (?!at\b)", re.I), "dot "),
    (re.compile(r"\bdot (?:come|calm)\b", re.I), "dot com"),
    (re.compile(r"\bdot(com?|org|net)\b", re.I), r"dot \1"),
    (re.compile(r"\b(?:(?:at|as|is) )?(?:a|e|eye|i)[ -]cloud\b", re.I), "at icloud"),
    (
        re.compile(
            rf"\b(?:at|art|add|ad)({'|'.join(sorted({one.partition('.')[0] for one in PROVIDERS}))})\b", re.I
        ),
        r"at \1",
    ),
    (re.compile(rf"\btoo?,? (?=(?:at|{_DIGIT})\b)", re.I), "2 "),
    (re.compile(rf"\bfor,? (?=(?:at|{_DIGIT})\b)", re.I), "4 "),
    (re.compile(r"\bout look\b", re.I), "outlook"),
    (re.compile(r"(?<=\b[a-z][ -])dass(?=[ -][a-z]\b)", re.I), "dash"),
    (re.compile(r"^\W*([a-z])[., ]+\1[., ]+(?=\1\w{3,})", re.I), r"\1 as in "),  # "M. M. Michael"
    (re.compile(r"\b(?:at (?:g|gee|e|h)[ -]?|(?:edge|etch) ?)mail\b", re.I), "at gmail"),
    (re.compile(r"\bat s(?:c)?h(?:mail|male)\b", re.I), "at gmail"),
    (re.compile(r"\bunderscored (?=\w)", re.I), "underscore "),
    (re.compile(r"\b(?:hot|heart|hard) ?mail\b", re.I), "hotmail"),
    (re.compile(r"(?<=\w\w\.[a-z])\. (?=(?!at\b|dot\b)[a-z]{2,})", re.I), " dot "),  # "steve.p. long"
    # "t dot baker" is written as an initial; letters that are spelled follow each other
    (re.compile(r"(?<![\w.,] )(?<![\w.])([a-z])\. (?=(?!at\b|dot\b)[a-z]{2,})", re.I), r"\1 dot "),
)
"""Texts that English recognizers write in an answer to the question for an address, and what was said."""
_LABEL = r"dot [a-z](?: ?[a-z]){0,3}"
_LOOP = re.compile(rf"(\b{_LABEL} {_LABEL}\b)(?:\W+(?:[a-z]\W+)?\1){{2}}.*", re.I | re.S)
"""A recognizer's loop, and all that follows: an ending of two labels, three times or more, and a letter
before each: "dot co dot UK, e dot co dot UK, e dot co dot UK, e".
"""
_JOINED_DOT = re.compile(r"(?<=\w )dot([a-z]{4,})\b", re.I)
_NAMES = frozenset((*FIRST_NAMES, *LAST_NAMES))
_DASH_BEFORE_DIGITS = re.compile(r"(?<=[a-z])-(?=\d+$)")
_INITIALS = {
    **{name: name[0] for name in ("be", "ce", "de", "ge", "pe", "te", "jay", "kay")},
    **{name: name[1] for name in ("ef", "el", "em", "en", "es", "ar", "ex")},
    "decay": "dk",
}
"""Names of letters as recognizers write them before a name: "detaylor" for "D Taylor"."""
_MIN_NAME = 5
"""Letters of such a name, at least: "belong" is no initial and a name."""
_OH = re.compile(r"\boh(?=[\s,.]+[a-z]\b)", re.I)
_AT = re.compile(r"\bat\b|@", re.I)
_AT_AMONG_SPELLED = re.compile(rf"(?<=\b[a-z][\s,.-])at(?=(?:[\s,.]+{_DIGIT}\b)+(?:\W*$|[\s,.]+at\b))", re.I)
_ITS_MAIL = re.compile(r"[\s,.]+it'?s mail(?=(?:\.| dot )com\W*$)", re.I)
_PROVIDER_ALONE = re.compile(
    r"(?<=\w)(?:[\s,.]+(?:and|an|add|ad|act|that|it|a|had|hat))?[\s,.]+(?=("
    + "|".join(re.escape(one).replace(r"\.", r"(?:\.| dot )") for one in PROVIDERS)
    + r")\W*$)\1",
    re.I,
)
"""The domain of a large provider at the end of a text, with what recognizers write for the "at" before it."""


def address_as_said(text: str, now: Circumstances, domain_alone: bool = False) -> str:
    """Return the text of an address or a part of it, misheard words as they were said. domain_alone: the
    caller was asked for the domain, so that no "at" is missing within the text.
    """
    plain = without_loop(without_asides(text, now.language))
    if now.language == "en":
        for misheard, said in _MISHEARD:
            plain = misheard.sub(said, plain)
        plain = with_o(_JOINED_DOT.sub(_parted_dot, plain))
        plain = _with_dot_between(plain if domain_alone else _with_at_before_provider(plain), now)
    return plain


def without_loop(text: str) -> str:
    """Return a text up to the first row of a recognizer's loop."""
    return _LOOP.sub(r"\1", text)


def other_first_part(local: str) -> str | None:
    """Return what the caller may have said in place of the first part of an address, as recognizers write it
    otherwise: an initial before a name, no dot after it, no dash before digits, or "dash" as "nash". None if
    nothing of it fits.
    """
    undashed = _DASH_BEFORE_DIGITS.sub("", local)
    if undashed != local:
        return undashed
    initial = re.fullmatch(r"([a-z])\.([a-z]+)(\d*)", local)
    if initial and initial[2] in _NAMES:
        return initial[1] + initial[2] + initial[3]
    dashed = re.fullmatch(r"([a-z]+)(?:nash|bash|gash)([a-z]+)", local)
    if dashed and dashed[1] in _NAMES and dashed[2] in _NAMES:
        return f"{dashed[1]}-{dashed[2]}"
    letters = re.match("[a-z]*", local)
    word = letters[0] if letters else ""
    for name, letter in _INITIALS.items():
        rest = word.removeprefix(name)
        if len(rest) >= _MIN_NAME and rest != word and rest in LAST_NAMES and word not in _NAMES:
            return letter + local[len(name) :]
    return None


def _parted_dot(joined: re.Match[str]) -> str:
    """Return "dot Berg" for "Dotberg", which is no name."""
    name = joined[1].lower()
    return f"dot {joined[1]}" if name in _NAMES and f"dot{name}" not in _NAMES else joined[0]


def _with_at_before_provider(text: str) -> str:
    """Return a text without "at" with one before a large provider: "Bob 42 and outlook dot com", "it's mail
    dot com". One between letters and digits alone is a letter: "E, L, L, at 2, 0".
    """
    text = _AT_AMONG_SPELLED.sub("a", text)
    if _AT.search(text):
        return text
    gmail = _ITS_MAIL.sub(" at gmail", text)
    return _PROVIDER_ALONE.sub(r" at \1", text) if gmail == text else gmail


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
