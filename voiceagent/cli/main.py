"""Entry point of the command line: runs a command and returns its exit status."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence

from voiceagent.bench.commands import add_bench, add_gate, add_soak
from voiceagent.cli.commands import (
    add_call,
    add_check,
    add_config_reference,
    add_init,
    add_llm,
    add_new,
    add_plan,
    add_serve,
    add_talk,
)
from voiceagent.cli.engine_commands import (
    add_adapt,
    add_calibrate,
    add_convert,
    add_engines,
    add_transcribe,
    add_voices,
    add_weights,
)
from voiceagent.cli.evals import add_eval
from voiceagent.cli.installation import shadowing_error
from voiceagent.cli.kept import add_calls, add_replay, add_score
from voiceagent.config import add_command
from voiceagent.demo import CT2_WEIGHTS, EVALS, MATERIAL
from voiceagent.processes.threads import hold_threads

_DESCRIPTION = """\
A voice agent server.

  voiceagent new my_agent          write an agent, its configuration and its test
  voiceagent check my_agent.toml   see what is missing on this machine
  voiceagent serve my_agent.toml   take calls; http://127.0.0.1:8080 is a page to call it
  voiceagent talk my_agent.toml    make one call from here, and see what each stage took
"""


INTERRUPTED = 128 + signal.SIGINT
"""Exit status after Ctrl-C, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Return 0 on success, 1 on failure, 2 for wrong arguments or configuration.

    130 after Ctrl-C.
    """
    hold_threads()  # before a command imports numpy
    if error_text := shadowing_error():
        print(f"voiceagent: {error_text}", file=sys.stderr)
        return 2
    parser = _parser()
    options = parser.parse_args(arguments)
    if "command" not in options:
        parser.print_help(sys.stderr)
        return 2
    return run_command(options)


def run_command(options: argparse.Namespace) -> int:
    """Run `options.command`, print its error if it fails, and return the exit status as `main` does."""
    from voiceagent.validation.errors import CommandFailed, ConfigError

    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return 1
    except ConfigError as error:
        print(f"voiceagent: {error}", file=sys.stderr)
        return 2
    except CommandFailed as error:
        print(f"voiceagent: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"voiceagent: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="voiceagent", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="command")

    add_new(add_command(commands, "new", "write an agent in Python, its configuration and its test"))
    add_check(add_command(commands, "check", "list what a configuration lacks on this machine"))
    add_serve(add_command(commands, "serve", "take calls until Ctrl-C or SIGTERM"))
    add_talk(add_command(commands, "talk", "call the agent with recordings, spoken text or typed text"))
    add_init(add_command(commands, "init", "write a configuration to begin with"))
    add_config_reference(add_command(commands, "config", "print the tables and keys of a configuration"))
    add_call(add_command(commands, "call", "let a running server call a phone number"))
    add_transcribe(add_command(commands, "transcribe", "transcribe recordings"))
    help_ = "measure how well the LLM detects the end of turns, and print its configuration"
    add_calibrate(add_command(commands, "calibrate", help_))
    add_adapt(add_command(commands, "adapt", "fine-tune Moonshine on recordings of your callers"))
    add_engines(add_command(commands, "engines", "list the engines of each stage, and what they need"))
    add_weights(add_command(commands, "weights", "list models that can be downloaded, or download one"))
    add_voices(add_command(commands, "voices", "list the voices of the synthesizer, or write a text in one"))
    add_convert(add_command(commands, "convert", "write a GGUF model for vLLM or CTranslate2"))
    add_calls(add_command(commands, "calls", "list, show, play, export and delete kept calls"))
    add_replay(add_command(commands, "replay", "replay kept calls and compare the results"))
    add_score(add_command(commands, "score", "compute published scores from kept calls"))
    evals = add_command(commands, "eval", "let simulated callers call the agent, and check each call")
    add_eval(evals, EVALS)
    gate = add_command(commands, "gate", "check that the LLM still answers correctly and in time")
    add_gate(gate, MATERIAL, CT2_WEIGHTS)
    soak = add_command(commands, "soak", "call a server for hours, with faults and bad clients")
    add_soak(soak, MATERIAL)
    add_llm(add_command(commands, "llm", "serve the LLM alone, as a replica that gateways name"))
    add_plan(add_command(commands, "plan", "estimate GPUs, cores and bandwidth for concurrent calls"))
    add_bench(add_command(commands, "bench", "measure turns, calls, routing"), MATERIAL)
    return parser


class _ShowVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from voiceagent import __version__

        print(f"voiceagent {__version__}")
        parser.exit()
