"""`voiceagent check [CONFIG]`: what is missing for a start; with --start, how long loading takes."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import aclosing

from prometheus_client import CollectorRegistry
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from audio.recognizers import RecognizerError
from audio.synthesizers import SynthesizerError
from llmcore.engine import READING, Llm, LlmError, Message, Request
from voiceagent.config.tables import Config
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.engine_building import build_engines
from voiceagent.server.readiness.findings import Finding, find
from voiceagent.server.readiness.machine import GIB, available_memory, this_machine
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed

FIRST_TOKEN_S = 60.0
"""Timeout of the first token: a model that is loaded on demand may take this long."""


def check(config: Config, *, start: bool) -> None:
    """Print the findings; start: also load the engines, ask the LLM for a token, and print the times.

    Raises CommandFailed if something is missing or does not start.
    """
    findings = find(config, this_machine(), os.environ)
    _print(findings)
    missing = [f"[{finding.table}] {finding.text}" for finding in findings if finding.state == "missing"]
    if missing:
        raise CommandFailed(f"{len(missing)} missing, the first: {missing[0]}")
    if start:
        configure_log(config.log.format, "error")
        asyncio.run(_start(config))


async def _start(config: Config) -> None:
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
    engines, before = build_engines(config, monitor), available_memory()
    try:
        took = await engines.start()
        first_s = await _first_token(engines.llm)
        after, refused, problems = available_memory(), monitor.refused_shapes(), engines.problems()
    except TimeoutError as error:
        raise CommandFailed(f"the LLM gave no token within {FIRST_TOKEN_S:.0f} s") from error
    except (RecognizerError, LlmError, SynthesizerError) as error:
        raise CommandFailed(f"cannot start: {error}") from error
    finally:
        await engines.close()
    loaded = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in took.items())
    taken = f"; {(before - after) / GIB:.1f} GiB taken" if before is not None and after is not None else ""
    Console().print(f"loaded at once: {loaded}{taken}")
    for stage, problem in problems.items():
        Console().print(escape(f"[{stage}] {problem}"), soft_wrap=True)
    Console().print(f"first token of the LLM: {first_s * 1000:.0f} ms")
    for name, lines in refused.items():
        for line in lines:
            Console().print(escape(f"[{name}] {line}"), soft_wrap=True)


async def _first_token(llm: Llm) -> float:
    """Request an answer of one token. Return the seconds until it came. Raises LlmError."""
    began_s = time.monotonic()
    request = Request((Message("user", "Hello."),), max_tokens=1)
    async with asyncio.timeout(FIRST_TOKEN_S), aclosing(llm.generate(request)) as deltas:
        async for delta in deltas:
            if delta != READING:
                break
    return time.monotonic() - began_s


def _print(findings: list[Finding]) -> None:
    table = Table("", "", "", show_header=False)
    table.columns[-1].overflow = "fold"  # a truncated path is useless
    for finding in findings:
        table.add_row(finding.table, finding.state, escape(finding.text))
    Console().print(table)
