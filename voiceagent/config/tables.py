"""The configuration: a TOML file into checked models. Every key is documented where it stands.

Paths, here and in the tables of engines: `./x` and `../x` count from the configuration's own folder,
`package:a.b/x` lies in the folder of the installed package `a.b`, `~/x` in the home folder. It must exist.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.conversation.latency import STAGES, LatencyBudget
from voiceagent.conversation.settings import CallSettings, Eagerness, TurnDetection
from voiceagent.llm.config import (
    HistoryConfig,
    LanesConfig,
    ResilienceConfig,
    RoutingConfig,
    SemanticCacheConfig,
    SpeculationConfig,
)
from voiceagent.transports.telephony.config import TelephonyConfig
from voiceagent.transports.webrtc.config import WebRtcConfig
from voiceagent.validation.errors import ConfigError, problem
from voiceagent.validation.references import find_path, import_object, resolve_paths
from voiceagent.validation.section import Section, check

Seconds = Annotated[float, Field(ge=0)]
Duration = Annotated[float, Field(gt=0)]
Milliseconds = Annotated[float, Field(gt=0)]
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ServerConfig(Section):
    """`[server]`: where calls arrive and how many are taken."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=8080, ge=0, le=65_535)
    """Port of HTTP and WebSocket; 0 takes a free one."""
    max_calls: int = Field(default=20, ge=1)
    """Calls at once; one more is refused with HTTP 503."""
    workers: int = Field(default=1, ge=1)
    """Processes that take calls, about one a core; beside more than one, another holds the engines."""
    drain_s: Seconds = 30.0
    """After SIGTERM, how long running calls may go on before they are closed."""
    input_buffer_s: float = Field(default=10.0, gt=0)
    """How far ahead of real time a client may send the caller's sound; what comes earlier is refused."""
    max_message_bytes: int = Field(default=1_048_576, ge=4_096)
    """Longest WebSocket message; a longer one closes the call with code 1009."""
    api_keys_env: str | None = None
    """Name of the environment variable with the accepted API keys, separated by commas or spaces."""
    open: bool = False
    """Let everyone in who reaches the port. Without it, and without keys, only a loopback host is allowed."""

    @model_validator(mode="after")
    def _closed_to_strangers(self) -> Self:
        if self.host not in LOOPBACK and self.api_keys_env is None and not self.open:
            raise PydanticCustomError(
                "open_server",
                "others reach host {host}: set api_keys_env, or open = true; allowed without: {loopback}",
                {"host": self.host, "loopback": ", ".join(LOOPBACK)},
            )
        return self


class AgentConfig(Section):
    """`[agent]`: who the agent is. A client may set its own instructions a call."""

    instructions: str = ""
    """The system prompt."""
    instructions_from: str | None = None
    """Where the system prompt is instead: a text file (`./prompt.md`), or `package.module:name` of a text or
    of a function that gives one."""
    greeting: str = ""
    """What the agent says first; "" waits for the caller."""
    apology: str = "Sorry, something went wrong on my side. Could you say that again?"
    """What the caller hears when a stage fails in mid-turn."""
    filler: str = "One moment."
    """What the caller hears when the answer takes long."""
    filler_after_s: float = Field(default=1.5, gt=0)
    """How long after the turn's end that is; with `filler = ""` it is never."""
    idle_prompts: tuple[str, ...] = ("Are you still there?",)
    """What a silent caller is asked, one after the other, at each `turn.idle_timeout_s`."""
    goodbye: str = "Goodbye."
    """What a caller who stays silent hears before the agent hangs up."""
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}$")
    """ISO 639 code of the language that is spoken: how sentences are split and numbers read."""
    max_output_tokens: int = Field(default=200, ge=1)
    """Cap on one response, unless the client sets its own."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(), max_length=4)
    """Texts that end a spoken response where the model writes them, such as the blank line before a list. At
    most four: hosted APIs take no more."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature, unless the client sets its own; 0 is greedy."""

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        if self.instructions and self.instructions_from is not None:
            raise PydanticCustomError("two_prompts", "set instructions or instructions_from, not both")
        return self


class EngineConfig(Section):
    """`[recognizer]`, `[llm]`, `[synthesizer]`, `[fallback]`, `[small_llm]`: an engine and, in every other
    key, its keyword arguments.
    """

    model_config = ConfigDict(extra="allow")

    engine: str
    """A short name (see `voiceagent engines`) or `package.module:Class`; modules beside the file count."""

    @property
    def options(self) -> dict[str, Any]:
        """The engine's keyword arguments as they stand in the file."""
        return dict(self.model_extra or {})


