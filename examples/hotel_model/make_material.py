"""Material for measurements of the demo; `python -m examples.hotel_model.make_material` writes the folder.

The files are deterministic; a test compares the shipped ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from examples.hotel_model.data.conversations import conversations
from examples.hotel_model.data.labelled import Labelled, labelled_set
from voiceagent.demo import MATERIAL

QUESTIONS = (
    "What time is breakfast?",
    "Do you have a swimming pool?",
    "How much is a double room?",
    "Can I bring my dog?",
    "Where can I park my car?",
    "Is there wireless internet in the rooms?",
    "When do I have to check out?",
    "Could you call me a taxi?",
)
PAUSED_QUESTIONS = (
    ("I would like to book a", "double room for two nights."),
    ("Can I have breakfast in my", "room tomorrow morning?"),
    ("We are two adults and", "one child."),
    ("Do you have a swimming pool or", "a sauna?"),
    ("Good morning,", "what time is breakfast?"),
    ("If I arrive late,", "can I still check in?"),
    ("My flight leaves at six, so", "could you call me a taxi at four?"),
    ("I am coming by car,", "where can I park it?"),
)
"""Words before and after a pause, which follows an unfinished phrase or a comma."""
SPEECH = (
    "Welcome to the hotel by the lake, and thank you for calling. We have single rooms, double rooms and"
    " family rooms, all of them with a view of the water. Breakfast is served from seven to ten,"
    " and the swimming pool is open until nine in the evening."
)
_CONVERSATIONS = 500


def material() -> dict[str, str]:
    """Return the text of each file by its name."""
    asked: list[dict[str, Any]] = [{"text": text} for text in QUESTIONS]
    asked += [{"parts": parts} for parts in PAUSED_QUESTIONS]
    return {
        "questions.jsonl": _lines(asked),
        "conversations.jsonl": _lines(islice(_conversations(), _CONVERSATIONS)),
        "labelled.jsonl": _lines(map(_labelled, labelled_set())),
        "speech.txt": SPEECH + "\n",
    }


def _conversations() -> Iterator[dict[str, Any]]:
    """Yield the conversations of held-out questions, without duplicates."""
    seen: set[str] = set()
    for conversation in conversations("heldout", seed=1):
        messages = [_message(message["role"], message["content"]) for message in conversation]
        if (text := str(messages)) not in seen:
            seen.add(text)
            yield {"messages": messages}


def _labelled(item: Labelled) -> dict[str, Any]:
    messages = [_message(role, content) for role, content in (*item.history, ("user", item.question))]
    return {
        "messages": messages,
        "must": item.must,
        "must_not": item.must_not,
        "outside": item.outside,
    }


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _lines(objects: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.hotel_model.make_material", description=__doc__)
    parser.add_argument("--out", type=Path, default=MATERIAL, help="the folder that is written")
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    for name, text in material().items():
        (out / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
