"""The line of the system prompt that names the language of the answers."""

from __future__ import annotations

_LINES = {
    "en": "Answer in English.",
    "de": "Antworte auf Deutsch.",
    "es": "Responde en español.",
    "fr": "Réponds en français.",
    "it": "Rispondi in italiano.",
    "nl": "Antwoord in het Nederlands.",
    "pl": "Odpowiadaj po polsku.",
    "pt": "Responda em português.",
    "cs": "Odpovídej česky.",
    "da": "Svar på dansk.",
    "fi": "Vastaa suomeksi.",
    "hi": "हिन्दी में उत्तर दें।",
    "ja": "日本語で答えてください。",
    "ko": "한국어로 대답하세요.",
    "sv": "Svara på svenska.",
    "tr": "Türkçe yanıt ver.",
    "zh": "请用中文回答。",
    "hu": "Magyarul válaszolj.",
    "nb": "Svar på norsk.",
    "ro": "Răspunde în română.",
}
"""By ISO 639 code, each in its own language."""


def answer_line(language: str) -> str:
    """Return the line for a language, by its ISO 639 code; in English if it has none of its own."""
    return _LINES.get(language) or f'Answer in the language with the ISO 639 code "{language}".'


def with_answer_line(instructions: str, language: str) -> str:
    """Return instructions that end with the line, so that calls in all languages share the cached
    beginning of the prompt.

    language: "" for a call in the configured language alone, which needs none.
    """
    if not language:
        return instructions
    return f"{instructions}\n\n{answer_line(language)}" if instructions else answer_line(language)
