"""The endpointing delay: how long a pause of the caller must be to end the turn."""

from __future__ import annotations

from dataclasses import replace

from voiceagent.conversation.commands import Command, RequireSilence
from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import EndOfTurn, judge
from voiceagent.conversation.settings import Eagerness
from voiceagent.conversation.turn.caller_turn import AnswerSoFar, CallerTurn, Paused
from voiceagent.conversation.turn_policy import TurnPolicy

ANSWER_S = 0.4
"""Maximum extension of a turn while its answer has no audio yet: there would be silence anyway, and this way
the caller may continue the turn.
"""
BACKCHANNEL_SILENCE_S = 0.16
"""Endpointing delay after a backchannel over the agent: that of a turn that is certainly over. The delay by
probability held the agent for up to 2 s, as an "mm hmm" sounds unfinished. Words after it are a turn of their
own.
"""


def decide_end_of_turn(
    turn: CallerTurn, agent: str, eagerness: Eagerness, policy: TurnPolicy, acts: bool = False
) -> EndOfTurn:
    """Return the end-of-turn decision for the turn's transcript so far.

    agent: its latest text before the turn, "" for none. acts: its answer runs a tool with effects.
    """
    ends, llm_end = turn.recognition.ends, policy.llm_end
    probability = turn.phase.probability if isinstance(turn.phase, Paused) else None
    evidence = TurnEvidence(
        turn.whole_text,
        agent,
        pauses=len(turn.pauses_s),
        confidence=turn.recognition.confidence,
        probability=turn.recognition.complete if probability is None else probability,
        dictation=turn.dictation,
        llm=None if ends is None or llm_end is None else llm_end.nats(ends),
        before=turn.recognition.before,
        longest_pause_s=max(turn.pauses_s, default=0.0),
        resumed=turn.resumes is not None,
        acknowledges=policy.waits_after_acknowledgement,
    )
    acting_s, min_s = (policy.acting_s, policy.min_acting_s) if acts else (0.0, 0.0)
    return judge(evidence, language_of(policy.language), eagerness, acting_s, min_s)


def silence_before_acting_s(
    turn: CallerTurn, silent_to_s: float | None, agent: str, eagerness: Eagerness, policy: TurnPolicy
) -> float:
    """Return the silence, in seconds, that the turn lacks at its end before its answer may run a tool with
    effects.

    silent_to_s: see `TurnEnded`. agent: see `decide_end_of_turn`.
    """
    if not policy.hold_calls or silent_to_s is None or not turn.settled or not isinstance(turn.phase, Paused):
        return 0.0
    whole_s = decide_end_of_turn(turn, agent, eagerness, policy, acts=True).silence_s
    return min(max(whole_s - (silent_to_s - turn.phase.at_s), 0.0), policy.acting_s)


def shorten_backchannel_delay(
    turn: CallerTurn, agent: str, eagerness: Eagerness, policy: TurnPolicy
) -> list[Command]:
    """Set the endpointing delay after a backchannel over the agent, whose playout waits for the turn's end.

    agent: see `decide_end_of_turn`.
    """
    if not isinstance(turn.phase, Paused):
        return []
    decision = decide_end_of_turn(turn, agent, eagerness, policy)
    turn.phase = replace(turn.phase, rule=decision.rule)
    shortened = replace(decision, silence_s=min(decision.silence_s, BACKCHANNEL_SILENCE_S))
    return [RequireSilence(turn.item_id, shortened)]


def set_endpointing_delay(
    turn: CallerTurn,
    agent: str,
    eagerness: Eagerness,
    policy: TurnPolicy,
    answer: AnswerSoFar,
    max_silence_s: float | None = None,
) -> list[RequireSilence]:
    """Set the endpointing delay of the pause in progress.

    agent: see `decide_end_of_turn`. answer: to the turn's words. max_silence_s: see `TurnsClaimed`.
    """
    if not isinstance(turn.phase, Paused):
        return []
    more_s = ANSWER_S if answer.awaited else 0.0
    decision = decide_end_of_turn(turn, agent, eagerness, policy, answer.acts)
    if max_silence_s is not None:
        decision = replace(decision, silence_s=min(decision.silence_s, max_silence_s))
    turn.phase = replace(turn.phase, rule=decision.rule)
    return [RequireSilence(turn.item_id, decision, more_s)]
