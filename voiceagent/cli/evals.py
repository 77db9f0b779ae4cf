"""Command line of `voiceagent eval`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from voiceagent.cli.kept import has_extra, require_extra
from voiceagent.config import add_config

RESULTS = Path("eval-results")
"""Default folder of all evals, in the current one."""
PORT = 8090
"""Default port of their page."""


def add_eval(parser: argparse.ArgumentParser, demo: Path) -> None:
    """Add the options of `voiceagent eval FOLDER`. demo: folder of the demo's scenarios."""
    what = "scenarios: *.toml, *.py, and eval.toml (those of the demo's hotel)"
    parser.add_argument("folder", nargs="?", type=Path, default=demo, metavar="FOLDER", help=what)
    add_config(parser)
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each scenario (10, or eval.toml's)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only these scenarios, as breakfast*"
    )
    parser.add_argument("--typed", action="store_true", help="type instead of speaking; no speech engines")
    what = "change a key of the configuration, such as turn.silence_s=0.3"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=what)
    what = "compare with a configuration (.toml), results (.json), an agent (module:Class), or git:REVISION"
    parser.add_argument("--against", default="", metavar="OTHER", help=what)
    cores = os.cpu_count() or 1
    parser.add_argument("--processes", type=int, default=cores, metavar="N", help=f"calls at once ({cores})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results, with all calls")
    parser.add_argument("--junit", type=Path, metavar="FILE.xml", help="write the results for CI")
    what = "folder of the results and calls of all evals (./eval-results)"
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help=what)
    what = f"run nothing: show all evals and their calls at http://127.0.0.1:PORT/evals ({PORT})"
    parser.add_argument("--page", nargs="?", type=int, const=PORT, metavar="PORT", help=what)
    what = "fail if a scenario passes less often, 0 to 1 (1); with --against, only if it is worse"
    parser.add_argument("--min-rate", type=float, default=1.0, metavar="RATE", help=what)
    what = "instead of calling: fork kept calls of this folder with --set, and judge both futures"
    parser.add_argument("--calls", type=Path, metavar="FOLDER", help=what)
    what = "with --calls: load no engines, answer from each call's nearest requests"
    parser.add_argument("--recorded", action="store_true", help=what)
    parser.set_defaults(command=_eval)


def _eval(options: argparse.Namespace) -> None:
    from voiceagent.config.tables import parse_changes
    from voiceagent.evals.command import Outputs, run_eval
    from voiceagent.evals.folder import read_settings
    from voiceagent.evals.runs import Plan
    from voiceagent.validation.errors import CommandFailed

    if options.page is not None:
        _show_page(options.results, options.page)
        return
    if options.calls is not None:
        _compare_calls(options)
        return
    if options.recorded:
        raise CommandFailed("--recorded is for --calls")
    runs = options.runs if options.runs is not None else read_settings(options.folder).runs
    for name, value in (("--runs", runs), ("--processes", options.processes)):
        if value < 1:
            raise CommandFailed(f"{name} is {value}; allowed: 1 or more")
    if not 0 <= options.min_rate <= 1:
        raise CommandFailed(f"--min-rate is {options.min_rate:g}; allowed: 0 to 1")
    plan = Plan(
        folder=options.folder,
        config=options.config,
        changes=parse_changes(options.set),
        only=tuple(options.only),
        runs=runs,
        typed=options.typed,
        processes=options.processes,
        calls=options.results / "calls" if has_extra() else None,
    )
    outputs = Outputs(options.json, options.junit, options.results, options.min_rate)
    run_eval(plan, options.against, outputs)


def _show_page(folder: Path, port: int) -> None:
    require_extra()
    from voiceagent.evals.page_server import serve_page
    from voiceagent.validation.errors import CommandFailed

    if not folder.is_dir():
        raise CommandFailed(f"{folder}: no such folder; allowed: one that `voiceagent eval --results` wrote")
    serve_page(folder, port)


def _compare_calls(options: argparse.Namespace) -> None:
    require_extra()
    from voiceagent.cli.counterfactuals import compare_calls
    from voiceagent.config.tables import load, parse_changes
    from voiceagent.evals.folder import read_settings
    from voiceagent.validation.errors import CommandFailed

    if not options.set:
        raise CommandFailed("--calls needs --set KEY=VALUE: what would be different")
    for name in ("against", "json", "junit", "only", "runs", "typed"):
        if getattr(options, name):
            raise CommandFailed(f"--{name} is not for --calls; allowed: --set, --recorded, and a FOLDER")
    config, changed = load(options.config), load(options.config, parse_changes(options.set))
    settings = read_settings(options.folder)
    compare_calls(config, changed, options.calls, settings, options.folder, options.recorded)
