from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import cast

import numpy as np
import pytest
import pytest_asyncio
from recordings import recorded, recording
from shipped_models import ADAPTER
from sounds import chunks, recognized, said

from audio.pcm import AudioFormat, Samples, decode, encode
from audio.recognizers import (
    NOTHING_EXPECTED,
    SAMPLE_RATE_HZ,
    ExpectedSpeech,
    Flush,
    RecognizerError,
    recognize_expecting,
)
from audio.recognizers.decoding.growing_window import last_pause
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, END, numbers_of, tokens_of
from audio.recognizers.low_rank import Correction, write_corrections
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.recognizers.moonshine_files import model_files
from audio.recognizers.moonshine_model import LoadedModel, Transcription, Utterance
from audio.recognizers.moonshine_phrases import LikelyPhrases, PhraseBook
from audio.resample import resample
from voiceagent.bench.speech import trimmed
from voiceagent.conversation.end_of_turn.evidence import SURE
from voiceagent.conversation.words import words_of
from voiceagent.scores.word_errors import edit_distance


@pytest.fixture(name="adapter", scope="module", params=[None, ADAPTER], ids=["plain", "adapted"])
def as_it_comes_or_adapted(request: pytest.FixtureRequest) -> Path | None:
    adapter: Path | None = request.param
    return adapter


@pytest_asyncio.fixture(name="bundled", scope="module", loop_scope="module")
async def with_bundled_model(adapter: Path | None) -> AsyncIterator[MoonshineRecognizer]:
    recognizer = MoonshineRecognizer(adapter=adapter)
    await recognizer.start()
    yield recognizer
    await recognizer.close()


@pytest.fixture(name="model", scope="module")
def loaded(adapter: Path | None) -> LoadedModel:
    return LoadedModel(None, adapter=adapter)


def bare_words(text: str) -> list[str]:
    for mark, plain in ((",", ""), (".", ""), ("?", ""), ("-", " "), ("mr", "mister")):
        text = text.lower().replace(mark, plain)
    return text.split()


async def test_recorded_people_are_understood_nearly_word_for_word(bundled: MoonshineRecognizer) -> None:
    wrong = spoken = 0
    for entry in json.loads(recording("manifest.json").read_text()):
        if entry["text"]:
            *_, last = await recognized(bundled, chunks(recorded(entry["file"], 16_000)))
            wanted, got = bare_words(entry["text"]), bare_words(last.text)
            wrong += edit_distance(wanted, got)
            spoken += len(wanted)
    assert spoken > 100
    assert wrong / spoken < 0.06


async def test_a_command_is_understood_over_the_telephone(bundled: MoonshineRecognizer) -> None:
    narrow = encode(resample(recorded("goforward.wav", 16_000), 16_000, 8_000), AudioFormat.PCMU)
    sound = resample(decode(narrow, AudioFormat.PCMU), 8_000, 16_000)
    *_, last = await recognized(bundled, chunks(sound))
    assert bare_words(last.text) == ["go", "forward", "ten", "meters"]


async def test_a_long_utterance_loses_no_word_at_its_cuts(bundled: MoonshineRecognizer) -> None:
    speech = recorded("jfk.wav", 16_000)
    hypotheses = await recognized(bundled, chunks(speech, speech, Flush(), speech))
    text = " ".join(bare_words(hypotheses[-1].text))
    assert text.count("what your country can do for you") == 3
    assert text.count("my fellow americans") == 3


@pytest.mark.parametrize("seed", range(3))
async def test_any_cutting_of_a_synthetic_voice_gives_the_words_of_the_whole(
    bundled: MoonshineRecognizer, seed: int
) -> None:
    texts = (
        "When is breakfast, and may I have it in my room?",
        "I would like a room with a view of the garden.",
    )
    sound = np.concatenate([await said(text) for text in texts * 2])
    await _any_cutting(bundled, sound, seed)


@pytest.mark.parametrize("name", ["jfk.wav", "ss_0870.wav", "people/pv_coffee.wav", "people/ami_headset.wav"])
async def test_any_cutting_of_a_recording_gives_the_words_of_the_whole(
    bundled: MoonshineRecognizer, name: str
) -> None:
    await _any_cutting(bundled, recorded(name, 16_000), seed=1)


_TIE = 0.01
"""Difference in confidence between two transcripts of one recording that counts as a tie."""


