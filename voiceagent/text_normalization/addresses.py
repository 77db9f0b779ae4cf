"""Web and mail addresses, as spoken: "example dot com slash rooms"."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import digit_words, number_words
from voiceagent.text_normalization.rules import Rule, rule

_DOMAINS = (
    "com|org|net|edu|gov|int|io|ai|app|dev|info|co|uk|de|fr|nl|eu|ca|au|ch|es|it|pt|at|be|se|dk|fi|ie|nz|za|jp|br|mx"
    "|tv|ly|biz|travel|store|shop|online|site|tech|cloud|health|hotel|hotels|restaurant|club|blog|xyz|cafe"
)
_FILES = (
    "pdf|txt|html|csv|jpe?g|png|gif|docx?|xlsx?|pptx?|zip|mp3|mp4|json|xml|exe"
    "|py|sh|bat|ya?ml|toml|ini|conf|cfg|sql|css|cpp|log|md"
)
_PIECE = re.compile(r"[^\W\d_]+|\d+|.")


def _read_address(match: re.Match[str], language: Language) -> str | None:
    address = re.sub(r"^(?:https?://|mailto:)?(?:www\.)?", "", match[0], flags=re.IGNORECASE)
    address = re.split(r"[?#]", address, maxsplit=1)[0].rstrip("/")
    words = [_read_piece(piece, language) for piece in _PIECE.findall(address)]
    return " ".join(word for word in words if word) if None not in words else None


def _read_piece(piece: str, language: Language) -> str | None:
    if piece.isdecimal():
        return number_words(piece, language) if len(piece) < 3 else digit_words(piece, language)
    return piece if piece.isalpha() else language.signs.get(piece)


RULES: tuple[Rule, ...] = (
    rule(r"(?:mailto:)? [\w.+-]{1,64} @ [\w-]{1,63} (?:\.[\w-]{1,63}){1,5}", _read_address),
    rule(r"(?:https?://|www\.) [^\s<>\"'()\[\]]* [^\s<>\"'()\[\].,;:!?*_`~]", _read_address, flags=re.I),
    rule(
        rf"[\w-]{{1,63}} (?:\.[\w-]{{1,63}}){{0,3}} \. (?:{_DOMAINS}|{_FILES})\b (?!\.?\w)"
        r"(?:/[\w./-]*[\w/])?",
        _read_address,
    ),
)
