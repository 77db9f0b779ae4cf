"""Scores by outside programs on kept calls: `python tests/bench/outside_scores.py CALLS SAID`.

CALLS: folder of kept calls. SAID: labels as `voiceagent score --said` takes them. `scored_calls.py` writes
both. tau-voice's panel, eot-bench's operating points and jiwer's word error rate are computed by these
programs themselves, from the same spans, probabilities and transcripts; `tests/support/outside_programs.py`
says what has to be installed. Exit 1 if a score differs by more than 5 %. Typed requests are left out:
tau-voice has none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import jiwer  # noqa: E402
import pandas  # type: ignore[import-untyped]  # noqa: E402
from eot_harness import metrics as eot_bench  # noqa: E402
from outside_programs import EOT_BENCH, eot_bench_points, tau_voice_panel  # noqa: E402
from tau2.metrics import voice_interaction_metrics as tau_voice  # noqa: E402

from audio.detection.vad import SileroVad  # noqa: E402
from voiceagent.calls.call_speech import call_speech, parse_references, turns_within  # noqa: E402
from voiceagent.calls.log.logged_speech import LoggedSpeech, logged_speech  # noqa: E402
from voiceagent.calls.places import names_at, read_at, read_log_at, recording_of  # noqa: E402
from voiceagent.scores.scorecard import CallSpeech, scorecard  # noqa: E402
from voiceagent.scores.word_errors import comparable  # noqa: E402

TOLERANCE = 0.05


def kept_calls(folder: Path, said: Path) -> Iterator[tuple[LoggedSpeech, CallSpeech]]:
    """Yield the calls that have labels, without typed requests."""
    references = parse_references(said.read_text().splitlines(), str(said))
    vad = SileroVad()
    vad.load()
    for log in sorted(folder.rglob("log.jsonl*")):
        place = str(log.parent)
        name = recording_of(names_at(place))
        logged = logged_speech(read_log_at(place), place)
        if name is None or logged.call_id not in references:
            continue
        speech = call_speech(logged, read_at(place, name), vad, references[logged.call_id], "en")
        caller = tuple(one for one in speech.caller if one.kind != "typed")
        yield logged, replace(speech, caller=caller)


def word_error_rate(calls: list[tuple[LoggedSpeech, CallSpeech]]) -> float:
    """Return jiwer's word error rate of all turns, on our normalized words."""
    said, recognized = [], []
    for logged, speech in calls:
        for turn in speech.caller:
            if turn.kind == "turn" and turn.text is not None:
                texts = [one.text for one in turns_within(turn.span, logged.turns)]
                said.append(" ".join(comparable(turn.text)))
                recognized.append(" ".join(comparable(" ".join(texts))))
    return float(jiwer.wer(said, recognized))


def main() -> int:
    """Print each score by both programs."""
    calls = list(kept_calls(Path(sys.argv[1]), Path(sys.argv[2])))
    speech = [one for _, one in calls]
    figures = {figure.name: figure for figure in scorecard(speech)}
    panel = tau_voice_panel(tau_voice, speech)
    pauses = [pause for call in speech for pause in call.pauses if call.pauses]
    points = eot_bench_points(eot_bench, pandas, pauses)
    rows: list[tuple[str, Any, Any]] = [
        (name, figures[name].on_ticks, theirs) for name, theirs in panel.items()
    ]
    rows += [(name, figures[name].value, points[name]) for name in EOT_BENCH]
    rows.append(("word error rate", figures["word error rate"].value, word_error_rate(calls)))
    print(f"{len(calls)} calls\n\n| score | of | here | outside |\n| --- | --- | --- | --- |")
    differs = False
    for name, ours, theirs in rows:
        same = ours == theirs or (ours and theirs and abs(ours / theirs - 1) <= TOLERANCE)
        shown = ["none" if value is None else f"{value:.4f}" for value in (ours, theirs)]
        print(f"| {name} | {figures[name].count} | {shown[0]} | {shown[1]} |{'' if same else ' differs'}")
        differs |= not same
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
