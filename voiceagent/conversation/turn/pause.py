"""How long the pause in progress may be: from the caller's turn to what decides the end of turns."""

from __future__ import annotations

from voiceagent.conversation.commands import Command, JudgePitch, RequireSilence
from voiceagent.conversation.end_of_turn import SILENCES, EndOfTurnWords, TurnEvidence, completeness
from voiceagent.conversation.settings import Eagerness
from voiceagent.conversation.turn.caller_turn import CallerTurn, Paused


def limit_pause(
    turn: CallerTurn, agent: str, eagerness: Eagerness, table: EndOfTurnWords | None
) -> list[Command]:
    """Let the words, the turn model and the pitch say how long the pause in progress may be.

    agent: its latest words before the turn, "" for none. The pitch is asked for where it would change
    something; `PitchJudged` brings the turn here again.
    """
    pause = turn.phase
    if not isinstance(pause, Paused):
        return []
    evidence = TurnEvidence(
        turn.whole_text, agent, pause.probability, pause.falls, turn.recognized.confidence
    )
    degree = completeness(evidence, table)
    required = RequireSilence(SILENCES[eagerness][degree])
    # in doubt of the words the pitch changes nothing
    if degree == "preliminary" and not evidence.has_low_confidence and pause.falls is None:
        return [JudgePitch(turn.item_id, pause.at_s), required]
    return [required]
