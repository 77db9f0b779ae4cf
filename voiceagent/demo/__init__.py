"""The demo: the front desk of one fictional hotel, and its weights. `examples/hotel_model` makes these."""

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"
"""Weights of the LLM, its draft model and the recognizer's adapter."""
CT2_WEIGHTS = WEIGHTS / "ct2"
"""The LLM in CTranslate2's format."""
MATERIAL = Path(__file__).parent / "material"
"""Callers' texts for measurements, written by `python -m examples.hotel_model.make_material`."""
EVALS = Path(__file__).parent / "evals"
"""Scenarios of simulated callers of the hotel."""
