"""Match of an engine's language with the agent's: passed to an engine that takes it, else checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from voiceagent.engines.catalogue import KnownEngine

_CODE = re.compile(r"([a-z]{2})(?![A-Za-z])")
_NORWEGIAN = {"nb": "no", "nn": "no"}
"""Codes of Norwegian, for which engines use one of three."""


class OtherLanguage(ValueError):
    """The engine's language differs from the agent's. key: in the engine's table. value: found there."""

    def __init__(self, key: str, value: object, message: str) -> None:
        super().__init__(message)
        self.key, self.value = key, value


def in_language(
    known: KnownEngine | None,
    engine_class: type,
    name: str,
    options: Mapping[str, Any],
    language: str,
    others: Sequence[str] = (),
) -> dict[str, Any]:
    """Return an engine's keyword arguments with the agent's language added where needed. Raises
    OtherLanguage.

    known: the engine's catalogue entry, None for a custom one. name: as in the configuration. options: its
    keyword arguments there. language: the agent's, an ISO 639 code; "" for any. others: further ones that the
    same engine must have.
    """
    arguments = dict(options)
    if not language:
        return arguments
    fixed = _fixed_languages(known, engine_class, options)
    if fixed and language not in fixed:
        allowed = f"allowed: agent.language {' or '.join(fixed)}, or an engine or model that has it"
        raise OtherLanguage("engine", name, f"does not have the agent's language, {language!r}; {allowed}")
    if others:
        _check_several(known, name, arguments, fixed, (language, *others))
        if known is not None and known.languages_key:
            return {known.languages_key: (language, *others), **arguments}
    key = known.language_key if known is not None else ""
    if key in options:
        other = _language_in(options[key])
        if other and _canonical(other) != _canonical(language):
            message = f"is of the language {other!r}, and agent.language is {language!r}"
            raise OtherLanguage(key, options[key], f"{message}; allowed: the same in both")
    elif known is not None and known.takes_language and language != "en":  # English is the engines' default
        arguments[key] = language
    return arguments


def _check_several(
    known: KnownEngine | None,
    name: str,
    options: Mapping[str, Any],
    fixed: Sequence[str],
    languages: Sequence[str],
) -> None:
    """Raise OtherLanguage unless an engine can have all these languages in one call."""
    for code in languages:
        if fixed and code not in fixed:
            allowed = f"allowed: an engine that has it; for its voice alone, [languages.{code}.synthesizer]"
            raise OtherLanguage("engine", name, f"does not have {code!r}, a language of calls; {allowed}")
    if known is None or known.has_several_languages or known.languages_key:
        return
    if known.stage == "recognizer" and known.language_key in options:  # as its vendor calls detection
        return
    remedy = (
        f"[languages.{languages[1]}.synthesizer]"
        if known.stage == "synthesizer"
        else f'{known.language_key} with the value for detection ("multi" of deepgram, "" of openai)'
    )
    raise OtherLanguage("engine", name, f"has one language at a time, and calls have several; set {remedy}")


def voices_for(voices: Mapping[str, str], language: str) -> dict[str, str]:
    """Return the key `voices` of a table, with the voice of the agent's language as the usual one, "".

    Its names are those that clients and agents ask for, and codes of languages.
    """
    return {**voices, "": voices[language]} if language in voices else dict(voices)


def _fixed_languages(
    known: KnownEngine | None, engine_class: type, options: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the only languages of an engine, () if unknown."""
    if known is not None and known.model_key not in options:
        return known.languages
    return getattr(engine_class, "languages", ())


def _language_in(value: object) -> str:
    """Return the code that a value begins with, as "de" in "de-CH", "de+f2" and "de_DE-thorsten"; else ""."""
    found = _CODE.match(value) if isinstance(value, str) else None
    return found[1] if found else ""


def _canonical(code: str) -> str:
    return _NORWEGIAN.get(code, code)
