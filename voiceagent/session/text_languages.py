"""Language of texts, for calls that serve several languages: typed turns, and transcripts without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

from audio.recognizers import LanguageProbabilities
from voiceagent.conversation.events import Event, ItemCreated, TranscriptChanged
from voiceagent.conversation.history import MessageItem


class TextLanguages:
    """Identifies the language of texts by their character n-grams (Lui and Baldwin, "langid.py: An
    Off-the-shelf Language Identification Tool", 2012), in 0.1 ms a sentence.

    languages: ISO 639 codes of the languages in question. Loads the model, in 0.7 s; raises ImportError
    without py3langid, and ValueError for languages that it does not know.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        langid = import_module("py3langid.langid")  # an extra
        model = langid.MODEL_DIR / langid.MODEL_FILE
        self._identifier = langid.LanguageIdentifier.from_modelpath(model, norm_probs=True)
        self._identifier.set_languages(list(languages))

    def identify(self, text: str) -> LanguageProbabilities:
        return tuple((code, float(probability)) for code, probability in self._identifier.rank(text))

    def completed(self, event: Event) -> Event:
        """Return an event with the languages of its text, if it is a turn and has none."""
        match event:
            case TranscriptChanged(text=text, settled=True, languages=()) if text:
                return replace(event, languages=self.identify(text))
            case ItemCreated(item=MessageItem(role="user", text=text)) if text:
                return replace(event, languages=self.identify(text))
        return event
