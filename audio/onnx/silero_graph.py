"""Silero VAD's network for many windows at once: the weights of its file in a new ONNX graph.

The original runs its convolutions window by window, on matrices a few columns wide, and a window of a batch
costs nearly as much as one alone. Here a batch is one tall matrix, and a convolution one product with it
(`tests/bench/vad_cost.py`). The results equal the original's up to rounding, and no row depends on the
others.

The graph includes the network that detects the end of a voice (`voice_end_graph`), which needs the same
spectra.

The network: a short-time Fourier transform of four frames, four convolutions, of which two have stride 2, an
LSTM cell (Hochreiter and Schmidhuber, 1997), a linear layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from numpy.typing import NDArray
from onnx import numpy_helper

from audio.onnx.voice_end_graph import MEMORY, NODES, voice_end_weights

Weights = dict[str, NDArray[np.float32]]

WINDOWS, STATES = "windows", "states"
RESULTS = ("judgements", "new_states")
JUDGEMENTS = 3
"""Outputs per window: probability of speech, probability that a voice has ended, seconds since its end."""
INPUT_SAMPLES = 64 + 512
"""The end of the previous window, and the window."""
STATE = 2 * 128 + MEMORY
"""Size of a stream's state: the LSTM's, then that of the network for the end of a voice."""
_FREQUENCIES = 129
"""Of a frame's spectrum, from 0 to half the sample rate."""

_GRAPH = """
<ir_version: 8, opset_import: ["" : 18]>
silero (float[b, 576] windows, float[b, 320] states)
    => (float[b, 3] judgements, float[b, 320] new_states)
<
    int64[1] n0 = {0}, int64[1] n1 = {1}, int64[1] n2 = {2}, int64[1] n4 = {4}, int64[1] n5 = {5},
    int64[1] n6 = {6}, int64[1] n256 = {256}, int64[1] n384 = {384}, int64[1] n513 = {513},
    int64[1] n640 = {640}, int64[2] last_of_second_hop = {1, 127}, int64[2] before_first_of_last = {5, -129},
    int64[2] hop_and_sample = {1, 2}, int64[2] onward_and_back = {1, -1},
    int64[4] mirrored_64 = {0, 0, 0, 64}, int64[6] frame_on_either_side = {0, 1, 0, 0, 1, 0},
    int64[4] frame_before = {0, 128, 0, 0}, int64[3] hops_shape = {-1, 5, 128},
    int64[3] spectra_shape = {-1, 4, 129}, int64[2] of_128 = {-1, 128}, int64[2] of_384 = {-1, 384},
    int64[2] of_387 = {-1, 387}, int64[2] of_512 = {-1, 512}, int64[2] of_80 = {-1, 80},
    int64[3] state_sizes = {128, 128, 64}
>
{
    # Four frames of 256 samples, 128 apart; the window's end is mirrored to fill the last one. Cosines are
    # the same for samples n and 256 - n, and sines opposite: so a frame is folded in its middle, its samples
    # 1 to 128 with 255 to 128, and each product has half the size.
    padded = Pad <mode = "reflect"> (windows, mirrored_64)
    begins = Slice (padded, n1, n513, n1)
    begin_rows = Reshape (begins, of_128)
    hops = Reshape (padded, hops_shape)
    ends = Slice (hops, last_of_second_hop, before_first_of_last, hop_and_sample, onward_and_back)
    end_rows = Reshape (ends, of_128)
    sums = Add (begin_rows, end_rows)
    differences = Sub (begin_rows, end_rows)

    # The magnitudes of their spectra, [b, 4, 129].
    real = MatMul (sums, cosines)
    imaginary = MatMul (differences, sines)
    real_squares = Mul (real, real)
    imaginary_squares = Mul (imaginary, imaginary)
    power = Add (real_squares, imaginary_squares)
    magnitude_rows = Sqrt (power)
    magnitudes = Reshape (magnitude_rows, spectra_shape)

    # Each frame with its neighbours is a row, so that the first convolution is one product.
    framed = Pad (magnitudes, frame_on_either_side)
    frame_before_it = Slice (framed, n0, n4, n1)
    frame_itself = Slice (framed, n1, n5, n1)
    frame_behind_it = Slice (framed, n2, n6, n1)
    neighbours = Concat <axis = 2> (frame_before_it, frame_itself, frame_behind_it)
    neighbour_rows = Reshape (neighbours, of_387)
    linear_0 = Gemm (neighbour_rows, weights_0, bias_0)
    channels_0 = Relu (linear_0)

    # Of stride 2: the columns 0 and 2 of the four, then the first of the two. With a window's frames in one
    # row, what lies around a column is a slice of it.
    window_rows = Reshape (channels_0, of_512)
    row = Pad (window_rows, frame_before)
    around_column_0 = Slice (row, n0, n384, n1)
    around_column_2 = Slice (row, n256, n640, n1)
    columns = Concat <axis = 1> (around_column_0, around_column_2)
    column_rows = Reshape (columns, of_384)
    linear_1 = Gemm (column_rows, weights_1, bias_1)
    channels_1 = Relu (linear_1)
    halves = Reshape (channels_1, of_128)
    linear_2 = Gemm (halves, weights_2, bias_2)
    channels_2 = Relu (linear_2)
    linear_3 = Gemm (channels_2, weights_3, bias_3)
    seen = Relu (linear_3)

    # The LSTM cell.
    hidden_before, memory_before, before = Split <axis = 1> (states, state_sizes)
    seen_and_hidden = Concat <axis = 1> (seen, hidden_before)
    gates = Gemm (seen_and_hidden, cell_weights, cell_bias)
    input_gate, forget_gate, cell_gate, output_gate = Split <axis = 1, num_outputs = 4> (gates)
    take = Sigmoid (input_gate)
    new = Tanh (cell_gate)
    taken = Mul (take, new)
    keep = Sigmoid (forget_gate)
    kept = Mul (keep, memory_before)
    memory = Add (kept, taken)
    show = Sigmoid (output_gate)
    shown = Tanh (memory)
    hidden = Mul (show, shown)

    # The probability of a voice.
    positive = Relu (hidden)
    judgement = Gemm (positive, judge_weights, judge_bias)
    probabilities = Sigmoid (judgement)

    # Whether the voice has ended.
VOICE_END
    judgements = Concat <axis = 1> (probabilities, ended, ended_ago)
    new_states = Concat <axis = 1> (hidden, memory, after)
}
""".replace("VOICE_END", NODES)
"""Graph without weights, in ONNX's own language (github.com/onnx/onnx, docs/Syntax.md)."""


