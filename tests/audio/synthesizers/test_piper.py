from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from audio.synthesizers import Speech, Synthesizer, SynthesizerError
from audio.synthesizers.piper import PiperSynthesizer, find_voice
from voiceagent.engines.hosted import hosted

pytest.importorskip("piper", reason="Piper is not installed")


async def speeches(synthesizer: Synthesizer, text: str) -> list[Speech]:
    await synthesizer.start()
    spoken = [speech async for speech in synthesizer.speak(text)]
    await synthesizer.close()
    return spoken


async def start_error(**arguments: Any) -> str:
    with pytest.raises(SynthesizerError) as raised:
        await hosted(PiperSynthesizer, **arguments).start()
    return str(raised.value)


async def test_a_voice_is_found_by_its_name_in_a_folder(piper_voice: Path) -> None:
    synthesizer = hosted(
        PiperSynthesizer, voice=piper_voice.stem, data_dir=piper_voice.parent, local_files_only=True
    )
    assert await speeches(synthesizer, "Hello.")
    assert synthesizer.rate_hz == 22_050


async def test_length_scale_makes_it_slower(piper_voice: Path) -> None:
    normal = await speeches(hosted(PiperSynthesizer, voice=str(piper_voice)), "Hello.")
    slow = await speeches(hosted(PiperSynthesizer, voice=str(piper_voice), length_scale=2), "Hello.")
    lengths = [sum(len(speech.samples) for speech in spoken) for spoken in (normal, slow)]
    assert lengths[1] > lengths[0] * 1.8


@pytest.mark.parametrize(
    "text", ["It costs 42 pounds.", "One of the two on the left.", "Dr. Smith is in the bar."]
)
async def test_words_that_are_run_together_and_numbers_are_timed(piper_voice: Path, text: str) -> None:
    spoken = await speeches(hosted(PiperSynthesizer, voice=str(piper_voice)), text)
    words = [word for speech in spoken for word in speech.words]
    assert [text[word.character :].split(maxsplit=1)[0] for word in words] == text.split()
    assert all(before.at_samples < after.at_samples for before, after in pairwise(words))


async def test_a_voice_that_cannot_be_had_is_named_with_the_way_out(tmp_path: Path) -> None:
    error = await start_error(voice="en_US-nobody-low", data_dir=tmp_path, local_files_only=True)
    assert "'en_US-nobody-low'" in error
    assert str(tmp_path) in error
    assert f"python -m piper.download_voices --data-dir {tmp_path} en_US-nobody-low" in error
    assert "the path of an .onnx file" in error


async def test_what_is_neither_a_file_nor_a_name_is_refused(tmp_path: Path) -> None:
    assert "neither an .onnx file nor a name like" in await start_error(voice="nobody")
    assert "is not a file" in await start_error(voice=str(tmp_path / "nobody.onnx"))


async def test_a_file_that_is_no_voice_is_named(tmp_path: Path) -> None:
    (voice := tmp_path / "broken.onnx").write_text("nonsense")
    (tmp_path / "broken.onnx.json").write_text("{}")
    assert f"voice '{voice}' cannot be loaded" in await start_error(voice=str(voice))


async def test_a_speaker_the_voice_does_not_have_is_refused(piper_voice: Path) -> None:
    assert "speaker is 3; allowed for this voice: 0 to 1" in await start_error(
        voice=str(piper_voice), speaker=3
    )


def test_a_voice_that_is_missing_is_downloaded_by_pipers_own_loader(
    piper_voice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copied(voice: str, folder: Path) -> None:
        for suffix in (".onnx", ".onnx.json"):
            shutil.copy(piper_voice.with_suffix(suffix), folder / f"{voice}{suffix}")

    monkeypatch.setattr("piper.download_voices.download_voice", copied)
    found = find_voice("en_US-tones-low", tmp_path / "voices", local_files_only=False)
    assert found == tmp_path / "voices" / "en_US-tones-low.onnx"
    assert {path.name for path in found.parent.iterdir()} == {found.name, f"{found.name}.json"}


def test_a_download_that_breaks_off_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(voice: str, folder: Path) -> None:
        (folder / f"{voice}.onnx").write_bytes(b"half")
        raise ConnectionResetError("the network went away")

    monkeypatch.setattr("piper.download_voices.download_voice", broken)
    with pytest.raises(SynthesizerError, match="could not be downloaded: the network went away"):
        find_voice("en_US-tones-low", tmp_path, local_files_only=False)
    assert not list(tmp_path.iterdir())


def test_the_hubs_offline_switch_is_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SynthesizerError, match="downloading is switched off"):
        find_voice("en_US-tones-low", tmp_path, local_files_only=False)
