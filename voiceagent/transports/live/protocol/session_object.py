"""Models of a Live session: its start, its updates, and its initial history.

Reference: `openai/types/live` of the `openai` package 3.57. Fields that this server cannot honour are refused
by the validators here, with the reason.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PlainValidator, Tag, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.transports.live.protocol.permissions import ClientConfig
from voiceagent.transports.realtime.protocol.errors import Wire
from voiceagent.transports.realtime.protocol.session_object import FunctionTool as RealtimeFunctionTool
from voiceagent.transports.realtime.protocol.session_object import McpServerTool, ToolChoice, Voice

MAX_HISTORY = 128
"""Messages of the history that a session starts with."""
MAX_DELAY_MS = 600_000
"""Ten minutes: longer than any caller waits."""
MAX_IDLE_S = 86_400
"""A day: more than any pause that matters, and a number that a timer takes."""
ACKNOWLEDGEMENT_DELAY_MS = 400
"""Delay where the client sets none. OpenAI's default is 0 except with Decisions (400). A fixed phrase that
starts at once would delay the answer of a tool that takes 100 ms.
"""


def _none_but(reason: str, *allowed: object) -> PlainValidator:
    def check(given: object) -> object:
        if given is not None and given not in allowed:
            raise PydanticCustomError("not_supported", "{reason}", {"reason": reason})
        return given

    return PlainValidator(check)


_NO_CONNECTOR = "this server has no connectors and no tunnels; name the MCP server's server_url instead"


class PcmFormat(Wire):
    """16-bit linear PCM, little-endian, mono."""

    type: Literal["audio/pcm"]
    rate: Literal[16_000, 24_000]


class PcmuFormat(Wire):
    """G.711 mu-law."""

    type: Literal["audio/pcmu"]
    rate: Literal[8_000] = 8_000


class PcmaFormat(Wire):
    """G.711 A-law."""

    type: Literal["audio/pcma"]
    rate: Literal[8_000] = 8_000


Format = Annotated[PcmFormat | PcmuFormat | PcmaFormat, Field(discriminator="type")]


class AudioOutput(Wire):
    """Field `audio.output`. A voice that the synthesizer does not have is only shown."""

    voice: Voice = None


class Audio(Wire):
    """Field `audio`. format: of both directions."""

    format: Format | None = None
    output: AudioOutput | None = None


class FunctionTool(RealtimeFunctionTool):
    """A function that the model may call. strict: no effect."""

    strict: bool | None = None


class McpTool(McpServerTool):
    """An MCP server, which is reached by its URL alone."""

    connector_id: Annotated[None, _none_but(_NO_CONNECTOR)] = None
    tunnel_id: Annotated[None, _none_but(_NO_CONNECTOR)] = None


Tool = Annotated[FunctionTool | McpTool, Field(discriminator="type")]


class AllowedFunction(Wire):
    """A function of the backend that it may call."""

    type: Literal["function"]
    name: str


class AllowedMcpTool(Wire):
    """A tool of an MCP server that the backend may call; all of the server's without a name."""

    type: Literal["mcp"]
    server_label: str
    name: str | None = None


class AllowedTools(Wire):
    """The tool choice that restricts the backend to some of its tools. mode: the choice among them."""

    type: Literal["allowed_tools"]
    tools: Annotated[
        list[Annotated[AllowedFunction | AllowedMcpTool, Field(discriminator="type")]], Field(fail_fast=True)
    ]
    mode: Literal["none", "auto", "required"] | None = None


def _kind_of_choice(given: Any) -> str:
    named = given.get("type") if isinstance(given, dict) else getattr(given, "type", None)
    return "allowed_tools" if named == "allowed_tools" else "choice"


BackendToolChoice = Annotated[
    Annotated[AllowedTools, Tag("allowed_tools")] | Annotated[ToolChoice, Tag("choice")],
    Discriminator(_kind_of_choice),
]
_Delay = Annotated[int, Field(ge=0, le=MAX_DELAY_MS)]


class Reasoning(Wire):
    """Field `reasoning`. No effect: the engine of this server is configured by its owner."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    summary: Literal["concise", "detailed", "auto"] | None = None


class Text(Wire):
    """Field `text`. No effect."""

    verbosity: Literal["low", "medium", "high"] | None = None


class Responses(Wire):
    """The backend, or changes of it: this server's LLM and tools, whatever model is named."""

    model: str | None = None
    instructions: str | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    parallel_tool_calls: bool | None = None
    reasoning: Reasoning | None = None
    service_tier: (
        Literal["auto", "default", "fast_tier_temp_pilot", "flex", "priority", "ultrafast"] | None
    ) = None
    text: Text | None = None
    tool_choice: BackendToolChoice = None
    tools: Annotated[list[Tool], Field(fail_fast=True)] | None = None


