"""Callers' words in writing: capitals, punctuation, digits."""

from __future__ import annotations

import re
from random import Random

from voiceagent.demo.world import spoken_number

_DIGITS = {spoken_number(value): str(value) for value in range(1, 21)}
_NUMBER = re.compile(
    r"\b("
    + "|".join(sorted(_DIGITS, key=len, reverse=True))
    + r")(?= nights?\b| people\b| guests?\b| adults\b)"
)
_PROPER = re.compile(
    r"\b(i|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|"
    r"september|october|november|december|spanish|french|german|italian|chinese|english|brookfield|paris|london)\b"
)
_OPENERS = (
    r"(?:(?:hi|hello|hey|there|good|morning|evening|okay|so|and|um|uh|well|sorry|alright|also|yes|oh) )*"
)
_ASKING = re.compile(
    _OPENERS + r"(what|when|where|how|who|which|do|does|is|are|can|could|will|would|may|have)('s)?\b"
)

_CONTRACTIONS = {
    r"\bi'm\b": "i am",
    r"\bcan't\b": "can not",
    r"\bwon't\b": "will not",
    r"\blet's\b": "let us",
    r"\b(what|where|when|who|how|it|that|there|here)'s\b": r"\1 is",
    r"n't\b": " not",
    r"'re\b": " are",
    r"'ve\b": " have",
    r"'ll\b": " will",
    r"'d\b": " would",
}


def typed(text: str, rng: Random) -> str:
    """Return `text` (lower-case words) as people type it: each writing habit applies most of the time."""
    if rng.random() < 0.6:
        text = _NUMBER.sub(lambda match: _DIGITS[match[1]], text)
    text = re.sub(r"\bwi fi\b|\bwifi\b", rng.choice(("wifi", "Wi-Fi", "WiFi")), text)
    text = re.sub(r"\bcheck (in|out)\b", r"check-\1" if rng.random() < 0.5 else r"check \1", text)
    if rng.random() < 0.85:
        text = _PROPER.sub(lambda match: match[0].capitalize(), text)
        text = text[:1].upper() + text[1:]
    if rng.random() < 0.85:
        text += "?" if _ASKING.match(text.lower()) else rng.choice(".!" if rng.random() < 0.2 else "..")
    return text


def punctuated(text: str) -> str:
    """Return `text` (lower-case words) as a punctuating recognizer writes it."""
    text = _PROPER.sub(lambda match: match[0].capitalize(), text)
    return text[:1].upper() + text[1:] + ("?" if _ASKING.match(text.lower()) else ".")


def uncontracted(text: str) -> str:
    """Return `text` (lower-case words) with "I am" for "I'm", and so on."""
    for contraction, words in _CONTRACTIONS.items():
        text = re.sub(contraction, words, text)
    return text
