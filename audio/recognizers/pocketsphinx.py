"""pocketsphinx: the bundled recognizer, streaming, in worker processes because it holds the GIL."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from audio.host import Host, Served
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, Hypothesis, RecognizerError

_UNDECODED_S = 4
"""Sound that may wait for the decoder before the caller's iterator is held back."""

_TURN_SAMPLES = SAMPLE_RATE_HZ // 10
"""The most sound decoded for one utterance before another gets its turn."""


class PocketsphinxRecognizer:
    """pocketsphinx with its English model, or a language model and a dictionary of one's own.

    language_model: an n-gram model, ARPA or binary. dictionary: the pronunciations of its words.
    workers: processes that decode; each keeps up with about four utterances at once with the bundled model.
    """

    def __init__(
        self,
        language_model: Path | None = None,
        dictionary: Path | None = None,
        workers: int = 1,
    ) -> None:
        self._host = Host(
            Served(
                name="pocketsphinx",
                engine="audio.recognizers.pocketsphinx_worker:PocketsphinxEngine",
                arguments={"language_model": language_model, "dictionary": dictionary},
                error=RecognizerError,
                send_window=_UNDECODED_S * SAMPLE_RATE_HZ * 2,
                receive_window=1 << 13,
                replaceable=_is_partial,
            ),
            workers,
        )

    @property
    def host(self) -> Host:
        """Its worker processes."""
        return self._host

    async def start(self) -> None:
        """Start the workers and load the model. Raises RecognizerError."""
        await self._host.start()

    async def close(self) -> None:
        """End the workers."""
        await self._host.close()

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        """Recognize one utterance. Raises RecognizerError."""
        async with aclosing(self._host.stream(_in_turns(sound))) as hypotheses:
            async for hypothesis in hypotheses:
                yield hypothesis


def _is_partial(hypothesis: Any) -> bool:
    return not hypothesis.settled


async def _in_turns(sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Samples | Flush, None]:
    """`sound` with its chunks cut to what is decoded in one turn."""
    async for item in sound:
        if isinstance(item, Flush):
            yield item
            continue
        for begin in range(0, len(item), _TURN_SAMPLES):
            yield item[begin : begin + _TURN_SAMPLES]