def silero_graph(path: Path) -> bytes:
    """Return the model in `path` (ONNX, for 16 kHz) as the new graph.

    `windows` [b, 64 + 512] and `states` [b, 320] to `judgements` [b, 3] and `new_states`, all float32. Raises
    OSError, KeyError or ValueError if the file is not that model.
    """
    weights = _arranged(_read_weights(path)) | voice_end_weights()
    model = onnx.parser.parse_model(_GRAPH)
    model.graph.initializer.extend(
        numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in weights.items()
    )
    return bytes(model.SerializeToString())


def _read_weights(path: Path) -> Weights:
    """Return the tensors of an ONNX file by name. Raises OSError, or ValueError if it is not one."""
    data = path.read_bytes()
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's own, which has no useful base
        raise ValueError(f"it is no ONNX file: {error}") from error
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def _arranged(file: Weights) -> Weights:
    """Return the weights, transposed for row-vector matmul, keyed by the graph's initializer names."""
    folded = file["model.stft.forward_basis_buffer"][:, 0, 1:129].T.copy()
    folded[127] /= 2  # the middle is added to itself
    weights = {
        "cosines": folded[:, :_FREQUENCIES],
        "sines": folded[:, _FREQUENCIES:],
        "cell_weights": np.concatenate([file[f"model.decoder.rnn.weight_{part}"].T for part in ("ih", "hh")]),
        "cell_bias": file["model.decoder.rnn.bias_ih"] + file["model.decoder.rnn.bias_hh"],
        "judge_weights": file["model.decoder.decoder.2.weight"][0],
        "judge_bias": file["model.decoder.decoder.2.bias"],
    }
    # The taps of each convolution that meet data: for the last two, the others fall on padding.
    taps: Sequence[tuple[int, ...]] = ((0, 1, 2), (0, 1, 2), (1, 2), (1,))
    for number, used in enumerate(taps):
        name = f"model.encoder.{number}.reparam_conv"
        weights[f"weights_{number}"] = np.concatenate([file[f"{name}.weight"][:, :, tap].T for tap in used])
        weights[f"bias_{number}"] = file[f"{name}.bias"]
    return weights
