"""The configuration: a TOML file as validated models. Every key is documented where it is defined.

Paths, here and in engine tables: `./x` and `../x` are relative to the configuration's folder, `package:a.b/x`
to the folder of the installed package `a.b`, `~/x` to the home folder. They must exist.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.access.config import LOOPBACK, AccessConfig, AccessLimits
from voiceagent.calls.config import CallsConfig
from voiceagent.cluster.config import ClusterConfig
from voiceagent.config.renamed import refuse_renamed
from voiceagent.conversation.agent_config import AgentConfig, LanguageConfig
from voiceagent.conversation.config import BudgetConfig, ConversationLimits, HistoryConfig, TurnConfig
from voiceagent.conversation.settings import CallSettings
from voiceagent.engines import silent
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.config import EngineConfig
from voiceagent.llm.config import LlmTables, PromptLimits
from voiceagent.mcp.config import McpConfig, McpServerConfig
from voiceagent.session.config import ContextConfig, EchoConfig
from voiceagent.telemetry.log import LogConfig
from voiceagent.telemetry.otlp.config import OtlpConfig
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.telephony.config import TelephonyConfig
from voiceagent.transports.telephony.outbound.config import OutboundConfig
from voiceagent.transports.webrtc.config import WebRtcConfig
from voiceagent.upstream.config import UpstreamConfig
from voiceagent.validation.errors import CommandFailed, ConfigError, config_error, reason_of
from voiceagent.validation.references import find_path, import_object, resolve_paths
from voiceagent.validation.section import Seconds, check
from voiceagent.webhooks.config import WebhooksConfig

LOCAL_DRAIN_S = 5.0
"""Time that calls have after Ctrl-C, on a machine for development."""


class ServerConfig(AccessConfig):
    """`[server]`: address, access and capacity of the server."""

    port: int = Field(default=8080, ge=0, le=65_535)
    """Port of HTTP and WebSocket. 0 takes a free port."""
    max_calls: int = Field(default=20, ge=1)
    """Concurrent calls. Further calls are refused with HTTP 503."""
    workers: int = Field(default=1, ge=1)
    """Processes that handle calls, about one per core. With more than one, a further process runs the
    engines.
    """
    worker_load_threshold: float = Field(default=0.5, ge=0, le=1)
    """Share of a core up to which one worker takes all calls before the next one gets any. 0 spreads calls
    evenly.
    """
    max_loop_lag_ms: float = Field(default=100.0, gt=0)
    """Largest lag of a process's event loop. Above it, new calls are refused with HTTP 503."""
    drain_s: Seconds = 3600.0
    """Time that open calls and running tools have to finish after SIGTERM. A second signal ends them at once.
    After Ctrl-C, a server that only this machine can reach waits for 5 seconds at most.
    """
    input_buffer_s: ClassVar[float] = 10.0
    """Audio that a client may send ahead of real time. Audio further ahead is rejected."""
    max_message_bytes: ClassVar[int] = 2_097_152
    """Largest WebSocket message. A larger one closes the call with code 1009. The default holds the longest
    clip of the Live API, 30 s in base64.
    """

    def patience_s(self, ctrl_c: bool) -> float:
        """Return the time that open calls have to finish: less after Ctrl-C while one develops."""
        return min(self.drain_s, LOCAL_DRAIN_S) if ctrl_c and self.host in LOOPBACK else self.drain_s

    @property
    def max_loop_lag_s(self) -> float:
        """`max_loop_lag_ms` in seconds."""
        return self.max_loop_lag_ms / 1000


class LimitsConfig(AccessLimits, ConversationLimits, PromptLimits, TransportLimits):
    """`[limits]`: what one client may use. A refusal names the limit."""


class AgentTable(AgentConfig):
    """`[agent]`: the agent: its instructions or class, its phrases, its language."""

    mcp: tuple[McpServerConfig, ...] = ()
    """MCP servers whose tools the agent has in every call."""
    prompts: dict[str, Annotated[dict[str, str], Field(min_length=1)]] = Field(default_factory=dict)
    """Stored prompts that a client of the Realtime API may choose by `session.prompt`: for each id, the texts
    by version. The last one is used where the client names none. `{{name}}` is a variable.
    """