class TurnConfig(Section):
    """`[turn]`: how turns are taken; a client may set threshold, padding, silence and time-out itself."""

    threshold: float = Field(default=0.5, gt=0, lt=1)
    """Speech probability from which a chunk of sound is voiced."""
    prefix_padding_s: Seconds = 0.3
    """Sound before the first voiced sample that the recognizer hears too."""
    min_speech_s: Duration = 0.064
    """Voiced time from which it is speech: shorter is a click."""
    pause_s: Duration = 0.032
    """Silence that is a pause: the recognizer is asked for its best guess, and a preemptive response
    begins."""
    detection: Literal["server_vad", "semantic_vad"] = "semantic_vad"
    """"server_vad" ends a turn after `silence_s`; "semantic_vad" weighs silence, words and the turn model."""
    eagerness: Eagerness = "auto"
    """How soon "semantic_vad" takes a turn for complete: "low", "medium", "high" or "auto" (medium)."""
    silence_s: Duration = 0.2
    """Silence that ends the turn in "server_vad"."""
    interruption_candidate_s: Duration = 0.128
    """Voiced time over the agent's speech that silences it, ready to go on."""
    interruption_confirmed_s: Duration = 0.9
    """Voiced time over the agent's speech that interrupts it for good, whatever is said."""
    min_interruption_words: int = Field(default=2, ge=1)
    """Words over the agent's speech, beside backchannels, that interrupt it; one, where it is "stop" or the
    like. Fewer are answered when the agent has finished."""
    resume_s: Seconds = 1.0
    """A caller who speaks again within such a time of a turn's end had not finished: the response is taken
    back, and the turn is answered as a whole; 0 takes it for an interruption."""
    backchannels: tuple[str, ...] | None = None
    """What a listener says without wanting the turn ("uh huh"); left out, a list for the language."""
    idle_timeout_s: float | None = Field(default=None, gt=0)
    """Silence of the caller after which the agent asks again; left out, it never does."""
    preemptive_attempts: int = Field(default=3, ge=0)
    """Responses that may be begun at pauses, before the turn is surely over; 0 waits for its end."""
    preemptive_tokens: int = Field(default=24, ge=1)
    """Tokens that such a response may cost before the turn is over."""
    prefill_while_speaking: bool = True
    """Let the LLM read the history and the words that are certain while the caller still speaks."""
    model: str = ""
    """Smart Turn, which hears whether a turn is complete: "installed" finds the one in the pipecat-ai wheel,
    anything else is the path to its ONNX file; "" for none."""

    @model_validator(mode="after")
    def _pause_before_end(self) -> Self:
        if self.pause_s > self.silence_s:
            raise PydanticCustomError(
                "pause_after_end",
                "pause_s is {pause}; allowed: at most silence_s, {silence}",
                {"pause": self.pause_s, "silence": self.silence_s},
            )
        return self


class PlayoutConfig(Section):
    """`[playout]`: how the agent's sound is paced."""

    lead_s: float = Field(default=0.06, ge=0.02, le=2)
    """How far ahead of real time sound is sent: more rides out a slow network, less is cut more cleanly."""


class EchoConfig(Section):
    """`[echo]`: cleaning the caller's sound, for lines whose far end does not (needs the extra `echo`)."""

    cancel: bool = False
    """Take the agent's own voice out, so that it does not interrupt itself on a speakerphone."""
    suppress_noise: bool = False
    """Take steady noise out."""


class BudgetConfig(Section):
    """`[budget]`: how long each stage of a turn may take, in milliseconds, and the whole."""

    endpointing_ms: Milliseconds = 230
    """Last voiced sample to turn decided."""
    recognition_ms: Milliseconds = 60
    """Turn decided to final transcript."""
    request_ms: Milliseconds = 10
    """Final transcript to LLM request."""
    llm_ttft_ms: Milliseconds = 100
    """LLM request to first token."""
    fragmenting_ms: Milliseconds = 60
    """First token to first speakable fragment."""
    synthesis_ms: Milliseconds = 60
    """First fragment to its first sound."""
    playout_ms: Milliseconds = 20
    """First sound to first frame sent."""
    network_ms: Milliseconds = 60
    """First frame sent to heard."""
    total_ms: Milliseconds = 600
    """Last voiced sample to first frame sent, or to heard where the transport tells when."""

    def to_budget(self) -> LatencyBudget:
        """The same for the latency ledger."""
        stages = {stage: getattr(self, f"{stage}_ms") / 1000 for stage in STAGES}
        return LatencyBudget(stages, self.total_ms / 1000)


