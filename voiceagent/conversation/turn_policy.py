"""Rules of turn-taking, the same for all calls of a server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from llmcore.compression.history_budget import HistoryBudget
from llmcore.engine import LOGGED_IF_SET
from voiceagent.conversation.end_of_turn.llm_end import LlmEnd
from voiceagent.conversation.history_room import HistoryLimits


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """The part of the rules that depends on the language. Fields are those of `TurnPolicy`."""

    language: str
    stop_words: frozenset[str]
    backchannels: frozenset[tuple[str, ...]]
    misheard_backchannels: frozenset[str]
    hesitations: frozenset[str]
    idle_prompts: tuple[str, ...]
    goodbye: str
    correction: str | None


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """Rules of turn-taking, the same for all calls.

    preemptive_attempts: maximum number of preemptive responses for one turn, 0 for none.
    min_interruption_words: words other than backchannels that make a voice an interruption. stop_words:
    single words that interrupt once they are final. backchannels: word sequences of a listener who does not
    want the turn. misheard_backchannels: words that a recognizer returns for a hummed backchannel; they
    interrupt only together with others. resume_s: time after its end within which a turn can be resumed,
    which takes the response back; 0 for never. language: ISO 639 code of the spoken language.
    prefill_while_speaking: send the prompt to the LLM while the caller speaks. idle_prompts: phrases for a
    caller who is silent for the idle timeout, in order. goodbye: phrase after the last of them, before the
    agent hangs up. max_tokens: cap of a response if the client sets none. stop: texts that end a spoken
    response. history: maximum tokens of the conversation in a prompt. limits: for what a client adds to the
    conversation. distant_voice_db: a voice over the agent that is this much quieter than the caller's comes
    from across the room, if it stays so while the agent is silent; 0 disables it. llm_end: use of the LLM's
    end-of-turn score; None if the LLM is not asked. max_tool_rounds: responses with tool calls in one answer
    before one that may call none; None in logs of builds without this limit (see `tools_as_logged`).
    resume_as_whole: a voice that resumes a turn takes the response back by its length, and is recognized
    together with that turn; False in logs of builds that waited for a word and recognized it alone.
    correction: phrase before a correction by the back LLM; None if no answer is reviewed.
    hesitations: words that count as none where they alone resume a turn; empty in logs of builds that
    answered them. acting_s: silence added to the end of a doubtful turn whose answer calls a tool with
    effects; 0 in logs of builds that ran it as soon as they would have spoken. min_acting_s: least silence
    before such a call; 0 in logs of builds in which a turn that was certainly over needed none. hold_calls:
    hold such a call until that silence has passed if it comes after the end; False in logs of builds that
    ran it at once.
    preempt_without_words: start a preemptive response also after a voice without words, if an answer is due;
    False in logs of builds that started it after the end only.
    backchannel_after_s: length of a pause from which the agent may say a backchannel; 0 in logs of builds
    that said it as soon as the pause had been judged. idle_items: the silence of an idle caller becomes an
    item; False in logs of builds where it did not. answers_over_buffer: of audio that a client has not
    committed, only words hold the agent's own speech back, and nothing a client's request; False in logs of
    builds in which all of it did.
    joins_results: one response answers the results of the agent's tools and of the client's that one response
    called, and follows the instructions of these tools; False in logs of builds that answered them apart.
    waits_after_acknowledgement: "Sure." to a question that asks for more than a yes, or "Perfect." to a
    statement, may not be all; False in logs of builds that took it for a whole turn.
    languages: rules of each language of a call that serves several, the configured one first; () for one
    language.
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
    resume_as_whole: bool = False
    correction: str | None = None
    hesitations: frozenset[str] = frozenset()
    acting_s: float = 0.0
    min_acting_s: float = 0.0
    hold_calls: bool = False
    preempt_without_words: bool = False
    backchannel_after_s: float = 0.0
    idle_items: bool = False
    answers_over_buffer: bool = False
    joins_results: bool = False
    waits_after_acknowledgement: bool = False
    languages: tuple[LanguageRules, ...] = field(default=(), metadata=LOGGED_IF_SET)

    def in_language(self, code: str) -> TurnPolicy:
        rules = next(rules for rules in self.languages if rules.language == code)
        return replace(
            self,
            language=rules.language,
            stop_words=rules.stop_words,
            backchannels=rules.backchannels,
            misheard_backchannels=rules.misheard_backchannels,
            hesitations=rules.hesitations,
            idle_prompts=rules.idle_prompts,
            goodbye=rules.goodbye,
            correction=rules.correction,
        )

    @property
    def tools_as_logged(self) -> bool:
        """True to treat tools as builds without `max_tool_rounds` did, so that their logs replay: text
        follows the calls of its response, blank text is an item, and results wait until all is played.
        """
        return self.max_tool_rounds is None


class CurrentPolicy:
    """The policy of a call. A change of its language replaces it for all parts of the conversation at once.

    now: the policy in the language that is spoken.
    """

    def __init__(self, policy: TurnPolicy) -> None:
        self.now = policy
