"""A small Whisper that understands the demo's questions in synthetic voices, and nothing else: its training.

`python tests/support/small_whisper.py FOLDER` makes it on two cores, from espeak's voices alone, in less than
an hour. What it hears is cut at any word, as the growing window of a turn is, in the wide and the narrow
band, has silence behind it as `LoadedModel` puts it there, and now and then words before it.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np
import torch
from faster_whisper.feature_extractor import FeatureExtractor
from tiny_whisper import SPECIAL, convert, make_model, make_tokenizer

from audio.pcm import AudioFormat, Samples, decode, encode
from audio.recognizers.whisper_model import LoadedModel
from audio.resample import resample
from audio.synthesizers.espeak import EspeakSynthesizer
from examples.hotel_model.make_material import QUESTIONS
from voiceagent.conversation.words import words_of
from voiceagent.engines.hosted import hosted

SENTENCES = (
    *QUESTIONS,
    "I would like to book a double room for two nights.",
    "Can I have breakfast in my room tomorrow morning?",
    "We are two adults and one child.",
    "Do you have a swimming pool or a sauna?",
    "Good morning, what time is breakfast?",
    "If I arrive late, can I still check in?",
    "I am coming by car, where can I park it?",
    "Wait, what about parking?",
    "Stop, what time is check out?",
    "Thank you, goodbye.",
    "Yes, please.",
    "No, thank you.",
)
VOICES = ("en-us+f5", "en-us", "en-us+f2", "en-us+m3", "en-gb")
RATES = (145, 165, 185)
HELD_OUT = ("en-us+f3", 155)
"""A voice and a speed that it is not trained on."""
MIN_SAMPLES, SILENT_SAMPLES, STEP_SAMPLES = 8 * 16_000, 4 * 16_000, 320
"""What `LoadedModel` gives a model: the sound and 4 s of silence, 8 s at least."""
STEPS, BATCH = 2_400, 16
LEARNING_RATE = 1.5e-3
CUT, EMPTY, NARROW, TOLD = 0.45, 0.06, 0.4, 0.15
"""Parts of the examples that are cut, have no voice, come by telephone, and have words before them."""


@dataclass(frozen=True)
class Spoken:
    """A sentence in one voice: its sound [n] at 16 kHz, and of each word (index in text, first sample)."""

    text: str
    sound: Samples
    words: tuple[tuple[int, int], ...]

    def cut(self, samples: int) -> tuple[Samples, str]:
        """The first samples, and the words that have ended in them."""
        ends = [start for _, start in self.words[1:]] + [len(self.sound)]
        said = sum(end <= samples for end in ends)
        characters = self.words[said][0] if said < len(self.words) else len(self.text)
        return self.sound[:samples], self.text[:characters].rstrip()


async def speak(voice: str, words_per_minute: int) -> list[Spoken]:
    """All sentences in one voice."""
    synthesizer = hosted(EspeakSynthesizer, voice=voice, words_per_minute=words_per_minute)
    await synthesizer.start()
    spoken = []
    for text in SENTENCES:
        parts, words = [], []
        async for speech in synthesizer.speak(text):
            parts.append(speech.samples)
            words += [(timing.character, timing.at_samples) for timing in speech.words]
        rate_hz = synthesizer.rate_hz
        sound = resample(np.concatenate(parts), rate_hz, 16_000)
        spoken.append(Spoken(text, sound, tuple((at, start * 16_000 // rate_hz) for at, start in words)))
    await synthesizer.close()
    return spoken


def words_of_sentences() -> list[str]:
    """Each once."""
    return sorted({word for text in SENTENCES for word in text.replace(",", " ").rstrip(".?").split()})


class Trainer:
    """Trains a model on what it makes of the spoken sentences."""

    def __init__(self, spoken: list[Spoken]) -> None:
        self._spoken = spoken
        self._random = np.random.default_rng(1)
        self._features = FeatureExtractor()
        self.tokenizer = make_tokenizer(words_of_sentences())
        self._text_tokens = self.tokenizer.get_vocab_size()
        torch.manual_seed(1)
        self.model = make_model(
            self._text_tokens,
            d_model=144,
            encoder_layers=2,
            decoder_layers=2,
            heads=3,
            ffn_dim=432,
            dropout=0.05,
        )
        self._optimizer = torch.optim.AdamW(self.model.parameters(), LEARNING_RATE, weight_decay=0.01)

    def run(self) -> None:
        """All steps."""
        began_s, losses = time.monotonic(), []
        for step in range(STEPS):
            for group in self._optimizer.param_groups:
                group["lr"] = learning_rate(step)
            losses.append(self._step())
            if step % 50 == 49:
                print(
                    f"{step + 1} steps, {time.monotonic() - began_s:.0f} s: {np.mean(losses[-50:]):.3f}",
                    flush=True,
                )

    def _step(self) -> float:
        self.model.train()
        sounds, lines = zip(*(self._example() for _ in range(BATCH)), strict=True)
        longest = max(len(tokens) for tokens, _ in lines)
        tokens = torch.full((BATCH, longest), self._text_tokens)
        labels = torch.full((BATCH, longest), -100)
        for row, (line, wanted) in enumerate(lines):
            tokens[row, : len(line)] = torch.tensor(line)
            labels[row, : len(wanted)] = torch.tensor(wanted)
        loss = torch.nn.functional.cross_entropy(
            self._logits(torch.tensor(self._heard(sounds)), tokens).flatten(0, 1),
            labels.flatten(),
            label_smoothing=0.02,
        )
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimizer.step()
        return loss.item()

    def _heard(self, sounds: Sequence[np.ndarray]) -> np.ndarray:
        """The features [batch, 80, frames] of sounds [n] with the silence behind them."""
        samples = max(MIN_SAMPLES, max(map(len, sounds)) + SILENT_SAMPLES)
        windows = np.zeros((len(sounds), samples // STEP_SAMPLES * STEP_SAMPLES), np.float32)
        for window, sound in zip(windows, sounds, strict=True):
            window[: len(sound)] = sound
        return np.stack([self._features(window, padding=0) for window in windows]).astype(np.float32)

    def _logits(self, mels: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """The logits for fewer frames than the model is made for, which Whisper's own forward refuses."""
        encoder = self.model.model.encoder
        hidden = torch.nn.functional.gelu(encoder.conv1(mels))
        hidden = torch.nn.functional.gelu(encoder.conv2(hidden)).permute(0, 2, 1)
        hidden = hidden + encoder.embed_positions.weight[: hidden.shape[1]]
        for layer in encoder.layers:
            out = layer(hidden, None)
            hidden = out[0] if isinstance(out, tuple) else out
        hidden = encoder.layer_norm(hidden)
        decoded = self.model.model.decoder(input_ids=tokens, encoder_hidden_states=hidden, use_cache=False)
        return self.model.proj_out(decoded.last_hidden_state)

    def _example(self) -> tuple[np.ndarray, tuple[list[int], list[int]]]:
        """Some sound [n], and the tokens of what is said in it with what is to follow each (-100: none)."""
        random = self._random
        spoken = self._spoken[random.integers(len(self._spoken))]
        sound, text = spoken.sound, spoken.text
        if random.random() < CUT:
            sound, text = spoken.cut(int(random.integers(2_000, len(sound))))
        if random.random() < EMPTY:
            sound, text = sound[:0], ""
        before, after = random.integers(0, 8_000), random.integers(0, 12_000)
        sound = np.concatenate([np.zeros(before, np.int16), sound, np.zeros(after, np.int16)])
        if random.random() < NARROW:
            sound = telephone(sound)
        loud = sound * 10 ** random.uniform(-1.0, 0.1) + random.normal(
            0, 10 ** random.uniform(-0.5, 1.7), len(sound)
        )
        told = ""
        if random.random() < TOLD:
            told = self._spoken[random.integers(len(self._spoken))].text
        return np.clip(loud, -32_768, 32_767).astype(np.float32) / 32_768, self._line(told, text)

    def _line(self, told: str, text: str) -> tuple[list[int], list[int]]:
        special = {name: self._text_tokens + index for index, name in enumerate(SPECIAL)}
        before = [special["<|startofprev|>"], *self.tokenizer.encode(f" {told}").ids] if told else []
        said = self.tokenizer.encode(f" {text}").ids if text else []
        tokens = [*before, special["<|startoftranscript|>"], special["<|notimestamps|>"], *said]
        wanted = [-100] * len(before) + [*tokens[len(before) + 1 :], special["<|endoftext|>"]]
        if not text:  # what it says before all else tells that nobody speaks
            wanted[len(before)] = special["<|nospeech|>"]
        return tokens, wanted

    def save(self, folder: Path) -> None:
        """Convert it into the folder, as a real one is."""
        convert(self.model.eval(), self.tokenizer, folder)


