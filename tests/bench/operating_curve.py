"""Cut-offs against waits of each detector of a turn's end, by kind of speech: a table and a picture.

python tests/bench/operating_curve.py PEOPLE [orders=FOLDER ...] --lines clean,telephone --plot curve.svg

PEOPLE is a folder of recordings with a manifest, of which the measuring half is used; a folder with a name
is a kind of its own. In virtual time, answers after 20 ms. Detectors: this agent at each `eagerness`, a fixed
silence (a client's `server_vad`), and Smart Turn v3, if it is installed, asked after 0.2 s of silence.

The cost of a point is its mean wait plus `CUT_COSTS_S` for each recording that is cut: the shipped eagerness
is the one whose cost, over all kinds, is lowest.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from people.conditions import parse_conditions, said_again, under
from people.material import Clip, Half, read_clips
from people.offline import run_offline, run_silence_alone
from people.outcome import Outcome, Point, figures, operating_point, wait_at
from people.plots import plot_kinds
from people.smart_turn_alone import ASKED_AFTER_S, THRESHOLDS, judge_by_smart_turn

from audio.detection.smart_turn import TurnModelError
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.conversation.settings import Eagerness
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.terminal_table import print_table

ANSWER_S = 0.02
SILENCES_S = (0.2, 0.35, 0.5, 0.8, 1.2)
EAGERNESSES: tuple[Eagerness, ...] = ("high", "auto", "low")
OURS, SILENCE, SMART_TURN = "this agent", "silence alone", "Smart Turn v3"
CUT_COSTS_S = 1.2
"""Wait that is as bad as a false end of turn: what `Silences.even_s` of `probability.py` assumes."""
KINDS = {"question": "questions", "answer": "questions", "digits": "dictation", "spontaneous": "talk"}
HEADS = ("line", "kind", "detector", "cut", "wait p50, p95, mean ms", "cost s", "silence alone waits ms")

Outcomes = Mapping[str, Mapping[str, Sequence[Outcome]]]
"""Outcomes by detector and setting."""


def main() -> None:
    """Measure, print and draw."""
    options = _options()
    configure_log("console", "error")
    config = load(options.config)
    clips, kind_of = _read(options.folders, options.half)
    curves, rows = {}, []
    for line in options.lines.split(","):
        conditions = parse_conditions("" if line == "clean" else line)
        heard = said_again([under(clip, conditions) for clip in clips], options.times)
        outcomes = _measure(config, heard)
        for kind in dict.fromkeys(kind_of.values()):
            of_kind = {
                detector: {
                    at: [one for one in found if kind_of[one.clip.name] == kind]
                    for at, found in points.items()
                }
                for detector, points in outcomes.items()
            }
            curve = curves[f"{kind}, {line}"] = {
                detector: [operating_point(at, found) for at, found in points.items()]
                for detector, points in of_kind.items()
            }
            rows += [(line, kind, *row) for row in _rows(of_kind, curve[SILENCE])]
    print_table(HEADS, rows, right=3)
    if options.plot:
        plot_kinds(curves, options.plot)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", help="FOLDER, or KIND=FOLDER")
    parser.add_argument("--config", type=Path, default=Path("configs/demo.toml"))
    parser.add_argument("--half", default="measure", choices=("tune", "measure"))
    parser.add_argument("--lines", default="clean", help="clean, or a condition of bench_people.py")
    parser.add_argument("--times", type=int, default=1, help="see bench_people.py")
    parser.add_argument("--plot", type=Path, help="an SVG or PNG file")
    return parser.parse_args()


def _read(folders: Sequence[str], half: Half) -> tuple[list[Clip], dict[str, str]]:
    """Return the recordings, and the kind of each by its name."""
    clips: list[Clip] = []
    kind_of: dict[str, str] = {}
    for folder in folders:
        label, _, path = folder.rpartition("=")
        found = read_clips([Path(path)], "all" if label else half, () if label else tuple(KINDS), "en")
        clips += found
        kind_of |= {clip.name: label or KINDS[clip.kind] for clip in found}
    return clips, kind_of


def _measure(config: Config, clips: Sequence[Clip]) -> Outcomes:
    silence = {f"{s * 1000:.0f} ms": run_silence_alone(config, s, clips, _ignore) for s in SILENCES_S}
    ours: dict[str, Sequence[Outcome]] = {
        eagerness: run_offline(_eager(config, eagerness), clips, _ignore, ANSWER_S)
        for eagerness in EAGERNESSES
    }
    measured: dict[str, Mapping[str, Sequence[Outcome]]] = {OURS: ours, SILENCE: silence}
    try:
        judged = judge_by_smart_turn(silence[f"{ASKED_AFTER_S * 1000:.0f} ms"])
    except TurnModelError:
        return measured
    return measured | {SMART_TURN: {f"{at}": [one.at(at) for one in judged] for at in THRESHOLDS}}


def _eager(config: Config, eagerness: Eagerness) -> Config:
    return config.model_copy(update={"turn": config.turn.model_copy(update={"eagerness": eagerness})})


def _ignore(_: Clip) -> None:
    pass


def _rows(outcomes: Outcomes, silence: Sequence[Point]) -> Iterator[tuple[str, ...]]:
    for detector, points in outcomes.items():
        for at, found in points.items():
            point = operating_point(at, found)
            waits, mean_ms = figures(found).decisions_ms, point.wait_ms
            alone = wait_at(silence, point.cut_off)
            yield (
                f"{detector}, {at}",
                f"{point.cut_off:.1%} of {len(found)}",
                f"{percentile(waits, 50):.0f}, {percentile(waits, 95):.0f}, {mean_ms:.0f}" if waits else "",
                f"{mean_ms / 1000 + point.cut_off * CUT_COSTS_S:.2f}",
                "" if alone is None else f"{alone:.0f}",
            )


if __name__ == "__main__":
    main()
