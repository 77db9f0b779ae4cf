"""Tokenization of requests: chat template, tokenizer and context length combined.

Text is encoded piece by piece between special tokens, and pieces are cached: a prompt is encoded many times,
while its caller speaks and for the reply, each time with the whole history. A tokenizer never merges text
across a special token, so messages can be encoded one by one, and only the newest is new. For a tokenizer
that does merge, the whole text is encoded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import Protocol

from llmcore.engine import LlmError, Message, Request, RequestError, Tool, ToolCall
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.closing_tokens import Decode, closing_tokens
from llmcore.text.message_shapes import ANY_SHAPE, Shapes
from llmcore.text.prompt import PromptTooLong, common_prefix, fit_to_budget, split_turns
from llmcore.text.reshaping import adapt_messages, adapt_tools

Encode = Callable[[str], list[int]]

MAX_PIECES = 2048
"""Cached pieces; the least recently used is dropped beyond that."""
MAX_CHARACTERS = 16_384
"""Longest cached piece in characters: `MAX_PIECES` of them take at most about 64 MB."""
_CONTEXTS = (
    ("Hello there", " and more."),
    ("a\n", "\nb"),
    ("", "user\nHi"),
    ("1 ", "  2"),
    ("don't", "é日x"),
)
"""Test texts before and after a special token."""


class PiecewiseEncoder:
    """A cached equivalent of `encode`.

    special_tokens: texts that are one token each; those across which `encode` merges text are ignored.
    """

    def __init__(self, encode: Encode, special_tokens: Iterable[str]) -> None:
        self._encode = encode
        separators = [token for token in special_tokens if token and _splits_text(encode, token)]
        # longest first, as one token may begin another
        names = "|".join(re.escape(token) for token in sorted(separators, key=len, reverse=True))
        self._separators = re.compile(f"({names})") if separators else None

        @lru_cache(MAX_PIECES)
        def encode_piece(piece: str) -> array[int]:
            return array("L", encode(piece))

        self._encode_piece = encode_piece

    def __call__(self, text: str) -> list[int]:
        """Return the tokens of a text. Thread-safe if `encode` is."""
        if self._separators is None:
            return self._encode(text)
        tokens: list[int] = []
        between = self._separators.split(text)  # text, a special token, text, ...
        for piece in map("".join, zip_longest(between[::2], between[1::2], fillvalue="")):
            tokens += self._encode_piece(piece) if len(piece) <= MAX_CHARACTERS else self._encode(piece)
        return tokens


def _splits_text(encode: Encode, token: str) -> bool:
    """Return True if `encode` treats the text before and after this token independently."""
    return all(
        encode(before + token + after) == encode(before + token) + encode(after)
        for before, after in _CONTEXTS
    )


class AddedToken(Protocol):
    """A token that a tokenizer has in addition to its vocabulary."""

    content: str
    special: bool


def tokens_between_messages(added: Mapping[int, AddedToken], template: ChatTemplate) -> list[str]:
    """Return the tokens that separate messages: special tokens, and those in the template, as some models do
    not mark theirs as special.
    """
    return [
        token.content
        for token in added.values()
        if token.special or (token.content in template.source and not token.content.strip().isalnum())
        if token.content.strip()
    ]


_PROBE = '{"probe": 1}'
"""Arguments of a call that shows how a template writes calls."""


class ChatTokens:
    """A model's tokenizer and template for chats.

    encode: converts text to token ids, without adding special tokens. context_tokens: maximum of prompt and
    reply together. special_tokens: texts that are one token each and separate messages. If one occurs in any
    text but the system prompt, a space is inserted into it, so that no text can end a message and begin
    another. shapes: message shapes that the template refuses. vocabulary, decode: ids by token, and the text
    of a token, for `closing`.
    """

    def __init__(
        self,
        template: ChatTemplate,
        encode: Encode,
        context_tokens: int,
        special_tokens: Iterable[str] = (),
        shapes: Shapes = ANY_SHAPE,
        vocabulary: Mapping[str, int] | None = None,
        decode: Decode = str,
    ) -> None:
        special = [token for token in special_tokens if token]
        self.template = template
        self.shapes = shapes
        self.encode = PiecewiseEncoder(encode, special)
        separators = [token for token in special if len(token) > 1]
        marks = "|".join(map(re.escape, separators))
        self._first_characters = "".join({token[0] for token in separators})
        self._separators = re.compile(marks) if marks else None
        self.context_tokens = context_tokens
        self.end_of_user = _end_of_user(template, encode, special)
        """Token that closes a user's message; None if it is not a special token, as it may be a word then."""
        mark = () if self.end_of_user is None else (self.end_of_user,)
        self.closing = closing_tokens(vocabulary or {}, decode, mark)
        """Tokens that close a sentence or a user's message; none if nothing is known of the vocabulary."""

    def prompt(self, request: Request, is_cancelled: Callable[[], bool] = lambda: False) -> list[int]:
        """Return the prompt to answer, without the oldest turns if it would be too long. Raises LlmError.

        Logs a warning about parts of the request that the model was not trained for. is_cancelled: polled now
        and then; if True, tokenization stops with an error.
        """

        if self.template.trained_for is not None:
            self.template.trained_for.warn(request)

        def render(messages: tuple[Message, ...]) -> str:
            if is_cancelled():
                raise LlmError("the request was cancelled")
            return self._render(messages, request.tools)

        return self._fit(request, render)

    def unfinished(self, request: Request) -> list[int]:
        """Return the prompt up to the last word of the last message: a prefix of `prompt`.

        Raises LlmError.
        """

        def render(messages: tuple[Message, ...]) -> str:
            sent, tools = adapt_messages(messages, self.shapes), adapt_tools(request.tools, self.shapes)
            return self.template.render_unfinished(sent, tools, self.shapes)

        return self._fit(request, render)

    def call_opening(self, request: Request) -> list[int]:
        """Return what the template writes between the opening of a reply and the arguments of a call of the
        tool that `tool_choice` names; none if the template writes calls in another form.
        """
        call = ToolCall("call_1", request.tool_choice, _PROBE)
        asked = (Message("user", "?"),)
        try:
            before = self._render(asked, request.tools)
            called = self._render(
                (*asked, Message("assistant", "", tool_calls=(call,))), request.tools, generation_prompt=False
            )
        except LlmError:
            return []
        opening, found, _ = called.removeprefix(before).partition(_PROBE)
        # a space belongs to the token of the bracket behind it
        return self.encode(opening.rstrip()) if found and called.startswith(before) else []

    def static(self, request: Request, prompt: list[int]) -> list[int]:
        """Return the prefix of `prompt` shared by all prompts with these system messages and tools."""
        system, _ = split_turns(request.messages)
        if not system:
            return []
        try:
            text = self._render(system, request.tools, generation_prompt=False)
        except LlmError:  # some templates require a user message
            return []
        return prompt[: common_prefix(self.encode(text), prompt)]

    def _render(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], generation_prompt: bool = True
    ) -> str:
        sent, offered = adapt_messages(messages, self.shapes), adapt_tools(tools, self.shapes)
        return self.template.render(sent, offered, generation_prompt, self.shapes)

    def _fit(self, request: Request, render: Callable[[tuple[Message, ...]], str]) -> list[int]:
        tokens: list[int] = []

        def count(messages: tuple[Message, ...]) -> int:
            tokens[:] = self.encode(render(messages))
            return len(tokens)

        budget = self.context_tokens - request.max_tokens
        try:
            fit_to_budget(self._escape_separators(request.messages), budget, count)
        except PromptTooLong as error:
            raise RequestError(
                f"{error}: the model's context is {self.context_tokens} tokens, "
                f"{request.max_tokens} of them kept for the reply"
            ) from error
        return tokens

    def _escape_separators(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        marks, firsts = self._separators, self._first_characters
        if marks is None:
            return messages

        def contains_mark(text: str) -> bool:
            # Searching for a character takes a tenth of the time, and few texts contain even the first one of
            # a token.
            return any(first in text for first in firsts) and marks.search(text) is not None

        def plain(text: str) -> str:
            return marks.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)

        def escaped(message: Message) -> Message:
            if not message.tool_calls and not contains_mark(message.content):
                return message  # copying would take longer than searching
            calls = tuple(replace(call, arguments=plain(call.arguments)) for call in message.tool_calls)
            return replace(message, content=plain(message.content), tool_calls=calls)

        return tuple(message if message.role == "system" else escaped(message) for message in messages)


