from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest
from bench_material import CONVERSATIONS, write_lines, write_material
from llm_load.replay import CHARACTERS_A_TOKEN, Replay

from voiceagent.bench.material import (
    ChatMessage,
    Conversation,
    Material,
    shuffled,
)
from voiceagent.validation.errors import CommandFailed, ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_material(tmp_path / "material")


def test_a_folder_of_four_files_is_read(folder):
    material = Material(folder)
    assert [question.text or question.parts for question in material.questions()] == [
        "Is it open?",
        ("Is it", "open today?"),
    ]
    assert [chat.questions for chat in material.conversations()] == [
        ["Is the shop open today?"],
        ["Do you sell bread?", "And cheese?"],
        ["Where are you?"],
    ]
    assert [item.outside for item in material.labelled()] == [False, False, True]
    assert material.speech() == "Welcome to the shop. We are open until six."


def test_a_recording_of_the_folder_is_a_question(folder):
    write_lines(folder / "questions.jsonl", [{"sound": "open.wav"}])
    with pytest.raises(CommandFailed, match=r"questions\.jsonl: no recording 'open\.wav' there"):
        Material(folder).questions()
    (folder / "open.wav").touch()
    assert [question.sound for question in Material(folder).questions()] == ["open.wav"]


def test_a_folder_that_is_not_there_is_named_with_its_files(tmp_path):
    with pytest.raises(
        CommandFailed, match=r"none: no such folder of material; it has questions\.jsonl, conv"
    ):
        Material(tmp_path / "none").questions()


def test_a_file_that_is_missing_is_named(folder):
    (folder / "labelled.jsonl").unlink()
    with pytest.raises(CommandFailed, match=r"material: no labelled\.jsonl; a folder of material has q"):
        Material(folder).labelled()
    assert Material(folder).questions()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Is it open?", "line 2 is no JSON"),
        ('["Is it open?"]', "line 2 is no JSON object"),
        (
            '{"words": "Is it open?"}',
            "line 2: words = .*: unknown key; allowed: text, parts, sound",
        ),
        ('{"text": "Open?", "parts": ["a", "b"]}', "one of text, parts and sound is wanted"),
        ('{"parts": ["open?"]}', "line 2: parts = .*at least 2"),
    ],
)
def test_a_line_that_is_wrong_is_named_with_what_is_allowed(folder, line, told):
    (folder / "questions.jsonl").write_text('{"text": "Is it open?"}\n' + line + "\n")
    with pytest.raises((CommandFailed, ConfigError), match=rf"questions\.jsonl: .*{told}"):
        Material(folder).questions()


def test_a_labelled_question_ends_with_the_caller(folder):
    messages = [{"role": "user", "content": "Open?"}, {"role": "assistant", "content": "Yes."}]
    write_lines(folder / "labelled.jsonl", [{"messages": messages, "must": ["yes"]}])
    with pytest.raises(ConfigError, match=r"line 1: .*the last message must be the user's"):
        Material(folder).labelled()


@pytest.mark.parametrize("name", ["questions.jsonl", "conversations.jsonl", "labelled.jsonl", "speech.txt"])
def test_an_empty_file_is_refused(folder, name):
    (folder / name).write_text("\n")
    material = Material(folder)
    read = {
        "questions.jsonl": material.questions,
        "conversations.jsonl": material.conversations,
        "labelled.jsonl": material.labelled,
        "speech.txt": material.speech,
    }
    with pytest.raises(CommandFailed, match="is empty; allowed:"):
        read[name]()


def test_items_come_in_another_order_each_time_round():
    order = shuffled("abcdefgh", Random(1))
    first, second = [next(order) for _ in range(8)], [next(order) for _ in range(8)]
    assert sorted(first) == sorted(second) == list("abcdefgh")
    assert first != second
    assert list(shuffled([], Random(1))) == []


REPLAY = Replay(
    [
        Conversation(messages=tuple(ChatMessage(role=role, content=text) for role, text in chat))
        for chat in CONVERSATIONS
    ]
)


@pytest.mark.parametrize("tokens", [1, 50, 4000])
def test_a_text_is_as_long_as_it_should_be(tokens):
    assert len(REPLAY.text(tokens, Random(1))) == round(tokens * CHARACTERS_A_TOKEN)


def test_no_two_texts_begin_alike():
    random = Random(1)
    assert REPLAY.text(50, random)[:7] != REPLAY.text(50, random)[:7]


def test_callers_ask_what_was_asked_without_end():
    asked = [list(questions) for questions in islice(REPLAY.callers(seed=3), 6)]
    assert sorted(asked[:3]) == sorted(asked[3:])
    assert ["Do you sell bread?", "And cheese?"] in asked
    assert asked == [list(questions) for questions in islice(REPLAY.callers(seed=3), 6)]
