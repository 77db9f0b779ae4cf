"""espeak-ng's voices, read from its data folder without loading the library (GPL-3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from audio.synthesizers.voices import KnownVoices


class NoSuchVoice(ValueError):
    """Unknown voice. The message lists the allowed ones."""


def voice_file(voice: str, data: Path) -> str:
    """Return the name to load a voice by: its file below `data`, with the variant.

    The library does not find every language by name (en-gb is in "gmw/en") and ignores unknown variants.

    Args:
        voice: a language or a file, with or without a variant.
        data: espeak-ng's data folder.

    Raises:
        NoSuchVoice: the language or the variant is unknown.
    """
    language, plus, variant = voice.partition("+")
    variants = sorted(path.name for path in (data / "voices" / "!v").iterdir())
    if plus and variant not in variants:
        raise NoSuchVoice(f"voice {voice!r} has no variant {variant!r}; allowed: {', '.join(variants)}")
    files = list(_files(data))
    # A file's first language is its own; further languages are tried in the library's order of priority.
    own = [(lines[0][1], file) for file, lines in files if lines]
    others = [(words, file) for file, lines in files for words in lines[1:]]
    others.sort(key=lambda other: _priority(other[0]))
    known: dict[str, str] = {}
    for name, file in (
        *own,
        *((words[1], file) for words, file in others),
        *((file, file) for file, _ in files),
    ):
        known.setdefault(name.lower(), file)
    if language.lower() not in known:
        allowed = ", ".join(sorted({name for name, _ in own}))
        raise NoSuchVoice(f"there is no voice {voice!r}; allowed: {allowed}")
    return f"{known[language.lower()]}{plus}{variant}"


def installed_voices(data: Path) -> KnownVoices:
    """Return the languages as voices; each may have a variant, as in "de+f2". data: espeak-ng's folder."""
    names = sorted({lines[0][1] for _, lines in _files(data) if lines})
    variants = sorted(path.name for path in (data / "voices" / "!v").iterdir())
    languages, endings = ("|".join(map(re.escape, each)) for each in (names, variants))
    return KnownVoices(tuple(names), rf"(?:{languages})(?:\+(?:{endings}))?")


def _files(data: Path) -> Iterator[tuple[str, list[list[str]]]]:
    folder = data / "lang"
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        yield (
            path.relative_to(folder).as_posix(),
            [one.split() for one in lines if one.startswith("language ")],
        )


def _priority(words: list[str]) -> int:
    """Return the priority in a line "language en 3": lower wins; the default is 5."""
    return int(words[2]) if len(words) > 2 and words[2].isdigit() else 5