def _end_of_user(template: ChatTemplate, encode: Encode, special_tokens: Sequence[str]) -> int | None:
    try:
        closing = template.closing_of_user().lstrip()
    except LlmError:  # some templates require a system message
        return None
    # the longest, as one token may begin another
    mark = max((token for token in special_tokens if closing.startswith(token)), key=len, default="")
    ids = encode(mark) if mark else []
    return ids[0] if len(ids) == 1 else None


MAX_KNOWN = 4_096
"""Texts to remember, by their hashes; the oldest is forgotten beyond that."""
SHORT_CHARACTERS = 1_000
"""New text that is encoded in less than half a millisecond."""
SHORT_MESSAGES = 40
"""Messages that a template renders in less than a millisecond."""


class KnownTexts:
    """The newest messages and sets of tools that were encoded."""

    def __init__(self, max_known: int = MAX_KNOWN) -> None:
        self._max_known = max_known
        self._known: dict[int, None] = {}

    def is_short(self, request: Request) -> bool:
        """Return True if encoding this request takes about as long as having a thread do it."""
        if len(request.messages) > SHORT_MESSAGES or (
            request.tools and _tools_key(request) not in self._known
        ):
            return False
        new = sum(len(message.content) for message in request.messages if hash(message) not in self._known)
        return new <= SHORT_CHARACTERS

    def add(self, request: Request) -> None:
        """Remember the texts of a request that was encoded."""
        keys = [hash(message) for message in request.messages]
        if request.tools:
            keys.append(_tools_key(request))
        for key in keys:
            self._known.pop(key, None)
            self._known[key] = None
        while len(self._known) > self._max_known:
            del self._known[next(iter(self._known))]


def _tools_key(request: Request) -> int:
    """Return the key of a request's tools. Those of equal names with other schemas only take longer once."""
    return hash(tuple(tool.name for tool in request.tools))
