"""Moonshine's decoder as new graphs, with the weights of its file.

The original has a graph for the first tokens and one for each later token. Most of their time goes to shape
arithmetic, and to padding and copying the audio's keys and values for each text. Values are rounded on one
scale for all texts of a batch, so that a word's probability depends on the other texts. Here the audio's keys
and values are computed once for all texts, and one graph processes any number of tokens after any number:
attention, rotations and products are onnxruntime's own operators (github.com/microsoft/onnxruntime,
docs/ContribOperators.md), the matrices keep their 8 bits. A token takes two thirds of the time
(`tests/bench/moonshine_cost.py`).

The network (Jeffries et al., "Moonshine: Speech Recognition for Live Transcription and Voice Commands",
2024): in each layer attention to the text, with rotated positions (Su et al., "RoFormer", 2021), attention to
the audio, and a gated feed-forward (Shazeer, "GLU Variants Improve Transformer", 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from audio.onnx.graph import MICROSOFT, Graph
from audio.onnx.runtime import Codes, OrtFile

LIKELIEST = 8
"""Number of candidate next tokens to return."""
MAX_TOKENS = 1_024
"""Maximum length of a text: the number of positions in the rotation tables."""

BLOCK = 32
"""Number of values that share a rounding scale."""

_EIGHT_BIT_SUMS = 4  # MatMulNBits' accuracy level at which it multiplies 8 bits with 8
_KINDS = ("key", "value")
_MERGED = "_merged_0"  # suffix of constants that both graphs of the file share
_OUTPUT = "proj_out"
_FREQUENCIES = "/model/decoder/rotary_emb/Expand", "/model/decoder/rotary_emb/MatMul"
_EMBEDDING = "model.decoder.embed_tokens.weight" + _MERGED
_NORM_EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """Number of layers, attention heads per layer, and size of a head."""

    layers: int
    heads: int
    size: int

    @property
    def hidden(self) -> int:
        """Size of a state."""
        return self.heads * self.size

    def names(self, prefix: str) -> list[str]:
        """Return the names of the keys and values of all layers."""
        return [f"{prefix}_{kind}_{layer}" for layer in range(self.layers) for kind in _KINDS]


def decoder_shape(file: OrtFile) -> DecoderShape:
    """Return the shape of the decoder in a file.

    Raises KeyError if it is not a decoder of Moonshine, ValueError if its matrices do not have 8 bits.
    """
    _, heads, _, size = file.shape("past_key_values.0.decoder.key")
    layers = sum(place.endswith(".encoder_attn.q_proj") for place in file.places)
    if not layers:
        raise ValueError("its matrices must have 8 bits")
    return DecoderShape(layers, heads, size)


def sound_graph(file: OrtFile, folder: Path) -> Path:
    """Write the graph for the audio's keys and values to an empty folder and return its path.

    `states` [1, length, hidden] to `sound_key_0` and so on in each layer, [1, heads, length, size]. Raises
    KeyError if the file is not a decoder of Moonshine, OSError if it cannot be written.
    """
    shape = decoder_shape(file)
    graph = _MoonshineGraph(file, folder)
    places = [
        _place(layer, f"encoder_attn.{kind[0]}_proj") for layer in range(shape.layers) for kind in _KINDS
    ]
    products = graph.product("states", places)
    names = shape.names("sound")
    parts = graph.constant("parts", np.array([1, -1, len(names) * shape.heads, shape.size], np.int64))
    by_head = graph.add("Transpose", [graph.add("Reshape", [products, parts])], perm=[0, 2, 1, 3])
    graph.add_named("Split", [by_head], names, axis=1, num_outputs=len(names))
    states = _floats("states", [1, "length", shape.hidden])
    return graph.save([states], [_floats(name, [1, shape.heads, "length", shape.size]) for name in names])


def decoder_graph(file: OrtFile, folder: Path) -> Path:
    """Write the graph for tokens to an empty folder and return its path.

    Inputs: `tokens` [texts, count], the first of each at `position` [1]; keys and values of earlier tokens,
    `past_key_0` and so on, [texts, heads, position, size], and of the audio, `sound_key_0` and so on.
    `rated` [n] are tokens whose probability is wanted in any case.
    Outputs: the `likeliest` next tokens after each, [texts, count, LIKELIEST], the `logarithms` of their
    probabilities, those of the rated tokens, `of_rated` [texts, count, n], and `new_key_0` and so on, the
    past with the new tokens. Raises KeyError if the file is not
    a decoder of Moonshine, OSError if it cannot be written.
    """
    shape = decoder_shape(file)
    graph = _MoonshineGraph(file, folder)
    text = _TextShape(graph, shape)
    codes, scale, zero = file.codes(_EMBEDDING)
    gathered = graph.add("Gather", [graph.constant("embedding.codes", codes), "tokens"])
    of_codes = [graph.constant("embedding.scale", scale), graph.constant("embedding.zero", zero)]
    state = graph.add("DequantizeLinear", [gathered, *of_codes])
    for layer in range(shape.layers):
        state = _to_text(graph, text, layer, state)
        state = _to_sound(graph, text, layer, state)
        state = _feed_forward(graph, layer, state)
    logits = graph.product(graph.norm(state, "model.decoder.norm"), [_OUTPUT])
    _likeliest(graph, logits)
    past, sound = shape.names("past"), shape.names("sound")
    inputs = [
        helper.make_tensor_value_info("tokens", TensorProto.INT64, ["texts", "count"]),
        helper.make_tensor_value_info("position", TensorProto.INT64, [1]),
        helper.make_tensor_value_info("rated", TensorProto.INT64, ["n"]),
        *(_floats(name, ["texts", shape.heads, "past", shape.size]) for name in past),
        *(_floats(name, [1, shape.heads, "length", shape.size]) for name in sound),
    ]
    outputs = [
        helper.make_tensor_value_info("likeliest", TensorProto.INT64, ["texts", "count", LIKELIEST]),
        _floats("logarithms", ["texts", "count", LIKELIEST]),
        _floats("of_rated", ["texts", "count", "n"]),
        *(_floats(name, ["texts", shape.heads, "all", shape.size]) for name in shape.names("new")),
    ]
    return graph.save(inputs, outputs)


def _to_text(graph: _MoonshineGraph, text: _TextShape, layer: int, state: str) -> str:
    """Add a layer's causal self-attention with its residual connection."""
    near = graph.norm(state, _place(layer, "input_layernorm"))
    own = graph.product(near, [_place(layer, f"self_attn.{one}_proj") for one in "qkv"])
    query, key, value = graph.add_all("Split", [own], 3, axis=-1, num_outputs=3)
    past, new = ([f"{when}_{kind}_{layer}" for kind in _KINDS] for when in ("past", "new"))
    seen = f"seen_{layer}"
    inputs = [text.rotated(query), text.rotated(key), value, "", "", "", *past]
    graph.add_named("MultiHeadAttention", inputs, [seen, *new], **text.attention, unidirectional=1)
    return graph.add("Add", [state, graph.product(seen, [_place(layer, "self_attn.o_proj")])])


