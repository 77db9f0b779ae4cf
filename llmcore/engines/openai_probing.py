"""Probes of an OpenAI-compatible server: the message shapes that it accepts, asked for one token each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import httpx2
import openai
from httpx2 import Response
from openai import AsyncOpenAI

from llmcore.engine import Request, SetupError
from llmcore.engines.openai_chat import ChunkReader, request_body
from llmcore.engines.openai_servers import Server, model_list, rendering_endpoint
from llmcore.engines.openai_stream import Chunks
from llmcore.engines.remote_failures import AttemptFailed, BrokenStream
from llmcore.text.message_shapes import Shapes
from llmcore.text.refusals import is_about_length, is_prompt_too_long
from llmcore.text.shape_learning import Probe, learning

log = logging.getLogger(__name__)

REFUSAL_STATUSES = frozenset({400, 422, 500})
"""Statuses with which servers refuse message shapes; 500 if a template's exception is not caught."""
_LENGTH_STATUSES = REFUSAL_STATUSES | {413}
_ACCEPTED_ERROR = "model produced output"
"""llama.cpp's error about an answer outside its template's format: it accepted the messages."""


class ProbeFailed(Exception):
    """A probe was neither accepted nor refused; the text gives the reason."""


class ProbedEngine(Protocol):
    """The engine of the probed server (`openai_engine.OpenAILlm`)."""

    base_url: str
    model: str
    server: Server

    @property
    def client(self) -> AsyncOpenAI:
        """Client of the API."""

    @property
    def root(self) -> str:
        """Address above the API."""

    @property
    def key_advice(self) -> str:
        """End of an error message about the key."""

    async def open_in_shapes(self, request: Request, shapes: Shapes) -> Chunks:
        """Request a reply to messages in these shapes. Raises the client's exceptions."""

    def new_reader(self) -> ChunkReader:
        """Return a reader for the chunks of one reply."""


class ShapeProber:
    """Learner of the message shapes that a server accepts.

    Args:
        engine: of the server.
        models: that the server lists, for error messages.
    """

    def __init__(self, engine: ProbedEngine, models: Sequence[str]) -> None:
        self._engine = engine
        self._models = models

    async def learn(self) -> Shapes | None:
        """Probe the server until its refused shapes are known.

        Returns:
            The shapes; None if the server refuses even a plain question.

        Raises:
            SetupError: the server refuses the key or the model.
            ProbeFailed: the server did not answer.
        """
        rounds, answers = learning(), None
        while True:
            try:
                probes = rounds.send(answers) if answers is not None else next(rounds)
            except StopIteration as end:
                learned: Shapes | None = end.value
                return learned
            answers = await asyncio.gather(*map(self._accepts, probes))

    async def _accepts(self, probe: Probe) -> bool:
        """Return True if the server accepts a probe. Raises SetupError, ProbeFailed."""
        request = Request(probe.messages, probe.tools, max_tokens=1)
        reader = self._engine.new_reader()
        try:
            async with await self._engine.open_in_shapes(request, probe.shapes) as events:
                async for each in events:
                    reader.push(each)
        except openai.APIStatusError as error:
            text = error_text(error)
            if _ACCEPTED_ERROR not in text and not is_about_length(text):
                self._check_refusal(error)
                return False
        except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
            raise ProbeFailed(f"{type(error).__name__} {error}") from error
        except (openai.APIError, AttemptFailed, BrokenStream) as error:  # an error inside the stream
            if _ACCEPTED_ERROR not in str(error):
                return False
        return await self._renders_whole(request, probe)

    def _check_refusal(self, error: openai.APIStatusError) -> None:
        """Raise SetupError or ProbeFailed unless the error is a refusal of messages."""
        status, text = error.status_code, error_text(error)
        if status in (401, 403):
            raise SetupError(f"{self._engine.base_url}: {status}: {text}{self._engine.key_advice}")
        if status == 404:
            raise SetupError(
                f"{self._engine.base_url}: it has no model {self._engine.model!r} ({text})"
                f"{model_list(self._models)}"
            )
        if status not in REFUSAL_STATUSES:
            raise ProbeFailed(f"{status}: {text}")

    async def _renders_whole(self, request: Request, probe: Probe) -> bool:
        """Return True if the server's prompt for a probe has all its words, each under its role.

        Also True if the server does not show its prompts.
        """
        prompt = await self._prompt_of(request, probe.shapes)
        if prompt is None:
            return True
        if not probe.is_whole(prompt):
            return False
        others = [replace(request, messages=messages) for messages in probe.role_swapped]
        return prompt not in [await self._prompt_of(other, probe.shapes) for other in others]

    async def _prompt_of(self, request: Request, shapes: Shapes) -> str | None:
        """Return the server's prompt for a request; None if the server does not show it."""
        rendering = rendering_endpoint(self._engine.server.kind)
        if rendering is None:
            return None
        body = request_body(request, shapes)
        asked: dict[str, Any] = {field: body[field] for field in body if field in ("messages", "tools")}
        fields = {"model": self._engine.model, **asked, **rendering.more}
        try:
            answer = await self._engine.client.post(
                self._engine.root + rendering.path, cast_to=Response, body=fields
            )
            return rendering.prompt_in(answer.json())
        except (openai.APIError, ValueError, KeyError, TypeError) as error:
            log.debug("%s: cannot show this prompt: %s", self._engine.base_url, error)
            return None


def error_text(error: openai.APIStatusError) -> str:
    """Return an error's text: the body (TGI), FastAPI's `detail` (`transformers serve`), or the message."""
    if isinstance(error.body, str):
        return error.body
    detail = error.body.get("detail") if isinstance(error.body, dict) else None
    return f"{error.message}: {detail}" if detail else error.message


def is_too_long(error: openai.APIError) -> bool:
    """Return True if a server refuses the prompt's length: by its status, or inside a stream."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code in _LENGTH_STATUSES and is_prompt_too_long(error_text(error))
    return is_prompt_too_long(f"{error.message} {error.body}")
