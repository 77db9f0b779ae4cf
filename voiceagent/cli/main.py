"""The command line: what it is asked is run, and what goes wrong becomes its exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from voiceagent.bench.commands import add_bench, add_soak
from voiceagent.bench.gate.options import add_gate
from voiceagent.cli.commands import (
    add_adapt,
    add_calibrate,
    add_check,
    add_convert,
    add_engines,
    add_init,
    add_llm,
    add_new,
    add_plan,
    add_serve,
    add_talk,
    add_transcribe,
    add_weights,
)
from voiceagent.cli.installation import stranger_found
from voiceagent.cli.kept import add_calls, add_replay
from voiceagent.config import add_command
from voiceagent.demo import CT2_WEIGHTS, MATERIAL
from voiceagent.processes.threads import hold_threads


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 when it went well, 1 when it failed, 2 when it was asked or configured wrongly."""
    hold_threads()  # before a command imports numpy
    if stranger := stranger_found():
        print(f"voiceagent: {stranger}", file=sys.stderr)
        return 2
    options = _parser().parse_args(arguments)
    from voiceagent.validation.errors import CommandFailed, ConfigError

    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output has enough of it, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest, at the end of the process
        return 1
    except ConfigError as error:
        print(f"voiceagent: {error}", file=sys.stderr)
        return 2
    except CommandFailed as error:
        print(f"voiceagent: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="voiceagent", description="A voice agent server.")
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(required=True, metavar="command")

    add_serve(add_command(commands, "serve", "take calls until SIGTERM"))
    add_init(add_command(commands, "init", "write a configuration to begin with"))
    add_check(add_command(commands, "check", "what a configuration misses on this machine"))
    add_talk(add_command(commands, "talk", "call the agent, from recordings, a text or in writing"))
    add_transcribe(add_command(commands, "transcribe", "what the recognizer makes of recordings"))
    help_ = "whether the LLM tells the end of turns, and the lines of the configuration for that"
    add_calibrate(add_command(commands, "calibrate", help_))
    add_adapt(add_command(commands, "adapt", "teach Moonshine the voices and lines of your callers"))
    add_new(add_command(commands, "new", "write an agent in Python, its configuration and its test"))
    add_engines(add_command(commands, "engines", "what can be chosen for each stage, and what it needs"))
    add_weights(add_command(commands, "weights", "list models that can be downloaded, or download one"))
    add_convert(add_command(commands, "convert", "write a GGUF model for vLLM or CTranslate2"))
    add_calls(add_command(commands, "calls", "the calls that are kept"))
    add_replay(add_command(commands, "replay", "run kept calls again: the same must come out"))
    gate = add_command(commands, "gate", "whether the LLM still answers rightly and in time")
    add_gate(gate, MATERIAL, CT2_WEIGHTS)
    soak = add_command(commands, "soak", "call a server for hours, with faults and bad clients")
    add_soak(soak, MATERIAL)
    add_llm(add_command(commands, "llm", "serve the LLM alone, as a replica that gateways name"))
    add_plan(add_command(commands, "plan", "what so many calls at once need: GPUs, cores, bandwidth"))
    add_bench(
        add_command(commands, "bench", "measure turns, interruptions, calls, people, replicas, the LLM"),
        MATERIAL,
    )
    return parser


class _ShowVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from voiceagent import __version__

        print(f"voiceagent {__version__}")
        parser.exit()
