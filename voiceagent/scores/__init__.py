"""Published scores of voice agents, computed from spans of speech and decisions given as data.

`interaction` has the events of tau-voice's panel, `end_of_turn` eot-bench's trade-off, `word_errors` jiwer's
counts. `scorecard` computes all scores of calls, with intervals.
"""
