"""Cost of separating words from control text, per token: `python tests/bench/control_text_cost.py`.

Feeds ordinary replies to `ReplyParser` a token at a time, and alternately makes the same deltas without it.
Measures processor time of this thread, so that other work hardly matters.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable

from llmcore.engine import Delta, Message, Request, Tool
from llmcore.text.reply import ReplyParser

REPLY = (
    "Your table for two is booked for seven tomorrow evening, under the name of Smith. The terrace is open "
    "if the weather is fine (less than 5 mm of rain), and there is parking right behind the house. "
) * 4
THINKING = f"<think>\n{REPLY}\n</think>\n\n{REPLY}"
CALL = '{"name": "book_table", "arguments": {"guests": 2, "time": "19:00"}}'
CALLING = f"Let me look.\n<tool_call>\n{CALL}\n</tool_call>"
TOOLS = tuple(Tool(name, "") for name in ("book_table", "weather", "transfer", "hang_up", "opening_hours"))
REQUEST = Request((Message("user", "Hello."),), TOOLS)
ROUNDS = 300


def filtered(pieces: list[str]) -> list[Delta]:
    """Return the parser's deltas of a reply."""
    parser = ReplyParser(REQUEST)
    return [delta for piece in pieces for delta in parser.push(piece)]


def unfiltered(pieces: list[str]) -> list[Delta]:
    """Return a delta for each piece, unparsed."""
    return [Delta(piece) for piece in pieces]


def ns_per_token(work: Callable[[list[str]], object], pieces: list[str]) -> float:
    """Return the processor time of one reply divided by its tokens, in ns."""
    began_ns = time.thread_time_ns()
    work(pieces)
    return (time.thread_time_ns() - began_ns) / len(pieces)


def main() -> None:
    """Measure each kind of reply, alternating with and without the parser."""
    for name, text in (("words", REPLY), ("thoughts, then words", THINKING), ("words and a call", CALLING)):
        pieces = re.findall(r"\s?\w+|\W", text)
        times: dict[str, list[float]] = {"without": [], "with": []}
        for _ in range(ROUNDS):
            times["without"].append(ns_per_token(unfiltered, pieces))
            times["with"].append(ns_per_token(filtered, pieces))
        without, with_it = (statistics.median(times[kind]) for kind in ("without", "with"))
        print(
            f"{name}: {with_it:.0f} ns a token, {without:.0f} without; the filter: {with_it - without:.0f} ns"
        )


if __name__ == "__main__":
    main()