def _to_sound(graph: _MoonshineGraph, text: _TextShape, layer: int, state: str) -> str:
    """Add a layer's attention to the audio with its residual connection."""
    near = graph.norm(state, _place(layer, "post_attention_layernorm"))
    query = text.flat(graph.product(near, [_place(layer, "encoder_attn.q_proj")]))
    sound = [f"sound_{kind}_{layer}" for kind in _KINDS]
    heard = graph.add("MultiHeadAttention", [query, *sound], **text.attention)
    outputs = graph.product(heard, [_place(layer, "encoder_attn.o_proj")])
    return graph.add("Add", [state, text.unflat(outputs)])


def _feed_forward(graph: _MoonshineGraph, layer: int, state: str) -> str:
    """Add a layer's feed-forward with its residual connection."""
    near = graph.norm(state, _place(layer, "final_layernorm"))
    wide = graph.product(near, [_place(layer, "mlp.fc1")], bias=_place(layer, "mlp.fc1.bias"))
    values, gates = graph.add_all("Split", [wide], 2, axis=-1, num_outputs=2)
    opened = graph.add("QuickGelu", [gates], domain=MICROSOFT, alpha=1.0)  # x times its sigmoid
    gated = graph.add("Mul", [values, opened])
    last = graph.product(gated, [_place(layer, "mlp.fc2")], bias=_place(layer, "mlp.fc2.bias"))
    return graph.add("Add", [state, last])


def _likeliest(graph: _MoonshineGraph, logits: str) -> None:
    """Add the outputs: the most likely tokens, their log probabilities, and those of the rated tokens."""
    logarithms = graph.add("LogSoftmax", [logits], axis=-1)  # ReduceLogSumExp takes a fifth of a token's time
    count = graph.constant("count_told", np.array([LIKELIEST]))
    graph.add_named("Gather", [logarithms, "rated"], ["of_rated"], axis=-1)
    graph.add_named("TopK", [logarithms, count], ["logarithms", "likeliest"], axis=-1)


