"""The agent's voice in one call."""

from __future__ import annotations

from dataclasses import replace

import structlog

from audio.synthesizers import known_voices, takes_speed
from audio.synthesizers.voices import VoiceSettings
from voiceagent.conversation.settings import USUAL_VOICE, CallSettings
from voiceagent.session.services import Speaking
from voiceagent.session.set_phrases import SetPhrase


class CallVoice:
    """Voice, speed and language of the call: the newest settings, as far as the synthesizer has them.

    speaking: services for the language of the call. settings: of the voice, for the synthesizer.
    """

    def __init__(self, call_id: str, usual: Speaking) -> None:
        self._log = structlog.get_logger().bind(call=call_id)
        self._usual = self.speaking = usual
        self.settings = VoiceSettings()
        self._warned = set[str]()

    def configure(self, settings: CallSettings) -> None:
        """Apply these settings from the next response on, and prepare the set phrases in this voice.

        Warn, once per call, if the voice has a fixed speed, or if it does not exist. That changes nothing:
        Realtime clients name one of OpenAI's in every session.
        """
        if settings.speed != 1.0 and not takes_speed(self.speaking.synthesizer) and self._is_first("speed"):
            self._log.warning("speed_not_supported", speed=settings.speed)
        self._speak_language(settings.language)
        voice = self.find(settings.voice)
        if self.speaking is not self._usual:
            voice = self.speaking.voice.voice or voice
        self.settings = replace(self.speaking.voice, voice=voice, speed=settings.speed)
        self.speaking.voiced.prepare(self.settings)

    def find(self, wanted: str) -> str:
        """Return a voice by the synthesizer's name; for an unknown one the call's, warning once a call."""
        if wanted == USUAL_VOICE:
            return ""
        if known_voices(self.speaking.synthesizer).has(wanted):
            return wanted
        voice = self.settings.voice
        if self._is_first("voice"):
            self._log.warning("voice_not_available", voice=wanted, instead=voice or USUAL_VOICE)
        return voice

    def settings_of(self, own: str | None) -> VoiceSettings:
        """Return the settings for a response. own: name of its own voice, None for the call's."""
        return self.settings if own is None else replace(self.settings, voice=self.find(own))

    def speak(self, phrase: SetPhrase) -> SetPhrase:
        """Return a set phrase in this voice, or as it is while that is not prepared."""
        return self.speaking.voiced.find(phrase, self.settings)

    def _speak_language(self, code: str) -> None:
        """Speak this language from the next response on; "" for the configured one alone."""
        speaking = self._usual.in_language(code)
        if speaking is not self.speaking:
            self._log.info("language_changed", language=code)
            self.speaking = speaking

    def _is_first(self, subject: str) -> bool:
        """Return True if this call has not warned of the subject, and note that it does now."""
        is_first = subject not in self._warned
        self._warned.add(subject)
        return is_first
