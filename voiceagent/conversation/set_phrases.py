"""Fixed phrases by language, for failures and delays."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SetPhrases:
    """Fixed phrases. apology: after a failure within a turn. refusal: after a filter refused the answer.
    filler: while an answer takes long. correction: before a correction of the agent's own words.
    connecting: before a colleague is called, if the agent has not spoken since the caller did.
    idle_prompts: questions to a silent caller, in order. goodbye: to a caller who stays silent. backchannels:
    of a listener, in turn; neutral ones, as they must fit whatever was said.
    """

    apology: str
    refusal: str
    filler: str
    correction: str
    connecting: str
    idle_prompts: tuple[str, ...]
    goodbye: str
    backchannels: tuple[str, ...]


ENGLISH = SetPhrases(
    apology="Sorry, something went wrong on my side. Could you say that again?",
    refusal="I'm sorry, I can't help with that. Is there anything else I can do?",
    filler="One moment.",
    correction="Sorry, let me correct that.",
    connecting="One moment, I'll connect you.",
    idle_prompts=("Are you still there?",),
    goodbye="Goodbye.",
    backchannels=("Mm-hmm.", "Okay."),
)
SET_PHRASES = {
    "en": ENGLISH,
    "de": SetPhrases(
        apology="Entschuldigung, bei mir ist etwas schiefgegangen. Können Sie das bitte noch einmal sagen?",
        refusal="Dabei kann ich Ihnen leider nicht helfen. Kann ich sonst etwas für Sie tun?",
        filler="Einen Moment bitte.",
        correction="Entschuldigung, das muss ich berichtigen.",
        connecting="Einen Moment, ich verbinde Sie.",
        idle_prompts=("Sind Sie noch da?",),
        goodbye="Auf Wiederhören.",
        backchannels=("Mhm.", "Okay."),
    ),
    "es": SetPhrases(
        apology="Perdone, algo ha fallado por mi parte. ¿Puede repetirlo, por favor?",
        refusal="Lo siento, con eso no puedo ayudarle. ¿Puedo hacer algo más por usted?",
        filler="Un momento, por favor.",
        correction="Perdón, debo corregirme.",
        connecting="Un momento, le paso con mi compañero.",
        idle_prompts=("¿Sigue ahí?",),
        goodbye="Adiós.",
        backchannels=("Ajá.", "Vale."),
    ),
}
"""By ISO 639 code. Agents in other languages use English unless the configuration sets the phrases."""
