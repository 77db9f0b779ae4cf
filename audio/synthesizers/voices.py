"""Voice and speed of one text, and the voices that a synthesizer has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """Voice and speed of one text.

    Attributes:
        voice: a name that the synthesizer knows; "" for its configured voice.
        speed: 1.0 is the voice's own, 2.0 twice as fast.
        language: ISO 639 code, for a synthesizer with an engine for each language; "" for the usual one.
    """

    voice: str = ""
    speed: float = 1.0
    language: str = ""


USUAL_SETTINGS = VoiceSettings()


@dataclass(frozen=True, slots=True)
class KnownVoices:
    """Voices with which a synthesizer can speak any one text.

    Attributes:
        names: of its voices, () if it has one only or cannot list them.
        pattern: regular expression of further names, such as the ids of a vendor; "" for none.
        aliases: other names for its voices, as configured. The voice of "" replaces the usual one.
    """

    names: tuple[str, ...] = ()
    pattern: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> str:
        """Return the synthesizer's own name of a voice; for unknown ones and "" that of its usual voice."""
        usual = self.aliases.get("", "")
        if not name:
            return usual
        if name in self.aliases:
            return self.aliases[name]
        return name if self.has(name) else usual

    def has(self, name: str) -> bool:
        """Return True if there is a voice of this name."""
        return (
            name in self.aliases
            or name in self.aliases.values()
            or name in self.names
            or (bool(self.pattern) and re.fullmatch(self.pattern, name) is not None)
        )

    def with_aliases(self, aliases: Mapping[str, str]) -> KnownVoices:
        """Return the same voices under more names.

        Raises:
            ValueError: an alias is for a voice that is neither listed nor fits the pattern.
        """
        for name, voice in aliases.items():
            if not self.has(voice):
                allowed = ", ".join(self.names) or self.pattern or "none, as it has one voice only"
                raise ValueError(f"voices.{name} is {voice!r}; allowed: {allowed}")
        return replace(self, aliases={**self.aliases, **aliases})

    def as_asked(self) -> KnownVoices:
        """Return the same voices, each under the name asked for. The engine resolves aliases."""
        names = dict.fromkeys((*self.names, *filter(None, self.aliases), *self.aliases.values()))
        return KnownVoices(tuple(names), self.pattern)


def speakers_of(count: int, named: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of a Piper voice's speakers by name, or by number if they have no names.

    named: names in the voice's settings, {} for none.
    """
    return dict(named) or {str(number): number for number in range(count)}