def learning_rate(step: int) -> float:
    """It warms up, and falls along a cosine."""
    return LEARNING_RATE * min(1.0, step / 100) * 0.5 * (1 + math.cos(math.pi * step / STEPS))


def telephone(sound: Samples) -> Samples:
    """It through G.711 at 8 kHz."""
    narrow = resample(sound, 16_000, 8_000)
    return resample(decode(encode(narrow, AudioFormat.PCMU), AudioFormat.PCMU), 8_000, 16_000)


async def spoken_sentences() -> list[Spoken]:
    """All sentences in all voices and speeds."""
    return [one for voice in VOICES for rate in RATES for one in await speak(voice, rate)]


def understood(folder: Path, spoken: list[Spoken]) -> int:
    """Return how many of the sentences, wide and narrow, the model in a folder transcribes without error."""
    model = LoadedModel(str(folder), "cpu", "int8", ("en",), None, True, 1, 1)
    quiet = np.zeros(4_000, np.int16)
    right = 0
    for one in spoken:
        for sound in (one.sound, telephone(one.sound)):
            found = model.decode(np.concatenate([quiet, sound, quiet]), "", Event())
            right += words_of(" ".join(segment.text for segment in found)) == words_of(one.text)
    return right


if __name__ == "__main__":
    torch.set_num_threads(2)
    trainer = Trainer(asyncio.run(spoken_sentences()))
    trainer.run()
    trainer.save(Path(sys.argv[1]))
    for voice in ((VOICES[0], RATES[1]), HELD_OUT):
        heard = asyncio.run(speak(*voice))
        print(f"{voice}: {understood(Path(sys.argv[1]), heard)} of {2 * len(heard)} sentences")
