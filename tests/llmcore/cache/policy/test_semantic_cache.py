from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.cache.policy.facts import facts, same_facts
from llmcore.cache.policy.semantic_cache import (
    CacheableClass,
    Entry,
    NearEntry,
    Question,
    Rules,
    cacheable_question,
    choose_entry,
    is_personal,
    split_words,
)
from llmcore.engine import Message, Request, Tool


def kind(pattern: str, ttl_s: float = 60.0, self_contained: bool = False) -> CacheableClass:
    return CacheableClass((re.compile(pattern, re.I),), ttl_s, self_contained)


RULES = Rules((kind("pool|open", 10.0), kind("breakfast|pool", 20.0, self_contained=True)), 0.9, "model")
SYSTEM = Message("system", "You keep the desk.")
GREETING = Message("assistant", "Good day!")
HISTORY = (Message("user", "hello"), Message("assistant", "Hello!"))


def ask(text: str, *before: Message, **settings: object) -> Request:
    return replace(Request((SYSTEM, *before, Message("user", text))), **settings)  # type: ignore[arg-type]


def question(text: str, *before: Message, **settings: object) -> Question:
    found = cacheable_question(ask(text, *before, **settings), RULES)
    assert isinstance(found, Question)
    return found


def test_the_first_matching_kind_gives_the_time_to_live():
    assert (question("Is the POOL nice?").ttl_s, question("When is breakfast?").ttl_s) == (10.0, 20.0)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (ask("Why is the sky blue?"), "no_class"),
        (ask("Is the pool open?", tools=(Tool("book", "Books."),)), "tools"),
        (ask("Is the pool open?", *HISTORY), "history"),
        (ask("Is the pool open? " * 20), "long"),
        (ask("[Earlier in this call: Anna came.] Is the pool open?"), "history"),
        (ask("When is it open for breakfast?", *HISTORY), "history"),
        (ask("And breakfast?", *HISTORY), "history"),
        (ask("My name is Anna, when is breakfast?"), "personal"),
        (Request((SYSTEM,)), "no_question"),
        (Request(()), "no_question"),
        (
            Request((SYSTEM, Message("user", "the pool?"), Message("tool", "{}", tool_call_id="1"))),
            "no_question",
        ),
    ],
)
def test_what_the_cache_must_not_answer_is_reported_with_the_reason(request_, reason):
    assert cacheable_question(request_, RULES) == reason


def test_tools_that_may_not_be_called_do_not_matter():
    assert isinstance(
        cacheable_question(ask("the pool?", tools=(Tool("a", "b"),), tool_choice="none"), RULES), Question
    )


def test_a_self_contained_turn_is_the_same_question_anywhere_in_a_call():
    first, later = question("When is breakfast?"), question("When is breakfast?", *HISTORY)
    assert later == replace(first, first=False)


def test_a_turn_after_the_greeting_is_a_first_one_of_another_agent():
    greeted = question("When is breakfast?", GREETING)
    assert greeted.first
    assert greeted.agent != question("When is breakfast?").agent


@pytest.mark.parametrize("settings", [{"max_tokens": 7}, {"temperature": 0.5}, {"stop": ("x",)}])
def test_another_setting_is_another_agent(settings):
    assert question("the pool?", **settings).agent != question("the pool?").agent


def test_another_prompt_or_model_is_another_agent():
    other_prompt = Request((Message("system", "You keep the bar."), Message("user", "the pool?")))
    agents = {
        cacheable_question(other_prompt, RULES),
        cacheable_question(ask("the pool?"), replace(RULES, model="x")),
    }
    assert question("the pool?") not in agents
    assert len(agents) == 2


def test_who_waits_for_the_reply_does_not_matter():
    assert question("the pool?", priority_class="preemptive", due_s=3.0, priority=5) == question("the pool?")


@pytest.mark.parametrize(
    "text",
    [
        "my name is anna",
        "I'm Anna",
        "this is paul speaking",
        "write to anna@example.org",
        "anna at example dot com",
        "call me on 555-123-4567",
        "it is five five five one two three four five",
        "my card is 4111 1111 1111 1111",
        "what about my booking",
        "my room number",
        "Mr Brown is coming",
    ],
)
def test_what_tells_who_is_calling_is_personal(text):
    assert is_personal(text)


@pytest.mark.parametrize(
    "text",
    ["When is breakfast?", "Can I bring my dog?", "a room for two from the 12th to the 15th", "I'm late"],
)
def test_what_anybody_may_ask_is_not(text):
    assert not is_personal(text)


@given(st.lists(st.integers(0, 9), min_size=7, max_size=16), st.sampled_from(["", " ", "-", ". "]))
def test_a_long_number_is_personal_however_it_is_written(digits, between):
    assert is_personal(f"it is {between.join(map(str, digits))} thanks")


WORDS = st.lists(
    st.sampled_from(["is the", "pool", "for", "two", "three", "no", "monday", "Anna", "not", "before"]),
    max_size=6,
)


@given(WORDS, st.lists(st.tuples(WORDS, st.floats(0.9, 1.0)), max_size=5))
def test_an_entry_with_other_facts_is_never_chosen_however_near(asked, stored):
    near = [NearEntry(cosine, Entry("a", " ".join(words), "r", 1, 1)) for words, cosine in stored]
    found = choose_entry(Question("a", " ".join(asked), 1.0, first=True), near)
    fitting = [n for n in near if same_facts(facts(n.entry.question), facts(" ".join(asked)))]
    assert (found is None) == (not fitting)
    if found is not None:
        assert max(n.cosine for n in fitting) == max(n.cosine for n in fitting if n.entry == found)


@given(st.text(max_size=200))
def test_the_pieces_of_a_reply_are_the_reply(text):
    assert "".join(split_words(text)) == text
    assert all(split_words(text))


def test_one_wording_has_one_key_for_an_agent():
    entries = [
        Entry(agent, text, "r", 1, 1)
        for agent, text in (("a", "The pool?"), ("a", "the POOL"), ("b", "The pool?"))
    ]
    assert entries[0].key == entries[1].key != entries[2].key
