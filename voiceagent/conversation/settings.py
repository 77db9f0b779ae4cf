"""The settings of one call: the voice agent's side of a Realtime session."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from audio.pcm import AudioFormat
from llmcore.engine import LOGGED_IF_SET, Tool
from voiceagent.conversation.answer_language import with_answer_line
from voiceagent.conversation.mcp import McpServer, McpTool
from voiceagent.conversation.tool_names import free_name

Modality = Literal["audio", "text"]
Eagerness = Literal["low", "medium", "high", "auto"]
BackchannelUse = Literal["live", "all", "off"]
SessionType = Literal["realtime", "transcription"]
TokenLimit = int | Literal["inf"]
"""Maximum number of tokens of one response; "inf" stands for `MAX_OUTPUT_TOKENS`."""
MAX_OUTPUT_TOKENS = 4096
"""Upper bound of the Realtime API for the tokens of one response."""
OUTPUT_FRAME_S = 0.02


@dataclass(frozen=True, slots=True)
class TurnDetection:
    """Settings of turn detection.

    kind: "server_vad" waits for `silence_s`; "semantic_vad" weighs silence and transcript by `eagerness`.
    threshold: speech probability above which a chunk is voiced, 0-1. prefix_padding_s: audio before the first
    voiced sample that is recognized too. idle_timeout_s: silence of the caller after which the agent asks
    again; None never asks. create_response: answer when a turn ends. interrupt_response: the caller can
    interrupt the agent.
    """

    kind: Literal["server_vad", "semantic_vad"]
    threshold: float
    prefix_padding_s: float
    silence_s: float
    idle_timeout_s: float | None
    eagerness: Eagerness
    create_response: bool = True
    interrupt_response: bool = True


@dataclass(frozen=True, slots=True)
class InferencePause:
    """Pause of inference while neither side speaks. idle_s: time until it begins. speech_threshold: speech
    probability, 0-1, that ends it; the threshold of turn detection does not count for that.
    """

    idle_s: float
    speech_threshold: float = 0.5


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool of the agent. The server runs it, not the client.

    cancellable: it is cancelled when the conversation continues; other tools keep running, and their results
    enter the history. timeout_s: maximum run time. filler: phrase while the tool is slow, "" for none.
    when_played: run it after the response that called it was played, and not at all if that was cut.
    own_name: its name in the agent's code, "" if the model knows it by the same name. model_may_cancel: while
    it runs, the model is offered a tool that cancels it.
    """

    tool: Tool
    cancellable: bool = False
    timeout_s: float = 30.0
    filler: str = ""
    when_played: bool = False
    own_name: str = ""
    model_may_cancel: bool = field(default=False, metadata=LOGGED_IF_SET)

    @property
    def name(self) -> str:
        """The name that the model knows."""
        return self.tool.name

    def renamed(self, name: str) -> AgentTool:
        """Return this tool under another name for the model."""
        own = self.own_name or self.name
        return replace(self, tool=replace(self.tool, name=name), own_name="" if name == own else own)