async def _any_cutting(recognizer: MoonshineRecognizer, sound: Samples, seed: int) -> None:
    random = np.random.default_rng(seed)
    places = sorted(random.integers(1, len(sound), 12).tolist())
    parts: list[Samples | Flush] = []
    for begin, end in pairwise([0, *places, len(sound)]):
        parts += [sound[begin:end], Flush()][: random.integers(1, 3)]
    whole, cut = [
        (await recognized(recognizer, chunks(*given, length=len(sound))))[-1] for given in ([sound], parts)
    ]
    if bare_words(cut.text) != bare_words(whole.text):  # rounding in a draft may change a capital or a comma
        # Between equally likely words ("I'm Abigail", "I'm going to have a girl") the processor's arithmetic
        # decides: 8-bit products saturate without VNNI.
        assert cut.confidence == pytest.approx(whole.confidence, abs=_TIE)


def test_a_sentence_that_breaks_off_with_its_voice_has_its_full_stop(model: LoadedModel) -> None:
    sound = trimmed(recorded("something.wav", 16_000), 16_000)
    segments = model.open()(sound, "", Event())
    assert segments[-1].text == "Go somewhere and do something."


def sounds_complete(model: LoadedModel, sound: Samples) -> float | None:
    return model.open()(sound, "", Event())[-1].complete


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
@pytest.mark.parametrize("name", ["something.wav", "jfk.wav"])
def test_what_breaks_off_sounds_less_complete_than_the_whole(model: LoadedModel, name: str) -> None:
    sound = trimmed(recorded(name, 16_000), 16_000)
    whole, part = (sounds_complete(model, sound[: round(share * len(sound))]) for share in (1.0, 0.75))
    assert whole is not None
    assert part is not None
    assert part < 0.5 < whole


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_a_synthetic_question_sounds_complete(model: LoadedModel) -> None:
    question = await said("When is breakfast?")
    whole, part = (sounds_complete(model, question[: round(share * len(question))]) for share in (1.0, 0.5))
    assert whole is not None
    assert part is not None
    assert part < whole
    assert whole > 0.5


@pytest.mark.parametrize("adapter", [ADAPTER], ids=["adapted"], indirect=True)
async def test_by_an_encoder_that_was_corrected_nothing_tells_how_complete_a_turn_sounds(
    model: LoadedModel,
) -> None:
    assert sounds_complete(model, await said("When is breakfast?")) is None


