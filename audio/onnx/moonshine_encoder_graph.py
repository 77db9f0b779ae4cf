"""Moonshine's encoder as a new graph, with the weights of its file.

It takes two thirds of the original's time (`tests/bench/moonshine_cost.py`). Matrix codes are signed if the
processor has the instructions for that (VNNI); sums and roundings are the same. Attention and rotations are
onnxruntime's own operators (github.com/microsoft/onnxruntime, docs/ContribOperators.md). Rows are times
throughout, and a convolution is one product with concatenated rows, as in `silero_graph`.

The network (Jeffries et al., "Moonshine: Speech Recognition for Live Transcription and Voice Commands",
2024): three convolutions over the wave, then in each layer attention with rotated positions (Su et al.,
"RoFormer", 2021) and a feed-forward.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import TensorProto, helper

from audio.onnx.graph import MICROSOFT, Graph
from audio.onnx.runtime import OrtFile, onnx_session

MAX_STATES = 2_048
"""Maximum states (24 ms each, about) of an input: the number of positions in the rotation tables."""

_FREQUENCIES = "/rotary_emb/Expand", "/rotary_emb/MatMul"
_NORM_EPSILON = 1e-5
_END = np.iinfo(np.int64).max


def encoder_graph(file: OrtFile, heads: int, folder: Path) -> Path:
    """Write the graph to an empty folder and return its path.

    `wave` [1, samples] at 16 kHz to `states` [1, length, hidden]. heads: attention heads. Raises KeyError if
    the file is not an encoder of Moonshine, ValueError if its matrices do not have 8 bits, OSError if it
    cannot be written.
    """
    layers = sum(place.endswith(".self_attn.q_proj") for place in file.places)
    if not layers:
        raise ValueError("its matrices must have 8 bits")
    graph = _EncoderGraph(file, heads, folder)
    state = _front_end(graph)
    for layer in range(layers):
        place = f"layers.{layer}"
        state = _attend(graph, place, state)
        state = _feed_forward(graph, place, state)
    graph.norm(state, "layer_norm", "states")
    hidden = len(file.floats()["layer_norm.weight"])
    wave = helper.make_tensor_value_info("wave", TensorProto.FLOAT, [1, "samples"])
    states = helper.make_tensor_value_info("states", TensorProto.FLOAT, [1, "length", hidden])
    return graph.save([wave], [states])


def _front_end(graph: _EncoderGraph) -> str:
    """Add the convolutions: a state for each 24 ms or so, [1, length, hidden]."""
    floats = graph.file.floats()
    channel = graph.add("Unsqueeze", ["wave", graph.constant("one", np.array([1]))])
    frames = graph.file.restored("conv1.weight")
    kernel = graph.constant("conv1", frames)
    heard = graph.add("Conv", [channel, kernel], strides=[64], kernel_shape=[frames.shape[2]])
    times = graph.add("Transpose", [graph.add("Tanh", [heard])], perm=[0, 2, 1])
    # One group over all channels, as instance normalization of a single one (Wu and He, "Group
    # Normalization", 2018).
    shape, flat = graph.add("Shape", [times]), graph.constant("flat", np.array([1, 1, -1]))
    as_it_is = [
        graph.constant(name, np.full(1, each, np.float32)) for name, each in (("ones", 1), ("zeros", 0))
    ]
    on_scale = graph.add(
        "InstanceNormalization", [graph.add("Reshape", [times, flat]), *as_it_is], epsilon=_NORM_EPSILON
    )
    state = graph.add("Reshape", [on_scale, shape])
    for operator in ("Mul", "Add"):
        [number] = graph.file.floats_of(f"/groupnorm/{operator}")
        state = graph.add(operator, [state, graph.constant(f"groupnorm.{operator}", number.reshape(-1))])
    for name, stride in (("conv2", 3), ("conv3", 2)):
        kernels, bias = graph.file.restored(f"{name}.weight"), floats[f"{name}.bias"]
        beside = graph.neighbours(state, kernels.shape[2], stride)
        matrix = graph.constant(name, kernels.transpose(2, 1, 0).reshape(-1, kernels.shape[0]))
        sums = graph.add("Add", [graph.add("MatMul", [beside, matrix]), graph.constant(f"{name}.bias", bias)])
        state = graph.add("Gelu", [sums], domain=MICROSOFT)
    return state


def _attend(graph: _EncoderGraph, place: str, state: str) -> str:
    """Add a layer's self-attention with its residual connection."""
    near = graph.norm(state, f"{place}.input_layernorm")
    own = graph.product(near, [f"{place}.self_attn.{one}_proj" for one in "qkv"])
    query, key, value = graph.add_all("Split", [own], 3, axis=-1, num_outputs=3)
    seen = graph.add(
        "MultiHeadAttention", [graph.rotated(query), graph.rotated(key), value], **graph.attention
    )
    return graph.add("Add", [state, graph.product(seen, [f"{place}.self_attn.o_proj"])])


