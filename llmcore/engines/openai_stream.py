"""Chunks of one streamed chat completion, and detection of its proper end."""

from __future__ import annotations

from collections.abc import AsyncIterator

from openai import AsyncStream
from openai.types.chat import ChatCompletionChunk

from llmcore.engines.openai_chat import STREAM_ENDED

_TAIL_BYTES = 64
"""Bytes kept from the end of the stream, to search for `[DONE]`."""


class Chunks:
    """Iterator over the chunks of a stream, followed by `STREAM_ENDED` if it ended properly.

    A broken connection raises an error, except if only the end of the connection marks the end of the body
    (HTTP/1.0, or neither chunked nor with a Content-Length). Then `[DONE]` must have arrived; the openai
    package does not expose it, so the raw bytes are watched.
    """

    def __init__(self, stream: AsyncStream[ChatCompletionChunk]) -> None:
        self._stream = stream
        self._end_reported = False
        self._tail = b""
        self._bytes = stream.response.aiter_bytes
        stream.response.aiter_bytes = self._watch_bytes  # type: ignore[method-assign, assignment]

    async def __aenter__(self) -> AsyncIterator[ChatCompletionChunk | str]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stream.close()

    def __aiter__(self) -> AsyncIterator[ChatCompletionChunk | str]:
        return self

    async def __anext__(self) -> ChatCompletionChunk | str:
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            if self._end_reported or not self._ended_properly():
                raise
            self._end_reported = True
            return STREAM_ENDED

    async def _watch_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        async for data in self._bytes(chunk_size):
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
            yield data

    def _ended_properly(self) -> bool:
        response = self._stream.response
        headers = response.headers
        framed = "chunked" in headers.get("transfer-encoding", "").lower() or "content-length" in headers
        return framed or response.http_version == "HTTP/2" or b"[DONE]" in self._tail