class _MoonshineGraph(Graph):
    """A graph with the weights of a file."""

    def __init__(self, file: OrtFile, folder: Path) -> None:
        super().__init__(folder)
        self._file = file

    def product(self, value: str, places: list[str], bias: str | None = None) -> str:
        """Multiply a value with the concatenated matrices at these places.

        Every `BLOCK` values are rounded to 8 bits on a scale of their own: a text's result depends neither on
        the other texts nor on how many of its tokens are processed at once.
        """
        matrices = [self._codes_at(place) for place in places]
        codes = np.concatenate([codes.T for codes, _, _ in matrices])
        scales, zeros = (
            np.concatenate([np.full(one[0].shape[1], one[part]) for one in matrices]) for part in (1, 2)
        )
        outputs, inputs = codes.shape
        blocks = -(-inputs // BLOCK)
        filled = np.repeat(zeros[:, np.newaxis], blocks * BLOCK, axis=1)
        filled[:, :inputs] = codes
        name = places[0]
        constants = [
            self.constant(f"{name}.codes", filled.reshape(outputs, blocks, BLOCK)),
            self.constant(f"{name}.scales", np.repeat(scales[:, np.newaxis], blocks, axis=1)),
            self.constant(f"{name}.zeros", np.repeat(zeros[:, np.newaxis], blocks, axis=1)),
        ]
        product = self.add(
            "MatMulNBits",
            [value, *constants],
            domain=MICROSOFT,
            K=inputs,
            N=outputs,
            bits=8,
            block_size=BLOCK,
            accuracy_level=_EIGHT_BIT_SUMS,
        )
        if bias is None:
            return product
        return self.add("Add", [product, self.constant(bias, self._file.floats()[bias + _MERGED])])

    def _codes_at(self, place: str) -> Codes:
        """Return the matrix at a place. A file without an output matrix multiplies with the embedding."""
        if place == _OUTPUT and place not in self._file.places:
            codes, scale, zero = self._file.codes(_EMBEDDING)
            return codes.T, scale, zero
        return self._file.codes_at(place)

    def norm(self, value: str, place: str) -> str:
        """Normalize a value (Ba et al., "Layer Normalization", 2016)."""
        weight = self.constant(place, self._file.floats()[f"{place}.weight{_MERGED}"])
        return self.add("LayerNormalization", [value, weight], axis=-1, epsilon=_NORM_EPSILON)

    def frequencies(self) -> NDArray[np.float32]:
        """Return the rotation of each pair of numbers, in radians per token."""
        return self._file.floats_of(*_FREQUENCIES)[0].reshape(-1)


class _TextShape:
    """Reshaping and rotation of a decoder's values.

    For attention to the audio, which all texts share, the tokens of all texts form one row.
    """

    def __init__(self, graph: _MoonshineGraph, shape: DecoderShape) -> None:
        self._graph = graph
        self.attention: dict[str, Any] = {"domain": MICROSOFT, "num_heads": shape.heads}
        """Attributes of all attention operators."""
        frequencies = graph.frequencies()
        angles = np.arange(MAX_TOKENS)[:, np.newaxis] * frequencies[np.newaxis]
        self._rotations = [
            graph.constant("cosines", np.cos(angles).astype(np.float32)),
            graph.constant("sines", np.sin(angles).astype(np.float32)),
        ]
        self._rotated = 2 * len(frequencies)
        self._one_row = graph.constant("one_row", np.array([1, -1, shape.hidden]))
        hidden = graph.constant("hidden", np.array([shape.hidden]))
        self._rows = graph.add("Concat", [graph.add("Shape", ["tokens"]), hidden], axis=0)

    def rotated(self, value: str) -> str:
        """Rotate keys or queries by their positions."""
        return self._graph.add(
            "RotaryEmbedding",
            [value, "position", *self._rotations],
            **self.attention,
            interleaved=1,
            rotary_embedding_dim=self._rotated,
        )

    def flat(self, value: str) -> str:
        """Reshape [texts, count, hidden] to [1, texts * count, hidden]."""
        return self._graph.add("Reshape", [value, self._one_row])

    def unflat(self, value: str) -> str:
        """Reverse `flat`."""
        return self._graph.add("Reshape", [value, self._rows])


def _place(layer: int, name: str) -> str:
    return f"model.decoder.layers.{layer}.{name}"


def _floats(name: str, dimensions: list[int | str]) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dimensions)