def _feed_forward(graph: _EncoderGraph, place: str, state: str) -> str:
    """Add a layer's feed-forward with its residual connection."""
    near = graph.norm(state, f"{place}.post_attention_layernorm")
    wide = graph.product(near, [f"{place}.mlp.fc1"], bias=f"{place}.mlp.fc1.bias")
    opened = graph.add("Gelu", [wide], domain=MICROSOFT)
    return graph.add(
        "Add", [state, graph.product(opened, [f"{place}.mlp.fc2"], bias=f"{place}.mlp.fc2.bias")]
    )


class _EncoderGraph(Graph):
    """A graph with the weights of a file."""

    def __init__(self, file: OrtFile, heads: int, folder: Path) -> None:
        super().__init__(folder)
        self.file = file
        self.attention = {"domain": MICROSOFT, "num_heads": heads}
        """Attributes of all attention operators."""
        frequencies = file.floats_of(*_FREQUENCIES)[0].reshape(-1)
        angles = np.arange(MAX_STATES)[:, np.newaxis] * frequencies[np.newaxis]
        self._rotations = [
            self.constant("position", np.array([0])),
            self.constant("cosines", np.cos(angles).astype(np.float32)),
            self.constant("sines", np.sin(angles).astype(np.float32)),
        ]
        self._rotated = 2 * len(frequencies)

    def neighbours(self, value: str, count: int, stride: int) -> str:
        """Concatenate every `stride`th row of [1, length, size] with the `count` - 1 rows after it."""
        axis, step = (
            self.constant(f"{value}.axis", np.array([1])),
            self.constant(f"{value}.step", np.array([stride])),
        )
        rows = []
        for at in range(count):
            begin = self.constant(f"{value}.begin_{at}", np.array([at]))
            end = self.constant(f"{value}.end_{at}", np.array([at + 1 - count or _END]))
            rows.append(self.add("Slice", [value, begin, end, axis, step]))
        return self.add("Concat", rows, axis=-1)

    def product(self, value: str, places: list[str], bias: str | None = None) -> str:
        matrices = [self.file.codes_at(place) for place in places]
        codes, scales, zeros = (
            np.concatenate([np.atleast_1d(one) for one in part], axis=-1)
            for part in zip(*matrices, strict=True)
        )
        if signed_products_are_exact():
            codes, zeros = ((each ^ 128).view(np.int8) for each in (codes, zeros))  # both minus 128
        widths = [one[0].shape[1] for one in matrices]
        name = places[0]
        inputs = [
            value,
            self.constant(f"{name}.codes", codes),
            self.constant(f"{name}.scales", np.repeat(scales, widths)),
            self.constant(f"{name}.zeros", np.repeat(zeros, widths)),
        ]
        if bias is not None:
            inputs.append(self.constant(bias, self.file.floats()[bias]))
        return self.add("DynamicQuantizeMatMul", inputs, domain=MICROSOFT)

    def norm(self, value: str, place: str, name: str | None = None) -> str:
        """Normalize a value (Ba et al., "Layer Normalization", 2016); name: of the output."""
        weight = self.constant(place, self.file.floats()[f"{place}.weight"])
        names = [name or f"{place}.normal"]
        return self.add_named("LayerNormalization", [value, weight], names, axis=-1, epsilon=_NORM_EPSILON)[0]

    def rotated(self, value: str) -> str:
        """Rotate keys or queries by their positions."""
        return self.add(
            "RotaryEmbedding",
            [value, *self._rotations],
            **self.attention,
            interleaved=1,
            rotary_embedding_dim=self._rotated,
        )


@cache
def signed_products_are_exact() -> bool:
    """Return True if this processor multiplies signed 8-bit codes as exactly as unsigned ones.

    Without VNNI the sum of two products saturates at 16 bits.
    """
    codes = np.full((64, 16), 127, np.int8)
    with TemporaryDirectory() as folder:
        graph = Graph(Path(folder))
        matrix = [graph.constant("codes", codes), graph.constant("scale", np.ones(1, np.float32))]
        inputs = ["row", *matrix, graph.constant("zero", np.zeros(1, np.int8))]
        graph.add_named("DynamicQuantizeMatMul", inputs, ["sums"], domain=MICROSOFT)
        row = helper.make_tensor_value_info("row", TensorProto.FLOAT, [1, len(codes)])
        sums = helper.make_tensor_value_info("sums", TensorProto.FLOAT, [1, codes.shape[1]])
        session = onnx_session(graph.save([row], [sums]))
    sums = session.run(None, {"row": np.ones((1, len(codes)), np.float32)})[0]
    return bool(np.allclose(sums, 127 * len(codes)))
