"""llama.cpp: chat models in 4 bits from a GGUF file, for machines with few cores.

Its server runs in a process of its own; chat template and tokenizer are those of the file, and run here, so
that prompts, tool calls and history are treated as for the other engines. The state of a prompt is kept from
one request to the next and grows with the call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from tokenizers import Tokenizer

from llmcore.engine import READING, BusyError, Delta, Request, RequestError, ServerError, Usage
from llmcore.engine_load import EngineLoad
from llmcore.engines.llamacpp_process import LlamaCppProcess, ServerSettings
from llmcore.engines.token_reply import ReplyText, check_at_least, decoding
from llmcore.gguf.file import GgufFile
from llmcore.gguf.tokenizer import build_tokenizer, tokenizer_config
from llmcore.policies.demanded_tools import DemandedTools
from llmcore.serving.slots import Busy, PrioritySlots
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens, tokens_between_messages
from llmcore.text.closing_tokens import summed
from llmcore.text.control_marks import are_special_tokens
from llmcore.text.message_shapes import ANY_SHAPE, Shapes
from llmcore.text.reply import forces_a_call
from llmcore.text.tool_calls import (
    BARE_JSON,
    Markup,
    MarkupName,
    arguments_schema,
    call_schema,
    call_without_arguments,
    find_markup,
    shown_tools,
)

_EVENT = "data: "
_LIKELIEST = 64
"""Tokens whose probabilities are asked for in one place."""
_SPOKEN = r"""root ::= [ \n]* ("<think>" | [^ \n<{\x5B`]) [^\x00]*"""
"""Grammar of a reply that does not begin with a tool call."""
_SUREST = 1000.0
_LEAST = -20.0
"""Log probability of an end that is not among these."""


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    """Chat template and tokenizer of the file. See `ReadsChats`."""

    tokenizer: Tokenizer
    chat: ChatTokens
    markup: Markup
    end_id: int


class LlamaCppLlm:
    """A GGUF file with a chat model and its chat template.

    threads: CPU threads, shared by all replies. max_running: replies at once, each with a context of its own;
    1 keeps a call's prompt in one place. max_waiting: requests that may wait for their turn; beyond that the
    least urgent is refused with LlmError. context_tokens: prompt and reply together; the model's own limit
    where that is smaller. gpu_layers: layers on a GPU, with a build of xllamacpp for it. tool_markup: how the
    model writes tool calls; all other forms are read as well. call_tools_on: regular expressions by the name
    of a tool: at words that match, the model must call it, which small models seldom do on their own.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        threads: int = 2,
        max_running: int = 1,
        max_waiting: int = 32,
        context_tokens: int = 4096,
        gpu_layers: int = 0,
        tool_markup: MarkupName = "hermes",
        call_tools_on: dict[str, str] | None = None,
    ) -> None:
        check_at_least(1, threads=threads, max_running=max_running, context_tokens=context_tokens)
        check_at_least(0, max_waiting=max_waiting, gpu_layers=gpu_layers)
        self._file = Path(model)
        self._markup = find_markup(tool_markup)
        self._context_tokens = context_tokens
        self._demanded = DemandedTools(call_tools_on or {})
        self._slots = PrioritySlots(max_running, max_waiting)
        settings = ServerSettings(self._file, threads, max_running, context_tokens, gpu_layers)
        self._process = LlamaCppProcess(settings)
        self._loaded: _LoadedModel | None = None
        self._computing = 0

    @property
    def running(self) -> int:
        """Replies and prefills that are being computed."""
        return self._computing

    @property
    def shapes(self) -> Shapes:
        """Message shapes that the model's template refuses; none before the start."""
        return self._loaded.chat.shapes if self._loaded else ANY_SHAPE

    def load(self) -> EngineLoad:
        """Return the replies and prefills computed and waiting."""
        return EngineLoad(self._computing, self._slots.waiting)

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Raise the priority of this caller's waiting request."""
        self._slots.raise_priority(caller, priority)

    async def start(self) -> None:
        """Read the tokenizer and start the server. Raises LlmError."""
        self._loaded = await asyncio.to_thread(_load, self._file, self._markup, self._context_tokens)
        special = self._loaded.tokenizer.get_added_tokens_decoder().values()
        await self._process.start(
            are_special_tokens(frozenset(each.content for each in special if each.special))
        )

    async def close(self) -> None:
        """End the server; a second call does nothing."""
        await self._process.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply; closing it stops the computing at the next token. Raises LlmError."""
        request = self._demanded.apply(request)
        self._model()
        if (call := call_without_arguments(request)) is not None:
            yield Delta(tool_calls=(call,))
            yield Delta(finish_reason="tool_calls", usage=Usage())
            return
        body, text = await asyncio.to_thread(self._prepare, request)
        cached = written = 0
        queued_s = await self._acquire(request)
        try:
            async with aclosing(self._complete(body)) as events:
                async for event in events:
                    cached = max(cached, event.get("timings", {}).get("cache_n", 0))
                    if "prompt_progress" in event:
                        yield READING
                        continue
                    written = event["tokens_predicted"]
                    # text, as the tokens of a character cut into several are not all in the stream
                    for delta in text.push_text(event["content"]):
                        yield delta
                    text.ended = text.ended or event.get("stop_type") == "eos"
                    if text.ended:
                        break
        finally:
            self._release(request)
        for delta in text.finish(Usage(len(body["prompt"]), cached, written, queued_s)):
            yield delta

    def _prepare(self, request: Request) -> tuple[dict[str, Any], ReplyText]:
        """Return the fields of the request to llama.cpp, and the reader of its reply. Raises LlmError.

        A call of one tool is begun in the prompt: the model writes its arguments only.
        """
        loaded = self._model()
        body = _body(request, loaded.chat.prompt(request))
        if request.tool_choice == "none" and shown_tools(request):
            # a call would be dropped, and the caller hear nothing: small models repeat the one before
            body["grammar"] = _SPOKEN
        if not forces_a_call(request):
            return body, ReplyText(loaded, request)
        opening = [] if request.tool_choice == "required" else loaded.chat.call_opening(request)
        body["prompt"] += opening
        body["json_schema"] = arguments_schema(request) if opening else call_schema(request)
        # the schema holds the reply to bare JSON
        reader = _LoadedModel(loaded.tokenizer, loaded.chat, BARE_JSON, loaded.end_id)
        return body, ReplyText(reader, request, guided=not opening, only_arguments=bool(opening))

    async def prefill(self, request: Request) -> Usage | None:
        """Read the unfinished prompt, which the next request then finds. Raises BusyError, LlmError."""
        loaded = self._model()
        if not self._slots.free:
            raise BusyError(f"{self._file}: busy, nothing is read ahead")
        await self._acquire(request)
        try:
            prompt = await asyncio.to_thread(loaded.chat.unfinished, request)
            closing = loaded.chat.closing
            asked = _asked(closing) if request.asks_end and closing else {"n_predict": 0}
            body = {"prompt": prompt, "cache_prompt": True, "stream": False, **asked}
            cached, end = 0, None
            async with aclosing(self._complete(body)) as events:
                async for event in events:
                    cached = max(cached, event.get("timings", {}).get("cache_n", 0))
                    end = _end(event, closing)
            return Usage(len(prompt), cached, end_log_probability=end)
        finally:
            self._release(request)

    def _model(self) -> _LoadedModel:
        # raises the reason why there is no server
        _ = self._process.client
        assert self._loaded is not None
        return self._loaded

    async def _acquire(self, request: Request) -> float:
        """Wait for a slot, and return for how long, in seconds. Raises BusyError."""
        clock = asyncio.get_running_loop().time
        asked_s = clock()
        try:
            await self._slots.acquire(request.priority, request.caller)
        except Busy:
            raise BusyError(f"{self._file}: busy, too many requests wait") from None
        self._computing += 1
        return clock() - asked_s

    def _release(self, request: Request) -> None:
        self._computing -= 1
        self._slots.release(request.caller)

    async def _complete(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of one completion. Raises LlmError."""
        try:
            async with self._process.client.stream("POST", "/completion", json=body) as answer:
                if answer.status_code != httpx2.codes.OK:
                    told = (await answer.aread()).decode(errors="replace")
                    kind = RequestError if answer.is_client_error else ServerError
                    raise kind(f"{self._file}: llama.cpp: {answer.status_code}: {told}")
                async for event in _events(answer.aiter_lines()):
                    if "error" in event:
                        raise ServerError(f"{self._file}: llama.cpp: {event['error']}")
                    yield event
        except httpx2.HTTPError as error:
            raise ServerError(
                f"{self._file}: llama.cpp broke off: {str(error) or type(error).__name__}"
            ) from error


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, Any]]:
    async for line in lines:
        if line.startswith("{"):  # an answer in one piece
            yield json.loads(line)
        elif line.startswith(_EVENT):
            yield json.loads(line.removeprefix(_EVENT))
        elif line.startswith("error: "):
            yield {"error": line.removeprefix("error: ")}


def _asked(closing: tuple[int, ...]) -> dict[str, Any]:
    """Return the fields that ask for the probabilities of the next token.

    The choice itself is led to a closing token, as llama.cpp reports nothing where a part of a character is
    chosen; the probabilities are those before that.
    """
    chosen = {"logit_bias": [[closing[-1], _SUREST]], "temperature": 0}
    return {"n_predict": 1, "n_probs": _LIKELIEST, **chosen}


def _end(event: dict[str, Any], closing: tuple[int, ...]) -> float | None:
    """Return the summed log probability of the closing tokens, None if this event has no probabilities.

    llama.cpp reports the likeliest tokens only; what is not among them counts as impossible.
    """
    places = event.get("completion_probabilities")
    if not places or not closing:
        return None
    told = {each["id"]: each["logprob"] for each in places[0]["top_logprobs"]}
    found = summed(told[number] for number in closing if number in told)
    return _LEAST if found is None else found


def _body(request: Request, prompt: list[int]) -> dict[str, Any]:
    """Return the fields of a request to llama.cpp's `/completion`."""
    return {
        "prompt": prompt,
        "n_predict": request.max_tokens,
        "temperature": request.temperature,
        # as for the other engines: nothing but the temperature shapes the choice
        "samplers": ["temperature"] if request.temperature > 0 else ["top_k"],
        "top_k": 1,
        "cache_prompt": True,
        "stream": True,
        "return_progress": True,
        "timings_per_token": True,
    }


def _load(path: Path, markup: Markup, context_tokens: int) -> _LoadedModel:
    with GgufFile(path) as file:
        tokenizer, config = build_tokenizer(file), tokenizer_config(file)
        file_end: int = file.value("tokenizer.ggml.eos_token_id")
    special = {name: token for name, token in config.items() if name.endswith("_token")}
    template = ChatTemplate(config["chat_template"], special)
    marks = tokens_between_messages(tokenizer.get_added_tokens_decoder(), template)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    longest = min(context_tokens, int(config["model_max_length"]))
    vocabulary, decode = tokenizer.get_vocab(), decoding(tokenizer)
    chat = ChatTokens(template, encode, longest, marks, template.learn_shapes(), vocabulary, decode)
    return _LoadedModel(tokenizer, chat, markup, file_end)
