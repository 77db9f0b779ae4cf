"""A prompt whose texts were encoded before is short, whatever its length."""

from __future__ import annotations

from llmcore.engine import Message, Request, Tool
from llmcore.text.chat_tokens import SHORT_CHARACTERS, SHORT_MESSAGES, KnownTexts

LONG = Message("system", "You are a concierge. " * 400)


def asked(*messages: Message, tools: tuple[Tool, ...] = ()) -> Request:
    return Request(messages, tools=tools)


def test_a_long_text_is_short_once_it_was_encoded():
    known, request = KnownTexts(), asked(LONG, Message("user", "Are you open?"))
    assert not known.is_short(request)
    known.add(request)
    assert known.is_short(request)


def test_a_short_new_message_behind_a_known_history_is_short_and_a_long_one_is_not():
    known = KnownTexts()
    known.add(asked(LONG))
    assert known.is_short(asked(LONG, Message("user", "x" * SHORT_CHARACTERS)))
    assert not known.is_short(asked(LONG, Message("user", "x" * (SHORT_CHARACTERS + 1))))


def test_the_same_words_of_another_role_are_new():
    known = KnownTexts()
    known.add(asked(LONG))
    assert not known.is_short(asked(Message("user", LONG.content)))


def test_tools_are_new_until_they_were_encoded():
    known, tools = KnownTexts(), (Tool("book", "Book a room.", {"type": "object"}),)
    known.add(asked(LONG))
    assert not known.is_short(asked(LONG, tools=tools))
    known.add(asked(LONG, tools=tools))
    assert known.is_short(asked(LONG, tools=tools))
    assert not known.is_short(asked(LONG, tools=(*tools, Tool("cancel", "Cancel it."))))


def test_many_messages_are_never_short():
    known, many = KnownTexts(), tuple(Message("user", str(number)) for number in range(SHORT_MESSAGES + 1))
    known.add(asked(*many))
    assert known.is_short(asked(*many[1:]))
    assert not known.is_short(asked(*many))


def test_the_oldest_texts_are_forgotten_and_those_in_use_are_kept():
    known = KnownTexts(max_known=2)
    known.add(asked(LONG))
    for number in range(10):
        known.add(asked(LONG, Message("user", f"question {number}")))
    assert known.is_short(asked(LONG))
    assert known.is_short(asked(LONG, Message("user", "question 9" * 50)))
    known.add(asked(Message("user", "another"), Message("user", "and one more")))
    assert not known.is_short(asked(LONG))