def test_a_draft_changes_no_word(model: LoadedModel) -> None:
    sound = recorded("ss_0870.wav", 16_000)
    heard = model.transcribe(sound, [], Event())
    alone, certainty = heard.tokens, heard.confidence
    for draft in (alone, alone[: len(alone) // 2], [*alone[:4], 17, 42]):
        drafted = model.transcribe(sound, draft, Event())
        assert drafted.tokens == alone
        assert drafted.confidence == pytest.approx(certainty, abs=0.02)


def test_speech_is_the_less_certain_the_louder_the_noise_over_it(model: LoadedModel) -> None:
    sound = recorded("sb_spk1_snt3.wav", 16_000)
    noise = np.random.default_rng(1).normal(0, 1, len(sound)) * np.abs(sound).max()
    levels = (0.0, 0.15, 0.6)
    heard = [np.clip(sound + level * noise, -32_768, 32_767).astype(np.int16) for level in levels]
    certain, less, least = (model.transcribe(each, [], Event()).confidence for each in heard)
    assert 1 >= certain > less > least > 0
    assert certain > SURE > least


def readings_of(model: LoadedModel, patch: pytest.MonkeyPatch, sound: Samples, draft: list[int]) -> int:
    """Return how often the decoder runs for the tokens of a sound."""
    readings: list[int] = []
    decode_tokens = model.network.decode_tokens
    with patch.context() as patched:
        patched.setattr(model.network, "decode_tokens", lambda *a: (readings.append(1), decode_tokens(*a))[1])
        model.transcribe(sound, draft, Event())
    return len(readings)


@pytest.mark.parametrize(("name", "most"), [("sb_spk1_snt1.wav", 0.0), ("sb_spk2_snt2.wav", 0.5)])
def test_a_draft_saves_steps_where_the_model_is_sure(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch, name: str, most: float
) -> None:
    sound = recorded(name, 16_000)
    alone = model.transcribe(sound, [], Event()).tokens
    steps = readings_of(model, monkeypatch, sound, []) - 1
    assert steps >= len(alone)
    assert readings_of(model, monkeypatch, sound, alone) - 1 <= most * steps


def test_behind_a_draft_only_the_words_that_follow_are_searched_for(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = recorded("ss_0870.wav", 16_000)
    begun = model.transcribe(sound[: len(sound) * 3 // 4], [], Event()).tokens
    alone = readings_of(model, monkeypatch, sound, [])
    assert readings_of(model, monkeypatch, sound, begun) <= alone / 2


@pytest.mark.parametrize(
    "phrases", ["Four queen of clubs.\nTwo of clubs.\nAce of clubs.\n", "queen of clubs\n"]
)
def test_of_what_sounds_alike_the_likelier_sentence_or_name_is_heard(tmp_path: Path, phrases: str) -> None:
    sound = recorded("cards_002.wav", 16_000)
    (cards := tmp_path / "cards.txt").write_text(phrases)
    texts = [LoadedModel(None, path, 0.3).open()(sound, "", Event())[0].text for path in (None, cards)]
    assert texts == ["Four queen of gloves.", "Four queen of clubs."]


@pytest.mark.parametrize(
    "phrases", ["Four queen of clubs.\nTwo of clubs.\nAce of clubs.\n", "queen of clubs\n"]
)
def test_speech_about_other_things_is_heard_as_without_phrases(
    tmp_path: Path, model: LoadedModel, phrases: str
) -> None:
    (cards := tmp_path / "cards.txt").write_text(phrases)
    sound = recorded("ss_0870.wav", 16_000)
    with_cards = LoadedModel(None, cards, 0.3).transcribe(sound, [], Event())
    assert with_cards.tokens == model.transcribe(sound, [], Event()).tokens


async def test_phrases_of_a_call_are_heard_in_that_call_alone() -> None:
    recognizer = MoonshineRecognizer()
    await recognizer.start()
    sound = recorded("cards_002.wav", 16_000)
    texts = []
    for expected in (ExpectedSpeech(phrases=("clubs",)), NOTHING_EXPECTED):
        heard = recognize_expecting(recognizer, chunks(sound, Flush()), expected)
        texts.append([hypothesis async for hypothesis in heard][-1].text)
    await recognizer.close()
    assert texts == ["Four queen of clubs.", "Four queen of gloves."]


def test_a_rare_name_of_a_call_is_written_as_the_client_writes_it(model: LoadedModel) -> None:
    sound = recorded("cards_002.wav", 16_000)
    (segment,) = model.open_in(ExpectedSpeech(phrases=("Glovez",)))(sound, "", Event())
    assert segment.text == "Four queen of Glovez."


def test_a_common_word_stays_though_a_name_of_a_call_is_near(model: LoadedModel) -> None:
    names = model.phrases.of_call(("Clark",), ()).names
    assert names is not None
    assert names.correct("The clerk is here.") == "The clerk is here."


def test_phrases_of_a_call_add_to_those_of_the_server(tmp_path: Path) -> None:
    sound = recorded("cards_002.wav", 16_000)
    (cards := tmp_path / "cards.txt").write_text("queen of clubs\n")
    model = LoadedModel(None, cards, 0.3)
    (segment,) = model.open_in(ExpectedSpeech(phrases=("hearts",)))(sound, "", Event())
    assert segment.text == "Four queen of clubs."


def test_a_number_is_expected_beside_the_phrases_of_a_call(model: LoadedModel) -> None:
    sound = recorded("numbers.wav", 16_000)
    flush, expected = Flush(number=True), ExpectedSpeech(phrases=("clubs",))
    with_phrases = model.open_in(expected)(sound, "", Event(), flush)
    assert [segment.text for segment in with_phrases] == [
        segment.text for segment in model.open()(sound, "", Event(), flush)
    ]


def test_words_of_the_agent_are_heard_among_what_sounds_alike() -> None:
    sound = recorded("cards_002.wav", 16_000)
    words = ("queen of clubs", "clubs")
    (segment,) = LoadedModel(None, weight=0.3, words=words).open()(sound, "", Event())
    assert segment.text == "Four queen of clubs."


@pytest.mark.parametrize("given", ["phrases", "words"])
def test_goodbye_is_likely_with_any_phrases_or_words_of_an_agent(tmp_path: Path, given: str) -> None:
    (cards := tmp_path / "cards.txt").write_text("Four queen of clubs.\n")
    model = LoadedModel(
        None, cards if given == "phrases" else None, 0.15, words=() if given == "phrases" else ("checkup",)
    )
    numbers = numbers_of(model.vocabulary)
    free = model.phrases.of_server.free
    assert free is not None and free.names is not None
    counted = [free.names.tokens_in(tokens_of(word, numbers)) for word in ("Goodbye", "goodbye")]
    assert counted == [len(tokens_of(word, numbers)) for word in ("Goodbye", "goodbye")]  # as a name's


def test_words_that_were_once_hyphenated_are_one_word_in_transcripts(model: LoadedModel) -> None:
    """The model writes "good-bye" and "to-morrow", too, which agents and their patterns do not expect."""
    numbers = numbers_of(model.vocabulary)
    written = (
        "Good-bye.",
        "Thanks, good-bye.",
        "To-morrow at six, not to-night or to-day.",
        "To-dos, up-to-date.",
    )
    assert [model.text(tokens_of(words, numbers)) for words in written] == [
        "Goodbye.",
        "Thanks, goodbye.",
        "Tomorrow at six, not tonight or today.",
        "To-dos, up-to-date.",
    ]


def test_common_words_of_the_agent_change_nothing(model: LoadedModel) -> None:
    common = LoadedModel(None, weight=0.3, words=("room", "night", "book"))
    free = common.phrases.of_server.free
    assert free is not None and free.names is not None
    heard = model.transcribe(recorded("jfk.wav", 16_000), [], Event())
    assert free.names.tokens_in(heard.tokens) == 0


@pytest.mark.parametrize("number", ["Four.", "Zero.", "Three.", "Seven."])
async def test_who_was_asked_for_a_number_is_heard_to_say_one(number: str) -> None:
    sound = await said(number)
    decode_one = LoadedModel(None, weight=0.15).open()
    assert decode_one(sound, "", Event())[0].text != number
    assert decode_one(sound, "", Event(), Flush(number=True))[0].text == number


def test_a_number_of_one_word_is_not_expected_to_be_oh(model: LoadedModel) -> None:
    numbers = numbers_of(model.vocabulary)
    oh, four = (tokens_of(word, numbers) for word in ("oh", "four"))
    likely = model.phrases.of_server
    assert likely.number.names is not None and likely.numbers.names is not None
    assert [likely.number.names.tokens_in(one) for one in (oh, four)] == [0, len(four)]
    assert [likely.numbers.names.tokens_in(one) for one in (oh, four)] == [len(oh), len(four)]


@pytest.mark.parametrize(
    "words", ["For what it is worth, I ate too much.", "I would like to have a room for the night, too."]
)
async def test_who_was_asked_for_a_number_and_says_what_sounds_like_some_is_heard_to_say_that(
    words: str,
) -> None:
    decode_one = LoadedModel(None, weight=0.15).open()
    assert decode_one(await said(words), "", Event(), Flush(number=True))[0].text == words


async def test_a_number_of_one_word_is_not_heard_twice_where_its_sound_breaks_off() -> None:
    sound = await said("One.")
    loud = np.flatnonzero(np.abs(sound.astype(int)) > 0.05 * np.abs(sound.astype(int)).max())
    model = LoadedModel(None, weight=0.15)
    heard = model.transcribe(
        sound[loud[0] - SAMPLE_RATE_HZ // 20 : loud[-1]], [], Event(), Flush(number=True)
    )
    assert model.text(heard.tokens) == "One."


def test_to_the_phrases_an_end_is_likely_anywhere(tmp_path: Path) -> None:
    (cards := tmp_path / "cards.txt").write_text("Four queen of clubs.\n" * 20)
    model = LoadedModel(None, cards, 0.5)
    numbers = numbers_of(model.vocabulary)
    beginning = [BEGIN, *tokens_of("Four", numbers), *tokens_of("queen", numbers)]
    free = model.phrases.of_server.free
    assert free is not None and free.sentences is not None
    end, other = free.sentences.logarithms(beginning, [END, *tokens_of("Four", numbers)[:1]])
    assert end > math.log(0.1) > other


def test_phrases_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecognizerError, match=f"phrases '{tmp_path}/none.txt' cannot be read"):
        LoadedModel(None, tmp_path / "none.txt", 0.3)


def test_a_file_that_is_no_decoder_is_named(tmp_path: Path) -> None:
    encoder, _, vocabulary = model_files(None)
    for name in ("encoder_model.ort", "decoder_model_merged.ort"):
        (tmp_path / name).write_bytes(encoder.read_bytes())
    (tmp_path / "tokenizer.bin").write_bytes(vocabulary.read_bytes())
    with pytest.raises(RecognizerError, match=r"decoder_model_merged.ort' is no decoder of Moonshine's"):
        LoadedModel(tmp_path)


def test_an_adapter_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecognizerError, match=f"adapter '{tmp_path}/none.npz' cannot be read"):
        LoadedModel(None, adapter=tmp_path / "none.npz")


@pytest.mark.parametrize("place", ["layers.0.mlp.fc1", "layers.6.mlp.fc1"])
def test_an_adapter_for_another_model_is_refused(tmp_path: Path, place: str) -> None:
    correction = Correction(np.ones((416, 1), np.float32), np.ones((1, 1664), np.float32))
    write_corrections(path := tmp_path / "adapter.npz", {place: correction})
    with pytest.raises(RecognizerError, match=f"adapter '{path}' is for another model than .*{place}"):
        LoadedModel(None, adapter=path)


@pytest.mark.parametrize("level", [0, 100])
def test_silence_and_steady_noise_have_no_words(model: LoadedModel, level: int) -> None:
    noise = np.random.default_rng(1).normal(0, level, 24_000).astype(np.int16)
    [segment] = model.open()(noise, "", Event())
    assert segment.text == ""


def test_a_decoding_nobody_waits_for_stops(model: LoadedModel) -> None:
    abandoned = Event()
    abandoned.set()
    assert model.open()(np.zeros(16_000, np.int16), "", abandoned) == []


async def test_a_folder_without_a_model_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.bin").write_bytes(b"")
    with pytest.raises(
        RecognizerError, match=f"'{tmp_path}' has no encoder_model.ort and no decoder_model_merged.ort"
    ):
        await MoonshineRecognizer(tmp_path).start()


@pytest.mark.parametrize("broken", ["encoder_model.ort", "decoder_model_merged.ort"])
async def test_a_file_that_is_no_model_is_named(tmp_path: Path, broken: str) -> None:
    for file in model_files(None):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / broken).unlink()
    (tmp_path / broken).write_bytes(b"nonsense")
    with pytest.raises(RecognizerError, match=f"{tmp_path}/{broken}' cannot be loaded"):
        await MoonshineRecognizer(tmp_path).start()


class Forgetful:
    """Recognizes one word per 0.1 s of its input, or of the part before a long pause and nothing after that.

    lengths: of its inputs, in samples.
    """

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.phrases = PhraseBook(None, 0.0, [])

    def transcribe(
        self,
        sound: Samples,
        draft: list[int],
        abandoned: Event,
        flush: Flush | None,
        likely: LikelyPhrases,
    ) -> Transcription:
        self.lengths.append(len(sound))
        pause = last_pause(sound)
        heard = sound if pause is None else sound[: pause[0]]
        return Transcription([np.count_nonzero(heard) // (SAMPLE_RATE_HZ // 10)], 0.9, None)

    def text(self, tokens: list[int]) -> str:
        return " ".join(["word"] * tokens[0])


def words_of_each(*sounds: Samples) -> list[list[int]]:
    """Return the number of words in each segment after each of these sounds."""
    utterance = Utterance(cast("LoadedModel", Forgetful()))
    heard = [np.concatenate(sounds[: number + 1]) for number in range(len(sounds))]
    return [
        [len(segment.text.split()) for segment in utterance.decode(sound, "", Event())] for sound in heard
    ]


HUM = np.full(SAMPLE_RATE_HZ, 5_000, np.int16)
PAUSE = np.zeros(SAMPLE_RATE_HZ, np.int16)


def test_what_is_left_out_behind_a_long_pause_is_decoded_by_itself() -> None:
    assert words_of_each(HUM, PAUSE, HUM) == [[10], [10], [10, 10]]


def test_little_that_is_behind_a_pause_is_left_where_it_is() -> None:
    assert words_of_each(HUM, PAUSE, HUM[: SAMPLE_RATE_HZ // 4]) == [[10], [10], [12]]


def test_a_pause_behind_which_words_are_heard_parts_nothing() -> None:
    assert words_of_each(HUM, PAUSE[: SAMPLE_RATE_HZ // 2], HUM) == [[10], [10], [20]]


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_digits_that_are_misheard_are_digits_where_a_number_is_expected(model: LoadedModel) -> None:
    sound = await said("Nine nine.")
    free, held = (model.open()(sound, "", Event(), flush)[0].text for flush in (Flush(), Flush(number=True)))
    nines = [("nine", "nine"), ("99",)]
    assert words_of(free) not in nines
    assert words_of(held) in nines


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_letters_are_heard_where_spelling_is_expected(model: LoadedModel) -> None:
    sound = await said("Bravo Oscar Bravo four two at outlook dot com")
    free, held = (
        model.open()(sound, "", Event(), flush)[0].text for flush in (Flush(), Flush(spelling="letters"))
    )
    assert words_of(free) != words_of(held)
    assert words_of(held)[:3] == ("bravo", "oscar", "bravo")


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_a_name_is_heard_with_its_apostrophe(model: LoadedModel) -> None:
    sound = await said("O, apostrophe, B, R, I, E, N")
    letters, name = (
        model.open()(sound, "", Event(), flush)[0].text
        for flush in (Flush(spelling="letters"), Flush(spelling="name"))
    )
    assert words_of(letters) != words_of(name)
    assert words_of(name) == ("o", "apostrophe", "b", "r", "i", "e", "n")


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_letters_have_examples_of_the_callers_own(model: LoadedModel) -> None:
    words = "M for mother, E, Y for yellow, E, R"
    sound = await said(words)
    name = model.open()(sound, "", Event(), Flush(spelling="name"))[0].text
    assert words_of(name) == words_of(words)


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_equal_digits_in_groups_are_counted(model: LoadedModel) -> None:
    words = "five five five five, five five five five, five five five five, four four four four"
    sound = await said(words)
    heard = model.open()(sound, "", Event(), Flush(number=True))[0].text
    assert words_of(heard).count("five") == 12


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_the_ending_of_a_domain_is_heard_where_one_is_expected(model: LoadedModel) -> None:
    words = "at zulu, india, golf, golf, oscar, dot N L"
    sound = await said(words)
    free, held = (
        model.open()(sound, "", Event(), flush)[0].text for flush in (Flush(), Flush(spelling="domain"))
    )
    # "nl" or "n l", as this processor's arithmetic has it
    assert not "".join(words_of(free)).endswith("dotnl")
    assert "".join(words_of(held)).endswith("dotnl")


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_words_of_the_alphabet_are_heard_where_an_address_is_spelled(model: LoadedModel) -> None:
    """The free transcript has none of them: "You'll yet not leave me a comment"."""
    words = "juliet dot lima echo victor at gmail dot com"
    sound = await said(words)
    address, spelled = (
        model.open()(sound, "", Event(), flush)[0].text
        for flush in (Flush(spelling="email"), Flush(spelling="spelled email"))
    )
    assert words_of(address) != words_of(spelled)
    assert words_of(spelled) == words_of(words)


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
@pytest.mark.parametrize("letter", ["Q as in Quebec", "W as in Whiskey"])
async def test_a_letter_with_its_example_is_heard_in_a_correction(model: LoadedModel, letter: str) -> None:
    sound = await said(f"No, {letter}")
    free, held = (
        model.open()(sound, "", Event(), flush)[0].text for flush in (Flush(), Flush(spelling="letters"))
    )
    assert words_of(free)[1:] != words_of(letter)
    assert words_of(held)[1:] == words_of(letter)


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_an_address_is_heard_where_one_is_expected(model: LoadedModel) -> None:
    sound = await said("Help desk at gmail dot com")
    free, held = (
        model.open()(sound, "", Event(), flush)[0].text for flush in (Flush(), Flush(spelling="email"))
    )
    assert words_of(free) != words_of(held)
    assert words_of(held) == ("help", "desk", "at", "gmail", "dot", "com")


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
async def test_a_domain_that_is_corrected_is_not_heard_as_letters(model: LoadedModel) -> None:
    sound = await said("No, at blueharbor dot net")
    expected = (Flush(spelling="email"), Flush(spelling="letters"))
    address, corrected = (model.open()(sound, "", Event(), flush)[0].text for flush in expected)
    assert corrected == address


@pytest.mark.parametrize("adapter", [None], ids=["plain"], indirect=True)
@pytest.mark.parametrize("flush", [Flush(number=True), Flush(spelling="letters"), Flush(spelling="email")])
@pytest.mark.parametrize(
    "words",
    [
        "Never mind.",
        "I don't have one.",
        "Can you repeat that, please?",
        "No.",
        "I'm not sure.",
        "Why do you ask?",
        "No, that's not right.",
    ],
)
async def test_other_words_stay_what_they_are_where_digits_or_letters_are_expected(
    model: LoadedModel, words: str, flush: Flush
) -> None:
    sound = await said(words)
    free, held = (model.open()(sound, "", Event(), each)[0].text for each in (Flush(), flush))
    assert words_of(held) == words_of(free)
