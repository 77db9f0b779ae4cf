"""The agent's language and an engine's: told to one that takes it, refused where the engine has another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from voiceagent.engines.catalogue import KnownEngine

_CODE = re.compile(r"([a-z]{2})(?![A-Za-z])")
_NORWEGIAN = {"nb": "no", "nn": "no"}
"""Engines have one of the three for the same words."""


class OtherLanguage(ValueError):
    """key: in the engine's table, `engine` or the key of its language. value: what stands there."""

    def __init__(self, key: str, value: object, message: str) -> None:
        super().__init__(message)
        self.key, self.value = key, value


def in_language(
    known: KnownEngine | None, engine_class: type, name: str, options: Mapping[str, Any], language: str
) -> dict[str, Any]:
    """The keyword arguments of an engine that is to have a language, an ISO 639 code; "" asks for none.

    known: the engine in the catalogue, None for somebody's own. name: as the configuration has it. options:
    the keyword arguments there. Where they name no language, the engine is told. Raises OtherLanguage.
    """
    told = dict(options)
    if not language:
        return told
    fixed = _fixed(known, engine_class, options)
    if fixed and language not in fixed:
        allowed = f"allowed: agent.language {' or '.join(fixed)}, or an engine or model that has it"
        raise OtherLanguage("engine", name, f"does not have the agent's language, {language!r}; {allowed}")
    key = known.language_key if known is not None else ""
    if key in options:
        other = _language_in(options[key])
        if other and _plain(other) != _plain(language):
            message = f"is of the language {other!r}, and agent.language is {language!r}"
            raise OtherLanguage(key, options[key], f"{message}; allowed: the same in both")
    elif known is not None and known.takes_language and language != "en":  # English needs no word
        told[key] = language
    return told


def _fixed(known: KnownEngine | None, engine_class: type, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The only languages that an engine has, () where that is not known."""
    if known is not None and known.model_key not in options:
        return known.languages
    return getattr(engine_class, "languages", ())


def _language_in(value: object) -> str:
    """The code that a value begins with, as "de" in "de-CH", "de+f2" and "de_DE-thorsten-medium"; else ""."""
    found = _CODE.match(value) if isinstance(value, str) else None
    return found[1] if found else ""


def _plain(code: str) -> str:
    return _NORWEGIAN.get(code, code)
