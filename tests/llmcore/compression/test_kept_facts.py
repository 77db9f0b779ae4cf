"""Summaries of old turns keep the facts that people marked: 100 of them, in 25 calls."""

from __future__ import annotations

import json
from pathlib import Path

from llmcore.compression.extract import extract
from llmcore.compression.summary import OldTurns, append_missing, check_summary
from llmcore.engine import Message

CALLS = [
    json.loads(line) for line in Path(__file__).with_name("labelled_calls.jsonl").read_text().splitlines()
]
SYSTEM = "You take calls. Be brief."
MAX_CHARACTERS = 800
"""About 200 tokens, what a summary may be by default."""


def turns(call: dict[str, list[list[str]]]) -> OldTurns:
    said = tuple(Message("user" if who == "user" else "assistant", text) for who, text in call["said"])
    return OldTurns(said, "", SYSTEM, "en")


def share_kept(texts: list[str]) -> float:
    found = [
        fact.lower() in text.lower() for call, text in zip(CALLS, texts, strict=True) for fact in call["kept"]
    ]
    assert len(found) == 100
    return sum(found) / len(found)


def test_sentences_with_facts_keep_98_of_100() -> None:
    assert share_kept([extract(turns(call), MAX_CHARACTERS) for call in CALLS]) >= 0.98


def test_a_summary_that_lost_everything_is_given_98_of_100_back() -> None:
    empty = "The caller asked for something."
    repaired = [
        append_missing(empty, check_summary(empty, turns(call)).missing, MAX_CHARACTERS) for call in CALLS
    ]
    assert share_kept(repaired) >= 0.98


def test_it_takes_less_than_was_said() -> None:
    said = sum(len(text) for call in CALLS for _, text in call["said"])
    assert sum(len(extract(turns(call), MAX_CHARACTERS)) for call in CALLS) < said
