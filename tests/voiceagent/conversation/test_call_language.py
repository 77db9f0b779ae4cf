"""The language of a call that serves several: evidence of turns, and the switch."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings
from call_world import CallWorld, of
from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers import LanguageProbabilities
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.agent_config import AgentConfig, LanguageConfig
from voiceagent.conversation.call_language import CallLanguage, LanguageFollowing
from voiceagent.conversation.config import HistoryConfig, TurnConfig
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.settings import CallSettings

LANGUAGES = ("en", "de", "es")
GERMAN = (("de", 0.98), ("en", 0.01), ("es", 0.01))
SPANISH = (("es", 0.98), ("en", 0.01), ("de", 0.01))
ENGLISH = (("en", 0.98), ("de", 0.01), ("es", 0.01))
UNSURE = (("en", 0.34), ("de", 0.33), ("es", 0.33))

languages = st.sampled_from(LANGUAGES)


@st.composite
def probabilities(draw: st.DrawFn) -> LanguageProbabilities:
    """Draw a probability of each language."""
    shares = [draw(st.floats(0.0, 1.0)) for _ in LANGUAGES]
    total = sum(shares) or 1.0
    return tuple(zip(LANGUAGES, (share / total for share in shares), strict=True))


@st.composite
def states(draw: st.DrawFn) -> CallLanguage:
    """Draw a state after any turns."""
    state = CallLanguage.undecided(LANGUAGES)
    for turn, words in draw(st.lists(st.tuples(probabilities(), st.integers(0, 12)), max_size=8)):
        state = state.observe(turn, words)
    return state


@given(states(), probabilities())
def test_turn_without_telling_words_changes_nothing(state: CallLanguage, turn: LanguageProbabilities) -> None:
    assert state.observe(turn, 0) == state


@given(languages, probabilities())
def test_one_word_never_switches_a_call_that_is_in_its_language(
    code: str, turn: LanguageProbabilities
) -> None:
    state = CallLanguage.undecided(LANGUAGES).switched_to(code)
    assert state.observe(turn, 1).code == code


@given(states(), languages)
def test_clear_sentence_switches_from_any_state(state: CallLanguage, spoken: str) -> None:
    turn = tuple((code, 0.98 if code == spoken else 0.01) for code in LANGUAGES)
    assert state.observe(turn, 4).code == spoken


@given(states(), probabilities(), st.integers(0, 12))
def test_likeliest_language_of_a_turn_is_the_only_one_it_switches_to(
    state: CallLanguage, turn: LanguageProbabilities, words: int
) -> None:
    after = state.observe(turn, words)
    before = max(state.others.values())
    if after.code != state.code and before <= 0.0:
        assert dict(turn)[after.code] > dict(turn)[state.code]


@given(states(), probabilities(), st.integers(0, 12))
def test_all_languages_stay_known(state: CallLanguage, turn: LanguageProbabilities, words: int) -> None:
    after = state.observe(turn, words)
    assert {after.code, *after.others} == set(LANGUAGES)


@given(states(), st.integers(0, 12))
def test_unsure_turn_brings_no_language_nearer(state: CallLanguage, words: int) -> None:
    after = state.observe(tuple((code, 1 / 3) for code in LANGUAGES), words)
    assert all(after.others[code] <= max(state.others[code], 0.0) for code in after.others)


def test_first_turn_of_one_word_chooses_the_language() -> None:
    assert CallLanguage.undecided(LANGUAGES).observe(GERMAN, 1).code == "de"


def test_foreign_words_in_two_turns_switch() -> None:
    state = CallLanguage.undecided(LANGUAGES).observe(ENGLISH, 3).observe(GERMAN, 1)
    assert state.code == "en"
    assert state.observe(GERMAN, 1).observe(GERMAN, 1).code == "de"


def test_unknown_language_tells_nothing() -> None:
    assert CallLanguage.undecided(LANGUAGES).observe((("fr", 1.0),), 5).code == "en"


def test_several_transcripts_of_a_turn_count_once() -> None:
    following = LanguageFollowing.among(LANGUAGES)
    following.observe("1", "good morning to you all", ENGLISH)
    for _ in range(3):
        following.observe("2", "Ja.", GERMAN)
    assert following.code == "en"


def test_corrected_transcript_takes_its_evidence_back() -> None:
    following = LanguageFollowing.among(LANGUAGES)
    following.observe("1", "good morning to you all", ENGLISH)
    following.observe("2", "Ich hätte gern ein Zimmer", GERMAN)
    assert following.code == "de"
    following.observe("2", "I would like a room", ENGLISH)
    assert following.code == "en"


def test_okay_and_numbers_tell_nothing() -> None:
    following = LanguageFollowing.among(LANGUAGES)
    following.observe("1", "OK, okay, mhm. 42!", GERMAN)
    assert following.now == CallLanguage.undecided(LANGUAGES)


def test_language_that_was_set_stays_until_it_is_released() -> None:
    following = LanguageFollowing.among(LANGUAGES)
    following.fix("es")
    following.observe("1", "Ich hätte gern ein Zimmer", GERMAN)
    assert following.code == "es"
    following.fix("")
    assert following.code == "es"
    following.observe("2", "Ich hätte gern ein Zimmer", GERMAN)
    assert following.code == "de"


def test_language_that_is_not_served_cannot_be_set() -> None:
    following = LanguageFollowing.among(LANGUAGES)
    following.fix("fr")
    assert following.code == "en"


# ---- in the conversation


def multilingual(**settings: object) -> CallWorld:
    """Return a call in English, German and Spanish."""
    agent = AgentConfig(instructions="Be kind.")
    others = [LanguageConfig().to_agent(code, agent) for code in LANGUAGES[1:]]
    policy = TurnConfig().to_policy(agent, HistoryConfig(), others=others)
    policy = replace(policy, prefill_while_speaking=False)
    return CallWorld(call_settings(instructions="Be kind.", language="en", **settings), policy)


def typed(world: CallWorld, text: str, turn: LanguageProbabilities) -> do.StartResponse:
    """Type a turn; return the response that starts."""
    world.feed(ev.ItemCreated(MessageItem(f"t{len(world.steps)}", "user", text), languages=turn))
    (start,) = of(do.StartResponse, world.feed(ev.ResponseRequested()))
    assert isinstance(start, do.StartResponse)
    return start


def finish(world: CallWorld) -> None:
    """Play the response to its end."""
    world.play_out(world.make("Yes."))


def spoken(world: CallWorld, words: str, turn: LanguageProbabilities, at_s: float) -> list[do.Command]:
    """Say a turn."""
    item_id = world.begin_speaking(at_s)
    commands = world.feed(ev.SpeechPaused(at_s + 1))
    commands += world.feed(ev.TranscriptChanged(item_id, words, words, True, languages=turn))
    return commands + world.feed(ev.TurnEnded(at_s + 1))


def system_of(start: do.StartResponse) -> str:
    """Return the system prompt of a response."""
    return str(start.request.messages[0].content)


def test_typed_turn_is_answered_in_its_language() -> None:
    start = typed(multilingual(), "Ich hätte gern ein Zimmer.", GERMAN)
    assert system_of(start) == "Be kind.\n\nAntworte auf Deutsch."


def test_switch_within_the_call_is_answered_in_the_new_language() -> None:
    world = multilingual()
    assert system_of(typed(world, "I would like a room.", ENGLISH)).endswith("Answer in English.")
    finish(world)
    assert system_of(typed(world, "Mejor en español, por favor.", SPANISH)).endswith("Responde en español.")


def test_preemptive_answer_to_a_turn_in_a_new_language_is_made_once() -> None:
    world = multilingual()
    commands = spoken(world, "Ich hätte gern ein Zimmer.", GERMAN, 1.0)
    starts = of(do.StartResponse, commands)
    assert [system_of(start) for start in starts] == ["Be kind.\n\nAntworte auf Deutsch."]
    assert [one.settings.language for one in of(do.ConfigureSpeaking, commands)] == ["de"]
    assert [one.settings.language for one in of(do.ConfigureListening, commands)] == ["de"]


def test_turn_that_the_agents_code_takes_switches_nothing() -> None:
    world = multilingual()
    world.feed(ev.TurnsClaimed(True))
    spoken(world, "Hans Peter von Schneider", GERMAN, 1.0)
    assert world.conversation.settings.language == "en"


def test_silent_caller_is_prompted_in_the_language_of_the_call() -> None:
    world = multilingual()
    typed(world, "Ich hätte gern ein Zimmer.", GERMAN)
    finish(world)
    (start,) = of(do.StartResponse, world.feed(ev.CallerIdle(9.0)))
    assert start.say == "Sind Sie noch da?"


def test_backchannels_are_those_of_the_language() -> None:
    world = multilingual()
    typed(world, "Ich hätte gern ein Zimmer.", GERMAN)
    world.make("Gern, das machen wir.", "Wann kommen Sie?")
    item_id = world.begin_speaking(3.0)
    world.feed(ev.SpeechPaused(3.4))
    world.feed(ev.TranscriptChanged(item_id, "Genau.", "Genau.", True, languages=UNSURE))
    assert not of(do.StopPlayout, world.feed(ev.TurnEnded(3.6)))


def test_language_that_the_client_sets_stays() -> None:
    world = multilingual()
    settings = call_settings(instructions="Be kind.", fixed_language="es")
    world.feed(ev.SettingsChanged(settings))
    assert system_of(typed(world, "Ich hätte gern ein Zimmer.", GERMAN)).endswith("Responde en español.")


def test_language_that_the_agent_sets_stays_until_it_follows_again() -> None:
    world = multilingual()
    world.feed(ev.LanguageSet("es"))
    assert system_of(typed(world, "Ich hätte gern ein Zimmer.", GERMAN)).endswith("Responde en español.")
    finish(world)
    world.feed(ev.LanguageSet(""))
    assert system_of(typed(world, "Ich hätte gern ein Zimmer.", GERMAN)).endswith("Antworte auf Deutsch.")


def test_other_settings_of_the_client_do_not_change_the_language() -> None:
    world = multilingual()
    typed(world, "Ich hätte gern ein Zimmer.", GERMAN)
    before: CallSettings = world.conversation.settings
    world.feed(ev.SettingsChanged(call_settings(instructions="Be brief.", language="en")))
    assert (before.language, world.conversation.settings.language) == ("de", "de")


def test_call_in_one_language_ignores_probabilities() -> None:
    world = CallWorld(call_settings(instructions="Be kind."))
    assert system_of(typed(world, "Ich hätte gern ein Zimmer.", GERMAN)) == "Be kind."
    assert not of(do.ConfigureSpeaking, world.commands)


def test_response_with_instructions_of_its_own_is_in_the_language_too() -> None:
    world = multilingual()
    world.feed(ev.ItemCreated(MessageItem("a", "user", "Ich hätte gern ein Zimmer."), languages=GERMAN))
    (start,) = of(do.StartResponse, world.feed(ev.ResponseRequested(instructions="Say hello.")))
    assert system_of(start) == "Say hello.\n\nAntworte auf Deutsch."
