"""The chat template: one text for one chat, and nothing before a new turn ever changes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from examples.hotel_model.chat import MARKS, TEMPLATE, render
from examples.hotel_model.training.tokenizer import tokenizer_config, train_tokenizer
from llmcore.engine import Message, Request
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens

SYSTEM = Message("system", "You work at a hotel.")
TEXTS = st.text(max_size=40) | st.sampled_from(["the pool opens at eight", " spaced ", "<|end|>", "<", "|>"])


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["when does the pool open", "The pool is open from eight."] * 3, 400)


def history(contents: list[str]) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    turns = [{"role": roles[i % 2], "content": content} for i, content in enumerate(contents)]
    return [{"role": "system", "content": "You work at a hotel."}, *turns]


def test_every_message_stands_between_its_mark_and_the_end() -> None:
    messages = history(["hello", "Good day."])
    assert render(messages) == (
        "<|system|>You work at a hotel.<|end|><|user|>hello<|end|><|assistant|>Good day.<|end|><|assistant|>"
    )


@given(contents=st.lists(TEXTS, min_size=1, max_size=5), added=TEXTS)
def test_one_turn_more_leaves_the_tokens_before_it_as_they_were(
    tokenizer: Tokenizer, contents: list[str], added: str
) -> None:
    before = tokenizer.encode(render(history(contents), add_generation_prompt=False)).ids
    after = tokenizer.encode(render(history([*contents, added]), add_generation_prompt=False)).ids
    assert after[: len(before)] == before
    assert len(after) > len(before)


@given(contents=st.lists(TEXTS, min_size=1, max_size=5), words=st.text("abc", min_size=1, max_size=8))
def test_an_unfinished_question_is_the_beginning_of_the_finished_one(
    tokenizer: Tokenizer, contents: list[str], words: str
) -> None:
    def asked(text: str) -> Request:
        return Request((SYSTEM, *(Message("user", content) for content in contents), Message("user", text)))

    tokens = ChatTokens(ChatTemplate(TEMPLATE, {}), lambda text: tokenizer.encode(text).ids, 100_000)
    unfinished, finished = tokens.unfinished(asked(words)), tokens.prompt(asked(words + " and more"))
    assert finished[: len(unfinished)] == unfinished
    assert finished[: len(tokens.static(asked(words), finished))] != []


@given(content=TEXTS)
def test_what_a_message_says_cannot_forge_a_mark(tokenizer: Tokenizer, content: str) -> None:
    tokens = tokenizer.encode(render([{"role": "user", "content": content}])).tokens
    assert [token for token in tokens if token in MARKS] == ["<|user|>", "<|end|>", "<|assistant|>"]


@given(text=st.text(max_size=60))
def test_any_text_survives_the_tokens(tokenizer: Tokenizer, text: str) -> None:
    plain = text.replace("<|", "")
    assert tokenizer.decode(tokenizer.encode(plain).ids) == plain


def test_tools_are_named_after_the_static_prompt() -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("book", "pay")]
    text = render(history(["hi"]), tools=tools)
    assert text.startswith("<|system|>You work at a hotel.\nbook, pay<|end|>")


def test_tools_are_named_though_there_is_no_system_prompt() -> None:
    text = render([{"role": "user", "content": "hi"}], tools=[{"name": "book"}])
    assert text == "<|system|>\nbook<|end|><|user|>hi<|end|><|assistant|>"


def test_a_tool_call_and_its_result_are_part_of_the_history() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "book", "arguments": '{"nights": 2}'}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ]
    wanted = json.dumps(call["function"])
    assert render(messages, add_generation_prompt=False) == (
        f"<|assistant|>\n<tool_call>{wanted}</tool_call><|end|><|tool|>done<|end|>"
    )


def test_content_in_parts_reads_as_their_text() -> None:
    parts = [{"type": "text", "text": "when is "}, {"type": "text", "text": "breakfast "}]
    assert (
        render([{"role": "user", "content": parts}], add_generation_prompt=False)
        == "<|user|>when is breakfast<|end|>"
    )


def test_the_shipped_configuration_carries_the_same_template() -> None:
    config = tokenizer_config(longest=4096)
    assert config["eos_token"] == "<|end|>"
    assert "<|assistant|>" in str(config["chat_template"])
