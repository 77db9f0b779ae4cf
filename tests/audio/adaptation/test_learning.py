"""Moonshine in PyTorch: equal to the files it was made from, and able to learn."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
import pytest
from late_import import late
from sounds import said

from audio.pcm import Samples
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, END, numbers_of, tokens_of
from audio.recognizers.low_rank import write_corrections
from audio.recognizers.moonshine_decoder import EncoderDecoder
from audio.recognizers.moonshine_files import model_files
from audio.recognizers.moonshine_model import LoadedModel
from audio.wav import write_wav
from voiceagent.cli.main import main

torch = pytest.importorskip("torch", reason="adaptation needs torch: make train installs it")

from audio.adaptation.recordings import Example, groups, padded_batch  # noqa: E402

if TYPE_CHECKING:
    from audio.adaptation.network import MoonshineNetwork

adaptation, networks = late("audio.adaptation.adapt"), late("audio.adaptation.network")
torch.set_num_threads(1)  # threads that wait for each other stand still beside other tests' processes
QUESTION = "Is there a swimming pool?"


@pytest.fixture(autouse=True)
def installed_transformers() -> None:
    pytest.importorskip("transformers", reason="adaptation needs transformers: make train installs it")


@pytest.fixture(name="network")
def fresh() -> MoonshineNetwork:
    torch.manual_seed(0)
    encoder, decoder, _ = model_files(None)
    return networks.MoonshineNetwork(encoder, decoder, rank=4)


async def example(network: MoonshineNetwork, text: str) -> Example:
    sound = torch.tensor((await said(text)) / 32_768, dtype=torch.float32)
    numbers = numbers_of(LoadedModel(None).vocabulary)
    words = [token for word in text.split() for token in tokens_of(word, numbers)]
    return Example(network.front_end(sound), [BEGIN, *words, END])


def loss(files: EncoderDecoder, sound: Samples, tokens: list[int]) -> float:
    """The mean cross-entropy of each of the tokens behind those before it, or less where one is unlikely."""
    told = files.decode_tokens(files.cache_audio(files.encode(sound)), files.empty_cache, [tokens])[
        0
    ].of_text(0)
    rows = zip(told.tokens.tolist(), told.logarithms.tolist(), tokens[1:], strict=False)
    return -float(np.mean([dict(zip(row, of, strict=True)).get(token, of[-1]) for row, of, token in rows]))


async def test_before_it_learned_the_network_is_that_of_the_files(network: MoonshineNetwork) -> None:
    encoder, decoder, _ = model_files(None)
    files = EncoderDecoder(encoder, decoder)
    asked = await example(network, QUESTION)
    told = files.decode_tokens(
        files.cache_audio(files.encode(await said(QUESTION))), files.empty_cache, [asked.tokens]
    )[0].of_text(0)
    batch = padded_batch([asked])
    with torch.no_grad():
        logits = network(batch.features, batch.feature_mask, batch.tokens)[0].numpy()
    logarithms = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    of_network = np.take_along_axis(logarithms, told.tokens, axis=1)
    assert np.corrcoef(of_network.ravel(), told.logarithms.ravel())[0, 1] > 0.99
    assert (logits.argmax(1) == told.tokens[:, 0]).mean() > 0.8


async def test_what_an_example_is_filled_up_with_does_not_count(network: MoonshineNetwork) -> None:
    short, long = await example(network, "Yes."), await example(network, QUESTION)
    alone, together = padded_batch([short]), padded_batch([long, short])
    with torch.no_grad():
        wanted = network(alone.features, alone.feature_mask, alone.tokens)[0]
        found = network(together.features, together.feature_mask, together.tokens)[1, : len(wanted)]
    assert torch.allclose(wanted, found, atol=1e-2)


async def test_what_is_said_gets_likelier_to_network_and_corrected_files(
    network: MoonshineNetwork, tmp_path: Path
) -> None:
    asked = await example(network, QUESTION)
    losses = adaptation.learn(network, [[asked]] * 20)
    write_corrections(adapter := tmp_path / "adapter.npz", network.corrections(1.0))
    sound, (encoder, decoder, _) = await said(QUESTION), model_files(None)
    before, after = (
        loss(EncoderDecoder(encoder, decoder, given), sound, asked.tokens) for given in (None, adapter)
    )
    assert losses[-1] < 0.6 * losses[0]
    assert after < 0.6 * before


async def test_what_is_learned_is_an_adapter_that_the_recognizer_takes(tmp_path: Path) -> None:
    sound = await said(QUESTION)
    write_wav(tmp_path / "one.wav", sound, 16_000)
    (table := tmp_path / "table.tsv").write_text(f"one.wav\t{QUESTION}\n")
    adaptation.adapt(table, tmp_path / "adapter.npz", None, share=1.0, epochs=24)
    models = (LoadedModel(None, adapter=adapter) for adapter in (None, tmp_path / "adapter.npz"))
    before, after = (model.text(model.transcribe(sound, [], Event()).tokens) for model in models)
    assert before != after == QUESTION


@pytest.mark.parametrize(
    ("share", "epochs", "named"),
    [(0.0, 1, "share is 0.0"), (1.5, 1, "share is 1.5"), (0.4, 0, "epochs is 0")],
)
def test_a_number_that_is_not_allowed_is_named(tmp_path: Path, share: float, epochs: int, named: str) -> None:
    with pytest.raises(ValueError, match=f"{named}; allowed: "):
        adaptation.adapt(tmp_path / "none.tsv", tmp_path / "adapter.npz", None, share, epochs)


def test_a_file_that_cannot_be_written_is_named_before_anything_is_learned(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"there is no folder {tmp_path}/no"):
        adaptation.adapt(tmp_path / "none.tsv", tmp_path / "no/adapter.npz", None, 0.4, 1)


def test_the_command_names_a_table_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["adapt", str(tmp_path / "none.tsv")]) == 1
    assert f"adapt: {tmp_path}/none.tsv: no such file or directory" in capsys.readouterr().err


def test_each_example_is_in_one_group_and_groups_have_about_one_length() -> None:
    lengths = torch.arange(40, 240).tolist()
    examples = [Example(torch.zeros(length, 1), [BEGIN, END]) for length in lengths]
    found = groups(examples, seed=0)
    assert sorted(len(each.features) for group in found for each in group) == lengths
    for group in found:
        in_it = [len(each.features) for each in group]
        assert max(in_it) - min(in_it) < 80
    assert [len(group) for group in found] != [len(group) for group in groups(examples, seed=1)]
