"""Commands of agents and servers: their arguments, and functions that import late for a fast `--help`."""

from __future__ import annotations

import argparse
import gc
import os
import re
from importlib.util import find_spec
from pathlib import Path

from voiceagent.cli.installation import command_of
from voiceagent.config import add_config, shipped_configs, take_config


def add_serve(serve: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent serve`."""
    add_config(serve, positional=True)
    serve.add_argument("--host", help="address to listen on, instead of the configuration's")
    serve.add_argument("--port", type=int, help="port to listen on, instead of the configuration's")
    serve.add_argument(
        "--max-calls", type=int, metavar="N", help="calls at once, instead of the configuration's"
    )
    serve.add_argument(
        "--workers", type=int, metavar="N", help="processes that take calls, instead of the configuration's"
    )
    serve.add_argument(
        "--reload", action="store_true", help="restart when a file next to the configuration changes"
    )
    serve.set_defaults(command=_serve)


def add_init(init: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent init KIND`."""
    init.add_argument(
        "kind", nargs="?", default="demo", help=f"one of: {', '.join(shipped_configs())} (demo)"
    )
    init.add_argument(
        "--to",
        type=Path,
        default=Path("voiceagent.toml"),
        metavar="FILE",
        help="file to write (voiceagent.toml)",
    )
    init.set_defaults(command=_init)


def add_config_reference(config: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent config`."""
    config.add_argument(
        "table", nargs="?", help="a table such as turn or telephony.twilio; left out, lists all tables"
    )
    config.set_defaults(command=_config_reference)


def add_check(check: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent check`."""
    add_config(check, positional=True)
    check.add_argument(
        "--start", action="store_true", help="also load the engines, and print how long each took"
    )
    check.set_defaults(command=_check)


def add_talk(talk: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent talk`."""
    talk.add_argument("questions", nargs="*", type=Path, metavar="question.wav", help="what the caller says")
    talk.add_argument(
        "--say", action="append", metavar="TEXT", help="what the caller says, spoken by the synthesizer"
    )
    talk.add_argument("--text", action="append", metavar="TEXT", help="what the caller types, with --url")
    talk.add_argument("--mic", action="store_true", help="speak and listen yourself, with --url")
    talk.add_argument("--url", default="", help="call this running server, instead of engines of its own")
    talk.add_argument(
        "--over",
        choices=("realtime", "twilio"),
        default="realtime",
        help="protocol of the server: its API (realtime), or Twilio's",
    )
    talk.add_argument("--model", default="voiceagent", help="agent to call at the server (voiceagent)")
    talk.add_argument("--key-env", metavar="VARIABLE", help="environment variable with the server's API key")
    add_config(talk)
    talk.add_argument("--out", type=Path, metavar="response.wav", help="write the agent's audio to this file")
    talk.add_argument("--json", action="store_true", help="print JSON, for machines")
    talk.set_defaults(command=_talk)


def _idempotency_key(text: str) -> str:
    """Check a key for `--once`. An empty one (a variable that is not set) would call again each time."""
    if not re.fullmatch(r"[!-~]{1,255}", text):
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: 1 to 255 visible ASCII characters")
    return text


def add_call(call: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent call NUMBER`."""
    call.add_argument("to", metavar="NUMBER", help="number to call, such as +15550100000")
    call.add_argument(
        "--agent", default="", metavar="NAME", help="a name of agent.alternatives (the default agent)"
    )
    call.add_argument("--reason", default="", metavar="TEXT", help="reason for calling, for the agent")
    call.add_argument("--provider", default="", help="a name of outbound.numbers (the first)")
    what = "idempotency key: another run with it follows the first one's call (a new key)"
    call.add_argument("--once", type=_idempotency_key, default=None, metavar="KEY", help=what)
    call.add_argument(
        "--url", default="", help="the running server (on this machine, at the configuration's port)"
    )
    what = "environment variable with the server's API key (that of the configuration)"
    call.add_argument("--key-env", metavar="VARIABLE", help=what)
    add_config(call)
    call.set_defaults(command=_call)


def add_plan(plan: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent plan --calls N`."""
    from voiceagent.cli.plan import GPUS, MODELS

    plan.add_argument("--calls", type=int, required=True, metavar="N", help="concurrent calls")
    plan.add_argument("--model", choices=tuple(MODELS), default="llama-3.1-8b", help="the LLM (llama-3.1-8b)")
    plan.add_argument("--gpu", choices=tuple(GPUS), default="h100", help="GPU of a replica (h100)")
    plan.add_argument("--fp8", action="store_true", help="weights and KV cache in FP8 instead of BF16")
    plan.add_argument("--gpu-hour", type=float, metavar="PRICE", help="price of a GPU hour, for the cost")
    plan.add_argument("--core-hour", type=float, metavar="PRICE", help="price of a core hour, for the cost")
    plan.set_defaults(command=_plan)


def add_llm(llm: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent llm`."""
    add_config(llm, positional=True)
    llm.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    llm.add_argument("--port", type=int, default=8000, help="port to listen on (8000)")
    llm.set_defaults(command=_llm)


def add_new(new: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent new NAME`."""
    new.add_argument(
        "name", help="module name, such as my_agent: the files are NAME.py, NAME.toml and test_NAME.py"
    )
    new.set_defaults(command=_new)


def _serve(options: argparse.Namespace) -> None:
    gc.disable()  # imports leave no garbage: collections in between take a tenth of their time
    from voiceagent.cli.reload import serve_with_reload
    from voiceagent.config.tables import load
    from voiceagent.server.app import serve

    gc.freeze()
    gc.enable()
    if options.reload:
        serve_with_reload(options.config)
        return
    given = {key: getattr(options, key) for key in ("host", "port", "max_calls", "workers")}
    serve(load(options.config, **given))


def _config_reference(options: argparse.Namespace) -> None:
    from voiceagent.config.reference import find_tables, tables, to_text

    if options.table:
        print("\n\n".join(to_text(table) for table in find_tables(options.table.strip("[]"))))
        return
    for table in tables():
        print(f"{table.heading:<24} {table.meaning}")


def _check(options: argparse.Namespace) -> None:
    from voiceagent.cli.check import check
    from voiceagent.config.tables import load

    check(load(options.config), start=options.start)


def _talk(options: argparse.Namespace) -> None:
    from voiceagent.cli.talk import CallScript, talk, talk_aloud
    from voiceagent.config.tables import load
    from voiceagent.validation.errors import CommandFailed

    take_config(options, "questions")
    key = os.environ.get(options.key_env, "") if options.key_env else ""
    if options.key_env and not key:
        raise CommandFailed(f"--key-env {options.key_env}: this environment variable is not set")
    say, text = options.say or (), options.text or ()
    script = CallScript(options.questions, say, text, options.url, options.model, key, options.over)
    if options.mic:
        talk_aloud(script)
        return
    talk(load(options.config), script, options.out, as_json=options.json)


def _call(options: argparse.Namespace) -> None:
    from voiceagent.cli.outbound_call import call, server_of
    from voiceagent.config.tables import load

    url, key = server_of(None if options.url else load(options.config), options.url, options.key_env)
    order = {name: getattr(options, name) for name in ("to", "agent", "reason", "provider")}
    call(url, key, order, options.once)


def _llm(options: argparse.Namespace) -> None:
    from voiceagent.config.tables import load
    from voiceagent.server.llm_replica import serve_llm

    serve_llm(load(options.config), options.host, options.port)


def _plan(options: argparse.Namespace) -> None:
    from voiceagent.cli.plan import print_plan

    price = options.gpu_hour, options.core_hour
    print_plan(options.calls, options.model, options.gpu, options.fp8, *price)


def _init(options: argparse.Namespace) -> None:
    from voiceagent.cli.new_agent import init

    init(options.kind, options.to)
    print(f"{options.to}: {command_of('voiceagent')} serve --config {options.to}")


def _new(options: argparse.Namespace) -> None:
    from voiceagent.cli.new_agent import new_agent

    agent, config, test = new_agent(options.name, Path.cwd())
    first = "" if find_spec("pytest") else f"{command_of('pip')} install pytest; "
    print(f"{agent.name}: the agent\n{config.name}: {command_of('voiceagent')} serve --config {config.name}")
    print(f"{test.name}: {first}{command_of('python')} -m pytest {test.name}")
