"""Inputs of `Conversation.handle`: the events of a call.

Positions in the caller's audio are seconds of audio since the call began (`at_s`), never clock time;
positions in the agent's audio are seconds of one response's audio (`played_s`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from audio.pcm import Samples
from audio.recognizers import LanguageProbabilities
from audio.speech_events import InterruptionCandidate as InterruptionCandidate
from audio.speech_events import InterruptionConfirmed as InterruptionConfirmed
from audio.speech_events import SpeechPaused as SpeechPaused
from audio.speech_events import SpeechResumed as SpeechResumed
from audio.speech_events import SpeechStarted as SpeechStarted
from audio.speech_events import TurnDue as TurnDue
from audio.speech_events import TurnEnded as TurnEnded
from audio.speech_events import VoiceFaded as VoiceFaded
from audio.speech_events import VoiceLouder as VoiceLouder
from audio.speech_events import VoiceNoticed as VoiceNoticed
from audio.synthesizers import Speech
from llmcore.engine import LOGGED_IF_SET, FinishReason, ToolCall, Usage
from voiceagent.conversation.agent_events import AgentChanged as AgentChanged
from voiceagent.conversation.agent_events import AgentEvent as AgentEvent
from voiceagent.conversation.agent_events import DictationBegan as DictationBegan
from voiceagent.conversation.agent_events import GuidanceRequested as GuidanceRequested
from voiceagent.conversation.agent_events import HangUpRequested as HangUpRequested
from voiceagent.conversation.agent_events import HookFailed as HookFailed
from voiceagent.conversation.agent_events import LanguageSet as LanguageSet
from voiceagent.conversation.agent_events import McpListed as McpListed
from voiceagent.conversation.agent_events import ReplyRequested as ReplyRequested
from voiceagent.conversation.agent_events import SpeechRequested as SpeechRequested
from voiceagent.conversation.agent_events import SpellingExpected as SpellingExpected
from voiceagent.conversation.agent_events import ToolEvent as ToolEvent
from voiceagent.conversation.agent_events import ToolFinished as ToolFinished
from voiceagent.conversation.agent_events import ToolOutcome as ToolOutcome
from voiceagent.conversation.agent_events import ToolSlow as ToolSlow
from voiceagent.conversation.agent_events import TurnsClaimed as TurnsClaimed
from voiceagent.conversation.agent_events import UpdateRequested as UpdateRequested
from voiceagent.conversation.client_requests import ClientRequest as ClientRequest
from voiceagent.conversation.client_requests import ClipRequested as ClipRequested
from voiceagent.conversation.client_requests import InputCleared as InputCleared
from voiceagent.conversation.client_requests import InputCommitted as InputCommitted
from voiceagent.conversation.client_requests import ItemCreated as ItemCreated
from voiceagent.conversation.client_requests import ItemDeleted as ItemDeleted
from voiceagent.conversation.client_requests import ItemRetrieved as ItemRetrieved
from voiceagent.conversation.client_requests import ItemTruncated as ItemTruncated
from voiceagent.conversation.client_requests import KeyPressed as KeyPressed
from voiceagent.conversation.client_requests import OutputCleared as OutputCleared
from voiceagent.conversation.client_requests import PlayoutMeasured as PlayoutMeasured
from voiceagent.conversation.client_requests import ResponseCancelled as ResponseCancelled
from voiceagent.conversation.client_requests import ResponseRequested as ResponseRequested
from voiceagent.conversation.client_requests import SettingsChanged as SettingsChanged
from voiceagent.conversation.fragments import Fragment

Stage = Literal["recognizer", "llm", "synthesizer", "limits", "refusal"]
"""Stage that failed. limits: a request exceeds a limit. refusal: a filter of the LLM server."""

# ---- Events: the caller's voice (starts, pauses and ends are audio.speech_events') ----


@dataclass(frozen=True, slots=True)
class TranscriptChanged:
    """The recognizer's newest hypothesis of one turn. settled: it answers a flush. confidence, complete: 0 to
    1, see `Hypothesis`; None if the recognizer does not report them. earlier: the new transcripts of the
    turns that it resumes, oldest first, if all were recognized as a whole (`StartRecognition.continues`).
    languages: probabilities of a settled one, () unless the call serves several languages.
    """

    item_id: str
    text: str
    stable: str = ""
    settled: bool = False
    confidence: float | None = None
    complete: float | None = None
    earlier: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)
    languages: LanguageProbabilities = field(default=(), metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class TranscriptRevised:
    """The recognizer's second opinion of a turn that no voice can resume any more. earlier: of the turns that
    it resumed, oldest first.
    """

    item_id: str
    text: str
    earlier: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class TurnJudged:
    """The turn model's probability, 0 to 1, that the turn is complete at the pause in progress."""

    item_id: str
    probability: float


@dataclass(frozen=True, slots=True)
class TurnEndScored:
    """The LLM's score for an end of the turn after `words`: the natural logarithm of the probability."""

    item_id: str
    words: str
    log_probability: float


@dataclass(frozen=True, slots=True)
class SpokeOverAgent:
    """The turn that has just started began when `played_s` seconds of this response had been played,
    including the silence since its end.
    """

    response_id: str
    played_s: float


@dataclass(frozen=True, slots=True)
class EchoMeasured:
    """The voice over the agent is its own echo. delay_s: from the agent's audio to the echo. Until now it was
    not cancelled.
    """

    delay_s: float