class ClientDelegation(Wire):
    """Delegation to the client's application."""

    type: Literal["client"] = "client"
    acknowledgement_delay_ms: _Delay | None = None


class ResponsesDelegation(Wire):
    """Delegation to the backend."""

    type: Literal["responses"]
    responses: Responses
    acknowledgement_delay_ms: _Delay | None = None


class ResponsesDelegationUpdate(Wire):
    """Changes of a delegation to the backend."""

    type: Literal["responses"]
    responses: Responses | None = None
    acknowledgement_delay_ms: _Delay | None = None


class DecisionsDelegation(Wire):
    """Delegation to the Decisions API, which is refused: this server has no such API."""

    type: Literal["decisions"]

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, given: Any) -> Any:
        message = "there is no Decisions API here; allowed: 'client', 'responses'"
        raise PydanticCustomError("not_supported", "{reason}", {"reason": message})


Delegation = Annotated[
    ClientDelegation | ResponsesDelegation | DecisionsDelegation, Field(discriminator="type")
]
DelegationUpdate = Annotated[
    ClientDelegation | ResponsesDelegationUpdate | DecisionsDelegation, Field(discriminator="type")
]


class TextPart(Wire):
    """The text of a message of the initial history."""

    text: str
    type: Literal["input_text"] | None = None


class AssistantTextPart(Wire):
    """The text of the assistant's message of the initial history."""

    text: str
    type: Literal["text", "output_text"] | None = None


class _Message(Wire):
    id: str | None = None
    status: Literal["incomplete", "completed"] | None = None
    type: Literal["message"] | None = None


class InputMessage(_Message):
    """A message of the initial history that is not the assistant's."""

    role: Literal["developer", "user"]
    content: Annotated[list[TextPart], Field(min_length=1, max_length=1)]


class AssistantMessage(_Message):
    """A message of the assistant in the initial history."""

    role: Literal["assistant"]
    content: Annotated[list[AssistantTextPart], Field(min_length=1, max_length=1)]


InitialItem = Annotated[InputMessage | AssistantMessage, Field(discriminator="role")]
_NO_DATA_CHANNEL = "it restricts WebRTC's data channel, and this is a WebSocket; leave it out"
_NO_FORMAT = "WebRTC negotiates the format of audio itself; leave it out"
_NO_TRIGGERS = "there is no Decisions API here; allowed: an empty list"
Triggers = Annotated[list[Any] | None, _none_but(_NO_TRIGGERS, [])]


class WakePolicy(Wire):
    """Field `wake_policy`: what ends a pause of inference. vad_threshold: speech probability."""

    type: Literal["speech"]
    vad_threshold: Annotated[float, Field(ge=0, le=1)] = 0.5


class SessionConfig(Wire):
    """Field `session` of `session.start`. idle_timeout_s, wake_policy: OpenAI has them over WebRTC only."""

    model: str
    audio: Audio | None = None
    client: Annotated[ClientConfig | None, _none_but(_NO_DATA_CHANNEL)] = None
    delegation: Delegation | None = None
    idle_timeout_s: Annotated[int, Field(ge=1, le=MAX_IDLE_S)] | None = None
    input: Annotated[list[InitialItem], Field(max_length=MAX_HISTORY, fail_fast=True)] | None = None
    instructions: str | None = None
    safety_identifier: str | None = None
    store: bool | None = None
    triggers: Triggers = None
    wake_policy: WakePolicy | None = None


class MediaAudio(Audio):
    """Field `audio` of a session whose transport negotiates the format."""

    format: Annotated[Format | None, _none_but(_NO_FORMAT)] = None


class MediaSessionConfig(SessionConfig):
    """Field `session` of a request for a session over WebRTC."""

    audio: MediaAudio | None = None
    client: ClientConfig | None = None


class SessionUpdateConfig(Wire):
    """Field `session` of `session.update`."""

    delegation: DelegationUpdate | None = None
    triggers: Triggers = None


class _ForkConfig(Wire):
    delegation: ResponsesDelegationUpdate | None = None
    store: bool | None = None


class ForkAudio(Wire):
    """Field `audio` of a fork over WebSocket."""

    format: Format | None = None


class ForkConfig(_ForkConfig):
    """Field `session` of a fork over WebSocket. Omitted fields are those of the stored session."""

    audio: ForkAudio | None = None
    client: Annotated[None, _none_but(_NO_DATA_CHANNEL)] = None


class MediaForkConfig(_ForkConfig):
    """Field `session` of a fork over WebRTC."""

    audio: Annotated[None, _none_but(_NO_FORMAT)] = None
    client: ClientConfig | None = None
