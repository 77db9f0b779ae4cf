"""How long the pause in progress may be: from the caller's turn to what decides the end of turns."""

from __future__ import annotations

from voiceagent.conversation.commands import Command, RequireSilence
from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import judge
from voiceagent.conversation.settings import Eagerness
from voiceagent.conversation.turn.caller_turn import CallerTurn, Paused


def limit_pause(turn: CallerTurn, agent: str, eagerness: Eagerness, language: str) -> list[Command]:
    """Let the witnesses say how long the pause in progress may be.

    agent: its latest words before the turn, "" for none. language: ISO 639 code of the one that is spoken.
    """
    if not isinstance(turn.phase, Paused):
        return []
    evidence = TurnEvidence(
        turn.whole_text, agent, turn.pauses, turn.recognized.confidence, turn.phase.probability
    )
    return [RequireSilence(turn.item_id, judge(evidence, language_of(language), eagerness))]
