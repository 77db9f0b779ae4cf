"""The settings of one call: the voice agent's side of a Realtime session."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from audio.pcm import AudioFormat
from llmcore.engine import Tool
from voiceagent.conversation.mcp import McpServer, McpTool
from voiceagent.conversation.tool_names import free_name

Modality = Literal["audio", "text"]
Eagerness = Literal["low", "medium", "high", "auto"]
SessionType = Literal["realtime", "transcription"]
TokenLimit = int | Literal["inf"]
"""Tokens of one response at most; "inf" stands for `MAX_OUTPUT_TOKENS`."""
MAX_OUTPUT_TOKENS = 4096
"""The Realtime API's upper bound for the tokens of one response."""
OUTPUT_FRAME_S = 0.02


@dataclass(frozen=True, slots=True)
class TurnDetection:
    """How the end of the caller's turn is found.

    kind: "server_vad" waits for `silence_s`; "semantic_vad" weighs silence and words by `eagerness`.
    threshold: speech probability above which a chunk is voiced, 0-1.
    prefix_padding_s: sound before the first voiced sample that the recognizer hears too.
    idle_timeout_s: silence of the caller after which the agent asks again; None never asks.
    create_response: answer when a turn ends. interrupt_response: yield when spoken over.
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
class AgentTool:
    """A tool of the agent: the server runs it, and no client is asked.

    cancellable: it is given up when the caller goes on; one that is not runs on, and what it did enters the
    history. timeout_s: how long it may take. filler: what the caller hears while it is slow, "" for nothing.
    when_played: it is run when the response that called it has been played, and not if that was cut.
    own_name: its name in the agent's code where the model knows it by another; "" where it does not.
    """

    tool: Tool
    cancellable: bool = False
    timeout_s: float = 30.0
    filler: str = ""
    when_played: bool = False
    own_name: str = ""

    @property
    def name(self) -> str:
        """What the model calls it by."""
        return self.tool.name

    def renamed(self, name: str) -> AgentTool:
        """Return this tool as the model knows it by `name`."""
        own = self.own_name or self.name
        return replace(self, tool=replace(self.tool, name=name), own_name="" if name == own else own)


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Everything a client may change in mid-call; None for `turn_detection` means manual turns.

    model: the name the client asked for, echoed back. voice: the voice's name, echoed back.
    speed: of the agent's voice, 1.0 is its own. echoed: what the client set that has no effect here, as JSON
    by the path of its field in the session, to be shown as it was sent. sees_images: the LLM sees pictures.
    transcribe: notify the client of what the caller is understood to say.
    output_frame_s: how much of the agent's sound is sent at once.
    latency_events: notify the client of the stages of every turn (`voiceagent.*` events), off unless asked.
    agent: name of the agent in code that has the call, "" for one that is instructions alone. agent_tools:
    tools that the server runs, beside `tools`, which are the client's. mcp_servers: whose tools the client
    has the server call. mcp_tools: those of them that are known so far. session_type: "transcription" only
    transcribes: neither LLM nor voice is used. logprobs: notify the client of them, too.
    """

    instructions: str
    temperature: float
    turn_detection: TurnDetection | None
    model: str = "voiceagent"
    output_modality: Modality = "audio"
    voice: str = "default"
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

    @property
    def only_transcribes(self) -> bool:
        """Whether no response is ever made."""
        return self.session_type == "transcription"

    @property
    def all_tools(self) -> tuple[Tool, ...]:
        """What the model is offered: the agent's tools, then the client's, then those of its MCP servers."""
        agent, mcp = (tool.tool for tool in self.agent_tools), (tool.tool for tool in self.mcp_tools)
        return (*agent, *self.tools, *mcp)

    def with_free_names(self) -> CallSettings:
        """Return these settings with other names for agent's tools whose names the client's tools have."""
        taken = {tool.name for tool in self.tools}
        named: list[AgentTool] = []
        for tool in self.agent_tools:
            name = free_name(tool.own_name or tool.name, self.agent or "agent", taken)
            taken.add(name)
            named.append(tool.renamed(name))
        return replace(self, agent_tools=tuple(named))

    def as_transcription(self) -> CallSettings:
        """Return these for a session that only transcribes."""
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
        """These with another agent in the call, or other tools of the same one; None leaves what there is."""
        return replace(
            self,
            agent=agent,
            agent_tools=tools,
            instructions=self.instructions if instructions is None else instructions,
            voice=voice or self.voice,
        )
