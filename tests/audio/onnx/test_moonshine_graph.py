"""Our graph of the decoder, compared with the original file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import pytest_asyncio
from numpy.typing import NDArray
from sounds import said

from audio.onnx.moonshine_graph import decoder_graph, decoder_shape, sound_graph
from audio.onnx.runtime import OrtFile
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, numbers_of, read_vocabulary, tokens_of
from audio.recognizers.moonshine_decoder import NONE_RATED
from audio.recognizers.moonshine_files import model_files

Floats = NDArray[np.float32]
Reading = tuple[dict[str, Floats], list[Floats]]
QUESTION = "When is breakfast, and may I have it in my room?"
ENCODER, DECODER, VOCABULARY = model_files(None)
FILE = OrtFile(DECODER)
SHAPE = decoder_shape(FILE)
NUMBERS = numbers_of(read_vocabulary(VOCABULARY.read_bytes()))
TEXT = [BEGIN, *(token for word in QUESTION.split() for token in tokens_of(word, NUMBERS))]


def session(model: Path) -> Any:
    return onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])


@pytest_asyncio.fixture(name="states", scope="module", loop_scope="module")
async def of_the_question() -> Floats:
    wave = (await said(QUESTION)).astype(np.float32)[np.newaxis] / 32_768
    inputs = {"input_values": wave, "attention_mask": np.ones(wave.shape, np.int64)}
    states: Floats = session(ENCODER).run(None, inputs)[0]
    return states


@pytest.fixture(name="read", scope="module")
def reading(states: Floats, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that decodes tokens [texts, count] after a past: it gives the output and the new
    past.
    """
    of_sound, decoder = (
        session(make(FILE, tmp_path_factory.mktemp("graph"))) for make in (sound_graph, decoder_graph)
    )
    sound = dict(zip(SHAPE.names("sound"), of_sound.run(None, {"states": states}), strict=True))
    names = [one.name for one in decoder.get_outputs()]
    nothing = [np.zeros((1, SHAPE.heads, 0, SHAPE.size), np.float32)] * len(SHAPE.names("past"))

    def read(
        tokens: list[list[int]], past: list[Floats] | None = None
    ) -> tuple[dict[str, Floats], list[Floats]]:
        past = past or [each.repeat(len(tokens), axis=0) for each in nothing]
        inputs = {"tokens": np.array(tokens), "position": np.array([past[0].shape[2]]), "rated": NONE_RATED}
        told = decoder.run(None, inputs | sound | dict(zip(SHAPE.names("past"), past, strict=True)))
        return dict(zip(names, told, strict=True)), told[3:]

    return read


def test_the_shape_is_that_of_the_file() -> None:
    assert (SHAPE.layers, SHAPE.heads, SHAPE.size, SHAPE.hidden) == (6, 8, 36, 288)


def test_a_decoder_whose_matrices_have_no_8_bits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OrtFile, "places", [])
    with pytest.raises(ValueError, match="must have 8 bits"):
        decoder_shape(FILE)


@pytest.mark.parametrize("count", [1, len(TEXT)])
def test_what_is_likeliest_is_what_the_file_itself_says(states: Floats, read: Any, count: int) -> None:
    """But for rounding, which is finer here."""
    itself = session(DECODER)
    past = {
        one.name: np.zeros((1, SHAPE.heads, 0, SHAPE.size), np.float32)
        for one in itself.get_inputs()
        if one.name.startswith("past")
    }
    logits = itself.run(
        ["logits"],
        {
            "encoder_hidden_states": states,
            "encoder_attention_mask": np.ones((1, (states.shape[1] - 1) * 384 + 1), np.int64),
            "input_ids": np.array([TEXT[:count]]),
            "use_cache_branch": np.array([False]),
        }
        | past,
    )[0][0]
    told, _ = read([TEXT[:count]])
    expected = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    expected = np.take_along_axis(expected, told["likeliest"][0], axis=1)
    assert np.exp(told["logarithms"][0]) == pytest.approx(np.exp(expected), abs=0.05)
    assert np.exp(expected[:, 0]) == pytest.approx(np.exp(expected.max(axis=1)), abs=0.05)


@pytest.mark.parametrize("first", [1, 3])
def test_a_text_is_read_in_parts_as_it_is_at_once(read: Any, first: int) -> None:
    whole, of_whole = read([TEXT])
    _, past = read([TEXT[:first]])
    rest, of_rest = read([TEXT[first:]], past)
    assert [each.shape for each in of_rest] == [each.shape for each in of_whole]
    assert np.exp(rest["logarithms"][0]) == pytest.approx(np.exp(whole["logarithms"][0, first:]), abs=0.02)


def test_a_text_is_read_beside_others_as_it_is_alone(read: Any) -> None:
    alone, _ = read([TEXT])
    beside, past = read([TEXT, TEXT[::-1]])
    assert np.exp(beside["logarithms"][0]) == pytest.approx(np.exp(alone["logarithms"][0]), abs=0.02)
    assert {each.shape[0] for each in past} == {2}
