"""The message that a response leaves in the history: the part of its text that was played."""

from __future__ import annotations

from collections import OrderedDict

from voiceagent.conversation.fragments import Fragment
from voiceagent.conversation.history import History, ItemStatus, MessageItem
from voiceagent.conversation.response.phases import Response
from voiceagent.conversation.response.played_text import PlayedText

MAX_PLAYED_TEXTS = 16
"""Number of responses with known playback state, for clients that truncate late."""


class ResponseMessages:
    """Writes the messages of responses. played_texts: playback state of spoken messages, by item id."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.played_texts: OrderedDict[str, PlayedText] = OrderedDict()

    def is_blank_start(self, response: Response, fragment: Fragment) -> bool:
        """Return True for white space before any text: models write a line break before a call."""
        return not (self._history.as_logged or response.joined or fragment.text.strip())

    def join(self, response: Response) -> str | None:
        """Return the id of the item before the message, which joins the history with its first text."""
        if not response.wanted.in_conversation:
            return None
        if not response.joined:
            # not earlier: a response that is cut before its first text leaves no empty message
            response.joined = True
            item = MessageItem(response.item_id, "assistant", "", response.spoken, "in_progress")
            # text and calls of one response are one chat message, text first
            before_id = "" if self._history.as_logged else response.first_call_id
            self._history.insert_before(item, before_id)
        return self._history.previous_id(response.item_id) if response.item_id in self._history else None

    def record(self, response: Response, played: str, whole: bool, opaque: str = "") -> None:
        """Set the message to the text that was played. whole: it was not cut and did not fail. opaque: the
        LLM's data about the response, for later prompts.
        """
        if not response.joined or response.item_id not in self._history:
            return
        status: ItemStatus = "completed" if whole else "incomplete"
        filler, apology = response.played.filler, response.played.apology_in(played)
        item = MessageItem(
            *(response.item_id, "assistant", played, response.spoken, status),
            opaque=opaque,
            filler=filler,
            apology=apology,
        )
        self._history.put(item)
        if response.spoken:
            self.played_texts[response.item_id] = response.played
            while len(self.played_texts) > MAX_PLAYED_TEXTS:
                # bounded: a call of hours would keep every word's position
                self.played_texts.popitem(last=False)
