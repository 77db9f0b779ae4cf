"""A call in several languages, with stand-in engines: what recognizer, voice and phrases get."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import numpy as np
from call_services import call_services, in_languages
from fake_client import FakeClient
from scripted_llm import ScriptedLlm
from typed_call import Deaf

from audio.pcm import Samples
from audio.recognizers import ExpectedSpeech, Flush, Hypothesis, LanguageProbabilities
from audio.synthesizers import Speech
from audio.synthesizers.voices import USUAL_SETTINGS, KnownVoices, VoiceSettings
from llmcore.engine import LlmError
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.session.session import Session

GERMAN: LanguageProbabilities = (("en", 0.01), ("de", 0.99))
ENGLISH: LanguageProbabilities = (("en", 0.99), ("de", 0.01))


class Mouth(Deaf):
    """A synthesizer that records texts and voices."""

    known_voices = KnownVoices(("marin", "de"))
    further_languages = ("de",)
    takes_speed = True

    def __init__(self) -> None:
        self.said: list[tuple[str, VoiceSettings]] = []

    async def speak(
        self, text: str, settings: VoiceSettings = USUAL_SETTINGS
    ) -> AsyncGenerator[Speech, None]:
        self.said.append((text.strip(), settings))
        yield Speech(np.zeros(240, np.int16))


class Ears:
    """A recognizer of several languages that understands the next transcript of a list."""

    takes_expected = True

    def __init__(self, *transcripts: tuple[str, LanguageProbabilities]) -> None:
        self.transcripts = list(transcripts)
        self.expected: list[ExpectedSpeech | None] = []

    async def recognize(
        self, sound: AsyncIterator[Samples | Flush], expected: ExpectedSpeech | None = None
    ) -> AsyncGenerator[Hypothesis, None]:
        self.expected.append(expected)
        text, languages = self.transcripts.pop(0)
        async for item in sound:
            if isinstance(item, Flush):
                yield Hypothesis(text, text, settled=True, languages=languages)


async def call_in_german(llm: ScriptedLlm, mouth: Mouth, ears: object) -> tuple[Session, FakeClient]:
    """Begin a call in English and German."""
    services = await in_languages(await call_services(ears, llm, mouth), "de")
    client = FakeClient()
    session = Session("call_1", services, replace(services.settings, turn_detection=None), client)
    session.begin()
    return session, client


async def typed(session: Session, client: FakeClient, number: int, text: str) -> None:
    """Type a turn in German, and listen to the answer."""
    session.handle(ev.ItemCreated(MessageItem(f"t{number}", "user", text), languages=GERMAN))
    session.handle(ev.ResponseRequested())
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) > number)


def finals(client: FakeClient) -> list[notify.NotifyTranscript]:
    """Return the final transcripts."""
    return [transcript for transcript in client.of(notify.NotifyTranscript) if transcript.final]


async def test_answer_is_spoken_by_the_voice_of_its_language_as_people_say_it_there() -> None:
    mouth = Mouth()
    session, client = await call_in_german(ScriptedLlm(["Das kostet 3 €."]), mouth, Deaf())
    mouth.said.clear()
    await typed(session, client, 0, "Was kostet das Zimmer?")
    await session.close("the caller hung up")
    assert mouth.said[-1] == ("Das kostet drei Euro.", VoiceSettings("de", language="de"))


async def test_voice_of_the_language_is_preferred_to_the_clients() -> None:
    mouth = Mouth()
    session, client = await call_in_german(ScriptedLlm(["Ja."]), mouth, Deaf())
    session.handle(ev.SettingsChanged(replace(session.settings, voice="marin", speed=1.2)))
    await typed(session, client, 0, "Ist das Zimmer frei?")
    await session.close("the caller hung up")
    assert mouth.said[-1] == ("Ja.", VoiceSettings("de", 1.2, "de"))


async def test_apology_is_in_the_language_of_the_call() -> None:
    session, client = await call_in_german(ScriptedLlm([LlmError("it is gone")]), Mouth(), Deaf())
    await typed(session, client, 0, "Was kostet das Zimmer?")
    texts = "".join(text.text for text in client.of(notify.NotifyResponseText))
    await session.close("the caller hung up")
    assert "Entschuldigung, bei mir ist etwas schiefgegangen." in texts


async def test_recognizer_expects_the_language_of_the_turn_before() -> None:
    ears = Ears(("Was kostet das Zimmer?", GERMAN), ("Und das Frühstück?", GERMAN))
    session, client = await call_in_german(ScriptedLlm(["Ja."]), Mouth(), ears)
    for number in range(2):
        session.hear(np.zeros(24_000, np.int16))
        session.handle(ev.InputCommitted())
        await client.until(lambda n=number: len(finals(client)) > n)
    await session.close("the caller hung up")
    assert ears.expected == [ExpectedSpeech("en"), ExpectedSpeech("de")]


async def test_language_that_the_client_fixes_is_fixed_for_the_recognizer() -> None:
    ears = Ears(("What is it?", ENGLISH))
    session, client = await call_in_german(ScriptedLlm(["Ja."]), Mouth(), ears)
    session.handle(ev.SettingsChanged(replace(session.settings, fixed_language="de")))
    session.hear(np.zeros(24_000, np.int16))
    session.handle(ev.InputCommitted())
    await client.until(lambda: bool(finals(client)))
    assert session.language == "de"
    await session.close("the caller hung up")
    assert ears.expected == [ExpectedSpeech("de", fixed=True)]


async def test_recognizer_expects_the_phrases_that_the_client_sets_from_then_on() -> None:
    ears, client = Ears(("Hello.", ()), ("Zyntara.", ())), FakeClient()
    services = await call_services(ears, ScriptedLlm(["Ja.", "Ja."]), Mouth())
    session = Session("call_1", services, replace(services.settings, turn_detection=None), client)
    session.begin()
    phrases = {"likely_phrases": ("Zyntara",), "likely_words": ("bookings",)}
    for number, changes in enumerate(({}, phrases)):
        session.handle(ev.SettingsChanged(replace(session.settings, **changes)))
        session.hear(np.zeros(24_000, np.int16))
        session.handle(ev.InputCommitted())
        await client.until(lambda n=number: len(finals(client)) > n)
    await session.close("the caller hung up")
    assert ears.expected == [None, ExpectedSpeech(phrases=("Zyntara",), words=("bookings",))]


async def test_call_in_one_language_passes_no_language_on() -> None:
    ears, mouth, client = Ears(("Hello.", ())), Mouth(), FakeClient()
    services = await call_services(ears, ScriptedLlm(["Ja."]), mouth)
    session = Session("call_1", services, replace(services.settings, turn_detection=None), client)
    session.begin()
    session.hear(np.zeros(24_000, np.int16))
    session.handle(ev.InputCommitted())
    await client.until(lambda: bool(finals(client)))
    await session.close("the caller hung up")
    assert ears.expected == [None]
