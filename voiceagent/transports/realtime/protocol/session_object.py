"""Models of `session` in a `session.update`. All fields except types are optional."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator
from pydantic_core import PydanticCustomError

from voiceagent.conversation.mcp import mcp_choice
from voiceagent.conversation.settings import MAX_OUTPUT_TOKENS, Eagerness, Modality, TokenLimit
from voiceagent.transports.realtime.protocol.errors import Wire
from voiceagent.transports.realtime.protocol.stored_prompts import StoredPrompt


def _output_tokens(given: object) -> TokenLimit | None:
    if given is None or (type(given) is int and 1 <= given <= MAX_OUTPUT_TOKENS):
        return given
    if given == "inf":
        return "inf"
    raise PydanticCustomError("output_tokens", 'allowed: 1 to 4096, or "inf"')


def _voice(given: object) -> str | dict[str, str] | None:
    name = given["id"] if isinstance(given, dict) and given.keys() == {"id"} else given
    if given is None or (isinstance(name, str) and name):
        return given if isinstance(given, str | dict) else None
    raise PydanticCustomError("voice", 'allowed: a name, or {"id": name}')


def _tool_choice(given: object) -> str | None:
    if given is None or given in ("auto", "none", "required"):
        return given if given is None else str(given)
    match given:
        case {"type": "function", "name": str(name), **more} if not more:
            return name
        case {"type": "mcp", "server_label": str(label), **more} if more.keys() <= {"name"}:
            tool = more.get("name")
            if tool is None or isinstance(tool, str):
                return mcp_choice(label, tool or "")
    allowed = (
        'allowed: "auto", "none", "required", {"type": "function", "name": name}, or '
        '{"type": "mcp", "server_label": label, "name": name}'
    )
    raise PydanticCustomError("tool_choice", allowed)


def _modality(given: object) -> Modality | None:
    if given is None:
        return None
    if given == ["audio"]:
        return "audio"
    if given == ["text"]:
        return "text"
    raise PydanticCustomError("modalities", 'allowed: ["audio"] (which has a transcript too) or ["text"]')


def _prompt(given: object) -> None:
    if given is not None:
        raise PydanticCustomError("prompt", "allowed: null; a stored prompt is the session's")


OutputTokens = Annotated[TokenLimit | None, PlainValidator(_output_tokens)]
Speed = Annotated[float, Field(ge=0.25, le=1.5)]
Voice = Annotated[str | dict[str, str] | None, PlainValidator(_voice)]
ToolChoice = Annotated[str | None, PlainValidator(_tool_choice)]
OutputModalities = Annotated[Modality | None, PlainValidator(_modality)]
Prompt = Annotated[None, PlainValidator(_prompt)]
Temperature = Annotated[float, Field(ge=0, le=2)]
_Milliseconds = Annotated[int, Field(ge=1, le=3_600_000)]


class PcmFormat(Wire):
    """16-bit linear PCM, little-endian, mono."""

    type: Literal["audio/pcm"]
    rate: Literal[24_000] | None = None


class G711Format(Wire):
    """G.711. The AI SDK names its rate too."""

    type: Literal["audio/pcmu", "audio/pcma"]
    rate: Literal[8_000] | None = None


Format = Annotated[PcmFormat | G711Format, Field(discriminator="type")]


class ServerVad(Wire):
    """Turn detection by silence alone."""

    type: Literal["server_vad"]
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    prefix_padding_ms: Annotated[int, Field(ge=0, le=1000)] | None = None
    silence_duration_ms: Annotated[int, Field(ge=0, le=10_000)] | None = None
    idle_timeout_ms: _Milliseconds | None = None
    create_response: bool | None = None
    interrupt_response: bool | None = None


class SemanticVad(Wire):
    """Turn detection by silence and transcript."""

    type: Literal["semantic_vad"]
    eagerness: Eagerness | None = None
    create_response: bool | None = None
    interrupt_response: bool | None = None


Effort = Literal["minimal", "low", "medium", "high", "xhigh"]
_Keyword = Annotated[str, Field(max_length=100)]


class Transcription(Wire):
    """Transcription settings. The server's recognizer is used, whatever model is named.

    prompt: text with words that the caller is likely to say. keywords: such words and names themselves.
    """

    model: str | None = None
    language: str | None = None
    languages: Annotated[list[str], Field(fail_fast=True)] | None = None
    prompt: str | None = None
    keywords: Annotated[list[_Keyword], Field(max_length=256, fail_fast=True)] | None = None
    delay: Effort | None = None


class Reasoning(Wire):
    """Field `reasoning`, without effect."""

    effort: Effort | None = None


class Tracing(Wire):
    """Field `tracing`, without effect."""

    workflow_name: str | None = None
    group_id: str | None = None
    metadata: Any = None


class _TokenLimits(Wire):
    post_instructions: Annotated[int, Field(ge=0)] | None = None


class RetentionRatio(Wire):
    """Field `truncation`, without effect."""

    type: Literal["retention_ratio"]
    retention_ratio: Annotated[float, Field(ge=0, le=1)]
    token_limits: _TokenLimits | None = None


class NoiseReduction(Wire):
    """Noise reduction, of one kind here whatever `type` is."""

    type: Literal["near_field", "far_field"] | None = None
    strength: float | None = None


class AudioInput(Wire):
    """Field `audio.input`."""

    format: Format | None = None
    turn_detection: Annotated[ServerVad | SemanticVad, Field(discriminator="type")] | None = None
    transcription: Transcription | None = None
    noise_reduction: NoiseReduction | None = None


class AudioOutput(Wire):
    """Field `audio.output`. voice: used if the synthesizer has it, always shown. speed: 1.0 is its own."""

    format: Format | None = None
    voice: Voice = None
    speed: Speed | None = None


class Audio(Wire):
    """Field `audio`."""

    input: AudioInput | None = None
    output: AudioOutput | None = None


class FunctionTool(Wire):
    """A function that the model may call."""

    type: Literal["function"]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class WireToolFilter(Wire):
    """A selection of a server's tools. read_only: tools that their server declares as read-only."""

    tool_names: Annotated[list[str], Field(max_length=256, fail_fast=True)] | None = None
    read_only: bool | None = None


