"""Chunks of one chat completion, streamed or whole, and detection of its proper end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from openai import AsyncStream
from openai.types.chat import ChatCompletionChunk

from llmcore.engines.openai_chat import STREAM_ENDED
from llmcore.engines.remote_failures import AttemptFailed

_TAIL_BYTES = 64
"""Bytes kept from the end of the stream, to search for `[DONE]`."""


@dataclass(slots=True)
class StreamEnds:
    """Ends of one server's streams. has_done: one of them has ended with `[DONE]`."""

    has_done: bool = False


class Chunks:
    """Iterator over the chunks of a stream, followed by `STREAM_ENDED` if it ended properly.

    A broken connection raises an error, except if only the end of the connection marks the end of the body
    (HTTP/1.0, or neither chunked nor with a Content-Length). Then `[DONE]` must have arrived, as it must from
    a server that has sent it before (`ends`): a proxy may end a stream properly whose server is gone. The
    openai package does not expose it, so the raw bytes are watched. A server that does not stream sends one
    JSON object, which is one chunk. An answer without any chunk raises AttemptFailed.
    """

    def __init__(self, stream: AsyncStream[ChatCompletionChunk], ends: StreamEnds) -> None:
        self._stream = stream
        self._ends = ends
        self._end_reported = False
        self._has_chunks = False
        self._first: ChatCompletionChunk | str | None = None
        self._tail = b""
        self._bytes = stream.response.aiter_bytes
        stream.response.aiter_bytes = self._watch_bytes  # type: ignore[method-assign, assignment]

    async def __aenter__(self) -> AsyncIterator[ChatCompletionChunk | str]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection, which cancels the request."""
        await self._stream.close()

    def __aiter__(self) -> AsyncIterator[ChatCompletionChunk | str]:
        return self

    async def is_empty(self) -> bool:
        """Wait for the first chunk. Return True for an event stream that ends without any.

        If the wait fails or is cancelled, the connection is closed.
        """
        if self._is_json():
            return False
        try:
            self._first = await anext(self, None)
        except AttemptFailed:
            return self._content_type.startswith("text/event-stream")
        except BaseException:
            await self.close()
            raise
        return False

    async def __anext__(self) -> ChatCompletionChunk | str:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            chunk = await anext(self._stream if self._has_chunks or not self._is_json() else self._whole())
        except StopAsyncIteration:
            if self._end_reported or not self._ended_properly():
                raise
            self._check_has_chunks()
            self._end_reported = True
            return STREAM_ENDED
        self._has_chunks = True
        return chunk

    def _is_json(self) -> bool:
        return self._content_type.startswith("application/json")

    @property
    def _content_type(self) -> str:
        return str(self._stream.response.headers.get("content-type", "")).lower()

    async def _whole(self) -> AsyncIterator[ChatCompletionChunk]:
        """Yield the answer of a server that does not stream. Raises ValueError if it is no JSON object."""
        await self._stream.response.aread()
        answer = self._stream.response.json()
        if not isinstance(answer, dict):
            raise ValueError(f"{type(answer).__name__} in place of an object")
        yield ChatCompletionChunk.construct(None, **answer)

    def _check_has_chunks(self) -> None:
        if not self._has_chunks:
            kind = self._content_type or "unknown"
            raise AttemptFailed(f"the answer is no stream of chunks (content type: {kind})")

    async def _watch_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        async for data in self._bytes(chunk_size):
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
            yield data

    def _ended_properly(self) -> bool:
        if b"[DONE]" in self._tail:
            self._ends.has_done = True
            return True
        if self._ends.has_done and self._has_chunks and not self._is_json():
            return False
        response = self._stream.response
        headers = response.headers
        framed = "chunked" in headers.get("transfer-encoding", "").lower() or "content-length" in headers
        return framed or response.http_version == "HTTP/2"
