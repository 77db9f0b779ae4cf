"""The commands: their arguments, and their functions, which import what they need, so that
`--help` is fast.
"""

from __future__ import annotations

import argparse
import gc
import os
from importlib.util import find_spec
from pathlib import Path

from voiceagent.cli.installation import command_of
from voiceagent.config import add_command, add_config, shipped_configs, take_config


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


def add_calibrate(calibrate: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent calibrate`."""
    add_config(calibrate, positional=True)
    what = 'turns of your callers, a line {"agent": "...", "parts": ["...", "..."]} each; else those shipped'
    calibrate.add_argument("--turns", type=Path, metavar="FILE.jsonl", help=what)
    calibrate.set_defaults(command=_calibrate)


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


def add_call(call: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent call NUMBER`."""
    call.add_argument("to", metavar="NUMBER", help="number to call, such as +15550100000")
    call.add_argument("--agent", default="", metavar="NAME", help="a name of agent.others; the usual one")
    call.add_argument("--reason", default="", metavar="TEXT", help="reason for calling, for the agent")
    call.add_argument("--provider", default="", help="a name of outbound.numbers; the first one")
    call.add_argument("--url", default="", help="the running server; that of the configuration's port here")
    what = "environment variable with the server's API key; that of the configuration"
    call.add_argument("--key-env", metavar="VARIABLE", help=what)
    add_config(call)
    call.set_defaults(command=_call)


def add_transcribe(transcribe: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent transcribe RECORDING...`."""
    transcribe.add_argument("recordings", nargs="+", type=Path, metavar="speech.wav", help="WAV files")
    add_config(transcribe)
    transcribe.add_argument("--json", action="store_true", help="print JSON, for machines")
    transcribe.set_defaults(command=_transcribe)


def add_adapt(adapt: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent adapt TABLE`."""
    what = "a table: a WAV file, a tab and its words a line"
    adapt.add_argument("recordings", type=Path, metavar="TABLE", help=what)
    out = "the file that is written, for recognizer.adapter (adapter.npz)"
    adapt.add_argument("--out", type=Path, default=Path("adapter.npz"), metavar="FILE", help=out)
    adapt.add_argument(
        "--model",
        type=Path,
        metavar="FOLDER",
        help="folder of a tiny Moonshine; the installed one by default",
    )
    adapt.add_argument(
        "--share",
        type=float,
        default=0.4,
        metavar="PART",
        help="share of the correction to apply (0.4); more makes other voices worse",
    )
    adapt.add_argument("--epochs", type=int, default=1, metavar="N", help="passes over the recordings (1)")
    adapt.set_defaults(command=_adapt)


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


def add_engines(engines: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent engines`."""
    engines.add_argument("name", nargs="?", help="an engine, to print its keys; left out, lists all engines")
    engines.set_defaults(command=_engines)


def add_weights(weights: argparse.ArgumentParser) -> None:
    """`voiceagent weights [NAME]`."""
    weights.add_argument("name", nargs="?", help="of a set to download, or to verify if it is stored")
    weights.set_defaults(command=_weights)


def add_voices(voices: argparse.ArgumentParser) -> None:
    """Add the options of `voiceagent voices [say NAME TEXT]`."""
    add_config(voices)
    voices.set_defaults(command=_voices)
    say = add_command(voices.add_subparsers(metavar="say"), "say", "write a text in one voice as a WAV file")
    say.add_argument("voice", metavar="NAME", help='a listed voice; "" for the usual one')
    say.add_argument("text", metavar="TEXT", help="to speak")
    out = "WAV file to write (voice.wav)"
    say.add_argument("-o", "--out", type=Path, default=Path("voice.wav"), metavar="FILE", help=out)
    config = "the configuration, also before `say`"
    say.add_argument("--config", type=Path, default=argparse.SUPPRESS, metavar="FILE", help=config)
    say.set_defaults(command=_say)


def add_convert(convert: argparse.ArgumentParser) -> None:
    """`voiceagent convert MODEL.gguf FOLDER`."""
    convert.add_argument("model", help="GGUF file, or weights:NAME/FILE of downloaded weights")
    convert.add_argument("folder", type=Path, help="to write, which must not have anything in it")
    convert.add_argument(
        "--to",
        choices=("checkpoint", "ctranslate2"),
        default="checkpoint",
        help="for vLLM and Transformers, in bfloat16 (checkpoint), or for CTranslate2, in int8",
    )
    convert.set_defaults(command=_convert)


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


def _calibrate(options: argparse.Namespace) -> None:
    from voiceagent.cli.calibrate import calibrate_llm
    from voiceagent.config.tables import load

    calibrate_llm(load(options.config), options.turns)


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
    call(url, key, order)


def _llm(options: argparse.Namespace) -> None:
    from voiceagent.config.tables import load
    from voiceagent.server.llm_replica import serve_llm

    serve_llm(load(options.config), options.host, options.port)


def _plan(options: argparse.Namespace) -> None:
    from voiceagent.cli.plan import print_plan

    price = options.gpu_hour, options.core_hour
    print_plan(options.calls, options.model, options.gpu, options.fp8, *price)


def _transcribe(options: argparse.Namespace) -> None:
    from voiceagent.cli.transcribe import transcribe
    from voiceagent.config.tables import load

    take_config(options, "recordings")
    transcribe(load(options.config), options.recordings, as_json=options.json)


def _adapt(options: argparse.Namespace) -> None:
    from audio.recognizers import RecognizerError
    from voiceagent.validation.errors import CommandFailed

    if missing := [name for name in ("torch", "tqdm") if find_spec(name) is None]:
        raise CommandFailed(f"adapt needs {' and '.join(missing)}: pip install 'voiceagent-server[train]'")
    from audio.adaptation.adapt import adapt

    try:
        adapt(options.recordings, options.out, options.model, options.share, options.epochs)
    except (OSError, ValueError, RecognizerError) as error:
        raise CommandFailed(f"adapt: {error}") from error


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


def _engines(options: argparse.Namespace) -> None:
    from voiceagent.config.engine_reference import engine_text

    if options.name:
        print(engine_text(options.name))
        return
    from rich.console import Console
    from rich.table import Table

    from voiceagent.engines.catalogue import KNOWN_ENGINES

    table = Table("stage", "engine", "installed", "needs", "licence")
    for known in KNOWN_ENGINES:
        installed = "yes" if known.installed() else "no"
        table.add_row(known.stage, known.name, installed, known.needs, known.licence)
    Console().print(table)
    for known in KNOWN_ENGINES:  # outside the table, which would truncate what users copy
        if not known.installed():
            print(f"{known.stage} {known.name}: {known.install}")
    print("Any other engine is named as package.module:Class, with its keyword arguments as keys beside it.")


def _weights(options: argparse.Namespace) -> None:
    from voiceagent.cli.weights import fetch_weights, print_weights

    if options.name is None:
        print_weights(os.environ)
    else:
        fetch_weights(options.name, os.environ)


def _voices(options: argparse.Namespace) -> None:
    from voiceagent.cli.voices import print_voices
    from voiceagent.config.tables import load

    print_voices(load(options.config))


def _say(options: argparse.Namespace) -> None:
    from voiceagent.cli.voices import say
    from voiceagent.config.tables import load

    say(load(options.config), options.voice, options.text, options.out)


def _convert(options: argparse.Namespace) -> None:
    from voiceagent.cli.weights import convert

    convert(options.model, options.folder, options.to, os.environ)
