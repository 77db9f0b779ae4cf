"""Signs that have a name, where they are more than punctuation."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.rules import Rule, rule


def _read_sign(match: re.Match[str], language: Language) -> str | None:
    return language.signs.get(match[0], match[0])


def _read_range(_: re.Match[str], language: Language) -> str | None:
    return language.signs.get("–")


def _read_spaced_dash(match: re.Match[str], language: Language) -> str | None:
    subtracts = "=" in match.string[match.end() :]
    return language.signs.get("−" if subtracts else "–")


def _read_minus(_: re.Match[str], language: Language) -> str | None:
    return language.signs.get("−")


_MONEY = "[$€£¥₹₩]"
RULES: tuple[Rule, ...] = (
    rule(
        rf"(?:(?<=[\d%$€£¥₹₩])|(?<=[ap]m)|(?<=[AP]M)|(?<=\.m\.))[-–](?={_MONEY}?\d)",
        _read_range,
    ),
    rule(r"(?<=\d[ ])[-–](?=[ ]\d)", _read_spaced_dash),
    rule(rf"(?<![\w.)\]%])[-−](?={_MONEY}?\d)", _read_minus),
    rule(r"(?<=\d):(?=\d)", _read_range),
    rule(r"(?<=\d)/(?=[a-z])", lambda match, _: "per", "en"),
    rule(r"&amp;", lambda match, language: language.signs.get("&")),
    rule(r"(?<=\w)/(?=\w) | [&@+=×÷±−°%§→≈≤≥] | [<>~\#](?=[ ]?\d) | [$€£¥₹₩]", _read_sign),
)
