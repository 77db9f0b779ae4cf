"""How turns are taken, the same for all calls of a server."""

from __future__ import annotations

from dataclasses import dataclass

from llmcore.compression.history_budget import HistoryBudget
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd
from voiceagent.conversation.history import HistoryLimits


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """How turns are taken, the same for all calls.

    preemptive_attempts: preemptive responses a turn may start, 0 for none.
    min_interruption_words: words beside backchannels that make a voice an interruption.
    stop_words: words of which one alone does, once it is settled.
    backchannels: word sequences of a listener who does not want the turn.
    misheard_backchannels: words that a recognizer hears in the hum of such a listener; they interrupt only
    beside others.
    resume_s: a voice within such a time of a turn's end goes on with it, and the response is taken back; 0
    for never.
    language: ISO 639 code of the one that is spoken, whose words tell of the end of a turn.
    prefill_while_speaking: have the LLM read the prompt while the caller speaks.
    idle_prompts: what the agent says to a caller who is silent for the idle timeout, one after the other.
    goodbye: what it says when there are no more of them, before it hangs up.
    max_tokens: cap of a response where the client sets none.
    stop: texts that end a spoken response.
    history: tokens that the conversation may take in a prompt.
    limits: how much a client may put into the conversation.
    distant_voice_db: a voice over the agent so many decibels lower than this caller's own, in the agent's
    silence too, comes from across the room; 0 for none.
    llm_end: how the LLM's word on the end of a turn is taken; None where it is not asked.
    """

    preemptive_attempts: int
    min_interruption_words: int
    stop_words: frozenset[str]
    backchannels: frozenset[tuple[str, ...]]
    misheard_backchannels: frozenset[str]
    resume_s: float
    language: str
    prefill_while_speaking: bool
    idle_prompts: tuple[str, ...]
    goodbye: str
    max_tokens: int
    stop: tuple[str, ...]
    history: HistoryBudget
    limits: HistoryLimits
    distant_voice_db: float = 0.0
    llm_end: LlmEnd | None = None