@dataclass(frozen=True, slots=True)
class RecognitionFailed:
    """The recognizer failed in this turn."""

    item_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The client is connected. greeting: the agent's first words, "" for none."""

    greeting: str = ""


@dataclass(frozen=True, slots=True)
class CallerIdle:
    """The caller has been silent for the idle timeout, which ended at `at_s`."""

    at_s: float


@dataclass(frozen=True, slots=True)
class InferenceIdle:
    """Neither side has spoken for the time after which inference pauses, which ended at `at_s`."""

    at_s: float


@dataclass(frozen=True, slots=True)
class CallerWoke:
    """The caller speaks during a pause of inference. The events of the voice follow, from its start."""

    at_s: float


# ---- Events: a response in the making, and its playout


@dataclass(frozen=True, slots=True)
class FragmentReady:
    """The next speakable fragment (audio responses) or piece of text (text responses) was generated.

    filler: it is the prepared filler, played before the response's own text. apology: it is the prepared
    apology, played after it.
    """

    response_id: str
    fragment: Fragment
    filler: bool = field(default=False, metadata=LOGGED_IF_SET)
    apology: bool = field(default=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class SpeechReady:
    """The next audio of the fragment that is being synthesised."""

    response_id: str
    speech: Speech


@dataclass(frozen=True, slots=True)
class FragmentSpoken:
    """The audio of the current fragment is complete."""

    response_id: str


@dataclass(frozen=True, slots=True)
class ToolCallsReady:
    """The model called tools."""

    response_id: str
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class CallsDue:
    """The silence has lasted long enough for the response's calls with effects (`HoldCalls`)."""

    response_id: str


@dataclass(frozen=True, slots=True)
class ResponseWritten:
    """The LLM has finished the text of a spoken response that has tool calls or may be reviewed. Its audio
    may be incomplete. text: the full text, including fragments that are still to come.
    """

    response_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ResponseGenerated:
    """The response is fully generated and synthesised. opaque: data that the LLM server attached to the text;
    it is returned to that server with it.
    """

    response_id: str
    finish_reason: FinishReason
    usage: Usage
    opaque: str = field(default="", metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class ResponseFailed:
    """A stage of the response failed; no more output will come. permanent: the request was refused, and
    would be again.
    """

    response_id: str
    stage: Stage
    reason: str
    permanent: bool = field(default=False, metadata=LOGGED_IF_SET)


@dataclass(frozen=True, slots=True)
class ResponseReviewed:
    """The result of `ReviewResponse`. reply: the back LLM's, None if it failed or was late."""

    response_id: str
    reply: str | None


@dataclass(frozen=True, slots=True)
class ResponseLate:
    """The response's first audio is overdue."""

    response_id: str


@dataclass(frozen=True, slots=True)
class PreemptiveAllowed:
    """The LLM's load changed. allowed: True if it has capacity for preemptive responses."""

    allowed: bool


@dataclass(frozen=True, slots=True)
class HistorySummarised:
    """The result of `Summarise`: text that replaces the old turns in prompts from the next turn on."""

    text: str


@dataclass(frozen=True, slots=True)
class PlayoutSent:
    """All audio queued for the response has been handed to the transport."""

    response_id: str


@dataclass(frozen=True, slots=True)
class PlayoutPlayed:
    """The response's audio was played to its end."""

    response_id: str


@dataclass(frozen=True, slots=True)
class PlayoutStopped:
    """The result of `StopPlayout`: `played_s` seconds of the response were played."""

    response_id: str
    played_s: float


@dataclass(frozen=True, slots=True)
class CallerGone:
    """The call is over; the last event. response_id: the response in the playout, "" for none. played_s: how
    much of it was played.
    """

    response_id: str
    played_s: float


@dataclass(frozen=True, slots=True)
class UpstreamEvent:
    """An event from the realtime backend of a call that has no turn machine. For the log only. body: the
    event as JSON without its audio. sound: that audio, [n].
    """

    name: str
    body: str = field(default="", metadata={"formerly": "told"})
    sound: Samples = field(default_factory=lambda: np.zeros(0, np.int16))


VoiceEvent = (
    VoiceNoticed
    | VoiceFaded
    | SpeechStarted
    | VoiceLouder
    | InterruptionCandidate
    | InterruptionConfirmed
    | SpeechPaused
    | SpeechResumed
    | TurnDue
    | TurnEnded
)
"""Events of the caller's voice."""

EchoEvent = SpokeOverAgent | EchoMeasured
"""Events that tell the agent's own voice from the caller's."""

TurnEvent = TranscriptChanged | TurnJudged | TurnEndScored | RecognitionFailed
"""Events of recognition and turn-end detection."""

ResponseEvent = (
    FragmentReady
    | SpeechReady
    | FragmentSpoken
    | ToolCallsReady
    | CallsDue
    | ResponseWritten
    | ResponseGenerated
    | ResponseFailed
    | ResponseLate
    | PlayoutSent
    | PlayoutPlayed
    | PlayoutStopped
)
"""Events of a response."""

Event = (
    VoiceEvent
    | TurnEvent
    | EchoEvent
    | ResponseEvent
    | AgentEvent
    | ClientRequest
    | CallStarted
    | CallerIdle
    | InferenceIdle
    | CallerWoke
    | CallerGone
    | PreemptiveAllowed
    | ResponseReviewed
    | TranscriptRevised
    | HistorySummarised
    | UpstreamEvent
)
