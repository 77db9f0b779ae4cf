"""The language of typed turns, and of transcripts that name none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from call_services import call_services, in_languages
from fake_client import FakeClient
from scripted_llm import ScriptedLlm
from typed_call import Deaf, ask

from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem
from voiceagent.session.session import Session
from voiceagent.session.text_languages import TextLanguages

pytest.importorskip("py3langid", reason="pip install 'voiceagent-server[languages]'")

SENTENCES = {
    "en": ("Two nights from Friday, please.", "What time is breakfast?", "Is there a lift?"),
    "de": ("Zwei Nächte ab Freitag, bitte.", "Um wie viel Uhr gibt es Frühstück?", "Gibt es einen Aufzug?"),
    "es": ("Dos noches desde el viernes, por favor.", "¿A qué hora es el desayuno?", "¿Hay ascensor?"),
}


@pytest.fixture(scope="module")
def languages() -> TextLanguages:
    """Identify English, German and Spanish."""
    return TextLanguages(tuple(SENTENCES))


LABELLED = [(code, text) for code, texts in SENTENCES.items() for text in texts]


@pytest.mark.parametrize(("code", "text"), LABELLED)
def test_sentence_is_likeliest_in_its_language(languages: TextLanguages, code: str, text: str) -> None:
    found = dict(languages.identify(text))
    assert max(found, key=found.__getitem__) == code and sum(found.values()) == pytest.approx(1.0)


def test_language_that_a_recognizer_names_is_kept(languages: TextLanguages) -> None:
    event = ev.TranscriptChanged("a", "¿Hay ascensor?", settled=True, languages=(("en", 1.0),))
    assert languages.completed(event) == event


def test_partial_transcript_and_agents_text_are_not_identified(languages: TextLanguages) -> None:
    for event in (
        ev.TranscriptChanged("a", "¿Hay ascensor?"),
        ev.ItemCreated(MessageItem("a", "assistant", "¿Hay ascensor?")),
    ):
        assert languages.completed(event) == event


async def test_typed_call_is_answered_in_each_language(languages: TextLanguages) -> None:
    llm = ScriptedLlm()
    services = await in_languages(await call_services(Deaf(), llm, Deaf()), "de", "es")
    services = replace(services, text_languages=languages)
    client = FakeClient()
    settings = replace(services.settings, turn_detection=None, output_modality="text")
    session = Session("call_1", services, settings, client)
    session.begin()
    spoken = []
    for number, text in enumerate((SENTENCES["de"][1], "OK.", SENTENCES["es"][1], SENTENCES["en"][1])):
        await ask(session, client, number, text)
        spoken.append(session.language)
    lines = [request.messages[0].content for request in llm.requests]
    await session.close("the caller hung up")
    assert spoken == ["de", "de", "es", "en"]
    german, spanish, english = "Antworte auf Deutsch.", "Responde en español.", "Answer in English."
    assert lines == [german, german, spanish, english]
