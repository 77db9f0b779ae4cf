"""Review of an answer by a second model: the request, and its verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llmcore.engine import Message

REQUEST = (
    "[A smaller model wrote your last message, and the caller is listening to it now. Check it against "
    "everything above. Nobody but you reads this message. Reply in one of three forms, and with nothing "
    "else.\n"
    "RIGHT\n"
    "if nothing in it is false and it answers the caller; also if you are not sure, or would only word it "
    "differently.\n"
    "WRONG: followed by the right information, if something in it is false.\n"
    "MORE: followed by what the caller asked for and was not told, if it is true but leaves that out.\n"
    "What follows WRONG: or MORE: is read to the caller as it is: whole sentences in the caller's language, "
    "as short as possible, without an apology and without repeating what was right.]"
)
AGREED = "RIGHT"
_VERDICT = re.compile(rf"{AGREED}[.!]?|(?P<form>WRONG|MORE):\s*(?P<text>.*\w.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict about an answer. text: words for the caller, "" if it agrees."""

    kind: Literal["agrees", "corrects", "adds"]
    text: str = ""


def review_messages(prompt: Sequence[Message], said: str) -> tuple[Message, ...]:
    """Return the messages that ask for a verdict. They continue the answer's own prompt, so that its cached
    prefix is used. said: the answer.
    """
    return (*prompt, Message("assistant", said), Message("user", REQUEST))


def reviewed_prompt(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the prompt of the answer that `review_messages` asks about."""
    return messages[:-2]


def read_verdict(reply: str) -> Verdict | None:
    """Return the verdict; None if the reply has none of the three forms. No other text is ever spoken."""
    found = _VERDICT.fullmatch(reply.strip())
    if found is None:
        return None
    match found["form"]:
        case "WRONG":
            return Verdict("corrects", found["text"])
        case "MORE":
            return Verdict("adds", found["text"])
        case _:
            return Verdict("agrees")