class WireApprovalFilter(Wire):
    """Tools that need the client's approval, and tools that do not."""

    always: WireToolFilter | None = None
    never: WireToolFilter | None = None


class McpServerTool(Wire):
    """An MCP server whose tools the model may call. authorization: a token, sent as `Bearer`."""

    type: Literal["mcp"]
    server_label: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    server_url: Annotated[str, Field(max_length=2048)]
    server_description: Annotated[str, Field(max_length=1000)] | None = None
    allowed_tools: Annotated[list[str], Field(max_length=256, fail_fast=True)] | WireToolFilter | None = None
    require_approval: Literal["always", "never"] | WireApprovalFilter | None = None
    headers: dict[str, str] | None = None
    authorization: Annotated[str, Field(max_length=8192)] | None = None
    allowed_callers: list[Literal["direct"]] | None = None
    defer_loading: Literal[False] | None = None


AnyTool = Annotated[FunctionTool | McpServerTool, Field(discriminator="type")]


Include = Annotated[list[Literal["item.input_audio_transcription.logprobs"]], Field(fail_fast=True)]


class Extensions(Wire):
    """Extensions of this server. latency: send `voiceagent.latency` after every turn. greeting: false if the
    call continues an earlier one; only in a session given before its call begins.
    """

    latency: bool | None = None
    greeting: bool | None = None


class SessionObject(Wire):
    """Field `session` of a `session.update`."""

    type: Literal["realtime"]
    model: str | None = None
    instructions: str | None = None
    output_modalities: OutputModalities = None
    audio: Audio | None = None
    tools: Annotated[list[AnyTool], Field(fail_fast=True)] | None = None
    tool_choice: ToolChoice = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: OutputTokens = None
    temperature: Temperature | None = None
    include: Include | None = None
    tracing: Literal["auto"] | Tracing | None = None
    truncation: Literal["auto", "disabled"] | RetentionRatio | None = None
    reasoning: Reasoning | None = None
    prompt: StoredPrompt | None = None
    voiceagent: Extensions | None = None
