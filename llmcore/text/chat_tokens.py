"""From a request to the tokens a model reads: the template, the tokenizer and the context's length
together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from llmcore.engine import LlmError, Message, Request, RequestError, Tool
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.closing_tokens import Decode, closing_tokens
from llmcore.text.message_shapes import ANY, Shapes
from llmcore.text.piecewise_encoding import Encode, PiecewiseEncoder
from llmcore.text.prompt import PromptTooLong, common_prefix, fit_to_budget, split_turns
from llmcore.text.reshaping import as_sent, sent_tools


class AddedToken(Protocol):
    """A token that stands in a tokenizer beside its vocabulary."""

    content: str
    special: bool


def tokens_between_messages(added: Mapping[int, AddedToken], template: ChatTemplate) -> list[str]:
    """The tokens by which a model tells messages apart: special ones, and those that its template writes, as
    some models' are not marked as special.
    """
    return [
        token.content
        for token in added.values()
        if token.special or (token.content in template.source and not token.content.strip().isalnum())
        if token.content.strip()
    ]


class ChatTokens:
    """One model's tokenizer and template for chats.

    encode: converts text to token ids, without adding special tokens. context_tokens: maximum of prompt and
    reply together. special_tokens: texts that are one token each and separate messages. If one occurs in any
    text but the system prompt, a space is inserted into it, so that no words can end a message and begin
    another. shapes: message shapes that the template refuses. vocabulary, decode: ids by token, and the text
    of a token, for `closing`.
    """

    def __init__(
        self,
        template: ChatTemplate,
        encode: Encode,
        context_tokens: int,
        special_tokens: Iterable[str] = (),
        shapes: Shapes = ANY,
        vocabulary: Mapping[str, int] | None = None,
        decode: Decode = str,
    ) -> None:
        special = [token for token in special_tokens if token]
        self.template = template
        self.shapes = shapes
        self.encode = PiecewiseEncoder(encode, special)
        said = [token for token in special if len(token) > 1]
        marks = "|".join(map(re.escape, said))
        self._first_of_marks = "".join({token[0] for token in said})
        self._said_marks = re.compile(marks) if marks else None
        self.context_tokens = context_tokens
        self.end_of_user = _end_of_user(template, encode, special)
        """The token that closes a user's message; None where that is no special one, as it may be a word."""
        mark = () if self.end_of_user is None else (self.end_of_user,)
        self.closing = closing_tokens(vocabulary or {}, decode, mark)
        """Tokens that close a sentence or a user's message; none if nothing is known of the vocabulary."""

    def prompt(self, request: Request, given_up: Callable[[], bool] = lambda: False) -> list[int]:
        """The prompt to answer; the oldest turns are dropped where it would be too long. What the model was
        not trained for is warned of. Raises LlmError.

        given_up: whether nobody wants it any more; asked now and then, and raised for.
        """

        if self.template.trained_for is not None:
            self.template.trained_for.warn(request)

        def render(messages: tuple[Message, ...]) -> str:
            if given_up():
                raise LlmError("the request was given up")
            return self._render(messages, request.tools)

        return self._fitted(request, render)

    def unfinished(self, request: Request) -> list[int]:
        """The prompt up to the last word of the last message, as `prompt` will begin. Raises LlmError."""

        def render(messages: tuple[Message, ...]) -> str:
            sent, tools = as_sent(messages, self.shapes), sent_tools(request.tools, self.shapes)
            return self.template.render_unfinished(sent, tools, self.shapes)

        return self._fitted(request, render)

    def static(self, request: Request, prompt: list[int]) -> list[int]:
        """The beginning of `prompt` that every prompt with these system messages and tools has."""
        system, _ = split_turns(request.messages)
        if not system:
            return []
        try:
            text = self._render(system, request.tools, generation_prompt=False)
        except LlmError:  # a template may insist on a user message
            return []
        return prompt[: common_prefix(self.encode(text), prompt)]

    def _render(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], generation_prompt: bool = True
    ) -> str:
        sent, offered = as_sent(messages, self.shapes), sent_tools(tools, self.shapes)
        return self.template.render(sent, offered, generation_prompt, self.shapes)

    def _fitted(self, request: Request, render: Callable[[tuple[Message, ...]], str]) -> list[int]:
        latest: list[int] = []

        def count(messages: tuple[Message, ...]) -> int:
            latest[:] = self.encode(render(messages))
            return len(latest)

        budget = self.context_tokens - request.max_tokens
        try:
            fit_to_budget(self._without_marks(request.messages), budget, count)
        except PromptTooLong as error:
            raise RequestError(
                f"{error}: the model's context is {self.context_tokens} tokens, "
                f"{request.max_tokens} of them kept for the reply"
            ) from error
        return latest

    def _without_marks(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        marks, firsts = self._said_marks, self._first_of_marks
        if marks is None:
            return messages

        def stands_in(text: str) -> bool:
            # a character is found in a tenth of the time: hardly any text has even the first of a mark
            return any(first in text for first in firsts) and marks.search(text) is not None

        def plain(text: str) -> str:
            return marks.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)

        def told(message: Message) -> Message:
            if not message.tool_calls and not stands_in(message.content):
                return message  # a copy takes longer than the search
            calls = tuple(replace(call, arguments=plain(call.arguments)) for call in message.tool_calls)
            return replace(message, content=plain(message.content), tool_calls=calls)

        return tuple(message if message.role == "system" else told(message) for message in messages)


def _end_of_user(template: ChatTemplate, encode: Encode, special_tokens: Sequence[str]) -> int | None:
    try:
        closing = template.closing_of_user().lstrip()
    except LlmError:  # a template may insist on a system message
        return None
    # the longest: one may be the beginning of another
    mark = max((token for token in special_tokens if closing.startswith(token)), key=len, default="")
    ids = encode(mark) if mark else []
    return ids[0] if len(ids) == 1 else None