USUAL_VOICE = "default"


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Settings that a client may change during a call. `turn_detection` None: the client ends turns itself.

    model: name that the client sent, echoed back. voice: name that client or agent asked for; `USUAL_VOICE`
    for the configured one. speed: of the agent's voice, 1.0 is its own.
    echoed: fields without effect here, shown as they were sent: path in the session to JSON. sees_images:
    the LLM sees pictures. transcribe: send the caller's transcript to the client.
    output_frame_s: length of one message of the agent's audio.
    latency_events: send the stages of every turn (`voiceagent.*` events); off unless the client asks.
    agent: name of the agent class that has the call, "" for instructions alone. agent_tools: tools that the
    server runs; `tools` are the client's. mcp_servers: MCP servers that the client named. mcp_tools: their
    tools that are known so far. session_type: "transcription" uses neither LLM nor voice. logprobs: send log
    probabilities with transcripts. pause: None for a call whose inference never pauses.
    prompts: texts that a client may choose as instructions, by id and version.
    backchannels: calls in which the agent shows with a short "mhm" that it listens.
    language: ISO 639 code of the language in force, "" if the call serves only the configured one.
    fixed_language: the one that the client has set, "" to follow the caller.
    likely_phrases: words and names that the client expects in the caller's speech, as they should be written.
    likely_words: the same with less weight, from a text of the client's.
    suppress_noise: suppress steady noise in the caller's audio, whatever the configuration says.
    filler_by_s: latest begin of the filler, in seconds after the caller's last voiced sample; None: the
    configured delay alone.
    """

    instructions: str
    temperature: float
    turn_detection: TurnDetection | None
    model: str = "voiceagent"
    output_modality: Modality = "audio"
    voice: str = USUAL_VOICE
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    max_output_tokens: TokenLimit | None = None
    speed: float = 1.0
    input_format: AudioFormat = AudioFormat.PCM_24K
    output_format: AudioFormat = AudioFormat.PCM_24K
    output_frame_s: float = OUTPUT_FRAME_S
    transcribe: bool = True
    latency_events: bool = False
    agent: str = ""
    agent_tools: tuple[AgentTool, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    mcp_tools: tuple[McpTool, ...] = ()
    session_type: SessionType = "realtime"
    logprobs: bool = False
    echoed: dict[str, str] = field(default_factory=dict)
    sees_images: bool = False
    pause: InferencePause | None = None
    backchannels: BackchannelUse = "off"
    prompts: dict[str, dict[str, str]] = field(default_factory=dict, metadata=LOGGED_IF_SET)
    language: str = field(default="", metadata=LOGGED_IF_SET)
    fixed_language: str = field(default="", metadata=LOGGED_IF_SET)
    likely_phrases: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)
    likely_words: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)
    suppress_noise: bool = field(default=False, metadata=LOGGED_IF_SET)
    filler_by_s: float | None = field(default=None, metadata=LOGGED_IF_SET)

    @property
    def prompt_instructions(self) -> str:
        """The instructions as the model gets them, with the language of the answers."""
        return with_answer_line(self.instructions, self.language)

    @property
    def only_transcribes(self) -> bool:
        """True if the session makes no responses."""
        return self.session_type == "transcription"

    @property
    def all_tools(self) -> tuple[Tool, ...]:
        """The tools offered to the model: the agent's, then the client's, then those of its MCP servers."""
        agent, mcp = (tool.tool for tool in self.agent_tools), (tool.tool for tool in self.mcp_tools)
        return (*agent, *self.tools, *mcp)

    def with_free_names(self) -> CallSettings:
        """Return these settings with agent's tools renamed where a client's tool has the same name."""
        taken = {tool.name for tool in self.tools}
        named: list[AgentTool] = []
        for tool in self.agent_tools:
            name = free_name(tool.own_name or tool.name, self.agent or "agent", taken)
            taken.add(name)
            named.append(tool.renamed(name))
        return replace(self, agent_tools=tuple(named))

    def as_transcription(self) -> CallSettings:
        """Return these settings for a session that only transcribes."""
        detection = self.turn_detection
        if detection is not None:
            detection = replace(
                detection, create_response=False, interrupt_response=False, idle_timeout_s=None
            )
        return replace(
            self,
            session_type="transcription",
            turn_detection=detection,
            instructions="",
            output_modality="text",
            tools=(),
            tool_choice="auto",
            agent="",
            agent_tools=(),
            mcp_servers=(),
            mcp_tools=(),
        )

    def handed_to(
        self, agent: str, tools: tuple[AgentTool, ...], instructions: str | None, voice: str | None
    ) -> CallSettings:
        """Return these settings with another agent, or other tools of the same one. None keeps a value."""
        return replace(
            self,
            agent=agent,
            agent_tools=tools,
            instructions=self.instructions if instructions is None else instructions,
            voice=voice or self.voice,
        )
