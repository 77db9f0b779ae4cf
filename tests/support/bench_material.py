"""A folder of material for measurements: little, and about nothing that exists."""

from __future__ import annotations

import json
from pathlib import Path

CONVERSATIONS = [
    [("user", "Is the shop open today?"), ("assistant", "Yes, until six in the evening.")],
    [("user", "Do you sell bread?"), ("assistant", "We do."), ("user", "And cheese?"), ("assistant", "No.")],
    [("user", "Where are you?"), ("assistant", "Right beside the station, on the first floor.")],
]


def write_material(folder: Path) -> Path:
    """Write the four files of `voiceagent.bench.material`; returns the folder."""
    folder.mkdir(exist_ok=True)
    chats = [[{"role": role, "content": text} for role, text in chat] for chat in CONVERSATIONS]
    write_lines(folder / "conversations.jsonl", [{"messages": chat} for chat in chats])
    write_lines(folder / "questions.jsonl", [{"text": "Is it open?"}, {"parts": ["Is it", "open today?"]}])
    labelled = [
        {"messages": chats[0][:1], "must": ["on the hill|uphill"], "must_not": ["don't know"]},
        {"messages": [*chats[1], *chats[0][:1]], "must": ["nine hundred"]},
        {
            "messages": [{"role": "user", "content": "Is it late?"}],
            "must": ["don't know"],
            "outside": True,
        },
    ]
    write_lines(folder / "labelled.jsonl", labelled)
    (folder / "speech.txt").write_text("Welcome to the shop.\nWe are open until six.\n")
    return folder


def write_lines(path: Path, documents: list[dict[str, object]]) -> None:
    """One JSON object a line."""
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