class LanguageTable(LanguageConfig):
    """`[languages.CODE]`: a further language of calls, by its ISO 639 code. Callers choose it by speaking it.
    Phrases that are left out have defaults in that language (English, German, Spanish).
    """

    synthesizer: EngineConfig | None = None
    """Synthesizer of this language. Left out, `[synthesizer]` speaks it, with the voice that its `voices` has
    under the language's code.
    """


class Config(LlmTables):
    """The whole file. Each table is next to the code that it configures; those of the LLM come as one."""

    server: ServerConfig = ServerConfig()
    limits: LimitsConfig = LimitsConfig()
    agent: AgentTable = AgentTable()
    mcp: McpConfig = McpConfig()
    recognizer: EngineConfig
    """Speech-to-text engine."""
    recognizer_fallback: EngineConfig | None = None
    """Recognizer that takes over when `[recognizer]` fails. Left out, the caller hears the apology."""
    synthesizer: EngineConfig
    """Text-to-speech engine."""
    synthesizer_fallback: EngineConfig | None = None
    """Synthesizer that takes over when `[synthesizer]` fails."""
    languages: dict[Annotated[str, Field(pattern=r"^[a-z]{2,3}$")], LanguageTable] = Field(
        default_factory=dict
    )
    """Further languages of calls, each a table that may be empty. The agent answers in the language that the
    caller speaks. Left out, all calls are in `agent.language`.
    """
    history: HistoryConfig = HistoryConfig()
    """Length of the conversation in prompts."""
    context: ContextConfig | None = None
    """Retrieval for each turn. Results go before the newest turn, so that the prefix cache still matches.
    Left out, none.
    """
    turn: TurnConfig = TurnConfig()
    webrtc: WebRtcConfig = WebRtcConfig()
    echo: EchoConfig = EchoConfig()
    budget: BudgetConfig = BudgetConfig()
    log: LogConfig = LogConfig()
    calls: CallsConfig = CallsConfig()
    otlp: OtlpConfig = OtlpConfig()
    telephony: TelephonyConfig = TelephonyConfig()
    outbound: OutboundConfig = OutboundConfig()
    webhooks: WebhooksConfig = WebhooksConfig()
    upstream: UpstreamConfig = UpstreamConfig()
    cluster: ClusterConfig = ClusterConfig()
    _source: Path = PrivateAttr(default=Path("config.toml"))

    @model_validator(mode="after")
    def _cache_understands(self) -> Self:
        other = [language for language in self.all_languages if language != "en"]
        if self.semantic_cache is not None and other:
            raise PydanticCustomError(
                "cache_language",
                "[semantic_cache] cannot tell questions apart in agent.language {language}; allowed: en",
                {"language": other[0]},
            )
        return self

    @model_validator(mode="after")
    def _languages_differ(self) -> Self:
        if self.agent.language in self.languages:
            raise PydanticCustomError(
                "language_twice",
                "languages.{language} is agent.language too; allowed: further languages",
                {"language": self.agent.language},
            )
        return self

    @model_validator(mode="after")
    def _public_with_keys(self) -> Self:
        if self.telephony.public_url and self.server.api_keys_env is None and not self.server.open:
            raise PydanticCustomError(
                "public_without_keys",
                "others reach this server at telephony.public_url, {url}: set server.api_keys_env, "
                "or server.open = true",
                {"url": self.telephony.public_url},
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
    def all_languages(self) -> tuple[str, ...]:
        """The languages of calls, `agent.language` first."""
        return (self.agent.language, *self.languages)

    def further_languages(self, stage: Stage) -> tuple[str, ...]:
        """Return the languages, except `agent.language`, that the engine of a stage must have.

        None for an LLM: it is told the language of the answer.
        """
        if stage == "llm":
            return ()
        own = (code for code, table in self.languages.items() if table.synthesizer is not None)
        left_out = set(own) if stage == "synthesizer" else set()
        return tuple(code for code in self.languages if code not in left_out)

    def agents_in_languages(self) -> tuple[AgentConfig, ...]:
        """Return the agent's table in each further language."""
        return tuple(table.to_agent(code, self.agent) for code, table in self.languages.items())

    @property
    def source(self) -> Path:
        """The file it was read from: the base of its paths, named in errors."""
        return self._source

    @property
    def calls_folder(self) -> Path:
        """Folder of kept calls; `./x` is relative to the file's folder."""
        return self._source.parent / Path(self.calls.folder).expanduser()

    def instructions(self) -> str:
        """Return the system prompt, wherever it is kept. Raises ConfigError."""
        place = self.agent.instructions_from
        if place is None:
            return self.agent.instructions
        try:
            path = find_path(place, self.source.parent)
            if path is not None:
                return path.read_text(encoding="utf-8").strip()
            found = import_object(place, self.source.parent)
        except (OSError, ImportError, ValueError) as error:
            raise config_error(self.source, "agent.instructions_from", place, str(error)) from error
        text = found() if callable(found) else found
        if not isinstance(text, str):
            message = f"gives {type(text).__name__}; allowed: text, or a function giving text"
            raise config_error(self.source, "agent.instructions_from", place, message)
        return text

    def call_settings(self) -> CallSettings:
        """Return the settings of a call before its client changes any. Raises ConfigError."""
        return CallSettings(
            instructions=self.instructions(),
            temperature=self.agent.temperature,
            turn_detection=self.turn.to_detection(),
            sees_images=self.llm.sees_images,
            backchannels=self.agent.backchannels,
            prompts=self.agent.prompts,
            language=self.agent.language if self.languages else "",
        )


def load(path: Path, changes: Mapping[str, str] | None = None, **server: str | int | None) -> Config:
    """Read and validate a configuration.

    changes: values, as TOML, that replace keys such as `turn.silence_s`. server: values that replace keys of
    `[server]`, unless None. Raises ConfigError.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such file; allowed: a configuration, as `voiceagent init` writes one"
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {reason_of(error)}") from error
    for key, value in (changes or {}).items():
        _change(document, key, value, path)
    refuse_renamed(document, path)
    _leave_out_engines(document)
    _resolve_turn_model(document, path)
    given = {key: value for key, value in server.items() if value is not None}
    if given and isinstance(document.setdefault("server", {}), dict):
        document["server"] |= given
    config = check(Config, document, path)
    config._source = path.absolute()
    return config


def parse_changes(given: Sequence[str]) -> dict[str, str]:
    """Return the changes of `--set TABLE.KEY=VALUE`, for `load`. Raises CommandFailed."""
    changes = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or "." not in key:
            raise CommandFailed(f"--set is {one!r}; allowed: TABLE.KEY=VALUE, as turn.silence_s=0.3")
        changes[key] = value
    return changes


def _leave_out_engines(document: dict[str, Any]) -> None:
    """Fill in silent engines if a realtime backend is configured; the synthesizer speaks the apology."""
    upstream = document.get("upstream")
    if isinstance(upstream, dict) and "url" in upstream:
        for table in ("recognizer", "llm", "synthesizer"):
            document.setdefault(table, {"engine": f"{silent.MODULE}:Silent{table.capitalize()}"})


def _change(document: dict[str, Any], key: str, value: str, path: Path) -> None:
    try:
        changed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError as error:
        quoted = f"a text has its own quotes, and the shell's around them: '{key}=\"{value}\"'"
        raise config_error(path, key, value, f"is no value of TOML ({error}); {quoted}") from error
    *tables, name = key.split(".")
    table = document
    for inner in tables:
        table = table.setdefault(inner, {})
        if not isinstance(table, dict):
            raise config_error(path, key, value, f"{inner} is no table")
    table[name] = changed


def _resolve_turn_model(document: dict[str, Any], path: Path) -> None:
    turn = document.get("turn")
    if isinstance(turn, dict) and isinstance(model := turn.get("model"), str):
        try:
            turn["model"] = resolve_paths(model, path.absolute().parent)
        except FileNotFoundError as error:
            raise config_error(path, "turn.model", model, str(error)) from error
