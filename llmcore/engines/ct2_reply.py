"""One reply of a CTranslate2 model: written in a thread, read on the event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from tokenizers import Tokenizer

from llmcore.engine import Delta, LlmError, Request, ServerError, Usage
from llmcore.engines.ct2_model import PrefixKeepingModel
from llmcore.engines.token_reply import ReplyText
from llmcore.text.chat_tokens import ChatTokens
from llmcore.text.tool_calls import Markup

WORTH_KEEPING_TOKENS = 192
"""Reading this many tokens delays a reply by about 50 ms (5 M parameters, one core)."""
_MAX_PIECES = 4
"""Largest number of pieces of one token: words, a thought, calls, words."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A loaded model with its tokenizer and templates."""

    model: PrefixKeepingModel
    tokenizer: Tokenizer
    chat: ChatTokens
    markup: Markup
    end_id: int

    def read(self, request: Request) -> Usage:
        """Prefill as `Llm.prefill` does, blocking. Raises LlmError."""
        usage = self._keep_history(request)
        if not request.asks_end or not self.chat.closing:
            return usage
        end = self.model.log_probability(
            self.chat.unfinished(replace(request, max_tokens=1)), self.chat.closing
        )
        return replace(usage, end_log_probability=end)

    def _keep_history(self, request: Request) -> Usage:
        """Compute and cache the prompt up to the last message's text, blocking. Raises LlmError.

        A state is computed from the first token on, system messages included, so only for a history that has
        grown by enough tokens.
        """
        *before, last = request.messages
        # without its text, which is not final: a cached state cannot grow
        emptied = replace(request, messages=(*before, replace(last, content="")), max_tokens=1)
        history = self.chat.unfinished(emptied)
        known = self.model.known_beginning([*history, -1])
        if len(history) - known < WORTH_KEEPING_TOKENS:
            return Usage(len(history), known)
        # One token is written, as the model does not run otherwise; it is ignored.
        outcome = self.model.run([*history, history[-1]], history, 1, 0.0, lambda _: True)
        return Usage(len(history), outcome.cached_tokens)


class Ct2Reply:
    """Queue of pieces from the thread that runs `run` to the task that awaits `next_piece`.

    The request's token limit bounds it: a token makes at most `_MAX_PIECES` pieces.
    """

    def __init__(self, request: Request, loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._loop = loop
        self._pieces: asyncio.Queue[Delta | Exception | None] = asyncio.Queue(
            _MAX_PIECES * (request.max_tokens + 2)
        )
        self._abandoned = False
        self._error: Exception | None = None

    async def next_piece(self) -> Delta | None:
        """Return the next delta, or None after the last. Raises LlmError."""
        piece = await self._pieces.get()
        if isinstance(piece, LlmError):
            raise piece
        if isinstance(piece, Exception):
            raise ServerError(f"the model failed: {str(piece) or type(piece).__name__}") from piece
        return piece

    def abandon(self) -> None:
        """Stop the thread at its next token, as the reader has left."""
        self._abandoned = True

    def fail(self, error: LlmError) -> None:
        """End the reply with an error; call on the event loop."""
        self._abandoned = True
        self._pieces.put_nowait(error)

    def run(self, reader: Reader) -> None:
        """Write the reply, blocking. Its end or error goes to the queue."""
        try:
            if not self._abandoned:
                self._write(reader)
            self._emit(None)
        except Exception as error:
            self._emit(error)

    def _write(self, reader: Reader) -> None:
        request = self._request
        # in this thread, as rendering a long history takes milliseconds
        prompt = reader.chat.prompt(request, lambda: self._abandoned)
        static = reader.chat.static(request, prompt)
        text = ReplyText(reader, request)
        prompt += reader.chat.encode(text.opening)

        def on_token(token_id: int) -> bool:
            return self._abandoned or self._take(text, token_id)

        outcome = reader.model.run(prompt, static, request.max_tokens, request.temperature, on_token)
        if self._error is not None:
            raise self._error
        for delta in text.finish(Usage(len(prompt), outcome.cached_tokens, outcome.written_tokens)):
            self._emit(delta)

    def _take(self, text: ReplyText, token_id: int) -> bool:
        try:
            deltas = text.push(token_id)
        except Exception as error:  # an exception must not pass through the native caller
            self._error = error
            return True
        for delta in deltas:
            self._emit(delta)
        return text.ended

    def _emit(self, piece: Delta | Exception | None) -> None:
        if not self._abandoned:
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)
