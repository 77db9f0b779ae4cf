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
    stop_words: words of which a single one does so, once it is settled.
    backchannels: word sequences of a listener who does not want the turn.
    misheard_backchannels: words that a recognizer hears in the hum of such a listener; they interrupt only
    beside others.
    resume_s: how soon after a turn's end a voice goes on with it, so that the response is taken back; 0 for
    never.
    language: ISO 639 code of the language that is spoken.
    prefill_while_speaking: have the LLM read the prompt while the caller speaks.
    idle_prompts: what the agent says to a caller who is silent for the idle timeout, one after the other.
    goodbye: what it says when there are no more of them, before it hangs up.
    max_tokens: cap of a response where the client sets none.
    stop: texts that end a spoken response.
    history: tokens that the conversation may take in a prompt.
    limits: how much a client may put into the conversation.
    distant_voice_db: how much lower than this caller's own a voice over the agent is that comes from across
    the room, if it stays so in the agent's silence; 0 for none.
    llm_end: how the LLM's word on the end of a turn is taken; None where it is not asked.
    max_tool_rounds: responses that call tools within one answer, before one that may not; None in the log of
    a build that had no such limit (see `tools_as_logged`).
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
    max_tool_rounds: int | None = None

    @property
    def tools_as_logged(self) -> bool:
        """Whether tools are treated as builds without `max_tool_rounds` did, so that their logs replay: words
        stand behind the calls of their response, blank words are an item, and results wait until all is
        played.
        """
        return self.max_tool_rounds is None