class LogConfig(Section):
    """`[log]`: how the log is written, to standard error."""

    format: Literal["console", "json"] = "console"
    """"console" for people, "json" for machines, one object a line."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severity that is written."""


class Config(Section):
    """The whole file."""

    server: ServerConfig = ServerConfig()
    agent: AgentConfig = AgentConfig()
    recognizer: EngineConfig
    llm: EngineConfig
    synthesizer: EngineConfig
    fallback: EngineConfig | None = None
    """An LLM that answers when that of `[llm]` cannot; left out, the caller hears the apology."""
    resilience: ResilienceConfig = ResilienceConfig()
    lanes: LanesConfig = LanesConfig()
    speculation: SpeculationConfig = SpeculationConfig()
    small_llm: EngineConfig | None = None
    """A smaller LLM for short simple turns (`[routing]`), or all short ones while there is too much to do."""
    routing: RoutingConfig = RoutingConfig()
    history: HistoryConfig = HistoryConfig()
    semantic_cache: SemanticCacheConfig | None = None
    """Answers that were given before; left out, the LLM answers everything."""
    turn: TurnConfig = TurnConfig()
    playout: PlayoutConfig = PlayoutConfig()
    webrtc: WebRtcConfig = WebRtcConfig()
    echo: EchoConfig = EchoConfig()
    budget: BudgetConfig = BudgetConfig()
    log: LogConfig = LogConfig()
    telephony: TelephonyConfig = TelephonyConfig()
    _source: Path = PrivateAttr(default=Path("config.toml"))

    @model_validator(mode="after")
    def _cache_understands(self) -> Self:
        if self.semantic_cache is not None and self.agent.language != "en":
            raise PydanticCustomError(
                "cache_language",
                "[semantic_cache] cannot tell questions apart in agent.language {language}; allowed: en",
                {"language": self.agent.language},
            )
        return self

    @model_validator(mode="after")
    def _ports_for_all_workers(self) -> Self:
        first, last = self.webrtc.ports
        if first and last - first + 1 < self.server.workers:
            raise PydanticCustomError(
                "ports",
                "webrtc.ports are {ports}; allowed: one for each of the {workers} workers, or 0, 0 for any",
                {"ports": [first, last], "workers": self.server.workers},
            )
        return self

    @property
    def source(self) -> Path:
        """The file it was read from: what its paths count from, and what errors name."""
        return self._source

    def instructions(self) -> str:
        """The system prompt, wherever it is kept. Raises ConfigError."""
        place = self.agent.instructions_from
        if place is None:
            return self.agent.instructions
        try:
            path = find_path(place, self.source.parent)
            if path is not None:
                return path.read_text(encoding="utf-8").strip()
            found = import_object(place, self.source.parent)
        except (OSError, ImportError, ValueError) as error:
            raise problem(self.source, "agent.instructions_from", place, str(error)) from error
        text = found() if callable(found) else found
        if not isinstance(text, str):
            message = f"gives {type(text).__name__}; allowed: text, or a function giving text"
            raise problem(self.source, "agent.instructions_from", place, message)
        return text

    def call_settings(self) -> CallSettings:
        """What a call begins with, before its client sets anything. Raises ConfigError."""
        return CallSettings(
            instructions=self.instructions(),
            temperature=self.agent.temperature,
            turn_detection=TurnDetection(
                kind=self.turn.detection,
                eagerness=self.turn.eagerness,
                threshold=self.turn.threshold,
                prefix_padding_s=self.turn.prefix_padding_s,
                silence_s=self.turn.silence_s,
                idle_timeout_s=self.turn.idle_timeout_s,
            ),
        )


def load(path: Path, **server: str | int | None) -> Config:
    """Read and check a configuration; `server`: keys of its table that stand in for the file's, unless None.

    Raises ConfigError.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such file; allowed: a configuration such as configs/demo.toml"
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {error}") from error
    _resolve_turn_model(document, path)
    given = {key: value for key, value in server.items() if value is not None}
    if given and isinstance(document.setdefault("server", {}), dict):
        document["server"] |= given
    config = check(Config, document, path)
    config._source = path.absolute()
    return config


def _resolve_turn_model(document: dict[str, Any], path: Path) -> None:
    turn = document.get("turn")
    if isinstance(turn, dict) and isinstance(model := turn.get("model"), str):
        try:
            turn["model"] = resolve_paths(model, path.absolute().parent)
        except FileNotFoundError as error:
            raise problem(path, "turn.model", model, str(error)) from error
